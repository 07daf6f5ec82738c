"""The history SQL, maintained batch by batch, is the history by definition: for any changelog, split in any way.

Changelogs with late, repeated, deleted, equal-time and NULL-keyed events, 24 keys in each, on DuckDB. `--pairs 5000`
tries more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbt_spark_dynamic.reading.relations import Kind, Relation
from dbt_spark_dynamic.versions.history import history
from dbt_spark_dynamic.versions.options import history_of
from tests.generated.duck import TARGET, Duck
from tests.generated.maintained import Maintained

from .meaning import Event, Kept, versions

COLUMNS = tuple((c, "string" if c == "op" else "int") for c in ("a", "b", "t", "n", "v", "w", "op", "done"))
SELECT = "SELECT a, b, t, {n}v, w, op, done FROM events"


class Changelogs(Duck):
    """The one table of events, with a version for each batch."""

    def __init__(self) -> None:
        super().__init__()
        # The error of Duck is volatile, which DuckDB refuses in PARTITION BY; no event here is one that raises it.
        self._run("CREATE OR REPLACE MACRO raise_error(x) AS NULL")
        self._changelogs = 0

    def fill(self, batches: Sequence[Sequence[Event]]) -> None:
        self._run("USE memory.main")
        for n in range(len(batches)):
            self._run(f"DROP SCHEMA IF EXISTS {self._states}{n} CASCADE") if self._states else None
        self._changelogs += 1
        self._states = f"changelog_{self._changelogs}_v"
        events: list[Event] = []
        for n, batch in enumerate(batches):
            events += batch
            listed = ", ".join(f"{c} {'VARCHAR' if kind == 'string' else 'INT'}" for c, kind in COLUMNS)
            self._run(f"CREATE SCHEMA {self._states}{n}")
            self._run(f"CREATE TABLE {self._states}{n}.events ({listed})")
            if events:
                marks = ", ".join("(" + ", ".join(map(_literal, astuple(e))) + ")" for e in events)
                self._run(f"INSERT INTO {self._states}{n}.events VALUES {marks}")

    def relation(self, parts: tuple[str, ...]) -> Relation:
        return Relation("events", Kind.DELTA, COLUMNS)


def _literal(value: Any) -> str:
    return "NULL" if value is None else repr(value)


KEYS = tuple((a, b) for a in (None, *range(11)) for b in (None, 0))
"""Each is a changelog of its own."""


def arriving(seed: int) -> list[list[Event]]:
    """What each batch brings: new events, late ones, and now and then what an earlier batch brought already."""
    random = Random(seed)

    def event() -> Event:
        op = random.choice(("insert", "update_after", "update_before", "delete", "delete"))
        v, w = random.choices((None, 0, 1), k=2)
        return Event(*random.choice(KEYS), random.randrange(6), random.randrange(3), v, w, op, random.randrange(8))

    batches: list[list[Event]] = []
    for size in random.choices((0, 20, 60, 120), k=random.choice((2, 3, 4))):
        again = [e for b in batches for e in b if random.random() < 0.05]
        batches.append([event() for _ in range(size)] + again)
    return batches


options = st.builds(
    Kept, check=st.booleans(), tracked=st.sampled_from((("v", "w"), ("v",), ("w",))), in_place=st.booleans(),
    deletes=st.sampled_from(("invalidate", "ignore", "new_record")), sequence=st.booleans(),
    operation_time=st.booleans(),
)  # fmt: skip


def asked(kept: Kept) -> tuple[str, dict[str, Any]]:
    """(the changelog's SELECT, the model's configuration)"""
    config: dict[str, Any] = {
        "unique_key": ["a", "b"], "updated_at": "t", "operation": "op", "hard_deletes": kept.deletes,
    }  # fmt: skip
    if kept.check:
        config["track_history_column_list" if kept.in_place else "check_cols"] = list(kept.tracked)
    if kept.sequence:
        config["sequence_by"] = "n"
    if kept.operation_time:
        config["operation_time"] = "done"
    return SELECT.format(n="n, " if kept.sequence else ""), config


@pytest.fixture(scope="module")
def duck() -> Changelogs:
    return Changelogs()


def test_a_history_is_what_its_events_say(duck: Changelogs, pairs: int) -> None:
    @settings(max_examples=max(20, pairs // 5))
    @given(st.integers(0, 10**6), options)
    def holds(seed: int, kept: Kept) -> None:
        select, config = asked(kept)
        names = [c for c, _ in COLUMNS if c != "n" or kept.sequence]
        columns = tuple((c, kind) for c, kind in COLUMNS if c in names)
        batches = arriving(seed)
        duck.fill(batches)
        table = Maintained(duck, history(select, columns, history_of(config, names, "m")), by_key=True)
        assert table.key == ("a", "b", "dbt_updated_at")
        for n in range(len(batches)):
            if n:
                table.refresh(n)
                assert table.differences() == []
            assert shown(duck, kept) == versions([e for b in batches[: n + 1] for e in b], kept)

    holds()


def shown(duck: Duck, kept: Kept) -> set[tuple]:
    deleted = "dbt_is_deleted = 'True'" if kept.deletes == "new_record" else "FALSE"
    rows = duck.rows(f"SELECT a, b, v, w, dbt_valid_from, dbt_valid_to, {deleted} FROM {TARGET}")
    found = {((a, b), *rest) for a, b, *rest in rows}
    assert len(found) == len(rows)
    return found
