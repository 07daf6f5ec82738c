"""What a refresh reads of tables by what changed, taken from the rows that all models of the process have in common.

`changes/rows_met.py` has the law, `shared_rows.py` what is kept. Here is what one refresh asks for, and how it is read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from ..algebra.expressions import column
from ..algebra.nodes import Join, JoinKind, Named, Node, Project, Scan, Semi, Time, UnionAll
from ..changes.change_plan import ChangePlan
from ..changes.column_types import Types
from ..changes.derivation import KEY, Binding, distinct, short_name
from ..changes.literal_keys import MOST_KEYS
from ..changes.rows_met import Meeting, Met
from ..names import PREFIX, free_name
from ..reading.relations import Kind
from ..sparksql.reads import Span
from .engine import Engine, SqlError, Table
from .incremental import Incremental
from .lending import Lender
from .look import is_large
from .shared_feeds import SharedFeeds
from .shared_rows import MOST_OF_ONE, SHORT_TYPES, Asked, Rows, SharedRows
from .sources import FeedKey

BORROWED = f"{PREFIX}whole_feed"
"""The session's name for a feed with all columns by which it was netted."""

FEWER = 4
"""Of the values of a feed, one in so many is few of them."""

MOST_SHORT = 16
"""Columns of numbers and the like up to which all of them are read, where those that were needed were not enough."""


class _Place(NamedTuple):
    source: str
    time: Time
    column: str


@dataclass
class _Asking:
    """columns: of the table; by: (feed of the plan, its column); slow: as in `Met`; asked: what others are told of it;
    others: whether they ask for it too; itself: whether few keys were found better looked up by themselves; alone:
    whether rows that others ask for, too, were not to be had."""

    columns: set[str] = field(default_factory=set)
    by: set[tuple[str, str]] = field(default_factory=set)
    slow: bool = False
    asked: Asked = field(init=False)
    others: bool = False
    itself: bool = False
    alone: bool = False


@dataclass
class RowsMet:
    """plan: of the refresh; tables: all that it reads, at the versions of `spans`; who: the table that is refreshed;
    weigh: called where rows that others ask for, too, turn out not to be had; it raises Dearer where the plan is not
    worth carrying out without them; types: of computed relations that this adds; for_others: seconds that others are
    spared, who ask for the same: what this refresh took says too much by them."""

    engine: Engine
    plan: ChangePlan
    work: Incremental
    tables: Mapping[str, Table]
    spans: Mapping[str, Span]
    source_types: Types
    who: str
    weigh: Callable[[RowsMet], None] = field(default=lambda met: None, kw_only=True)
    types: dict[str, Mapping[str, str]] = field(default_factory=dict)
    for_others: float = 0.0
    _found: dict[_Place, Named | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._feeds = {f.name: f for f in self.plan.feeds}
        sources = {f.name: f.source for f in self.plan.feeds}
        self._meeting = Meeting.of_plan(sources, self.plan.bindings, self.source_types)
        self._asking: dict[_Place, _Asking] = {}
        self._too_many: set[_Place] = set()
        if self._shared is not None and any(is_large(t) for t in self.tables.values()):
            self._ask()

    @property
    def _shared(self) -> SharedRows | None:
        return self.engine.rows_met if self.engine.feeds is not None else None

    def _ask(self) -> None:
        """For all that the plan may read, so that it is read at once."""
        asking: dict[_Place, _Asking] = {}

        def note(met: Met) -> None:
            if self._may_be_shared(met):
                found = asking.setdefault(_place(met), _Asking())
                found.columns |= {met.column, *(c for _, c in met.scan.outputs)}
                found.by |= met.by
                found.slow |= met.slow

        for relation in self.plan.relations:
            self._meeting.over(relation, note)
        assert self._shared is not None
        refresh = frozenset(change.key for change in self.work.changes.values())
        for place, found in asking.items():
            by = {(self._feed(f), c): frozenset(self._feeds[f].columns) for f, c in found.by}
            table = self.tables[place.source]
            found.asked = Asked(
                self.who, f"{table.path} {table.id}", self._version(place), place.column, frozenset(found.columns), by,
                found.slow, refresh,
            )  # fmt: skip
            others = self._shared.wish(found.asked, self._changed(found.by))
            if others is None:
                self._too_many.add(place)
            else:
                found.others = others
                self._asking[place] = found

    def _may_be_shared(self, met: Met) -> bool:
        table = self.tables.get(met.scan.source)
        if table is None or table.kind is not Kind.DELTA or not is_large(table):
            return False
        feeds = cast(SharedFeeds, self.engine.feeds)
        changed = all(self._feeds[f].source in self.work.changes for f, _ in met.by)
        return met.scan.time is not Time.UNDATED and changed and all(feeds.kept(self._feed(f)) for f, _ in met.by)

    def _changed(self, by: Iterable[tuple[str, str]]) -> int:
        """Rows of the feeds."""
        return sum(self.work.rows.get(f, 0) for f, _ in by)

    def _asks_for_few(self, met: Met) -> bool:
        """Whether the keys that are asked for can be said one by one, where others ask for many more."""
        keys = self.work.rows.get(met.keys.name) if met.keys is not None else None
        return keys is not None and keys <= MOST_KEYS and keys * FEWER <= self._changed(met.by)

    def _feed(self, name: str) -> FeedKey:
        return self.work.changes[self._feeds[name].source].key

    def _version(self, place: _Place) -> int:
        span = self.spans[place.source]
        return span.before if place.time is Time.BEFORE else span.after

    @property
    def lacks(self) -> bool:
        """Whether rows that others ask for, too, are not to be had."""
        return bool(self._too_many) or any(asking.alone for asking in self._asking.values())

    def alone(self, relation: Node) -> Node:
        """A relation of the plan as far as it is for this model to read: where others ask for the same rows of a table,
        they count as being there."""
        return self._without(relation, {p for p, asking in self._asking.items() if asking.others and not asking.alone})

    def hoped(self, relation: Node) -> Node:
        """The same, had all of them been there."""
        return self._without(relation, self._too_many | {p for p, asking in self._asking.items() if asking.others})

    def _without(self, relation: Node, there: Set[_Place]) -> Node:
        def met(met: Met) -> Named | None:
            return Named("rows_met", _columns_of(met.scan)) if _place(met) in there else None

        return self._meeting.over(relation, met) if there else relation

    def over(self, node: Node, pin: Pin) -> Node:
        """A relation over rows that are shared, which are read if they are not yet."""
        if not self._asking:
            return node

        def met(met: Met) -> Named | None:
            place = _place(met)
            asking = self._asking.get(place)
            if asking is None or not met.by <= asking.by:
                return None
            if place not in self._found:
                few = self._asks_for_few(met)
                found = None if few and asking.itself else self._pinned(place, met.scan, pin, few=few)
                if few and asking.itself:
                    # Files are looked up for its own keys, and others need not read anything for it.
                    cast(SharedRows, self._shared).withdraw(asking.asked)
                else:
                    self._found[place] = found
                if found is None and asking.others and not asking.alone:
                    asking.alone = True
                    self.weigh(self)
            return self._found.get(place)

        return self._meeting.over(node, met)

    def _pinned(self, place: _Place, scan: Scan, pin: Pin, *, few: bool) -> Named | None:
        """few: whether the model itself asks for few of the keys."""
        asking, shared = self._asking[place], self._shared
        assert shared is not None
        asked = asking.asked
        taken = {*self.work.rows, *(b.name for b in self.plan.bindings), *self._feeds}
        name = free_name(f"{short_name(place.source)}_met", taken)

        def read(again: bool) -> Rows | None:
            started = time.monotonic()
            try:
                return self._read(name, place, scan, pin, again=again, few=few)
            except SqlError:
                # What others need may not have been there in this version. What this model needs, it reads itself.
                shared.only(asked)
                return None
            finally:
                self.for_others += (time.monotonic() - started) * (1 - 1 / shared.models(asked))

        def among(lent: Any) -> bool:
            return self._are_among(lent, name, place, pin)

        for_all = asking.others or asking.slow
        count = shared.pin(cast(Lender, self.engine), self.work.name(name), asked, read if for_all else None, among)
        if count is None:
            return None
        self.work.has(name, count)
        self.types[name] = self.source_types.get(place.source, {})
        return Named(name, tuple(sorted(asked.columns)))

    def _read(self, name: str, place: _Place, scan: Scan, pin: Pin, *, again: bool, few: bool) -> Rows | None:
        asking, shared = self._asking[place], self._shared
        assert shared is not None
        asked = asking.asked
        wider, by_tables = shared.wider(asked)
        with self._whole_feeds() as feeds:
            by = {(f.key, c): f for f in feeds for c in f.columns if self._is_asked(f, c, place, by_tables)}
            keys = self._keys(f"{name}_keys", [(f.rows, c) for (_, c), f in by.items()], pin)
        values = self.work.rows[keys.name]
        if few and values > MOST_KEYS:
            # Those of all cannot be said one by one, so that the whole table would be read.
            asking.itself = True
            return None
        if not shared.may_be_read(asked, values, self._type_of(place) or ""):
            shared.too_many(asked, values)
            return None
        columns = self._columns(place.source, wider, all_short=again)
        wide = Scan(place.source, scan.alias, tuple((c, c) for c in sorted(columns)), place.time)
        rows = Semi(wide, keys, ((column(place.column), KEY.format(0)),))
        count = pin(
            Binding(name, rows, f"rows of {short_name(place.source)} that it meets, for all models"), MOST_OF_ONE
        )
        if count is None:
            shared.too_many(asked, values)
            return None
        lend = cast(Lender, self.engine).lend
        of = {which: f.columns for which, f in by.items()}
        return Rows(columns, of, count, lend(self.work.name(name)), lend(self.work.name(keys.name)))

    def _keys(self, name: str, of: Iterable[tuple[Named, str]], pin: Pin) -> Named:
        """The values of columns of feeds."""
        keys = Named(name, (KEY.format(0),))
        parts = tuple(Project(rows, ((KEY.format(0), column(c)),)) for rows, c in of)
        pin(Binding(keys.name, distinct(UnionAll(parts)), "what changed, by which rows are met"), None)
        return keys

    def _columns(self, source: str, wider: Collection[str], *, all_short: bool) -> frozenset[str]:
        """all_short: those of which each value takes few bytes, whether somebody needs them or not: whoever comes next
        may."""
        table = self.tables[source].columns
        short = [c for c, kind in table if kind.startswith(SHORT_TYPES)]
        more = short if all_short and len(short) <= MOST_SHORT else []
        return frozenset(c for c, _ in table if c in wider or c in more)

    def _are_among(self, lent: Any, name: str, place: _Place, pin: Pin) -> bool:
        """Whether all values that this model asks for are among others. Orders come with their lines: by whichever of
        both feeds others have asked, it may be the same."""
        own = self._keys(f"{name}_asked", [(self._feeds[f].named, c) for f, c in sorted(self._asking[place].by)], pin)
        known, lender = f"{name}_known", cast(Lender, self.engine)
        lender.borrow(self.work.name(known), lent)
        try:
            key = column(KEY.format(0))
            keys = Project(Named(known, own.columns), (("known", key),))
            missing = Join(own, keys, ((key, column("known"), True),), None, JoinKind.ANTI)
            return pin(Binding(f"{name}_missing", missing, "what others have not asked for"), None) == 0
        finally:
            lender.unpin(self.work.name(known))

    def _is_asked(self, feed: _Whole, of: str, place: _Place, by_tables: Collection[tuple[str, str]]) -> bool:
        """Whether somebody asks by that column of a feed; equal values are one value only where types are the same."""
        if (feed.key, of) in self._asking[place].asked.by:
            return True
        return (feed.key[0], of) in by_tables and feed.types.get(of.lower()) == self._type_of(place)

    def _type_of(self, place: _Place) -> str | None:
        return self.source_types.get(place.source, {}).get(place.column.lower())

    @contextmanager
    def _whole_feeds(self) -> Iterator[list[_Whole]]:
        """The feeds of the plan, with all columns by which they were netted for anybody so far."""
        feeds = cast(SharedFeeds, self.engine.feeds)
        lender = cast(Lender, self.engine)
        with ExitStack() as stack:
            found = []
            for number, feed in enumerate(f for f in self.plan.feeds if f.source in self.work.changes):
                key, own = self._feed(feed.name), frozenset(feed.columns)
                types = self.source_types.get(feed.source, {})
                kept = feeds.kept(key)
                if kept is not None and own < kept.columns:
                    borrowed = f"{BORROWED}_{number}"
                    lender.borrow(borrowed, kept.lent)
                    stack.callback(lender.unpin, borrowed)
                    rows = Named(borrowed.removeprefix(PREFIX), tuple(sorted(kept.columns)))
                    found.append(_Whole(key, kept.columns, rows, types))
                else:
                    found.append(_Whole(key, own, Named(feed.name, tuple(sorted(own))), types))
            yield found


class _Whole(NamedTuple):
    """A feed. rows: its relation, without the weight."""

    key: FeedKey
    columns: frozenset[str]
    rows: Named
    types: Mapping[str, str]


Pin = Callable[[Binding, int | None], int | None]
"""Computes a relation under its name, of at most so many rows, and says how many it has; None if they are more."""


def _place(met: Met) -> _Place:
    return _Place(met.scan.source, met.scan.time, met.column)


def _columns_of(scan: Scan) -> tuple[str, ...]:
    return tuple(sorted({c for _, c in scan.outputs}))
