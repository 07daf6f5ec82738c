"""Whether a source can say what changed since the last refresh, and what it says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..dialect import print_sql
from ..errors import SourceError
from ..reading.relations import Columns
from ..sparksql.reads import Span, table
from .bytes_read import counted
from .columns_read import renamed, types_of
from .engine import Engine, SqlError, Table
from .history import Commit, is_mapped, read_commit
from .ledger import Consumed
from .spec import ChangeFeedPolicy

MOST_COMMITS = 200
"""Commits whose log is read to count rows; a refresh over more of them does without the count."""

UNREADABLE = (
    "FILE_NOT_EXIST",
    "FileNotFoundException",
    "DELTA_LOG_FILE_NOT_FOUND",
    "DELTA_TRUNCATED_TRANSACTION_LOG",
    "DELTA_VERSION_NOT_FOUND",
    "DELTA_CHANGE_DATA_FILE_NOT_FOUND",
    "DELTA_FILE_NOT_FOUND",
    "does not exist",
)
"""What Spark says when the files of a version are gone (Delta 4.4: most of these carry no error class)."""

NO_FEED = ("DELTA_MISSING_CHANGE_DATA", "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE")
"""What Delta says when the change feed has a gap although both versions are there."""

TOO_LONG = re.compile(r"encoded string.{0,100}too long")
"""What Java says when Delta reads the change feed of a commit that deleted some hundred thousand rows here and there of
a file that had lost rows before: it lists them in a text, of which 64 KB are all that it can write
(https://github.com/delta-io/delta/issues/5662)."""

FeedKey = tuple[str, int, int]
"""Which change feed it is, for all who read it: of the table, and between which versions."""


@dataclass(frozen=True)
class Change:
    """What lies between two versions of a source. rows: by the table's own count, None if it does not say;
    feed: whether the change feed covers it; only_came: whether no row left; row_size: bytes of a row in the data files
    that were added, None if these do not say; size: bytes that reading the feed is counted for, None where nothing says
    it; table: which one it is of, the same for all who read it, empty where nothing says it."""

    span: Span
    rows: int | None
    feed: bool = True
    only_came: bool = False
    row_size: float | None = None
    size: int | None = None
    table: str = ""

    @property
    def key(self) -> FeedKey:
        return self.table, self.span.before, self.span.after


def grown(changes: Mapping[str, Change]) -> frozenset[str]:
    """The changed sources that no row left."""
    return frozenset(source for source, change in changes.items() if change.only_came)


MOST_CHANGES = 2_000_000
"""Changed rows of all sources together up to which chains of joins begin at them. Measured on two cores with TPC-H at
scale 10, joins of six tables take 1 to 2.5 times as long otherwise where 1,500 rows changed, 1.1 to 1.6 times with
150,000, and 0.9 to 1.3 times with 1.5 M. What a table is met by is kept in memory, or on disk where that is short."""


def are_few(changes: Mapping[str, Change]) -> bool:
    """Whether few rows changed. Where it is not known how many, they may be many."""
    rows = [c.rows for c in changes.values()]
    return None not in rows and sum(n or 0 for n in rows) <= MOST_CHANGES


@dataclass(frozen=True)
class Lost:
    """The source cannot say what changed. why: one clause."""

    source: str
    why: str

    def error(self, place: str) -> SourceError:
        return SourceError(
            f"the source {self.source} cannot say what changed since the last refresh.",
            where=place,
            why=self.why,
            remedy="rebuild with `dbt run --full-refresh`, "
            "or set on_source_history_lost='recompute' to have the difference computed",
        )


@dataclass(frozen=True)
class Redefined:
    """Names of the source's columns mean other data than they did, of which its change feed says nothing."""

    why: str


def change_of(engine: Engine, now: Table, then: Consumed, read: Columns) -> Change | Redefined | Lost | None:
    """What happened to a Delta source since the ledger's entry; None if its data did not change. read: its columns that
    matter, as they are now."""
    if now.version < then.version:
        why = (
            f"its version is {now.version}, but version {then.version} was consumed: "
            "it was recreated, or restored from an older copy"
        )
        return Lost(now.name, why)
    if then.types and then.types != types_of(read):
        return Redefined(f"the source {now.name} has other columns than it had, or of other types")
    # Whether columns were renamed, each commit has to say.
    most = MOST_COMMITS if now.id == then.id and not is_mapped(now.properties) else None
    commits = commits_between(engine, now, then.version, now.version, most)
    if now.id != then.id and not _replaced_in_place(engine, now, then, commits):
        return Lost(now.name, f"it was dropped and recreated (its table id was {then.id} and is {now.id})")
    if now.version == then.version:
        return None
    if (column := renamed(commits or (), read)) is not None:
        return Redefined(f"{column} of the source {now.name} was renamed or dropped, or has taken another one's name")
    span, table = Span(then.version, now.version), f"{now.path} {now.id}"
    if commits is None:
        return Change(span, None, now.has_change_feed, table=table)
    if not any(c.changes_data for c in commits):
        return None
    rows = None if any(c.rows is None for c in commits) else sum(c.rows or 0 for c in commits)
    added = sum(c.file_rows for c in commits)
    row_size = sum(c.file_bytes for c in commits) / added if added else None
    size = sum(counted(c.feed_bytes, max(c.rows or 0, c.file_rows)) for c in commits) if rows is not None else None
    return Change(span, rows, now.has_change_feed, not any(c.removes for c in commits), row_size, size, table)


def commits_between(engine: Engine, now: Table, after: int, until: int, most: int | None) -> list[Commit] | None:
    """The commits after one version up to another; None if there are more than `most`, or the log lacks some."""
    if most is not None and until - after > most:
        return None
    commits = []
    for version in range(after + 1, until + 1):
        actions = engine.log(now, version)
        if not actions:
            return None
        commits.append(read_commit(version, actions))
    return commits


def _replaced_in_place(engine: Engine, now: Table, then: Consumed, commits: list[Commit] | None) -> bool:
    """CREATE OR REPLACE gives a table a new id but goes on in the same log, and its change feed spans it."""
    if commits is None:
        return False
    return any(c.changes_schema and c.table_id == now.id for c in commits)


def with_change_feed(engine: Engine, now: Table, policy: ChangeFeedPolicy, place: str) -> bool:
    """Sees to it that a source will have a change feed from here on. True if the table was altered.

    Raises SourceError, with the statement to run, where it has none and may not be given one.
    """
    if now.has_change_feed or policy is ChangeFeedPolicy.COMPARE:
        return False
    alter = enabling(now)
    if policy is ChangeFeedPolicy.REQUIRE:
        why = "source_change_feed='require' is set, so the table is not altered from here"
        raise _no_feed(now, place, why, alter)
    try:
        engine.write(alter, {})
    except SqlError as error:
        raise _no_feed(now, place, f"turning it on failed: {str(error).splitlines()[0]}", alter) from error
    return True


def enabling(now: Table) -> str:
    return f"ALTER TABLE {print_sql(table(now.name))} SET TBLPROPERTIES (delta.enableChangeDataFeed = true)"


def _no_feed(now: Table, place: str, why: str, alter: str) -> SourceError:
    return SourceError(
        f"the source {now.name} has no change feed.",
        where=place,
        why=why,
        remedy=f"run: {alter}; or set source_change_feed='compare' to compare two versions of it at every refresh",
    )


def is_unreadable(error: SqlError) -> bool:
    return any(sign in str(error) for sign in UNREADABLE)


def has_no_feed(error: SqlError) -> bool:
    return any(sign in str(error) for sign in NO_FEED) or is_too_long(error)


def is_too_long(error: SqlError) -> bool:
    """Whether a commit deleted more rows of a file than Delta's change feed can tell."""
    return TOO_LONG.search(str(error)) is not None
