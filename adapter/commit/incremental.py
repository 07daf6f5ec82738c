"""The reading half of an incremental refresh: feeds read once, and what is computed from them under a name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import cast

from sqlglot import exp

from ..algebra.clock import CLOCK
from ..algebra.keys import SourceKeys
from ..changes.column_types import INTEGERS, Types
from ..changes.derivation import Derivation, Feed
from ..dialect import print_sql
from ..names import PREFIX
from ..pipeline import Model
from ..sparksql.reads import every_change, narrowed, net_change, net_difference, turned
from ..sparksql.statements import explained
from .computed import MANY_CHANGES
from .costs import FEW_CHANGES
from .engine import Engine, SqlError
from .lending import Lender
from .shared_feeds import Wanted
from .sources import Change, Lost, has_no_feed, is_unreadable
from .spec import Spec


class Incremental:
    """Pins what the plan names. `changed` are the sources whose change is not empty once equal rows are netted, and
    the clock if it moved; `changes` what happened to each of them; `rows` counts the rows of what is pinned. `unread`
    are feeds that are read where they are added up, by their names: with all changes, and not the net one."""

    def __init__(
        self,
        engine: Engine,
        model: Model,
        changes: Mapping[str, Change],
        spec: Spec,
        *,
        types: Types | None = None,
        keys: SourceKeys | None = None,
        clock_moved: bool = False,
    ) -> None:
        """types: of the columns of sources, in the order that these have; keys: source -> columns by which its rows are
        expected to be told apart."""
        self._engine, self._model, self._changes, self._spec = engine, model, changes, spec
        self._types, self._keys = types or {}, keys or {}
        self._clock = frozenset({CLOCK} if clock_moved else ())
        self._pins: list[str] = []
        self._fed = 0
        self.rows: dict[str, int] = {}
        self.unread: dict[str, exp.Expression] = {}
        self.changes: dict[str, Change] = {}
        self.changed: frozenset[str] = frozenset()
        self.rows_in = 0
        counts = [c.rows for c in changes.values()]
        self.few = all(n is not None and n <= FEW_CHANGES for n in counts)

    def name(self, relation: str) -> str:
        """The session's name for a relation of the plan."""
        return f"{PREFIX}{relation}"

    def relation(self, name: str) -> exp.Expression:
        """Where a relation of the plan is read."""
        if name in self.unread:
            return exp.Subquery(this=self.unread[name].copy())
        return exp.to_table(self.name(name), dialect="spark")

    def read_feeds(self, summed: Collection[str] = ()) -> Lost | None:
        """Pins the net change of every source that has one. summed: feeds that are only added up, of which long ones
        are left to whoever does that."""
        assert self._model.node is not None
        changed = set()
        for source, feed in Derivation(self._model.node, frozenset(self._changes)).feeds.items():
            if source not in self._changes:
                continue
            change = self._changes[source]
            try:
                rows = self._left(feed, change) if feed.name in summed else None
                rows = self._pin_feed(feed, change) if rows is None else rows
            except SqlError as error:
                if is_unreadable(error):
                    return self._gone(source, change)
                raise
            if rows:
                changed.add(source)
                self.rows_in += change.rows if change.rows is not None else rows
                # A row that was rewritten counts once among the changed ones, and twice in the feed.
                self.changes[source] = change if change.rows is not None else replace(change, rows=-(-rows // 2))
        self.changed = frozenset(changed) | self._clock
        self._fed = len(self._pins)
        return None

    def read_unread(self) -> None:
        """Pins the net changes that were left to whoever adds them up."""
        for source, feed in Derivation(self._model.node, frozenset(self._changes)).feeds.items():
            if self.unread.pop(feed.name, None) is not None:
                self._pin_feed(feed, self._changes[source])
        self._fed = len(self._pins)

    def _left(self, feed: Feed, change: Change) -> int | None:
        """How many rows of a feed are left unread; None if it is to be read: it is short, or others may have it in
        common with this refresh."""
        if change.rows is None or not is_long(change):
            return None
        feeds = self._engine.feeds
        if feeds is not None and change.table and feeds.is_common(change.key, feed.columns, change.rows):
            return None
        self.unread[feed.name] = every_change(feed, change.span)
        self.rows[feed.name] = change.rows
        return change.rows

    def _pin_feed(self, feed: Feed, change: Change) -> int:
        if change.feed:
            try:
                with self._engine.reading(change.size, change.rows):
                    return self._pin_net(feed, change)
            except SqlError as error:
                if not has_no_feed(error):
                    raise
        with self._engine.reading(None):
            return self.pin(
                feed.name, explained(feed.why, net_difference(feed, change.span, self._types_of(feed))), few=False
            )

    def _pin_net(self, feed: Feed, change: Change) -> int:
        types = self._types_of(feed)

        def query(columns: Collection[str]) -> str:
            wide = replace(feed, columns=tuple(sorted(columns)))
            if self._is_net(feed, change, columns):
                return explained(feed.why, every_change(wide, change.span))
            return explained(feed.why, net_change(wide, change.span, types))

        feeds = self._engine.feeds
        if feeds is None or not change.table:
            return self.pin(feed.name, query(feed.columns))
        span, engine = change.span, cast(Lender, self._engine)
        wanted = Wanted(
            change.table, span.before, span.after, frozenset(feed.columns), change.only_came, query,
            lambda relation: explained(feed.why, narrowed(relation, feed.columns, types)),
            self._telling(feed), lambda relation, c: print_sql(turned(relation, c)),
        )  # fmt: skip
        return self._pinned(feed.name, lambda name: feeds.pin(engine, name, wanted, few=self.few))

    def _is_net(self, feed: Feed, change: Change, columns: Collection[str]) -> bool:
        """Whether a feed has nothing that cancels, nor equal rows that it would be worth putting together."""
        key = {c.lower() for c in self._keys.get(feed.source, ())}
        return change.only_came and bool(key) and key <= {c.lower() for c in columns}

    def _types_of(self, feed: Feed) -> Mapping[str, str]:
        return self._types.get(feed.source, {})

    def _telling(self, feed: Feed) -> tuple[str, ...]:
        """The columns that rows may be told apart by, as they come in the table: what tells them is among the first."""
        needed = {c.lower(): c for c in feed.columns}
        return tuple(needed[c] for c, kind in self._types_of(feed).items() if c in needed and _may_be_key(kind))

    def pin(self, relation: str, sql: str, *, few: bool | None = None) -> int:
        return self._pinned(relation, lambda name: self._engine.pin(name, sql, few=self.few if few is None else few))

    def _pinned(self, relation: str, pin: Callable[[str], int]) -> int:
        """pin: given the session's name, computes the relation and says how many rows it has."""
        name = self.name(relation)
        self._pins.append(name)
        self.rows[relation] = pin(name)
        return self.rows[relation]

    def has(self, relation: str, rows: int) -> None:
        """A relation that the session has under its name by now, to be forgotten with the others."""
        self._pins.append(self.name(relation))
        self.rows[relation] = rows

    def lost_by(self, error: SqlError) -> Lost | None:
        """The source whose old version can no longer be read, if that is what the error says."""
        if not is_unreadable(error):
            return None
        source, change = next(iter(self._changes.items()))
        return self._gone(source, change)

    def _gone(self, source: str, change: Change) -> Lost:
        why = (
            f"files of its versions {change.span.before} to {change.span.after} are gone: "
            "it was vacuumed, or its log was cleaned, since the last refresh"
        )
        return Lost(source, why)

    def forget(self, *, but_feeds: bool = False) -> None:
        """but_feeds: they stay, for another plan of the same change."""
        kept = self._fed if but_feeds else 0
        # The last first: to some engines a relation is a view over those that it was computed from.
        for name in reversed(self._pins[kept:]):
            self._engine.unpin(name)
        del self._pins[kept:]
        left = self.unread if but_feeds else {}
        self.rows = {r: n for r, n in self.rows.items() if self.name(r) in self._pins or r in left}


def is_long(change: Change) -> bool:
    """Whether a change feed is long enough for it to matter how it is read."""
    return change.feed and change.rows is not None and change.rows >= MANY_CHANGES


def _may_be_key(data_type: str) -> bool:
    return data_type in INTEGERS or data_type.startswith("string") or data_type.endswith(",0)")
