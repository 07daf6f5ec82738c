"""`changelog(ref('m'), mode)`: the SELECT over a table's change feed, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence

from ..dialect import print_sql
from ..errors import ConfigError, SourceError
from ..names import FLAG
from ..reading.relations import Kind
from ..sparksql import changelog as sql
from ..sparksql.reads import table
from . import problems
from .engine import Engine, SqlError, Table
from .look import key_of
from .sources import enabling, has_no_feed, is_unreadable
from .spec import ChangelogMode

BEGINNING = ("CREATE", "REPLACE TABLE", "CLONE")
"""In the operation of a commit before which the table was another one."""

ENCODINGS = "say changelog(ref('…'), 'append'), 'retract' or 'upsert'"

OPERATION = 4
"""Its column in DESCRIBE HISTORY; the version is the first."""


def changelog(
    engine: Engine,
    name: str,
    mode: ChangelogMode,
    key: Sequence[str] = (),
    since: int | None = None,
    place: str = "",
) -> str:
    """A SELECT of the table's rows as they came and left, with the version and time of their commits.

    name: in Spark SQL; key: for an upsert, by default the one that the table is maintained by; since: only what was
    committed after this version of the table. Without it the changelog begins with the table as it was created, so
    that replaying it from nothing gives the table. place: of the model that asks, for messages.
    Raises ConfigError or SourceError.
    """
    if mode is ChangelogMode.AUTO:
        raise ConfigError("a changelog has to be asked for in one encoding.", where=place, remedy=ENCODINGS)
    found = _delta(engine, name, place)
    key = existing(key, found, place) or key_of(found)
    feed = sql.changes(_feed(engine, found, since, place))
    return encoded(engine, feed, found.name, mode, key, REMEDY.get(mode, ""), place)


def encoded(
    engine: Engine, changes: sql.Changes, name: str, mode: ChangelogMode, key: Sequence[str], remedy: str, place: str
) -> str:
    """The changes of the table `name` as a SELECT of messages. remedy: where the encoding cannot say them.

    Raises ConfigError."""
    if mode is ChangelogMode.RETRACT:
        return sql.retract(changes)
    if mode is ChangelogMode.UPSERT and key:
        return sql.upsert(changes, key, f"the key ({', '.join(key)}) of the changelog of {name} is not unique")
    why_not = _why_not(name, mode)
    if rows := engine.rows(sql.left(changes)):
        sample = ", ".join(repr(r) for r in rows)
        raise ConfigError(why_not, where=place, why=f"rows have left it, for example {sample}", remedy=remedy)
    return sql.append(changes, why_not) if mode is ChangelogMode.APPEND else sql.upsert_of_appends(changes, why_not)


REMEDY = {
    ChangelogMode.APPEND: "use 'retract', or 'upsert' where the table has a key",
    ChangelogMode.UPSERT: "name its key: changelog(ref('…'), 'upsert', key='id'), or use 'retract'",
}


def _why_not(name: str, mode: ChangelogMode) -> str:
    if mode is ChangelogMode.APPEND:
        return f"{name} is also modified by update or delete changes, which an append changelog cannot say."
    return f"{name} has no unique key and is not append-only, so an upsert changelog cannot say what is replaced."


def _delta(engine: Engine, name: str, place: str) -> Table:
    found = engine.table(name)
    if found is None:
        raise ConfigError(f"the relation {name} does not exist.", where=place, remedy="build it first")
    if found.kind is not Kind.DELTA:
        raise ConfigError(
            f"{found.name} has no changelog.",
            where=place,
            why=f"it is no Delta table ({found.provider})",
            remedy="take the changelog of a dynamic_table, or of another Delta table",
        )
    if not found.has_change_feed:
        raise SourceError(f"the table {found.name} has no change feed.", where=place, remedy=f"run: {enabling(found)}")
    check_columns(found, place)
    return found


def check_columns(found: Table, place: str) -> None:
    """Raises ConfigError for columns that a changelog of the table cannot have."""
    for column, data_type in found.columns:
        if column.lower() == FLAG:
            why = "the changelog has a column of that name"
            raise ConfigError(f"{found.name} has a column {column}.", where=place, why=why, remedy="rename it")
        if not problems.comparable(data_type):
            raise ConfigError(
                f"the column {column} of {found.name} is a {data_type}.",
                where=place,
                why="values of that type cannot be compared, so there is no telling which rows really changed",
                remedy="keep it out of the table, or as a string (to_json)",
            )


def existing(key: Sequence[str], found: Table, place: str) -> tuple[str, ...]:
    by_lower = {n.lower(): n for n, _ in found.columns}
    if missing := [k for k in key if k.lower() not in by_lower]:
        why = f"existing columns: {', '.join(by_lower.values())}"
        raise ConfigError(f"{found.name} has no column {missing[0]} to be a key.", where=place, why=why)
    return tuple(by_lower[k.lower()] for k in key)


def _feed(engine: Engine, found: Table, since: int | None, place: str) -> sql.Feed:
    begun = _beginning(engine, found) if since is None else since
    if begun > found.version:
        why = f"its latest version is {found.version}"
        raise ConfigError(f"{found.name} has no version {begun} yet.", where=place, why=why)
    snapshot = sql.Snapshot(begun, engine.committed_at(found, begun) or None) if since is None else None
    name, names = print_sql(table(found.name)), tuple(n for n, _ in found.columns)

    def feed(start: int | None) -> sql.Feed:
        return sql.Feed(name, names, begun, start, snapshot)

    # From the version itself where that can be, because the one after it may not be there yet.
    for start in (begun, begun + 1):
        if start <= found.version and _readable(engine, feed(start), found, place):
            return feed(start)
    if begun == found.version and snapshot is not None:
        return feed(None)
    raise SourceError(
        f"{found.name} cannot say what changed after its version {begun}.",
        where=place,
        why="its change feed was not on all the time, or its columns changed",
        remedy="give a later version: changelog(ref('…'), 'retract', since=…)",
    )


def _readable(engine: Engine, feed: sql.Feed, found: Table, place: str) -> bool:
    try:
        engine.columns(sql.net(feed))
    except SqlError as error:
        if is_unreadable(error):
            raise SourceError(
                f"the first versions of {found.name} are gone.",
                where=place,
                why=str(error).splitlines()[0],
                remedy="give a later version: changelog(ref('…'), 'retract', since=…)",
            ) from error
        if not has_no_feed(error):
            raise
        return False
    return True


def _beginning(engine: Engine, found: Table) -> int:
    """The version since which it is the same table; the oldest that is known if its log no longer reaches there."""
    commits = [(int(row[0]), row[OPERATION]) for row in engine.rows(f"DESCRIBE HISTORY {print_sql(table(found.name))}")]
    created = [version for version, operation in commits if any(word in operation for word in BEGINNING)]
    return max(created) if created else min(version for version, _ in commits)
