"""Inner joins in an order in which each side meets the ones before it by a key, where the FROM lists them otherwise.

`FROM part, supplier, lineitem` asks for the pairs of parts and suppliers first. An engine that is given the SELECT
puts them in a better order; in a change plan there are unions between the joins, over which it cannot see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sqlglot import exp

from .expressions import Expr, columns, conjunction, conjuncts, operand
from .nodes import Join, JoinKind, Node, Project, UnionAll
from .transform import with_children

Equality = tuple[Expr, Expr, bool]


def connected(node: Node) -> Node:
    """The same relation, names and order of columns too."""
    made: dict[int, Node] = {}

    def of(node: Node) -> Node:
        if id(node) not in made:
            made[id(node)] = _joined(node, of) if _is_inner(node) else _over(node, tuple(map(of, node.children)))
        return made[id(node)]

    return _in_order(of(node), node.columns)


def _is_inner(node: Node) -> bool:
    return isinstance(node, Join) and node.kind is JoinKind.INNER and node.as_of is None


def _over(node: Node, children: tuple[Node, ...]) -> Node:
    if isinstance(node, UnionAll):
        # Its inputs are matched by position.
        children = tuple(_in_order(new, old.columns) for new, old in zip(children, node.children, strict=True))
    return with_children(node, children)


def _in_order(node: Node, names: tuple[str, ...]) -> Node:
    return node if node.columns == names else Project(node, tuple(zip(names, columns(names), strict=True)))


def _joined(node: Node, of: Callable[[Node], Node]) -> Node:
    leaves: list[Node] = []
    equalities: list[Equality] = []
    others: list[Expr] = []
    _flatten(node, leaves, equalities, others)
    joined, *waiting = map(of, _by_keys(leaves, equalities))
    for leaf in waiting:
        joined, equalities, others = _with(joined, leaf, equalities, others)
    return joined


def _flatten(node: Node, leaves: list[Node], equalities: list[Equality], others: list[Expr]) -> None:
    if not (isinstance(node, Join) and _is_inner(node)):
        leaves.append(node)
        return
    for side in node.children:
        _flatten(side, leaves, equalities, others)
    equalities += node.equalities
    others += conjuncts(node.residual) if node.residual is not None else []


def _by_keys(leaves: list[Node], equalities: Iterable[Equality]) -> list[Node]:
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


def _with(
    left: Node, right: Node, equalities: Iterable[Equality], others: Iterable[Expr]
) -> tuple[Join, list[Equality], list[Expr]]:
    """The join of both by all the conditions that they can meet, and the conditions that are left."""
    met = left.column_set | right.column_set
    mine: list[Equality] = []
    residual = [e for e in others if e.columns <= met]
    later: list[Equality] = []
    for l, r, safe in equalities:
        if l.columns <= left.column_set and r.columns <= right.column_set:
            mine.append((l, r, safe))
        elif r.columns <= left.column_set and l.columns <= right.column_set:
            mine.append((r, l, safe))
        elif l.columns | r.columns <= met:
            kind = exp.NullSafeEQ if safe else exp.EQ
            residual.append(Expr.of(kind(this=operand(l.tree), expression=operand(r.tree))))
        else:
            later.append((l, r, safe))
    join = Join(left, right, tuple(mine), conjunction(residual))
    return join, later, [e for e in others if not e.columns <= met]
