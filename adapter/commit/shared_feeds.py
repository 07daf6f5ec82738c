"""The net changes of tables, read once for all models of a process that stand on them.

The models of a project that read one table are refreshed one after the other, from the same version to the same, and
each needs other columns of what changed in between. What was read for one is kept for the next, who takes its columns
of it. Rows that are equal in these are put together, unless one of the columns says that none of them cancel: where no
value of it both came and left, as of the keys of rows that were not updated. Whoever needs a column more reads all that
anybody has needed of that table so far, so that soon nobody has to.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from ..names import PREFIX, WEIGHT
from .engine import SqlError
from .lending import Lender, Store
from .sources import FeedKey

MOST_ROWS, MOST_FEEDS = 2_000_000, 32
"""Of all that is kept. What was read first goes first; of longer feeds nothing is kept."""

MOST_ASKED = 3
"""Columns of a feed of which values that both came and left are found, until no more are asked about: to ask takes as
long as putting equal rows together for one model."""

WIDE, ASKED = f"{PREFIX}shared_feed", f"{PREFIX}shared_feed_asked"
"""The session's names for a feed with more columns than are wanted."""


@dataclass(frozen=True)
class Wanted:
    """What a refresh needs of a change feed. table: which it is, the same for all who read it; before, after: versions;
    only_came: whether no row left; query: columns -> its SQL, read from the table; narrowed: the SQL of `columns` from
    a relation that has those and others; telling: of the columns, those in which rows that came may differ from all
    that left, the likeliest first; turned: the SQL of whether a value of a relation's column both came and left."""

    table: str
    before: int
    after: int
    columns: frozenset[str]
    only_came: bool
    query: Callable[[frozenset[str]], str]
    narrowed: Callable[[str], str]
    telling: tuple[str, ...]
    turned: Callable[[str, str], str]

    @property
    def key(self) -> FeedKey:
        return self.table, self.before, self.after


@dataclass(frozen=True)
class Kept:
    """turned: column -> whether a value of it both came and left, of those that were asked about."""

    columns: frozenset[str]
    rows: int
    lent: Any
    turned: dict[str, bool] = field(default_factory=dict)

    @property
    def relations(self) -> tuple[Any, ...]:
        return (self.lent,)


class SharedFeeds:
    """One for all sessions of a Spark. Safe to be used by several threads: of two that need the same feed, one reads it
    while the other waits."""

    def __init__(self) -> None:
        self._store: Store[FeedKey, Kept] = Store()
        self._needed: dict[str, frozenset[str]] = {}
        self._long: set[FeedKey] = set()
        self._guard = threading.Lock()

    def pin(self, engine: Lender, name: str, wanted: Wanted, *, few: bool) -> int:
        """Gives the feed a name in the engine's session. Returns its rows. Raises SqlError if it cannot be read."""
        with self._store.one_at_a_time(wanted.key):
            kept = self._store.get(wanted.key)
            if kept is None or not wanted.columns <= kept.columns:
                return self._read(engine, name, wanted, few=few)
            if self._is_as_wanted(engine, kept, wanted):
                return self._borrowed(engine, name, kept, wanted)
        return self._narrowed(engine, name, kept, wanted, few=few)

    def is_common(self, key: FeedKey, columns: Collection[str], changed: int) -> bool:
        """Whether a feed of so many changed rows is there, or others have needed more columns of that table, who may
        need this one too, where it can be kept for them."""
        kept, wanted = self._store.get(key), frozenset(columns)
        if kept is not None and wanted <= kept.columns:
            return True
        with self._guard:
            return changed <= MOST_ROWS and not self._needed.get(key[0], frozenset()) <= wanted

    def kept(self, key: FeedKey) -> Kept | None:
        """A feed with all columns that anybody has needed so far; None if it is not kept."""
        return self._store.get(key)

    def _is_as_wanted(self, engine: Lender, kept: Kept, wanted: Wanted) -> bool:
        """Whether no row that came is equal to one that left, in the columns that are wanted."""
        if (
            wanted.only_came
            or kept.columns == wanted.columns
            or not kept.rows
            or any(kept.turned.get(c) is False for c in wanted.columns)
        ):
            return True
        for column in wanted.telling:
            if sum(kept.turned.values()) == MOST_ASKED:
                break
            if column in kept.turned:
                continue
            kept.turned[column] = self._turned(engine, kept, wanted, column)
            if not kept.turned[column]:
                return True
        return False

    def _turned(self, engine: Lender, kept: Kept, wanted: Wanted, column: str) -> bool:
        engine.borrow(ASKED, kept.lent)
        try:
            ((turned,),) = engine.rows(wanted.turned(ASKED, column))
            return bool(turned)
        finally:
            engine.unpin(ASKED)

    def _borrowed(self, engine: Lender, name: str, kept: Kept, wanted: Wanted) -> int:
        columns = (*sorted(wanted.columns), WEIGHT) if kept.columns != wanted.columns else None
        engine.borrow(name, kept.lent, columns)
        return kept.rows

    def _narrowed(self, engine: Lender, name: str, kept: Kept, wanted: Wanted, *, few: bool) -> int:
        engine.borrow(WIDE, kept.lent)
        try:
            return engine.pin(name, wanted.narrowed(WIDE), few=few)
        finally:
            engine.unpin(WIDE)

    def _read(self, engine: Lender, name: str, wanted: Wanted, *, few: bool) -> int:
        columns = self._columns(wanted)
        if columns != wanted.columns:
            try:
                rows = engine.pin(WIDE, wanted.query(columns), few=few)
                kept = self._keep(engine, WIDE, wanted, columns, rows)
                if kept is not None and self._is_as_wanted(engine, kept, wanted):
                    return self._borrowed(engine, name, kept, wanted)
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

    def _keep(self, engine: Lender, name: str, wanted: Wanted, columns: frozenset[str], rows: int) -> Kept | None:
        """name: under which the engine has it. None if it is too long."""
        if rows > MOST_ROWS:
            with self._guard:
                self._long.add(wanted.key)
            return None
        kept = Kept(columns, rows, engine.lend(name))
        self._store.put(engine, wanted.key, kept, most_rows=MOST_ROWS, most=MOST_FEEDS)
        return kept

    def forget(self) -> None:
        """Everything, as in a process that has just begun."""
        self._store.forget()
        with self._guard:
            self._needed.clear()
            self._long.clear()
