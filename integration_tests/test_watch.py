"""`dbt-dynamic watch` on a real project: what it commits while a writer commits at random, and how it ends.

Every version of every watched table is compared with its query over the versions of its sources that the ledger of
that version names; and the tables of a chain are compared down to the base tables.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dbt.adapters.spark_dynamic.watching import WatchedProject
from dbt_spark_dynamic.commit.classic import ClassicEngine
from dbt_spark_dynamic.commit.history import read_commit
from dbt_spark_dynamic.commit.ledger import Consumed, Entry
from dbt_spark_dynamic.errors import ConflictError
from dbt_spark_dynamic.watch.events import Event, Kind
from dbt_spark_dynamic.watch.watch import Watch
from integration_tests.conftest import DbtProject
from integration_tests.maintained import Maintained
from integration_tests.own_process import SHORT_LIVED, shop_project

QUERIES = {
    "per_user": "SELECT who, COUNT(*) AS n, SUM(amount) AS total FROM {s}.clicks GROUP BY who",
    "named": "SELECT p.n, u.name FROM {s}.per_user p JOIN {s}.users u ON p.who = u.who",
    "sizes": "SELECT n, COUNT(*) AS users FROM {s}.named GROUP BY n",
    "lagging": "SELECT who, amount FROM {s}.clicks WHERE amount > 5",
}


class Looking(Watch):
    """Counts its looks at the versions of tables: how far apart they are depends on how fast Spark answers them."""

    looks = 0

    def _look(self) -> float:
        pause = super()._look()
        self.looks += 1
        return pause


@contextmanager
def watching(project: DbtProject, *select: str, threads: int = 2) -> Iterator[tuple[Looking, list[Event]]]:
    """The loop in a thread of this process; it must end by itself once it is told to."""
    folders = ["--project-dir", str(project.folder), "--profiles-dir", str(project.folder)]
    watched, events, stop = WatchedProject([*folders, "--no-use-colors"], select), list[Event](), threading.Event()
    failed: list[BaseException] = []
    watched.open()
    loop = Looking(watched, events.append, threads=threads, interval=0.05)

    def run() -> None:
        try:
            loop.run(stop)
        except BaseException as error:
            failed.append(error)
        finally:
            watched.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield loop, events
    finally:
        stop.set()
        thread.join(120)
        assert not failed, failed
        assert not thread.is_alive() and events[-1].kind is Kind.STOPPED


def until(events: list[Event], kind: Kind, model: str | None = None, times: int = 1, seconds: float = 120) -> Event:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = [e for e in list(events) if e.kind is kind and (model is None or e.label == model)]
        if len(found) >= times:
            return found[times - 1]
        time.sleep(0.05)
    raise AssertionError(f"no {kind.value} of {model}:\n" + "\n".join(e.line() for e in events))


def until_settled(loop: Looking, events: list[Event], seconds: float = 120) -> None:
    """Nothing is behind, and nothing happens any more: two looks end without finding anything, of which the second
    began after all that was committed before this was called."""
    deadline, quiet, looks = time.monotonic() + seconds, 0, loop.looks
    while quiet < 10 or loop.looks < looks + 2:
        assert time.monotonic() < deadline, "\n".join(e.line() for e in events)
        before = len(events)
        time.sleep(0.1)
        if len(events) == before and not any(loop.lags().values()):
            quiet += 1
        else:
            quiet, looks = 0, loop.looks


@pytest.fixture
def shop(dbt_project: DbtProject) -> DbtProject:
    """Two base tables, a chain of three over them, and a table that may lag behind."""
    dbt_project.sql("CREATE TABLE clicks (id INT, who STRING, amount INT) USING delta")
    dbt_project.sql("CREATE TABLE users (who STRING, name STRING) USING delta")
    dbt_project.sql("INSERT INTO users VALUES ('a', 'Ann'), ('b', 'Bob'), ('c', 'Cy')")
    dbt_project.sql("INSERT INTO clicks VALUES (0, 'a', 1), (1, 'b', 9)")
    dbt_project.write(
        "models/sources.yml",
        f"sources: [{{name: base, schema: {dbt_project.schema}, tables: [{{name: clicks}}, {{name: users}}]}}]",
    )
    refs = {"{s}.clicks": "{{ source('base', 'clicks') }}", "{s}.users": "{{ source('base', 'users') }}"}
    refs |= {f"{{s}}.{name}": f"{{{{ ref('{name}') }}}}" for name in QUERIES}
    for name, query in QUERIES.items():
        for table, ref in refs.items():
            query = query.replace(table, ref)
        lag = {"target_lag": "2 seconds"} if name == "lagging" else {}
        dbt_project.model(name, query, materialized="dynamic_table", **lag)
    return dbt_project


def ledger(project: DbtProject, name: str) -> dict[int, dict[str, int]]:
    """Version of a dynamic table -> the versions of its sources that it was computed from."""
    engine = ClassicEngine(project.session)
    table = engine.table(f"{project.schema}.{name}")
    assert table is not None
    found = {}
    for version in range(table.version + 1):
        entry = Entry.read(read_commit(version, engine.log(table, version)).user_metadata)
        if entry is not None:
            found[version] = {n: c.version for n, c in entry.sources.items() if isinstance(c, Consumed)}
    return found


class Versions:
    """Tables as they were, each version read from Spark once; the queries over them are answered by DuckDB."""

    def __init__(self, project: DbtProject) -> None:
        self._project = project
        self._read: dict[tuple[str, int], list[tuple[Any, ...]]] = {}
        self._columns: dict[str, str] = {}

    def rows(self, name: str, version: int) -> list[tuple[Any, ...]]:
        if (name, version) not in self._read:
            frame = self._project.session.sql(f"SELECT * FROM {self._project.schema}.{name} VERSION AS OF {version}")
            self._columns[name] = ", ".join(f'"{f.name}" {f.dataType.simpleString()}' for f in frame.schema.fields)
            self._read[name, version] = [tuple(r) for r in frame.collect()]
        return self._read[name, version]

    def answer(self, query: str, versions: dict[str, int]) -> Counter[tuple[Any, ...]]:
        duck = duckdb.connect()
        for name, version in versions.items():
            rows = self.rows(name, version)
            duck.execute(f"CREATE TABLE {name} ({self._columns[name]})")
            if rows:
                duck.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
        return Counter(duck.execute(query).fetchall())


def check(project: DbtProject) -> dict[str, int]:
    """All versions of all tables against their ledgers. Returns how many there were of each."""
    tables, counted = Versions(project), dict[str, int]()
    for name, query in QUERIES.items():
        named = ledger(project, name)
        for version, sources in named.items():
            bare = {source.split(".")[-1]: at for source, at in sources.items()}
            assert Counter(tables.rows(name, version)) == tables.answer(query.replace("{s}.", ""), bare), (
                name,
                version,
            )
        counted[name] = len(named)
    return counted


def commit_something(project: DbtProject, rng: random.Random, n: int) -> None:
    rows = ", ".join(f"({n * 10 + i}, '{rng.choice('abcd')}', {rng.randrange(10)})" for i in range(rng.randint(1, 3)))
    statement = rng.choice(
        [
            f"INSERT INTO clicks VALUES {rows}",
            f"INSERT INTO clicks VALUES {rows}",
            f"UPDATE clicks SET amount = amount + 1 WHERE id % 3 = {rng.randrange(3)}",
            f"DELETE FROM clicks WHERE id % 5 = {rng.randrange(5)}",
            f"UPDATE users SET name = name || '{n % 10}' WHERE who = '{rng.choice('abc')}'",
        ]
    )
    project.sql(statement)


def test_every_committed_version_is_its_query_while_a_writer_commits_at_random(shop: DbtProject) -> None:
    rng = random.Random(7)
    with watching(shop) as (loop, events):
        until(events, Kind.REFRESHED, times=4)
        for n in range(1, 13):
            commit_something(shop, rng, n)
            time.sleep(rng.choice([0.0, 0.0, 0.2, 1.0]))
        until_settled(loop, events)
    assert not [e.line() for e in events if e.kind in (Kind.FAILED, Kind.UNREACHABLE, Kind.NOT_BUILT)]
    counted = check(shop)
    assert counted["per_user"] >= 3
    # None is refreshed while its sources stand still, and the one that may lag no exception.
    for name in QUERIES:
        assert len({tuple(sorted(sources.items())) for sources in ledger(shop, name).values()}) == counted[name]
    techniques = {e.fields["code"] for e in events if e.kind is Kind.REFRESHED}
    assert "INCREMENTAL" in techniques and "RECOMPUTE" not in techniques
    for name in QUERIES:
        latest = Maintained(shop.session, shop.schema, {name: QUERIES[name].format(s=shop.schema)})
        assert latest.difference(name) == 0
    # A chain in which each says which version of the other it was computed from is one state of the base tables.
    for sources in ledger(shop, "sizes").values():
        named = ledger(shop, "named")[sources[f"{shop.schema}.named"]]
        assert named[f"{shop.schema}.per_user"] in ledger(shop, "per_user")


@pytest.mark.every_connection(pytest.mark.thorough)
def test_a_chain_is_watched(shop: DbtProject) -> None:
    with watching(shop) as (loop, events):
        until(events, Kind.REFRESHED, times=4)
        for statement in (
            "INSERT INTO clicks VALUES (2, 'a', 7), (3, 'c', 8), (3, 'c', 8)",
            "UPDATE clicks SET who = 'c' WHERE who = 'b'",
            "DELETE FROM clicks WHERE who = 'a'",
        ):
            shop.sql(statement)
            until_settled(loop, events)
    assert not [e.line() for e in events if e.kind in (Kind.FAILED, Kind.UNREACHABLE, Kind.NOT_BUILT)]
    assert differing(shop, *QUERIES) == {}
    codes = [e.fields["code"] for e in events if e.kind is Kind.REFRESHED]
    assert set(codes) <= {"INCREMENTAL", "NO CHANGE"} and codes.count("INCREMENTAL") >= 6


def test_a_refresh_goes_as_far_as_it_is_told_and_no_further(maintained: Maintained) -> None:
    maintained.sql("CREATE TABLE t (id INT) USING delta")
    maintained.sql("INSERT INTO t VALUES (1)")
    maintained.refresh("m", sql="SELECT id FROM t")
    source = f"{maintained.schema}.t"
    before = maintained.version("t")
    for n in (2, 3, 4):
        maintained.sql(f"INSERT INTO t VALUES ({n})")
    held_back = maintained.refresh("m", until={source: before + 1})
    assert held_back.sources == {source: (before, before + 1)} and maintained.rows("m") == [(1,), (2,)]
    assert (held_back.table, held_back.version) == (f"{maintained.schema}.m", maintained.version("m"))
    assert maintained.refresh("m", until={source: before + 1}).code.value == "NO CHANGE"
    with pytest.raises(ConflictError, match="further than this one would"):
        maintained.refresh("m", until={source: before})
    assert maintained.refresh("m", until={source: before + 99}).rows_inserted == 2
    maintained.sql("INSERT INTO t VALUES (5)")
    maintained.sql("ALTER TABLE t ADD COLUMN more INT")
    with pytest.raises(ConflictError, match="was altered after"):
        maintained.refresh("m", until={source: before + 4})
    maintained.refresh("m")
    assert maintained.difference("m") == 0


def test_a_model_that_fails_and_an_edit_while_it_is_watched(shop: DbtProject) -> None:
    shop.sql("CREATE TABLE parts (id INT, divisor INT) USING delta")
    shop.sql("INSERT INTO parts VALUES (1, 1)")
    ratio = f"select id, 10 / divisor as r from {shop.schema}.parts"
    shop.model("ratio", ratio, materialized="dynamic_table", unique_key="id")
    with watching(shop, "ratio", "per_user") as (loop, events):
        until(events, Kind.REFRESHED, times=2)
        shop.sql("INSERT INTO parts VALUES (1, 5)")
        assert "not unique" in until(events, Kind.FAILED, "ratio").fields["error"]
        shop.sql("INSERT INTO clicks VALUES (100, 'd', 3)")
        until(events, Kind.REFRESHED, "per_user", times=2)
        shop.sql("DELETE FROM parts WHERE divisor = 5")
        until(events, Kind.REFRESHED, "ratio", times=2)

        shop.model("ratio", ratio.replace("10 /", "20 /"), materialized="dynamic_table", unique_key="id")
        shop.model("more", f"select id from {shop.schema}.clicks", materialized="dynamic_table")
        until(events, Kind.WATCHING, times=2)
        until_settled(loop, events)
        assert {r["r"] for r in shop.sql("SELECT r FROM ratio")} == {20.0}
        shop.write("models/ratio.sql", "{{ config(materialized='dynamic_table') }} select {% if")
        until(events, Kind.NOTE)
        shop.sql("INSERT INTO parts VALUES (3, 2)")
        until_settled(loop, events)
        assert {r["r"] for r in shop.sql("SELECT r FROM ratio")} == {20.0, 10.0}


def test_two_watchers_do_one_work_and_the_second_takes_over(shop: DbtProject) -> None:
    with ExitStack() as afterwards:
        with watching(shop, "per_user") as (_, first):
            until(first, Kind.REFRESHED)
            loop, second = afterwards.enter_context(watching(shop, "per_user", "lagging"))
            assert until(second, Kind.STANDING_BY).label == "per_user"
            until(second, Kind.REFRESHED, "lagging")
            shop.sql("INSERT INTO clicks VALUES (100, 'd', 7)")
            until(first, Kind.REFRESHED, "per_user", times=2)
            until(second, Kind.REFRESHED, "lagging", times=2)
            assert not [e for e in second if e.kind is Kind.REFRESHED and e.label == "per_user"]
        until(second, Kind.REFRESHED, "per_user")
        shop.sql("INSERT INTO clicks VALUES (101, 'd', 8)")
        until(second, Kind.REFRESHED, "per_user", times=2)
        until_settled(loop, second)
    assert differing(shop, "per_user", "lagging") == {}


def differing(project: DbtProject, *names: str) -> dict[str, int]:
    """Table -> rows in which it and its query over the latest versions differ, of those that do."""
    latest = Maintained(project.session, project.schema, {n: QUERIES[n].format(s=project.schema) for n in names})
    return {name: rows for name in names if (rows := latest.difference(name))}


WRITER = textwrap.dedent(
    """
    import sys, threading, time
    from dbt_spark_dynamic.embedded import session
    from dbt.adapters.spark_dynamic.cli import cli

    def write():
        while session.running_root() is None:
            time.sleep(0.1)
        spark = session.running_root().newSession()
        while not spark.catalog.tableExists("shop.per_user"):
            time.sleep(0.2)
        for n in range(1000):
            spark.sql(f"INSERT INTO shop.clicks VALUES ({n}, 'u{n % 3}')")
            time.sleep(0.3)

    threading.Thread(target=write, daemon=True).start()
    cli(sys.argv[1:])
    """
)


def test_the_command_ends_cleanly_on_sigterm(tmp_path: Path) -> None:
    """The whole command as a process of its own, with a store of its own."""
    files = {
        "models/per_user.sql": "{{ config(materialized='dynamic_table') }}\n"
        "select user, count(*) as n from {{ this.schema }}.clicks group by user",
        "run.py": WRITER,
    }
    start = "on-run-start: create table if not exists shop.clicks (id int, user string) using delta\n"
    environment = shop_project(tmp_path, files, start) | SHORT_LIVED
    log = tmp_path / "events.jsonl"
    command = [sys.executable, "run.py", "watch", "--event-log", str(log), "--profiles-dir", "."]
    with open(tmp_path / "said", "w") as said:
        process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=said, stderr=subprocess.STDOUT)
        try:
            wait_for(lambda: counted(log, "refreshed", "per_user") >= 4, process, tmp_path / "said")
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0, (tmp_path / "said").read_text()
        finally:
            if process.poll() is None:
                process.kill()
    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert events[-1]["event"] == "stopped" and not [e for e in events if e["event"] == "failed"]
    assert "INCREMENTAL additive" in (tmp_path / "said").read_text()


def counted(log: Path, event: str, model: str) -> int:
    listed: list[dict[str, Any]] = [json.loads(x) for x in log.read_text().splitlines()] if log.exists() else []
    return sum(e["event"] == event and e.get("model", "").endswith(f".{model}") for e in listed)


def wait_for(condition: Any, process: subprocess.Popen[Any], said: Path, seconds: float = 180) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None and time.monotonic() < deadline, said.read_text()
        time.sleep(0.2)
