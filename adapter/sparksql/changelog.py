"""A table's change feed as a relation, in the three encodings of a changelog: append, retract and upsert.

The changes of one commit are netted, so that a row rewritten with equal values is none. `_flag` is the boolean of
Flink's RetractStreamTableSink and UpsertStreamTableSink: true adds the row, false takes it back, or in an upsert says
that its key has no row any more (every other column is then NULL).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..names import COMMIT_TIMESTAMP, COMMIT_VERSION, COPIES, FLAG, OP, WEIGHT
from .statements import listed, literal, quoted

ARRIVED = "`_change_type` IN ('insert', 'update_postimage')"


@dataclass(frozen=True)
class Snapshot:
    """The state that a changelog begins with, its rows being the first to come. time: of its commit, in milliseconds
    since 1970, None if unknown."""

    version: int
    time: int | None


@dataclass(frozen=True)
class Feed:
    """The commits after a version. start: the first version that Delta is asked for, None if there is none to ask
    for yet; snapshot: what comes before them, None if only changes are wanted."""

    table: str
    columns: tuple[str, ...]
    after: int
    start: int | None
    snapshot: Snapshot | None


def net(feed: Feed) -> str:
    """SELECT columns, _commit_version, _commit_timestamp, weight: per commit, what really came (+) and left (-)."""
    commit = listed((COMMIT_VERSION, COMMIT_TIMESTAMP))
    columns = listed(feed.columns)
    parts = []
    if feed.snapshot is not None:
        time = "CAST(NULL AS TIMESTAMP)" if feed.snapshot.time is None else f"TIMESTAMP_MILLIS({feed.snapshot.time})"
        parts.append(
            f"SELECT {columns}, CAST({feed.snapshot.version} AS BIGINT) AS {quoted(COMMIT_VERSION)}, "
            f"{time} AS {quoted(COMMIT_TIMESTAMP)}, CAST(1 AS BIGINT) AS {quoted(WEIGHT)} "
            f"FROM {feed.table} VERSION AS OF {feed.snapshot.version}"
        )
    if feed.start is not None:
        weight = f"SUM(CASE WHEN {ARRIVED} THEN 1 ELSE -1 END)"
        parts.append(
            f"SELECT {columns}, {commit}, {weight} AS {quoted(WEIGHT)}\n"
            f"FROM {feed.table} WITH ('readChangeFeed'='true', 'startingVersion'='{feed.start}')\n"
            f"WHERE {quoted(COMMIT_VERSION)} > {feed.after}\n"
            f"GROUP BY {columns}, {commit} HAVING {weight} <> 0"
        )
    return "\nUNION ALL\n".join(parts)


@dataclass(frozen=True)
class Changes:
    """sql: SELECT columns, commit, weight: what came (+) and left (-), netted by commit; columns: of the table; commit:
    the columns that say which one, its version first."""

    sql: str
    columns: tuple[str, ...]
    commit: tuple[str, ...] = (COMMIT_VERSION, COMMIT_TIMESTAMP)


def changes(feed: Feed) -> Changes:
    return Changes(net(feed), feed.columns)


def append(c: Changes, why_not: str) -> str:
    """The rows that came. Fails at the first that left. why_not: the sentence it fails with."""
    return f"SELECT {_shown(c)} FROM (\n{_copies(c.sql, _only_came(why_not), c)}\n)"


def retract(c: Changes) -> str:
    """Every row that came, with true, and every row that left, with false; an update is both."""
    flagged = f"SELECT *, {quoted(WEIGHT)} > 0 AS {quoted(FLAG)} FROM (\n{c.sql}\n)"
    return f"SELECT {quoted(FLAG)}, {_shown(c)} FROM (\n{_copies(flagged, f'ABS({quoted(WEIGHT)})', c, FLAG)}\n)"


def upsert(c: Changes, key: Sequence[str], not_unique: str) -> str:
    """Per commit and key one message. Fails where a key has two rows. not_unique: the sentence it fails with."""
    weight, by = quoted(WEIGHT), f"PARTITION BY {listed((c.commit[0], *key))}"
    values = ", ".join(
        quoted(n) if n in key else f"CASE WHEN {weight} > 0 THEN {quoted(n)} END AS {quoted(n)}" for n in c.columns
    )
    return (
        f"SELECT {weight} > 0 AS {quoted(FLAG)}, {values}, {listed(c.commit)} FROM (\n"
        f"SELECT *, ROW_NUMBER() OVER ({by} ORDER BY {weight} DESC) AS {quoted(OP)}, "
        f"SUM(GREATEST({weight}, 0)) OVER ({by}) AS {quoted(COPIES)} FROM (\n{c.sql}\n)\n"
        f") WHERE CASE WHEN {quoted(COPIES)} > 1 THEN {_fail(not_unique, 'BOOLEAN')} ELSE {quoted(OP)} = 1 END"
    )


def upsert_of_appends(c: Changes, why_not: str) -> str:
    """A table without a key that is only appended to: every message is an insertion."""
    return f"SELECT TRUE AS {quoted(FLAG)}, q.* FROM (\n{append(c, why_not)}\n) AS q"


def left(c: Changes) -> str:
    """Some of the rows that left, to show why a changelog is refused."""
    return f"SELECT {listed(c.columns)} FROM (\n{c.sql}\n) WHERE {quoted(WEIGHT)} < 0 LIMIT 3"


def _shown(c: Changes) -> str:
    return listed((*c.columns, *c.commit))


def _copies(source: str, times: str, c: Changes, *more: str) -> str:
    """Each row of the source as often as `times` says."""
    return (
        f"SELECT {listed(more)}{', ' if more else ''}{_shown(c)}, "
        f"EXPLODE(ARRAY_REPEAT(0, CAST({times} AS INT))) AS {quoted(OP)} FROM (\n{source}\n)"
    )


def _only_came(why_not: str) -> str:
    weight = quoted(WEIGHT)
    # In the number of copies, which no optimizer can do without: a column of its own might not be read.
    return f"CASE WHEN {weight} > 0 THEN {weight} ELSE {_fail(why_not, 'BIGINT')} END"


def _fail(sentence: str, data_type: str) -> str:
    return f"CAST(RAISE_ERROR({literal(sentence)}) AS {data_type})"
