"""How far back Delta knows the past of a table: the oldest version that can be read whole, and every commit since by
its change feed. Delta forgets: VACUUM removes files, and the log is cleaned after a month."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp

from ..commit.drift import CHANGE_FEED
from ..commit.engine import Engine, SqlError, Table
from ..commit.sources import has_no_feed, is_unreadable
from ..dialect import ChangeFeed, print_sql
from ..errors import ConfigError
from ..reading.relations import Columns
from ..sparksql.reads import at_version, table
from ..sparksql.statements import quoted

TIME_TRAVEL = "time_travel"
"""The value of history_from that asks for it."""

AVAILABLE = re.compile(r"Available versions: \[(\d+), ")


@dataclass(frozen=True)
class Oldest:
    """version: the oldest that is known; time: of its commit, as SQL; columns: it had then; why: nothing older is."""

    version: int
    time: str
    columns: Columns
    why: str


def oldest_known(engine: Engine, now: Table) -> Oldest:
    """The oldest version from which on the change feed has been on, that has no columns that are gone or of another
    type now, and of which, as of all that changed since, the files are still there."""
    logged, why = _logged(engine, now)
    first, last = logged, now.version
    if not _is_readable(engine, now, first):
        why = "files of older ones are gone, as VACUUM removes them"
        # What can be read from one version on can be from any later one.
        while last - first > 1:
            middle = (first + last) // 2
            first, last = (first, middle) if _is_readable(engine, now, middle) else (middle, last)
        first = last
    time = f"TIMESTAMP_MILLIS({engine.committed_at(now, first)})"
    return Oldest(first, time, _columns(engine, now, first), why)


def _logged(engine: Engine, now: Table) -> tuple[int, str]:
    """The oldest version that the log still describes, with the change feed and columns of now, and why no older one:
    read back commit by commit, and of the data nothing."""
    oldest, why = now.version, "before it the table had no change feed"
    if not now.has_change_feed:
        return oldest, why
    for version in range(now.version, -1, -1):
        actions = engine.log(now, version)
        metadata = next((a["metaData"] for a in actions if "metaData" in a), None)
        if actions and metadata is None:
            continue
        if metadata is not None and (metadata.get("configuration") or {}).get(CHANGE_FEED, "").lower() != "true":
            return oldest, why
        # A version whose commit is there can be read if all commits since a checkpoint before it are.
        logged = version if actions else version + 1
        first = _first_readable(engine, now, logged)
        if first is None or first > oldest or not _has_feed(engine, now, first):
            return oldest, why
        if not _keeps(engine, now, first):
            return oldest, "older ones have columns that are gone, or of another type, now"
        if first > version:
            return first, "the log of older ones has been cleaned"
        oldest = first
    return oldest, "it is its first"


def rows_at(now: Table, version: int, columns: Columns) -> exp.Expression:
    """The table as it was, under its present columns: those that it did not have then are NULL. columns: it had."""
    had = {n.lower() for n, _ in columns}
    shown = [
        exp.column(n, quoted=True)
        if n.lower() in had
        else exp.alias_(exp.cast(exp.Null(), t, dialect="spark"), n, quoted=True)
        for n, t in now.columns
    ]
    return exp.Subquery(this=exp.Select(expressions=shown, from_=exp.From(this=at_version(now.name, version))))


def not_one_table(place: str) -> ConfigError:
    return ConfigError(
        f"history_from='{TIME_TRAVEL}' needs a SELECT of the rows of one Delta table, and this is not one.",
        where=place,
        why="the history is to begin with the versions that Delta still knows of the table",
        remedy="select from one table, with WHERE and expressions as you like; or leave history_from out, and the "
        "history begins with the rows there are now",
    )


def rows_are_events(place: str) -> ConfigError:
    return ConfigError(
        f"history_from='{TIME_TRAVEL}' is for a table that is written in place.",
        where=place,
        why="the rows of this SELECT are events, and all of them are in the history anyway, whenever they were written",
        remedy="leave history_from out",
    )


def _first_readable(engine: Engine, now: Table, logged: int) -> int | None:
    """The first version whose state is known, of those whose commits are: it needs a checkpoint."""
    try:
        _columns(engine, now, logged)
        return logged
    except SqlError as error:
        found = AVAILABLE.search(str(error))
        return int(found.group(1)) if found else None


def _has_feed(engine: Engine, now: Table, version: int) -> bool:
    feed = print_sql(ChangeFeed(this=table(now.name), start=version, end=version))
    try:
        engine.rows(f"SELECT 1 FROM {feed} LIMIT 1")
    except SqlError:
        return False
    return True


def _is_readable(engine: Engine, now: Table, version: int) -> bool:
    """Whether the rows of the version, and all that changed since, can still be read: of each file one column is."""
    of = f"SUM(HASH({quoted(now.columns[0][0])}))"
    reads = [print_sql(rows_at(now, version, _columns(engine, now, version)))]
    if version < now.version:
        reads.append(print_sql(ChangeFeed(this=table(now.name), start=version + 1, end=now.version)))
    try:
        for relation in reads:
            engine.rows(f"SELECT {of} FROM {relation}")
    except SqlError as error:
        if is_unreadable(error) or has_no_feed(error):
            return False
        raise
    return True


def _columns(engine: Engine, now: Table, version: int) -> Columns:
    return engine.columns(f"SELECT * FROM {print_sql(at_version(now.name, version))}")


def _keeps(engine: Engine, now: Table, version: int) -> bool:
    """Whether all columns of the version are still there, and what they were."""
    then = {(n.lower(), t) for n, t in _columns(engine, now, version)}
    return then <= {(n.lower(), t) for n, t in now.columns}
