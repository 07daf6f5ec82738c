"""The rows of tables that meet change feeds (changes/rows_met.py), read once for all models of a process.

Whoever is the first to ask a table for such rows reads those that it needs itself. As soon as another model asks the
same table by the same column, all are read that anybody has asked for, with all columns that anybody has needed, and
are kept: to choose from them takes no look at the table. Who needs more than that reads them itself, and every second
such model once more for all, so that models of which each needs something else do not make each other wait. A process
that goes on knows at the next refresh what is needed, until a model does not ask any more.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..changes.column_types import INTEGERS
from .lending import Lender, Store
from .sources import FeedKey

MOST_ROWS, MOST_RELATIONS = 2_000_000, 16
"""Of all that is kept. What was read first goes first."""

MOST_KEYS, MOST_TEXTS = 400_000, 100_000
"""Values of feeds up to which a table is asked for all of them at once: numbers and the like, and those of types that
may be long. Spark takes 10 MB for short enough to be sent to every task; otherwise it would sort the table."""

SHORT_TYPES = (*INTEGERS, "date", "timestamp", "decimal", "double", "float")

MISSED = 2
"""One in so many of the models for which the rows that are kept are not enough reads them anew for all."""

MOST_OF_ONE = 1_000_000
"""Rows of a table up to which they are kept."""

By = Mapping[tuple[FeedKey, str], frozenset[str]]
"""Columns of feeds, each with the columns by which that feed was netted."""


@dataclass(frozen=True)
class Asked:
    """What a model asks of a table for one refresh. table: which it is, the same for all who read it, and version;
    column: of the table; columns: that are needed of the rows; by: the columns of feeds that have the values, each with
    the columns by which that feed was netted, since a row that changed in others may not be in it; slow: whether the
    model does with all rows of the table what takes longer than to read them, where it reads them itself; refresh: all
    feeds that it reads, by which it is known from the next one."""

    who: str
    table: str
    version: int
    column: str
    columns: frozenset[str]
    by: By
    slow: bool = False
    refresh: frozenset[FeedKey] = frozenset()

    @property
    def place(self) -> tuple[str, str]:
        return self.table, self.column

    @property
    def key(self) -> tuple[str, str, int]:
        return self.table, self.column, self.version


@dataclass(frozen=True)
class Rows:
    """columns: that the rows have; by: as in `Asked`; rows: how many; lent, keys: they, and the values that they
    were asked for."""

    columns: frozenset[str]
    by: By
    rows: int
    lent: Any
    keys: Any

    @property
    def relations(self) -> tuple[Any, ...]:
        return self.lent, self.keys

    def have_columns(self, asked: Asked) -> bool:
        return asked.columns <= self.columns

    def are_asked_by(self, asked: Asked) -> bool:
        """Whether all that is asked for is known to be among the values that they were asked for."""
        return all(of in self.by and columns <= self.by[of] for of, columns in asked.by.items())

    def asked_by(self, asked: Asked) -> Rows:
        return replace(self, by=_together(self.by, asked.by))


def _together(by: By, more: By) -> By:
    """All of both, with all columns that a feed was netted by for either."""
    return {**by, **{of: columns | by.get(of, columns) for of, columns in more.items()}}


@dataclass
class _Wishes:
    """Of one table by one column. models: what each asked for last; round: those that have asked since one of them
    asked again, with their refreshes; longest: so many values were too many; missed: models that have read for
    themselves since all were read."""

    models: dict[str, Asked] = field(default_factory=dict)
    round: dict[str, frozenset[FeedKey]] = field(default_factory=dict)
    longest: int | None = None
    missed: int = 0

    def begin(self, asked: Asked) -> None:
        """By the time that a model asks again, all have had their turn: those that have not asked do so no more, such
        as one that is made of a state table by now."""
        if self.round.get(asked.who, asked.refresh) != asked.refresh:
            self.models = {who: wish for who, wish in self.models.items() if who in self.round}
            self.round.clear()
        self.round[asked.who] = asked.refresh

    def add(self, asked: Asked) -> None:
        """To what the model asks for in the same refresh, of the table as it was, or is."""
        wish = self.models.get(asked.who)
        if wish is not None and wish.refresh == asked.refresh:
            asked = replace(asked, columns=asked.columns | wish.columns, by=_together(wish.by, asked.by))
        self.models[asked.who] = asked


class SharedRows:
    """One for all sessions of a Spark. Safe to be used by several threads: of two that ask for the same, one reads it
    while the other waits."""

    def __init__(self) -> None:
        self._store: Store[tuple[str, str, int], Rows] = Store()
        self._wishes: defaultdict[tuple[str, str], _Wishes] = defaultdict(_Wishes)
        self._guard = threading.Lock()

    def wish(self, asked: Asked, changed: int) -> bool | None:
        """Notes what a model asks for. Returns whether others ask too, so that it is to be read for all; None if those
        are known to be too many. changed: rows of its feeds."""
        with self._guard:
            wishes = self._wishes[asked.place]
            wishes.begin(asked)
            if wishes.longest is not None and changed >= wishes.longest / 2:
                return None
            wishes.add(asked)
            return len(wishes.models) > 1

    def withdraw(self, asked: Asked) -> None:
        """It reads for itself, and nothing has to be read for it."""
        with self._guard:
            self._wishes[asked.place].models.pop(asked.who, None)

    def wider(self, asked: Asked) -> tuple[frozenset[str], frozenset[tuple[str, str]]]:
        """All columns that anybody needs of these rows, and the columns of tables whose feeds anybody asks by."""
        with self._guard:
            wishes = self._wishes[asked.place].models.values()
            columns = asked.columns.union(*(wish.columns for wish in wishes))
            return columns, frozenset((feed[0], c) for wish in wishes for feed, c in wish.by)

    def models(self, asked: Asked) -> int:
        """How many ask the table by that column."""
        with self._guard:
            return max(len(self._wishes[asked.place].models), 1)

    def pin(
        self,
        engine: Lender,
        name: str,
        asked: Asked,
        read: Callable[[bool], Rows | None] | None,
        among: Callable[[Any], bool],
    ) -> int | None:
        """Gives the rows a name in the engine's session. Returns how many they are; None if they are not to be had.
        read: reads them under that name, and lends them; told whether that was done before, and was not enough; None
        where they are only wanted if they are kept; among: whether what is asked for is among those values."""
        with self._store.one_at_a_time(asked.key):
            kept = self._store.get(asked.key)
            if kept is not None and kept.have_columns(asked) and (kept.are_asked_by(asked) or among(kept.keys)):
                engine.borrow(name, kept.lent)
                self._store.note(asked.key, kept.asked_by(asked))
                return kept.rows
            if read is None:
                return None
            if (kept is not None and not asked.slow and self._reads_itself(asked)) or (
                found := read(kept is not None)
            ) is None:
                return None
            self._store.put(engine, asked.key, found, most_rows=MOST_ROWS, most=MOST_RELATIONS)
            return found.rows

    def _reads_itself(self, asked: Asked) -> bool:
        """Whether a model for which those that are kept are not enough does not read them for all."""
        with self._guard:
            wishes = self._wishes[asked.place]
            wishes.missed = (wishes.missed + 1) % MISSED
            return wishes.missed > 0

    def too_many(self, asked: Asked, keys: int) -> None:
        """So many values are too many, or had too many rows."""
        with self._guard:
            self._wishes[asked.place].longest = keys

    def only(self, asked: Asked) -> None:
        """Forgets what others ask of the table."""
        with self._guard:
            self._wishes[asked.place] = _Wishes({asked.who: asked})

    def may_be_read(self, asked: Asked, keys: int, data_type: str) -> bool:
        """data_type: of so many values."""
        with self._guard:
            longest = self._wishes[asked.place].longest
        most = MOST_KEYS if data_type.startswith(SHORT_TYPES) else MOST_TEXTS
        return keys <= most and (longest is None or keys < longest / 2)

    def forget(self) -> None:
        """Everything, as in a process that has just begun."""
        self._store.forget()
        with self._guard:
            self._wishes.clear()
