"""One delivery: what the table's rows are now less what was delivered, as messages.

The changes since the last delivery are netted over all commits in between, so that what was delivered, replayed from
the beginning, is the table, whatever was done to it: rows that came and left again are not told, and a table that was
replaced, restored or rebuilt is compared with the version that was delivered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..commit.changelog import check_columns, encoded, existing
from ..commit.engine import Engine, SqlError, Table
from ..commit.history import commit_info
from ..commit.look import key_of
from ..commit.spec import ChangelogMode
from ..dialect import print_sql
from ..errors import Bug, ConfigError, SourceError, TargetError
from ..names import COMMIT_VERSION, FLAG, MESSAGE_VERSION, PREFIX, WEIGHT
from ..reading.relations import Columns
from ..sparksql import changelog as sql
from ..sparksql.reads import table as named
from ..sparksql.statements import difference, listed, quoted
from .declaration import Sink
from .record import Delivery

CHANGE = f"{PREFIX}delivery"

REMEDY = {
    ChangelogMode.APPEND: "set the sink's mode to retract, or to upsert where the table has a key",
    ChangelogMode.UPSERT: "set unique_key, or the sink's mode to retract",
}


@dataclass(frozen=True)
class Messages:
    """sql: a SELECT of `_flag` but for appends, the columns of the table, and `_version`; key: the columns that
    tell rows apart, () if nothing does."""

    sql: str
    columns: Columns
    mode: ChangelogMode
    key: tuple[str, ...]

    @property
    def shown(self) -> tuple[str, ...]:
        """Of the SELECT, what a table of messages has."""
        names = tuple(n for n, _ in self.columns)
        return names if self.mode is ChangelogMode.APPEND else (FLAG, *names, MESSAGE_VERSION)

    @property
    def ordered(self) -> str:
        """What is taken back before what is added, for those who read messages in the order they are written in."""
        if self.mode is ChangelogMode.APPEND:
            return f"SELECT {listed(self.shown)} FROM (\n{self.sql}\n)"
        by = listed(self.key or tuple(n for n, _ in self.columns))
        return f"SELECT {listed(self.shown)} FROM (\n{self.sql}\n) DISTRIBUTE BY {by} SORT BY {quoted(FLAG)}"


class Destination(Protocol):
    """Where messages go. Every method may raise SqlError or DynamicTableError."""

    def last(self) -> Delivery | None:
        """The last delivery that is over."""
        ...

    def begun(self) -> Delivery | None:
        """A delivery that was begun after that, some of whose messages may be there."""
        ...

    def write(self, messages: Messages, delivery: Delivery) -> None:
        """All messages and the record of the delivery."""
        ...


def deliver(engine: Engine, sink: Sink, to: Destination, target: str, key: Sequence[str]) -> int:
    """Brings the sink up to the table as it is now. Returns the number of changed rows. key: as it is declared,
    () for the one that the table is maintained by. Raises DynamicTableError; the next delivery has what this has not.
    """
    found = engine.table(target)
    if found is None:
        raise Bug(f"{target} is not there after it was refreshed.")
    check_columns(found, sink.where)
    _check_names(found, sink)
    names, rows = existing(key, found, sink.where) or key_of(found), 0
    try:
        while (last := to.last()) is None or (last.id, last.version) != (found.id, found.version):
            rows += _deliver(engine, sink, to, found, names, last)
    except SqlError as error:
        raise TargetError(
            f"the changes of {found.name} could not be delivered to {sink.name}.",
            where=sink.where,
            why=next((line for line in str(error).splitlines() if line.strip()), "it does not say"),
            remedy="correct that, and run again: what was not delivered is delivered then",
        ) from error
    return rows


def _deliver(
    engine: Engine, sink: Sink, to: Destination, found: Table, key: tuple[str, ...], last: Delivery | None
) -> int:
    if last is not None:
        _check_same(engine, sink, found, last)
    # What was begun is ended as it was begun, so that messages that are there twice are equal.
    until = to.begun() or Delivery(
        found.name, found.id, found.version, commit_at(engine, found, found.version),
        last.number + 1 if last is not None else 1, last.sink if last is not None else found.id,
    )  # fmt: skip
    try:
        rows = _pinned(engine, sink, found, last, until.version)
        names = tuple(n for n, _ in found.columns)
        dated = f"SELECT *, CAST({until.version} AS BIGINT) AS {quoted(MESSAGE_VERSION)} FROM {CHANGE}"
        changes = sql.Changes(dated, names, (MESSAGE_VERSION,))
        query = encoded(engine, changes, found.name, sink.mode, key, REMEDY.get(sink.mode, ""), sink.where)
        to.write(Messages(query, found.columns, sink.mode, key), until)
    finally:
        engine.unpin(CHANGE)
    return rows


def _pinned(engine: Engine, sink: Sink, found: Table, last: Delivery | None, until: int) -> int:
    """CHANGE: the columns of the table and WEIGHT, from the state that was delivered to the version `until`."""
    name, names = print_sql(named(found.name)), tuple(n for n, _ in found.columns)
    weight = quoted(WEIGHT)
    now = f"SELECT {listed(names)} FROM {name} VERSION AS OF {until}"
    if last is None:
        return engine.pin(CHANGE, f"SELECT *, CAST(1 AS BIGINT) AS {weight} FROM (\n{now}\n)", few=False)
    if last.id == found.id and last.version < until:
        feed = sql.net(sql.Feed(name, names, last.version, last.version + 1, None))
        netted = (
            f"SELECT {listed(names)}, SUM({weight}) AS {weight} FROM (\n{feed}\n) "
            f"WHERE {quoted(COMMIT_VERSION)} <= {until} GROUP BY {listed(names)} HAVING SUM({weight}) <> 0"
        )
        try:
            return engine.pin(CHANGE, netted, few=False)
        except SqlError:
            # The feed has a gap, or its columns changed: the two versions themselves say it too, if they are there.
            engine.unpin(CHANGE)
    try:
        then = _as_now(engine, f"SELECT * FROM {name} VERSION AS OF {last.version}", found.columns)
        return engine.pin(CHANGE, difference(now, f"(\n{then}\n)", found.columns), few=False)
    except SqlError as error:
        raise SourceError(
            f"{found.name} can no longer say what changed since its version {last.version}, which {sink.name} has.",
            where=sink.where,
            why=next(iter(str(error).splitlines()), ""),
            remedy=_ANEW,
        ) from error


_ANEW = "give the sink another place, or empty it (drop its table, folder or topic and its record) and run again: it \
then begins with the whole table"


def _as_now(engine: Engine, query: str, columns: Columns) -> str:
    """The rows of the query with these columns: those that it does not have are NULL."""
    had = {n.lower(): n for n, _ in engine.columns(query)}
    shown = ", ".join(
        f"CAST({quoted(had[n.lower()]) if n.lower() in had else 'NULL'} AS {t}) AS {quoted(n)}" for n, t in columns
    )
    return f"SELECT {shown} FROM (\n{query}\n)"


def commit_at(engine: Engine, found: Table, version: int) -> str:
    """What tells this commit from all others; empty if its file is gone."""
    info = commit_info(engine.log(found, version))
    return str(info.get("txnId") or info.get("timestamp") or "")


def _check_same(engine: Engine, sink: Sink, found: Table, last: Delivery) -> None:
    """Raises TargetError unless the version that was delivered is one of this table."""
    if last.table != found.name:
        raise TargetError(
            f"{sink.name} is the sink of {last.table}.",
            where=sink.where,
            why="the changes of two tables in one place cannot be told apart",
            remedy="give each model a sink of its own",
        )
    if last.id != found.id and (last.version > found.version or commit_at(engine, found, last.version) != last.commit):
        raise TargetError(
            f"{found.name} is not the table that {sink.name} was delivered from: it was dropped and made anew.",
            where=sink.where,
            why="the rows that were delivered are not known any more, so they cannot be taken back",
            remedy=_ANEW,
        )


def _check_names(found: Table, sink: Sink) -> None:
    for name, _ in found.columns:
        if name.lower() == MESSAGE_VERSION:
            raise ConfigError(
                f"{found.name} has a column {name}.", where=sink.where, why="messages have a column of that name",
                remedy="rename it",
            )  # fmt: skip
