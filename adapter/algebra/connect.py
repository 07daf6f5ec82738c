"""Inner joins in an order in which each side meets the ones before it by a key, where the FROM lists them otherwise.

`FROM part, supplier, lineitem` asks for the pairs of parts and suppliers first. An engine that is given the SELECT
puts them in a better order; in a change plan there are unions between the joins, over which it cannot see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import reduce
from typing import TypeGuard

from sqlglot import exp

from .expressions import Expr, columns, conjunction, conjuncts, operand
from .nodes import Filter, Join, JoinKind, Node, Project, UnionAll
from .transform import with_children

Equality = tuple[Expr, Expr, bool]


@dataclass
class Chain:
    """Relations that inner joins join with one another, and the conditions that none of these joins has yet.
    equalities: either way round; others: whatever else has to be true of their rows."""

    links: list[Node] = field(default_factory=list)
    equalities: list[Equality] = field(default_factory=list)
    others: list[Expr] = field(default_factory=list)

    @classmethod
    def of(cls, node: Node, through: Callable[[Node], bool] | None = None) -> Chain:
        """through: whether a filter or a projection between joins is no link of its own; no projection that computes or
        renames anything."""
        chain = cls()
        chain._take(node, through or (lambda _: False))
        return chain

    def _take(self, node: Node, through: Callable[[Node], bool]) -> None:
        if is_inner(node):
            for side in node.children:
                self._take(side, through)
            self.equalities += node.equalities
            self.others += conjuncts(node.residual) if node.residual is not None else []
        elif isinstance(node, Filter | Project) and through(node):
            self._take(node.child, through)
            self.others += [node.predicate] if isinstance(node, Filter) else []
        else:
            self.links.append(node)

    def in_turn(self, links: Iterable[Node]) -> Node:
        """Each of them joined with those before it."""
        return reduce(self.joined, links)

    def between(self, left: Node, right: Node) -> list[Equality]:
        """By which the two are joined, those of the left side first."""
        return [by for e in self.equalities if (by := _between(e, left, right)) is not None]

    def joined(self, left: Node, right: Node) -> Join:
        """The join of both by all the conditions that they can meet, which are no longer to be met then."""
        met = left.column_set | right.column_set
        mine, later = list[Equality](), list[Equality]()
        residual = [e for e in self.others if e.columns <= met]
        for e in self.equalities:
            l, r, safe = e
            if (by := _between(e, left, right)) is not None:
                mine.append(by)
            elif l.columns | r.columns <= met:
                kind = exp.NullSafeEQ if safe else exp.EQ
                residual.append(Expr.of(kind(this=operand(l.tree), expression=operand(r.tree))))
            else:
                later.append(e)
        self.equalities, self.others = later, [e for e in self.others if not e.columns <= met]
        return Join(left, right, tuple(mine), conjunction(residual))


def _between(e: Equality, left: Node, right: Node) -> Equality | None:
    """The equality with that of the left side first; None if it is none of the two sides."""
    l, r, safe = e
    if not l.columns or not r.columns:
        return None
    if l.columns <= left.column_set and r.columns <= right.column_set:
        return e
    return (r, l, safe) if r.columns <= left.column_set and l.columns <= right.column_set else None


def connected(node: Node) -> Node:
    """The same relation, names and order of columns too."""
    made: dict[int, Node] = {}

    def of(node: Node) -> Node:
        if id(node) not in made:
            made[id(node)] = _joined(node, of) if is_inner(node) else _over(node, tuple(map(of, node.children)))
        return made[id(node)]

    return in_order(of(node), node.columns)


def is_inner(node: Node) -> TypeGuard[Join]:
    return isinstance(node, Join) and node.kind is JoinKind.INNER and node.as_of is None


def _over(node: Node, children: tuple[Node, ...]) -> Node:
    if isinstance(node, UnionAll):
        # Its inputs are matched by position.
        children = tuple(in_order(new, old.columns) for new, old in zip(children, node.children, strict=True))
    return with_children(node, children)


def in_order(node: Node, names: tuple[str, ...]) -> Node:
    return node if node.columns == names else Project(node, tuple(zip(names, columns(names), strict=True)))


def _joined(node: Node, of: Callable[[Node], Node]) -> Node:
    chain = Chain.of(node)
    return chain.in_turn(map(of, by_keys(chain.links, chain.equalities)))


def by_keys(leaves: list[Node], equalities: Iterable[Equality]) -> list[Node]:
    """Each time the first that has an equality with those before it; the next one where none has."""
    pairs = [(l.columns, r.columns) for l, r, _ in equalities]
    waiting, ordered = list(leaves[1:]), [leaves[0]]
    met = leaves[0].column_set

    def meets(leaf: Node) -> bool:
        return any(
            (a <= met and b <= leaf.column_set) or (b <= met and a <= leaf.column_set) for a, b in pairs if a and b
        )

    while waiting:
        leaf = next(filter(meets, waiting), waiting[0])
        waiting.remove(leaf)
        ordered.append(leaf)
        met |= leaf.column_set
    return ordered
