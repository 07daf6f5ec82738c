"""A refresh rehearsed: the code that refreshes, on an engine that notes every statement instead of running it.

So what is shown is what would run. Only what Spark would answer about rows that have not been computed is assumed.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from ..changes.additive import FALLING
from ..changes.literal_keys import Values
from ..changes.top import FALLING_PARTITIONS
from ..commit.costs import Past
from ..commit.decide import Decision
from ..commit.engine import Engine, Table, Written
from ..commit.ledger import ADDITIVE, CREATE, KEYED, USER_METADATA, Consumed, Entry, Position
from ..commit.look import Seen
from ..commit.measure import Measure
from ..commit.outcome import Outcome
from ..commit.refresh import Refresh
from ..commit.sources import Change
from ..commit.spec import ChangeFeedPolicy, Spec
from ..errors import Bug
from ..reading.relations import Columns, Kind
from ..sparksql.bounds import between, bounded
from ..sparksql.reads import Span


class Case(Enum):
    """What is assumed about rows that nobody has counted. The value says it to the user."""

    PLAIN = "where the change takes no row from the result, and no group has to be computed again"
    GENERAL = "where it takes rows from the result, or groups have to be computed again"


@dataclass(frozen=True)
class Statement:
    """relation: what a query is computed as, None for a statement that writes."""

    relation: str | None
    sql: str


@dataclass(frozen=True)
class Rehearsed:
    """What a refresh would run in this case."""

    case: Case
    outcome: Outcome
    statements: tuple[Statement, ...]


def rehearse(spec: Spec, engine: Engine, seen: Seen, decision: Decision, case: Case) -> Rehearsed:
    """What a refresh that was decided on would run. Where it has no changes to read, or there is no table yet: one for
    which every source has one more version. Raises DynamicTableError for what a refresh refuses."""
    noting = NotingEngine(engine, case)
    entry = seen.entry
    if entry is None or not (decision.changes or decision.clock_moved):
        seen = _one_version_later(seen)
        changes, moved = _last_versions(seen, spec), bool(seen.clock)
        entry, decision = _first_entry(seen), replace(decision, changes=changes, clock_moved=moved)
    target = seen.target
    if target is None or target.kind is not Kind.DELTA:
        target = Table(spec.target, Kind.DELTA, seen.model.columns, version=0)
    # Without what earlier refreshes took, nothing is weighed: every case is shown. Where groups were computed again,
    # whether one has to be is asked before anything is added.
    technique = KEYED if case is Case.GENERAL else ADDITIVE
    seen = replace(
        seen, target=target, position=Position(replace(entry, past=Past(), technique=technique), target.version)
    )
    outcome = Refresh(spec, noting, seen, Assumed(noting, case)).carry_out(decision)
    return Rehearsed(case, outcome, tuple(noting.statements))


class NotingEngine:
    """Reads tables' descriptions and logs as they are; computes and writes nothing."""

    feeds = None
    rows_met = None

    def __init__(self, engine: Engine, case: Case) -> None:
        self._engine, self._case = engine, case
        self.statements: list[Statement] = []
        self._written: tuple[str, str] | None = None

    def reading(self, size: int | None, moved: int | None = None) -> AbstractContextManager[None]:
        return nullcontext()

    def table(self, name: str) -> Table | None:
        return self._engine.table(name)

    def columns(self, sql: str) -> Columns:
        return self._engine.columns(sql)

    def pads(self, sql: str) -> bool:
        return self._engine.pads(sql)

    def setting(self, name: str) -> str:
        return self._engine.setting(name)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        raise Bug("a rehearsed refresh asks for rows.", why=sql)

    def pin(self, name: str, sql: str, *, few: bool) -> int:
        """Relations have fewer and fewer rows, so that no two are taken for one."""
        self.statements.append(Statement(name, sql))
        if self._case is Case.PLAIN and any(f in name for f in (FALLING, FALLING_PARTITIONS)):
            return 0
        return 1000 - len(self.statements)

    def unpin(self, name: str) -> None:
        pass

    def write(self, sql: str, settings: Mapping[str, str]) -> Written:
        self.statements.append(Statement(None, sql))
        self._written = (sql, settings.get(USER_METADATA, ""))
        return Written()

    def version(self, table: Table) -> int:
        return table.version + (self._written is not None)

    def log(self, table: Table, version: int) -> list[dict[str, Any]]:
        """Of the version that would have been written: the commit that holds its ledger entry."""
        if self._written is not None and version == table.version + 1:
            return [{"commitInfo": {"userMetadata": self._written[1]}}]
        return self._engine.log(table, version)

    def read_ahead(self, table: Table) -> None:
        pass

    def clean_log(self, table: Table) -> None:
        pass

    def committed_at(self, table: Table, version: int) -> int:
        return self._engine.committed_at(table, version)


class Assumed(Measure):
    """Answers by the case."""

    def __init__(self, engine: Engine, case: Case) -> None:
        super().__init__(engine)
        self._case = case

    def came_and_left(self, change: str) -> tuple[int, int]:
        return (1, 0) if self._case is Case.PLAIN else (1, 1)

    def bounds(self, relation: str, columns: Columns) -> str:
        """As it is written, with words for the values."""
        row = [value for n, _ in bounded(columns) for value in (f"<least {n}>", f"<greatest {n}>", False)]
        return between(columns, row)

    def told_by_bits(self, rows: int, columns: Columns) -> bool:
        """How many rows change is not assumed."""
        return False

    def values(self, relation: str, columns: Sequence[str], rows: int) -> Mapping[str, Values]:
        """Which keys are said as literals is not assumed: the conditions follow from the joins beside them."""
        return {}

    def printed(self, relation: str, columns: Columns) -> list[tuple[Any, ...]]:
        return []

    def census(self, query: str) -> tuple[int, int]:
        return 0, 0

    def spread(self, query: str) -> None:
        return None

    def number(self, query: str) -> int:
        return 0

    def is_unique(self, table: str, columns: Columns) -> bool:
        return True

    def told_apart(self, query: str, columns: Columns) -> bool:
        return True

    def examples(self, query: str) -> list[tuple[Any, ...]]:
        return []


def _one_version_later(seen: Seen) -> Seen:
    catalog = copy.copy(seen.catalog)
    catalog.tables = {n: replace(t, version=t.version + 1) for n, t in seen.catalog.tables.items()}
    return replace(seen, catalog=catalog)


def _last_versions(seen: Seen, spec: Spec) -> dict[str, Change]:
    """The newest version of each source. A source without change feed is given one when the table is created."""
    given = spec.source_change_feed is not ChangeFeedPolicy.COMPARE
    return {
        n: Change(Span(t.version - 1, t.version), None, t.has_change_feed or given)
        for n in seen.model.sources
        if (t := seen.catalog.delta(n)) is not None
    }


def _first_entry(seen: Seen) -> Entry:
    """Of a table that was created just before its sources' last version."""
    sources = {n: Consumed(t.id, t.version - 1) for n in seen.model.sources if (t := seen.catalog.delta(n)) is not None}
    clock = {function: f"'<{function} at the last refresh>'" for function in seen.clock}
    return Entry(sources, seen.definition, CREATE, "", 1, -1, seen.model.columns, clock=clock)
