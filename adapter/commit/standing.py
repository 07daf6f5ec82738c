"""Where a table stands: what its query says over the versions it consumed, and what its sources have had since."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from ..dialect import parse, print_sql
from ..errors import TargetError
from ..names import CHANGELOG_SUFFIX, WEIGHT
from ..reading.relations import Relation
from ..reading.sources import pinned
from ..sparksql.reads import at_version, table
from ..sparksql.statements import difference, quoted
from .catalog import SessionCatalog
from .engine import Engine, Table
from .history import commit_info, read_commit
from .ledger import Entry
from .look import position_of


@dataclass(frozen=True)
class Lag:
    """versions: commits of data that the table has not consumed yet; seconds: since the first of them, 0 if none."""

    source: str
    versions: int
    seconds: float


def unequal_rows(name: str, where: str, engine: Engine) -> str:
    """A query of the rows by which a table is not its own query, over the versions of its sources that it consumed.

    where: a condition on the rows of both, or nothing. copies: how often the query has the row more than the table.
    Raises TargetError for a table that has no ledger, or keeps what a query computed anew does not give.
    """
    target, entry = _ledger(name, engine)
    if not entry.query:
        raise TargetError(
            f"{name} is not its query computed anew.",
            why="its rows are as they were once made: with emit, when the clock came to their window; at processing "
            "time or with late_versions='ignore', when they were joined",
            remedy="do not use this test on it",
        )
    catalog = SessionCatalog(engine)

    def read(relation: Relation):
        consumed = entry.sources.get(relation.name)
        return at_version(relation.name, consumed.version) if consumed is not None else table(relation.name)

    query = print_sql(pinned(parse(entry.query), catalog, read))
    held = print_sql(table(target.name))
    if where:
        query, held = f"SELECT * FROM (\n{query}\n) WHERE {where}", f"(SELECT * FROM {held} WHERE {where})"
    unequal = difference(query, held, entry.columns)
    return f"SELECT * EXCEPT ({quoted(WEIGHT)}), {quoted(WEIGHT)} AS copies FROM (\n{unequal}\n)"


def lags(name: str, engine: Engine) -> list[Lag]:
    """What a table is behind of each of its sources. Raises TargetError for a table that has no ledger."""
    return list(_lags(name, engine))


def _lags(name: str, engine: Engine) -> Iterator[Lag]:
    target, entry = _ledger(name, engine)
    for source, consumed in entry.read_by_select.items():
        now = engine.table(print_sql(table(source)))
        if now is None:
            continue
        if source == f"{target.name}{CHANGELOG_SUFFIX}":
            # Kept by the refresh itself: what counts are the sources of that.
            yield from _lags(print_sql(table(source)), engine)
            continue
        first, commits = 0.0, 0
        for version in range(consumed.version + 1, now.version + 1):
            actions = engine.log(now, version)
            if not actions or read_commit(version, actions).changes_data:
                commits += 1
                first = first or commit_info(actions).get("timestamp", 0)
        yield Lag(source, commits, max(0.0, time.time() - first / 1000) if first else 0.0)


def _ledger(name: str, engine: Engine) -> tuple[Table, Entry]:
    target = engine.table(name)
    position = position_of(target, engine)
    if target is None or position is None or position.entry is None:
        raise TargetError(
            f"{name} has no ledger that says what it was made of.",
            why="it is no dynamic_table or versioned_table, or was last refreshed by an older version of this adapter",
            remedy="use this test on tables that are maintained by change, and refresh them first",
        )
    return target, position.entry
