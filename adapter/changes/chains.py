"""A chain of inner joins begins at what changed, and goes on from there to the tables that it meets.

Joins commute. Spark joins in the order that a query is written in, and takes what is joined for as large as the product
of its sides: a large table behind a join is sorted as a whole, be it for three rows. Behind a relation that is computed
and whose size is known, it is only read. So a chain that comes to a large table by a column that no computed relation
shows is computed up to there under a name of its own, as is one that has met another large table of which only some
rows are joined: few may be left. And one that is joined by such a column is asked by a semi-join first
(`literal_keys.py`), when it is known how many rows that relation has.

Where several tables of a chain changed, these are joined first: Δ(L ⋈ T ⋈ R) = Δ(L ⋈ R) ⋈ T, and T is read once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from ..algebra.clock import reads
from ..algebra.connect import Chain, by_keys, in_order, is_inner
from ..algebra.nodes import Filter, Join, Named, Node, Project
from ..algebra.transform import with_children
from .column_types import types_of
from .derivation import Binding, Derivation, is_nothing, types_of_feeds
from .literal_keys import computed_as, is_led_by_change
from .partners import is_filtered

FEWEST = 3
"""Relations of a chain whose order makes a difference."""


@dataclass
class Chaining:
    """What is made of the relations of a plan, in their order."""

    d: Derivation
    bindings: list[Binding] = field(default_factory=list)
    _types: dict[str, Mapping[str, str]] = field(init=False)

    def __post_init__(self) -> None:
        self._types = {**self.d.types, **types_of_feeds(self.d.feeds.values(), self.d.types)}

    def add(self, binding: Binding) -> None:
        """One more relation of the plan, behind those that its chains are computed by."""
        self.bindings.append(replace(binding, node=self.begun(binding.node)))

    def begun(self, node: Node) -> Node:
        """The same relation, each of its chains begun at what changed."""
        if not self.d.large:
            return node
        made: dict[int, Node] = {}

        def of(node: Node) -> Node:
            if id(node) not in made:
                made[id(node)] = self._chained(node, of) or with_children(node, tuple(map(of, node.children)))
            return made[id(node)]

        return of(node)

    def _chained(self, node: Node, of: Callable[[Node], Node]) -> Node | None:
        """None if it is no chain of which the order makes a difference."""
        if not is_inner(node):
            return None
        chain = _chain(node)
        if chain is None or len(chain.links) < FEWEST:
            return None
        if not any(map(is_led_by_change, chain.links)) or not any(map(self._is_large, chain.links)):
            return None
        links = sorted(map(of, chain.links), key=lambda link: (not is_led_by_change(link), not isinstance(link, Named)))
        first, *left = links
        return in_order(self._joined(chain, first, left), node.columns)

    def _joined(self, chain: Chain, rows: Node, left: list[Node]) -> Node:
        thinned = False
        while left:
            met = [link for link in left if chain.between(rows, link)] or left
            link = min(met, key=lambda link: (not is_led_by_change(link), self._is_large(link)))
            by = chain.between(rows, link)
            if self._is_large(link) and by:
                if thinned or not any(computed_as(rows, e, self._types) for e, _, _ in by):
                    rows, thinned = self._computed(rows), False
                thinned = thinned or is_filtered(link)
            rows = chain.joined(rows, link)
            left.remove(link)
        return rows

    def _is_large(self, link: Node) -> bool:
        return not is_led_by_change(link) and self.d.reads_large(link)

    def _computed(self, rows: Node) -> Named:
        known = next((b for b in self.bindings if b.node == rows), None)
        if known is None:
            known = self.d.bound("rows_so_far", rows, "changed rows, joined with the first of the tables they meet")
            known = replace(known, types=types_of(rows, self._types))
            self.bindings.append(known)
            self._types[known.name] = known.types
        return Named(known.name, rows.columns)


def changed_first(join: Join, changed: Collection[str]) -> Node:
    """The same rows, joined first of the tables that changed, where these meet: whatever else they are joined with is
    met by the change of all, and not once by that of each."""
    chain = _chain(join)
    if chain is None:
        return join
    first = [n for n in chain.links if not n.has_groups and any(source in changed for source, _ in n.leaves)]
    if len(first) < 2 or chain.links[: len(first)] == first:
        return join
    ordered = by_keys([*first, *(n for n in chain.links if n not in first)], chain.equalities)
    if set(ordered[: len(first)]) != set(first):
        return join
    return in_order(chain.in_turn(ordered), join.columns)


def _chain(join: Join) -> Chain | None:
    """None where two of its relations have a column of one name."""
    chain = Chain.of(join, _stands_above_chain)
    names = [c for link in chain.links for c in link.columns]
    return chain if len(set(names)) == len(names) else None


def _stands_above_chain(node: Node) -> bool:
    """Whether it is a filter, or a projection that neither renames nor computes anything, of joined rows."""
    below = node
    while isinstance(below, Filter | Project) and not is_nothing(below):
        if isinstance(below, Project) and any(e.column != name for name, e in below.outputs):
            return False
        if isinstance(below, Filter) and reads(below.predicate):
            return False
        below = below.child
    return is_inner(below)
