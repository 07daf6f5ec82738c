"""The rows of tables that meet change feeds (changes/rows_met.py), read once for all models of a process.

Whoever is the first to ask a table for such rows reads those that it needs itself. As soon as another model asks the
same table by the same column, all are read that anybody has asked for, with all columns that anybody has needed, and
are kept: to choose from them takes no look at the table. In a process that goes on, that holds from then on.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from .shared_feeds import Lender

MOST_ROWS, MOST_RELATIONS = 2_000_000, 16
"""Of all that is kept. What was read first goes first."""

MOST_KEYS = 100_000
"""Values of feeds up to which a table is asked for all of them at once: Spark sends so many to every task."""

MOST_OF_ONE = 1_000_000
"""Rows of a table up to which they are kept."""


class BoundedLender(Lender, Protocol):
    def pin_at_most(self, name: str, sql: str, most: int, *, few: bool) -> int | None:
        """As `pin`. Where there are more rows than that nothing is pinned, and little more is read."""
        ...


Feed = tuple[str, int, int]
"""A table, and the versions that its change feed lies between."""


@dataclass(frozen=True)
class Asked:
    """What a model asks of a table for one refresh. table: which it is, the same for all who read it, and version;
    column: of the table; columns: that are needed of the rows; by: the columns of feeds that have the values, each with
    the columns by which that feed was netted, since a row that changed in others may not be in it."""

    who: str
    table: str
    version: int
    column: str
    columns: frozenset[str]
    by: Mapping[tuple[Feed, str], frozenset[str]]

    @property
    def place(self) -> tuple[str, str]:
        return self.table, self.column

    @property
    def key(self) -> tuple[str, str, int]:
        return self.table, self.column, self.version


@dataclass(frozen=True)
class Rows:
    """columns: that the rows have; by: as in `Asked`; count: of the rows."""

    columns: frozenset[str]
    by: Mapping[tuple[Feed, str], frozenset[str]]
    count: int
    lent: Any

    def have(self, asked: Asked) -> bool:
        return asked.columns <= self.columns and all(
            columns <= self.by.get(of, frozenset()) and of in self.by for of, columns in asked.by.items()
        )


@dataclass
class _Wishes:
    """Of one table by one column. columns: that each model needs; by: columns of tables whose feeds have the values."""

    columns: dict[str, frozenset[str]] = field(default_factory=dict)
    by: set[tuple[str, str]] = field(default_factory=set)
    longest: int | None = None


class SharedRows:
    """One for all sessions of a Spark. Safe to be used by several threads: of two that ask for the same, one reads it
    while the other waits."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str, int], Rows] = OrderedDict()
        self._wishes: defaultdict[tuple[str, str], _Wishes] = defaultdict(_Wishes)
        self._guard = threading.Lock()
        self._reading: defaultdict[tuple[str, str, int], threading.Lock] = defaultdict(threading.Lock)

    def wish(self, asked: Asked, changed: int) -> bool:
        """Notes what a model asks for. Returns whether it is to be read for all. changed: rows of its feeds."""
        with self._guard:
            wishes = self._wishes[asked.place]
            if wishes.longest is not None and changed >= wishes.longest / 2:
                return False
            wishes.columns[asked.who] = asked.columns
            wishes.by |= {(feed[0], c) for feed, c in asked.by}
            kept = self._kept.get(asked.key)
            return (kept is not None and kept.have(asked)) or len(wishes.columns) > 1

    def wider(self, asked: Asked) -> tuple[frozenset[str], frozenset[tuple[str, str]]]:
        """All columns that anybody needs of these rows, and the columns of tables whose feeds anybody asks by."""
        with self._guard:
            wishes = self._wishes[asked.place]
            return asked.columns.union(*wishes.columns.values()), frozenset(wishes.by)

    def pin(self, engine: BoundedLender, name: str, asked: Asked, read: Callable[[], Rows | None]) -> int | None:
        """Gives the rows a name in the engine's session. Returns how many they are; None if they are not to be had.
        read: reads them under that name, and lends them."""
        with self._guard:
            reading = self._reading[asked.key]
        with reading:
            kept = self._kept.get(asked.key)
            if kept is not None and kept.have(asked):
                engine.borrow(name, kept.lent)
                return kept.count
            found = read()
            if found is None:
                return None
            for gone in self._keep(asked.key, found):
                engine.release(gone.lent)
            return found.count

    def too_many(self, asked: Asked, keys: int) -> None:
        """So many values had too many rows."""
        with self._guard:
            self._wishes[asked.place].longest = keys

    def may_be_read(self, asked: Asked, keys: int) -> bool:
        with self._guard:
            longest = self._wishes[asked.place].longest
        return keys <= MOST_KEYS and (longest is None or keys < longest / 2)

    def _keep(self, key: tuple[str, str, int], rows: Rows) -> list[Rows]:
        gone: list[Rows] = []
        with self._guard:
            if (narrower := self._kept.pop(key, None)) is not None:
                gone.append(narrower)
            self._kept[key] = rows
            while len(self._kept) > MOST_RELATIONS or sum(r.count for r in self._kept.values()) > MOST_ROWS:
                oldest, dropped = self._kept.popitem(last=False)
                self._reading.pop(oldest, None)
                gone.append(dropped)
        return gone

    def forget(self) -> None:
        """Everything, as in a process that has just begun."""
        with self._guard:
            for known in (self._kept, self._wishes, self._reading):
                known.clear()
