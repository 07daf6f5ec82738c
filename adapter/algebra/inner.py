"""σ(L ⟕ R) = σ(L ⋈ R) where σ keeps no row without a partner: a left join of which more is asked above is an inner one.

An inner join is bilinear: what one side's change meets is read of the other, and nothing else of its own side. A left
join asks both sides for the partners that rows had and have. Where R is made of groups there is nothing to be won, for
the change of groups is told from what they were and are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

from .expressions import Expr
from .nodes import Filter, Generate, Join, JoinKind, Node, Project, UnionAll, walk
from .nulls import is_never_true, is_null
from .transform import with_children

Names = frozenset[str]


def inner_where_kept(node: Node) -> Node:
    """The same relation."""
    if not any(map(_may_be_inner, walk(node))):
        return node
    made: dict[tuple[int, Names], Node] = {}

    def of(node: Node, known: Names) -> Node:
        """known: columns that are NULL in no row that is kept."""
        if (id(node), known) not in made:
            kept = replace(node, kind=JoinKind.INNER) if _may_be_inner(node) and known & node.right.column_set else node
            below = _known_below(kept, known)
            made[id(node), known] = with_children(kept, tuple(map(of, kept.children, below)))
        return made[id(node), known]

    return of(node, frozenset())


def _may_be_inner(node: Node) -> TypeGuard[Join]:
    return isinstance(node, Join) and node.kind is JoinKind.LEFT and node.as_of is None and not node.right.has_groups


def _known_below(node: Node, known: Names) -> tuple[Names, ...]:
    """Of each child, the columns that are NULL in no row of it that a kept row of the node is made of."""
    match node:
        case Filter():
            return (known | _asked_by(node.predicate),)
        case Project():
            return (frozenset(c for name, e in node.outputs if name in known for c in _nulls(e)),)
        case UnionAll():
            places = [i for i, name in enumerate(node.columns) if name in known]
            return tuple(frozenset(child.columns[i] for i in places) for child in node.inputs)
        case Generate():
            return (known & node.child.column_set,)
        case Join(as_of=None):
            return _known_of_sides(node, known)
    return tuple(frozenset() for _ in node.children)


def _known_of_sides(node: Join, known: Names) -> tuple[Names, Names]:
    asked = frozenset[str]() if node.residual is None else _asked_by(node.residual)
    left, right = (
        asked | frozenset(c for e in node.equalities if not e[2] for c in _nulls(e[side])) for side in (0, 1)
    )
    # What has no partner is kept by these two, whatever the conditions say of it.
    left = known if node.kind in (JoinKind.LEFT, JoinKind.ANTI) else left | known
    right = right | known if node.kind is JoinKind.INNER else right
    return left & node.left.column_set, right & node.right.column_set


def _asked_by(predicate: Expr) -> Names:
    """The columns of which each makes it not true by being NULL."""
    return frozenset(c for c in predicate.columns if is_never_true(predicate, {c}))


def _nulls(e: Expr) -> Names:
    """The columns of which each makes it NULL by being it."""
    return frozenset(c for c in e.columns if is_null(e, {c}))
