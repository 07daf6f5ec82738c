"""What a refresh needs of Spark. One implementation speaks to a session in this process, one speaks SQL alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import EngineError
from ..reading.relations import Columns, Kind, View

if TYPE_CHECKING:
    from .shared_feeds import SharedFeeds
    from .shared_rows import SharedRows

DESCRIBE = "DESCRIBE QUERY "
"""Columns of a query without running it. Positions in errors are those of the query, shifted by this on line 1."""


MERGE_COUNTS = ("num_inserted_rows", "num_updated_rows", "num_deleted_rows")


@dataclass(frozen=True)
class Table:
    """A relation as it is now.

    id, version, path: of a Delta table, else empty; latest: its newest version, where it is seen as an older one is;
    properties: its TBLPROPERTIES; provider: its format, for messages; size: bytes of a Delta table's data files, 0 if
    nothing says it; partitioned_by, clustered_by: columns; the latter None if the table never had liquid clustering,
    which Delta remembers; rows: of its files, marked as deleted or not, None where nothing says it.
    """

    name: str
    kind: Kind
    columns: Columns
    id: str = ""
    version: int = -1
    path: str = ""
    properties: Mapping[str, str] | None = None
    view: View | None = None
    provider: str = ""
    size: int = 0
    latest: int = -1
    partitioned_by: tuple[str, ...] = ()
    clustered_by: tuple[str, ...] | None = None
    rows: int | None = field(default=None, compare=False)

    @property
    def has_change_feed(self) -> bool:
        return (self.properties or {}).get("delta.enableChangeDataFeed", "false").lower() == "true"


@dataclass(frozen=True)
class Written:
    """Rows a statement wrote, as far as it says so."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    @staticmethod
    def is_told_by(columns: Sequence[str]) -> bool:
        """Whether an answer of these columns is counts of rows."""
        return set(MERGE_COUNTS) <= set(columns)

    @classmethod
    def of(cls, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Written:
        """From the answer of a statement. A MERGE answers with its counts, or with no row where Delta skipped it
        because this step of the ledger is already committed."""
        if not (cls.is_told_by(columns) and rows):
            return cls()
        counts = dict(zip(columns, rows[0], strict=True))
        return cls(*(int(counts[c]) for c in MERGE_COUNTS))


class SqlError(EngineError):
    """A statement that Spark refused or that failed. condition: Spark's or Delta's error class, if it has one;
    statement: the SQL that lines of the message speak of, empty where that is not known."""

    def __init__(self, message: str, condition: str = "", statement: str = "") -> None:
        super().__init__(message)
        self.condition, self.statement = condition, statement

    @property
    def is_missing(self) -> bool:
        """Whether the relation or its schema is not there."""
        return "TABLE_OR_VIEW_NOT_FOUND" in str(self) or "SCHEMA_NOT_FOUND" in str(self)


class Engine(Protocol):
    """Every method may raise SqlError. feeds, rows_met: what the sessions of this process have read of change feeds and
    of the tables that these meet, if they can have it in common: then the engine is a Lender (lending.py) too."""

    @property
    def feeds(self) -> SharedFeeds | None: ...

    @property
    def rows_met(self) -> SharedRows | None: ...

    def steady(self) -> AbstractContextManager[None]:
        """Within it, tables may be answered for, and read, as they were at any moment since it began: whoever reads
        versions that it has looked up need not have each statement look for newer ones. What this engine writes is seen
        at once."""
        ...

    def reading(self, size: int | None, moved: int | None = None) -> AbstractContextManager[None]:
        """Within it, no statement reads or writes more than so many bytes of files, as far as that is known; None where
        nothing says it. moved: rows that are grouped, sorted and joined at the most, however many are read to find
        them; None where that may be all. What reads or moves little may be run in another way."""
        ...

    def table(self, name: str) -> Table | None:
        """The relation of that name as it is at this moment; None if there is none."""
        ...

    def glance(self, name: str) -> Table | None:
        """Of the Delta table of that name, its id, version and path, if that takes no statement; else None."""
        ...

    def columns(self, sql: str) -> Columns:
        """Columns and types of a query, by analysis alone."""
        ...

    def pads(self, sql: str) -> bool:
        """Whether a query may show values of CHAR(n), which Spark pads as it reads them."""
        ...

    def setting(self, name: str) -> str:
        """A session setting; empty if it has no value."""
        ...

    def set(self, name: str, value: str) -> None:
        """Gives a session setting a value; an empty one takes it back."""
        ...

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        ...

    def pin(self, name: str, sql: str, *, few: bool) -> int:
        """Computes a query once and gives it a name in this session. Returns its rows. few: thousands at the most."""
        ...

    def unpin(self, name: str) -> None:
        """Forgets a pinned relation. Never raises."""
        ...

    def write(self, sql: str, settings: Mapping[str, str]) -> Written:
        """Runs a statement under settings that do not outlive it."""
        ...

    def version(self, table: Table) -> int:
        """The latest version of a Delta table that was looked up before."""
        ...

    def log(self, table: Table, version: int) -> list[dict[str, Any]]:
        """The actions of one commit of a Delta table; empty if that commit's file is gone."""
        ...

    def read_ahead(self, table: Table) -> None:
        """Told that a Delta table is about to be changed: what Delta will ask its log for may be read beside other
        work. Need not do anything. Never raises."""
        ...

    def clean_log(self, table: Table) -> None:
        """Deletes the commits of a Delta table that are older than its log is to be kept, to the minute. Need not do
        anything. Never raises."""
        ...

    def committed_at(self, table: Table, version: int) -> int:
        """When that commit was made, as change feeds and TIMESTAMP AS OF take it: milliseconds since 1970; 0 if the
        commit's file is gone."""
        ...


@contextmanager
def under(engine: Engine, settings: Mapping[str, str]) -> Iterator[None]:
    """Session settings that do not outlive what is done under them."""
    before = {name: engine.setting(name) for name in settings}
    try:
        for name, value in settings.items():
            engine.set(name, value)
        yield
    finally:
        for name, value in before.items():
            engine.set(name, value)
