"""The loop over a project that is made up: what it does when refreshes fail, race, block, and when it is stopped."""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from rich.console import Console

from dbt_spark_dynamic.commit.outcome import Code, Outcome
from dbt_spark_dynamic.errors import ConfigError, ConflictError
from dbt_spark_dynamic.watch.events import Event, Kind
from dbt_spark_dynamic.watch.files import Files
from dbt_spark_dynamic.watch.graph import Watched
from dbt_spark_dynamic.watch.leases import Leases
from dbt_spark_dynamic.watch.project import Built
from dbt_spark_dynamic.watch.show import Board, lines
from dbt_spark_dynamic.watch.watch import Watch

A = Watched("model.p.a", "s.a", frozenset({"s.leaf"}))
B = Watched("model.p.b", "s.b", frozenset({"s.a"}))
C = Watched("model.p.c", "s.c", frozenset({"s.leaf"}))


@dataclass
class MadeUp:
    """models: what is built; trouble: model -> what its next refreshes raise; slow: models whose refresh waits for
    `go`; refreshed: (model, versions) of every refresh that was begun; due: seconds after which the next ones say that
    their result changes by itself."""

    models: dict[str, Watched]
    leaf: int = 1
    trouble: dict[str, list[Exception]] = field(default_factory=dict)
    slow: frozenset[str] = frozenset()
    code: Code = Code.INCREMENTAL
    missing: set[str] = field(default_factory=set)
    refreshed: list[tuple[str, Mapping[str, int]]] = field(default_factory=list)
    built: list[str] = field(default_factory=list)
    is_edited: bool = False
    unanswered: int = 0
    begun: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)
    due: list[float] = field(default_factory=list)
    own: dict[str, int] = field(default_factory=dict)

    def build(self) -> Built:
        self.built.append("all")
        self.is_edited = False
        return Built(tuple(m for n, m in self.models.items() if n not in self.missing), frozenset(self.missing))

    def build_again(self, names: Collection[str]) -> Built:
        self.built.extend(sorted(names))
        self.missing -= set(names)
        return Built(tuple(self.models.values()))

    def edited(self) -> bool:
        return self.is_edited

    def free(self) -> bool:
        return False

    def versions(self, tables: Collection[str]) -> Mapping[str, int]:
        if self.unanswered:
            self.unanswered -= 1
            raise ConnectionError("no answer")
        return dict.fromkeys(tables, self.leaf)

    def notes(self) -> list[str]:
        return []

    def refresh(self, name: str, versions: Mapping[str, int]) -> Outcome:
        self.refreshed.append((name, versions))
        if name in self.slow:
            self.begun.set()
            assert self.go.wait(20)
        if self.trouble.get(name):
            raise self.trouble[name].pop(0)
        self.own[name] = self.own.get(name, 0) + 1
        model = self.models[name]
        sources = {t: (0, self.leaf) for t in model.reads}
        due_in = self.due.pop(0) if self.due else None
        return Outcome(
            self.code, "merge", table=model.table, version=self.own[name], sources=sources, due_in=due_in
        )  # fmt: skip


class Session:
    """A loop that runs in a thread, and what it has told."""

    def __init__(self, project: MadeUp, threads: int = 2) -> None:
        self.project, self.events, self.stop = project, list[Event](), threading.Event()
        self.loop = Watch(project, self.events.append, threads=threads, interval=0.01)
        self._thread = threading.Thread(target=self.loop.run, args=(self.stop,), daemon=True)
        self._thread.start()

    def until(self, kind: Kind, times: int = 1, model: str | None = None) -> Event:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            found = [e for e in list(self.events) if e.kind is kind and (model is None or e.model == model)]
            if len(found) >= times:
                return found[times - 1]
            time.sleep(0.005)
        raise AssertionError(f"no {kind} of {model}: {[e.line() for e in self.events]}")

    def end(self) -> None:
        self.stop.set()
        self._thread.join(20)
        assert not self._thread.is_alive()
        assert self.events[-1].kind is Kind.STOPPED


def made_up(*models: Watched, **more: object) -> MadeUp:
    return MadeUp({m.name: m for m in models}, **more)  # type: ignore[arg-type]


def test_a_result_that_is_due_is_made_without_a_commit() -> None:
    session = Session(MadeUp({A.name: A}, due=[0.05, 0.05]))
    session.until(Kind.REFRESHED, times=3)
    session.end()
    assert len(session.project.refreshed) == 3


def test_a_commit_goes_through_a_chain_at_one_version() -> None:
    session = Session(made_up(A, B, C))
    session.until(Kind.REFRESHED, 3)
    session.project.refreshed.clear()
    session.project.leaf = 7
    session.until(Kind.REFRESHED, 6)
    session.end()
    assert dict(session.project.refreshed) == {
        A.name: {"s.leaf": 7},
        B.name: {"s.leaf": 7, "s.a": session.project.own[A.name]},
        C.name: {"s.leaf": 7},
    }


def test_a_failing_model_is_tried_again_and_holds_up_nobody_else() -> None:
    project = made_up(A, B, C, trouble={A.name: [RuntimeError("disk full")]})
    session = Session(project)
    failed = session.until(Kind.FAILED, model=A.name)
    assert failed.fields["waiting"] == [B.name] and "disk full" in failed.line()
    session.until(Kind.REFRESHED, model=C.name)
    assert not [n for n, _ in project.refreshed if n == B.name]
    session.until(Kind.REFRESHED, model=B.name)
    session.end()


def test_a_race_is_looked_at_again_at_once() -> None:
    session = Session(made_up(A, B, trouble={B.name: [ConflictError("raced"), ConflictError("raced")]}))
    session.until(Kind.CONFLICT, 2, B.name)
    session.until(Kind.REFRESHED, model=B.name)
    session.end()
    assert not [e for e in session.events if e.kind is Kind.FAILED]


def test_stopping_finishes_what_runs_and_starts_nothing_more() -> None:
    project = made_up(A, B, slow=frozenset({A.name}))
    session = Session(project)
    assert project.begun.wait(20)
    session.stop.set()
    session.until(Kind.STOPPING)
    project.go.set()
    session.end()
    assert [n for n, _ in project.refreshed] == [A.name] and project.own == {A.name: 1}


def test_an_edit_is_built_once_nothing_runs() -> None:
    project = made_up(A, slow=frozenset({A.name}))
    session = Session(project)
    assert project.begun.wait(20)
    project.models[C.name] = C
    project.is_edited = True
    time.sleep(0.05)
    assert project.built == ["all"]
    project.go.set()
    session.until(Kind.REFRESHED, model=C.name)
    session.end()
    assert project.built == ["all", "all"]


def test_a_project_that_cannot_be_parsed_any_more_is_no_reason_to_stop() -> None:
    project = made_up(A)
    session = Session(project)
    session.until(Kind.REFRESHED)

    def broken() -> Built:
        project.is_edited = False
        raise ConfigError("the project cannot be parsed.", why="a brace is missing")

    project.build = broken  # type: ignore[method-assign]
    project.is_edited = True
    assert "a brace is missing" in session.until(Kind.NOTE).line()
    project.leaf = 2
    session.until(Kind.REFRESHED, 3)
    session.end()


def test_what_dbt_did_not_build_is_built_again_and_a_new_table_gets_its_hooks() -> None:
    project = made_up(A, C, missing={C.name})
    session = Session(project)
    session.until(Kind.NOT_BUILT, model=C.name)
    session.until(Kind.REFRESHED, model=C.name)
    assert project.built == ["all", C.name]
    project.code = Code.CREATED
    project.leaf = 2
    session.until(Kind.REFRESHED, 4)
    project.code = Code.INCREMENTAL
    session.until(Kind.BUILDING, 3)
    session.end()
    assert {A.name, C.name} <= set(project.built[2:])


def test_what_a_table_reads_may_change() -> None:
    project = made_up(A)
    session = Session(project)
    session.until(Kind.REFRESHED)
    project.models[A.name] = Watched(A.name, A.table, frozenset({"s.leaf", "s.other"}))
    project.leaf = 2
    session.until(Kind.REFRESHED, 3)
    session.end()
    assert project.refreshed[-1][1] == {"s.leaf": 2, "s.other": 2}


def test_spark_may_be_away_for_a_while() -> None:
    session = Session(made_up(A, unanswered=1))
    session.until(Kind.UNREACHABLE)
    session.until(Kind.REFRESHED)
    session.end()


def test_nothing_to_maintain_is_said_at_once() -> None:
    with pytest.raises(ConfigError, match="nothing to maintain"):
        Watch(made_up(), lambda _: None).run(threading.Event())


def test_events_are_lines_json_a_table_and_metrics(tmp_path: Path) -> None:
    from dbt_spark_dynamic.watch.metrics import serve

    session = Session(made_up(A, C, trouble={C.name: [RuntimeError("disk full\nmore")]}))
    session.until(Kind.REFRESHED, model=A.name)
    session.until(Kind.FAILED, model=C.name)
    session.end()
    said = [json.loads(e.json()) for e in session.events]
    assert {s["event"] for s in said} >= {"building", "watching", "refreshed", "failed", "stopping", "stopped"}
    refreshed = next(s for s in said if s["event"] == "refreshed")
    assert (refreshed["model"], refreshed["technique"], refreshed["version"]) == (A.name, "merge", 1)

    console = Console(record=True, width=160, force_terminal=False)
    for listener in (lines(console), board := Board(console, session.loop.lags)):
        for event in session.events[:-1]:
            listener(event)
    console.print(board.table())
    board.close()
    text = console.export_text()
    assert "a INCREMENTAL merge" in text and "disk full" in text and "behind, s" in text

    tell = serve(port := free_port(), session.loop.lags)
    for event in session.events:
        tell(event)
    page = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5).read().decode()
    assert 'dbt_dynamic_refreshes_total{code="INCREMENTAL",model="a"} 1.0' in page
    assert 'dbt_dynamic_failures_total{model="c"} 1.0' in page and 'dbt_dynamic_lag_seconds{model="a"}' in page
    with pytest.raises(ConfigError, match="cannot be used"):
        serve(port, session.loop.lags)


def free_port() -> int:
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_a_model_has_one_watcher_and_the_next_one_takes_over(tmp_path: Path) -> None:
    first, second = Leases(tmp_path / "locks"), Leases(tmp_path / "locks")
    assert first.take(["a", "b"]) == {"a", "b"}
    assert second.take(["b", "c"]) == {"c"} and not second.any_free()
    assert first.take(["a"]) == {"a"} and second.any_free()
    assert second.take(["b", "c"]) == {"b", "c"} and not second.any_free()
    first.release()
    assert first.take(["a"]) == {"a"}


def test_an_edit_counts_once_it_is_at_rest(tmp_path: Path) -> None:
    (tmp_path / "m.sql").write_text("select 1")
    files = Files([tmp_path / "dbt_project.yml"], [tmp_path])
    assert not files.edited()
    (tmp_path / "m.sql").write_text("select 22")
    assert not files.edited(), "it may still be written"
    assert files.edited() and files.edited()
    files.again()
    assert not files.edited()
    (tmp_path / "seed.csv").write_text("a")
    assert not files.edited() and not files.edited(), "seeds are data"
