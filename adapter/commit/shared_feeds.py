"""The net changes of tables, read once for all models of a process that stand on them.

The models of a project that read one table are refreshed one after the other, from the same version to the same, and
each needs other columns of what changed in between. What was read for one is kept for the next: rows that are equal in
the columns it needs are put together, which takes no look at files. Whoever needs a column more reads all that anybody
has needed of that table so far, so that soon nobody has to.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from ..names import PREFIX
from .engine import SqlError

MOST_ROWS, MOST_FEEDS = 2_000_000, 32
"""Of all that is kept. What was read first goes first; of longer feeds nothing is kept."""

WIDE = f"{PREFIX}shared_feed"


class Lender(Protocol):
    """The part of an engine by which sessions of one process have a pinned relation in common."""

    def pin(self, name: str, sql: str, *, few: bool) -> int: ...

    def unpin(self, name: str) -> None: ...

    def lend(self, name: str) -> Any:
        """A pinned relation for others to borrow. It is no longer forgotten when it is unpinned."""
        ...

    def borrow(self, name: str, lent: Any) -> None:
        """What another session has lent, under a name of this one."""
        ...

    def release(self, lent: Any) -> None:
        """Nobody will borrow it any more. Whoever still reads it computes it again."""
        ...


Key = tuple[str, int, int]
"""A table, and the versions that a feed lies between."""


@dataclass(frozen=True)
class Wanted:
    """What a refresh needs of a change feed. table: which it is, the same for all who read it; before, after: versions;
    query: columns -> its SQL, read from
    the table; narrowed: the SQL of `columns` from a relation that has those and others."""

    table: str
    before: int
    after: int
    columns: frozenset[str]
    query: Callable[[frozenset[str]], str]
    narrowed: Callable[[str], str]

    @property
    def key(self) -> Key:
        return self.table, self.before, self.after


@dataclass(frozen=True)
class Kept:
    columns: frozenset[str]
    rows: int
    lent: Any


class SharedFeeds:
    """One for all sessions of a Spark. Safe to be used by several threads: of two that need the same feed, one reads it
    while the other waits."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Key, Kept] = OrderedDict()
        self._needed: dict[str, frozenset[str]] = {}
        self._long: set[Key] = set()
        self._guard = threading.Lock()
        self._reading: defaultdict[Key, threading.Lock] = defaultdict(threading.Lock)

    def pin(self, engine: Lender, name: str, wanted: Wanted, *, few: bool) -> int:
        """Gives the feed a name in the engine's session. Returns its rows. Raises SqlError if it cannot be read."""
        with self._guard:
            reading = self._reading[wanted.key]
        with reading:
            kept = self._kept.get(wanted.key)
            if kept is None or not wanted.columns <= kept.columns:
                return self._read(engine, name, wanted, few=few)
        if kept.columns == wanted.columns:
            engine.borrow(name, kept.lent)
            return kept.rows
        engine.borrow(WIDE, kept.lent)
        try:
            return engine.pin(name, wanted.narrowed(WIDE), few=few)
        finally:
            engine.unpin(WIDE)

    def kept(self, key: Key) -> Kept | None:
        """A feed with all columns that anybody has needed so far; None if it is not kept."""
        with self._guard:
            return self._kept.get(key)

    def _read(self, engine: Lender, name: str, wanted: Wanted, *, few: bool) -> int:
        columns = self._columns(wanted)
        if columns != wanted.columns:
            try:
                rows = engine.pin(WIDE, wanted.query(columns), few=few)
                self._keep(engine, WIDE, wanted, columns, rows)
                return engine.pin(name, wanted.narrowed(WIDE), few=few)
            except SqlError:
                # A column that somebody needed may not be there any more.
                with self._guard:
                    self._needed[wanted.table] = wanted.columns
            finally:
                engine.unpin(WIDE)
        rows = engine.pin(name, wanted.query(wanted.columns), few=few)
        self._keep(engine, name, wanted, wanted.columns, rows)
        return rows

    def _columns(self, wanted: Wanted) -> frozenset[str]:
        """All that were needed of the table so far."""
        with self._guard:
            if wanted.key in self._long:
                return wanted.columns
            needed = self._needed.get(wanted.table, frozenset()) | wanted.columns
            self._needed[wanted.table] = needed
            return needed

    def _keep(self, engine: Lender, name: str, wanted: Wanted, columns: frozenset[str], rows: int) -> None:
        """name: under which the engine has it."""
        gone: list[Kept] = []
        with self._guard:
            if rows > MOST_ROWS:
                self._long.add(wanted.key)
                return
            if (narrower := self._kept.pop(wanted.key, None)) is not None:
                gone.append(narrower)
            self._kept[wanted.key] = Kept(columns, rows, engine.lend(name))
            while len(self._kept) > MOST_FEEDS or sum(k.rows for k in self._kept.values()) > MOST_ROWS:
                key, oldest = self._kept.popitem(last=False)
                self._reading.pop(key, None)
                gone.append(oldest)
        for kept in gone:
            engine.release(kept.lent)

    def forget(self) -> None:
        """Everything, as in a process that has just begun. What was lent goes when nobody reads it."""
        with self._guard:
            for known in (self._kept, self._needed, self._long, self._reading):
                known.clear()
