"""Relations that are computed once and then read by all sessions of a process: who lends them, and where they are kept.

What is kept is found by a key. Of two that need the same, one computes it while the other waits; what was computed
first goes first when there is too much of it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, Generic, Protocol, TypeVar


class Lender(Protocol):
    """The part of an engine by which sessions of one process have a pinned relation in common. Every method but the
    last three may raise SqlError."""

    def pin(self, name: str, sql: str, *, few: bool) -> int: ...

    def pin_at_most(self, name: str, sql: str, most: int, *, few: bool) -> int | None:
        """As `pin`. Where there are more rows than that nothing is pinned, and little more is read."""
        ...

    def rows(self, sql: str) -> list[tuple[Any, ...]]: ...

    def borrow(self, name: str, lent: Any, columns: Collection[str] | None = None) -> None:
        """What another session has lent, under a name of this one. columns: of it, if not all."""
        ...

    def lend(self, name: str) -> Any:
        """A pinned relation for others to borrow. It is no longer forgotten when it is unpinned."""
        ...

    def release(self, lent: Any) -> None:
        """Nobody will borrow it any more. Whoever still reads it computes it again."""
        ...

    def unpin(self, name: str) -> None: ...


class Lent(Protocol):
    """rows: how many there are to be read; relations: what the engine has lent for it."""

    @property
    def rows(self) -> int: ...

    @property
    def relations(self) -> tuple[Any, ...]: ...


K = TypeVar("K")
L = TypeVar("L", bound=Lent)


class Store(Generic[K, L]):
    """Safe to be used by several threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[K, L] = OrderedDict()
        self._guard = threading.Lock()
        self._busy: defaultdict[K, threading.Lock] = defaultdict(threading.Lock)

    @contextmanager
    def one_at_a_time(self, key: K) -> Iterator[None]:
        with self._guard:
            busy = self._busy[key]
        with busy:
            yield

    def get(self, key: K) -> L | None:
        with self._guard:
            return self._kept.get(key)

    def put(self, engine: Lender, key: K, lent: L, *, most_rows: int, most: int) -> None:
        """Keeps it in the place of what was kept under that key. most_rows: of all that is kept; most: how many."""
        gone: list[L] = []
        with self._guard:
            if (before := self._kept.pop(key, None)) is not None:
                gone.append(before)
            self._kept[key] = lent
            while len(self._kept) > most or sum(each.rows for each in self._kept.values()) > most_rows:
                oldest, dropped = self._kept.popitem(last=False)
                self._busy.pop(oldest, None)
                gone.append(dropped)
        for each in gone:
            for relation in each.relations:
                engine.release(relation)

    def note(self, key: K, lent: L) -> None:
        """More is known of what is kept under that key, if it still is."""
        with self._guard:
            if key in self._kept:
                self._kept[key] = lent

    def forget(self) -> None:
        """Everything. What was lent goes when nobody reads it."""
        with self._guard:
            self._kept.clear()
            self._busy.clear()
