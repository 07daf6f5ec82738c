"""Which relations of a plan are computed under a name, and which are told where they are read.

A slice of a table is worth having while it is a part of it. Of one that turned out long the older rows are read from
the table's older version, as is what is joined to it: there is nothing to be saved any more.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..algebra.nodes import Named, Node, Semi, walk
from ..algebra.transform import rebuild
from ..changes.change_plan import ChangePlan
from ..changes.simplify import without

LONG = 1_000_000
"""Rows of a slice from which on it is no longer told what they were from what they are."""

MANY_CHANGES = LONG // 10
"""Changed rows from which on a slice is expected to be long: ten rows to a key."""

MANY_KEYS = 200
"""Keys above which a slice is not hoped to be short: a few dozen rows of each are long enough."""


@dataclass
class Computed:
    """rows: of each relation that has been computed."""

    plan: ChangePlan
    rows: dict[str, int] = field(default_factory=dict)
    _told: dict[str, Node] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._slices = {b.name: s for s in self.plan.slices for b in (s.now, s.before) if b is not None}
        self._by_keys = {s.keys: s for s in self.plan.slices if s.keys is not None}

    @property
    def settled(self) -> bool:
        """Whether what has been computed says that the table stays as it is."""
        return any(self.rows.get(name) == 0 for name in self.plan.settling)

    def is_told(self, name: str) -> bool:
        """Whether a relation of the plan, whose turn it is, need not be computed."""
        if name in self._by_keys:
            return self._is_long(self._by_keys[name].partner)
        slice_ = self._slices.get(name)
        if slice_ is None:
            return False
        now, before = slice_.scanned
        if name == slice_.now.name and self._is_long(slice_.partner):
            self._told[name] = now
        elif name != slice_.now.name:
            assert slice_.before is not None
            self._told[name] = before if self._is_long(slice_.now.name) else slice_.before.node
        return name in self._told

    def is_many(self, name: str) -> bool:
        """Whether a slice is asked for so many keys that its rows are expected to be more than a few."""
        slice_ = self._slices.get(name)
        asked = (n.keys.name for n in walk(slice_.now.node) if isinstance(n, Semi)) if slice_ is not None else ()
        return any(self.rows.get(keys, 0) > MANY_KEYS for keys in asked)

    def read(self, node: Node) -> Node:
        """A relation, over what is computed; of what turned out to have no rows, nothing is asked."""
        if self._told:
            node = rebuild(node, lambda n: self._told.get(n.name, n) if isinstance(n, Named) else n)
        return without(node, {name for name, n in self.rows.items() if n == 0})

    def _is_long(self, name: str | None) -> bool:
        """Whether a slice is no part of its table worth having: it is long, or was not computed."""
        return name is not None and self.rows.get(name, LONG) >= LONG
