"""T ⋈ Y = (T ⋉ K) ⋈ Y on t = y, where every y is one of K; the same for a semi-join, and below whatever lets one pass.

K is what columns of change feeds hold. The models of a project that join the same tables ask one of them for the rows
that meet what changed of the others, each with filters and columns of its own: T ⋉ K has them all, and can be read once
for all of these models. It is no part of a change plan, which says what one model needs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ..algebra.expressions import Expr, column
from ..algebra.nodes import Filter, Join, Named, Node, Project, Scan, Semi, Time, UnionAll
from ..algebra.slow import is_slow
from ..algebra.transform import rebuild, remembered, with_children
from .column_types import Types
from .derivation import KEY, Binding
from .literal_keys import computed_as
from .restrict import restrict
from .values import PAIRING, among, parts

Fed = frozenset[tuple[str, str]]
"""Columns of change feeds: (the feed's name, its column)."""

ASKED = Named("rows_met", (KEY.format(0),))
"""Stands for K while a semi-join with it is pushed down."""


class Origin(NamedTuple):
    """Of the values of an expression. by: columns of feeds, of which each is one; keys: as in `Met`."""

    by: Fed | None
    keys: Named | None


@dataclass(frozen=True)
class Met:
    """What a plan asks of a table: rows whose column has one of the values that those columns of feeds have. keys: a
    computed relation that has fewer of them, and all that are asked for; None if nothing says so; slow: whether all
    rows of the table would be filtered by what takes longer than reading them."""

    scan: Scan
    column: str
    by: Fed
    keys: Named | None = None
    slow: bool = False


@dataclass
class Meeting:
    """feeds: name -> the source whose change it is; relations: those that are computed, by their names; types: of the
    columns of sources."""

    feeds: Mapping[str, str]
    relations: Mapping[str, Node]
    types: Types
    _known: dict[tuple[str, str], Fed | None] = field(default_factory=dict)

    @classmethod
    def of_plan(cls, feeds: Mapping[str, str], bindings: Collection[Binding], types: Types) -> Meeting:
        return cls(feeds, {b.name: b.node for b in bindings}, types)

    def over(self, node: Node, met: Callable[[Met], Named | None]) -> Node:
        """The same relation over rows that are computed already. met: a relation of them, which has the columns that
        are read of the table; None where there is none."""

        def narrowed(n: Node) -> Node:
            if isinstance(n, Semi):
                asked = [(e, self._origin(n.keys, column(k))) for e, k in n.pairs]
                return with_children(n, (self._among(n.child, asked, met), n.keys))
            if isinstance(n, Join) and n.as_of is None:
                sides = list(n.children)
                # Whatever the kind, a row of the right side that meets none of the left makes no difference.
                for here, there in ((1, 0), (0, 1)) if n.kind in PAIRING else ((1, 0),):
                    asked = [(e[here], self._origin(n.children[there], e[there])) for e in n.equalities]
                    sides[here] = self._among(sides[here], asked, met)
                return with_children(n, tuple(sides))
            return n

        return rebuild(node, narrowed)

    def _origin(self, node: Node, e: Expr) -> Origin:
        if not (by := self.fed(node, e)):
            return Origin(None, None)
        computed = computed_as(node, e, self.types)
        return Origin(by, computed[0] if computed is not None and computed[0].name in self.relations else None)

    def fed(self, node: Node, e: Expr) -> Fed | None:
        """Columns of feeds, of which every value of an expression is one; None if nothing says that."""
        if e.column is None:
            return None
        if isinstance(node, Named):
            return self._named(node.name, e.column)
        if isinstance(node, UnionAll):
            found = [self.fed(*part) for part in parts(node, e)]
            return frozenset().union(*(f for f in found if f)) if all(found) else None
        return next(filter(None, (self.fed(*more) for more, _ in among((node, e), self.relations))), None)

    def _named(self, name: str, of: str) -> Fed | None:
        if name in self.feeds:
            return frozenset({(name, of)})
        if name not in self.relations:
            return None
        if (name, of) not in self._known:
            self._known[name, of] = self.fed(self.relations[name], column(of))
        return self._known[name, of]

    def _among(self, side: Node, asked: list[tuple[Expr, Origin]], met: Callable[[Met], Named | None]) -> Node:
        for e, (by, keys) in asked:
            if not by or e.column is None:
                continue
            found = False

            def replaced(n: Node, by: Fed = by, keys: Named | None = keys) -> Node:
                nonlocal found
                if not (isinstance(n, Semi) and n.keys is ASKED):
                    return n
                ((own, _),) = n.pairs
                if isinstance(n.child, Scan) and own.column is not None:
                    scan, of = n.child, dict(n.child.outputs)[own.column]
                    rows = (
                        met(Met(scan, of, by, keys, bool(searched(side))))
                        if self._are_of_one_type(scan, of, by)
                        else None
                    )
                    if rows is not None:
                        found = True
                        return Project(rows, tuple((name, column(c)) for name, c in scan.outputs))
                return n.child

            read = rebuild(restrict(side, (e,), ASKED), replaced)
            if found:
                return read
        return side

    def _are_of_one_type(self, scan: Scan, of: str, by: Fed) -> bool:
        """Whether equal values of them are one value: Spark has '01' equal to 1, and 1 to '1'."""
        own = self.types.get(scan.source, {}).get(of.lower())
        return own is not None and all(self.types.get(self.feeds[feed], {}).get(c.lower()) == own for feed, c in by)


@remembered
def searched(node: Node) -> frozenset[tuple[str, Time | None]]:
    """Of its leaves, those of which rows are filtered by what takes longer than reading them."""
    if isinstance(node, Filter) and is_slow(node.predicate):
        return frozenset(node.leaves)
    return frozenset().union(*map(searched, node.children))
