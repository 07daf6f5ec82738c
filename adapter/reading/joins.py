"""Where a condition belongs: predicates go to the join or the input that can already answer them.

Over inner joins this never changes the meaning, and it makes `FROM a, b WHERE a.x = b.x` the join its author meant.
Over the other kinds a predicate of WHERE may go to the left side alone, and one of ON to the right side alone.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from ..algebra.clock import reads
from ..algebra.expressions import FALSE, Expr, column, columns, conjunction, conjuncts, null
from ..algebra.nodes import Filter, Join, JoinKind, Node, Project, UnionAll


def place(node: Node, *predicates: Expr) -> Node:
    """The rows of `node` for which the predicates are true, each part of them as low as inner joins allow."""
    parts = [part for predicate in predicates for part in _with_implied(predicate)]
    if parts and not isinstance(node, Join):
        return _filtered(node, parts)
    for part in parts:
        node = _place(node, part)
    return node


def _with_implied(predicate: Expr) -> list[Expr]:
    """The parts of an AND, and of each part that is an OR what all of its alternatives ask for: keys to join by."""
    found = []
    for part in conjuncts(predicate):
        alternatives = [conjuncts(Expr.of(tree)) for tree in _alternatives(part.tree)]
        first, *others = alternatives
        implied = [e for e in first if others and all(e in other for other in others)]
        found += [*(e for e in implied if e.columns), part]
    return found


def _alternatives(tree: exp.Expression) -> list[exp.Expression]:
    inner = tree.unnest()
    return [*_alternatives(inner.this), *_alternatives(inner.expression)] if isinstance(inner, exp.Or) else [tree]


def _filtered(node: Node, parts: list[Expr]) -> Node:
    if isinstance(node, Filter):
        node, parts = node.child, [*conjuncts(node.predicate), *parts]
    if FALSE in parts:
        # By itself it says that nothing is read.
        rest = conjunction([part for part in parts if part != FALSE])
        return Filter(Filter(node, rest) if rest is not None else node, FALSE)
    merged = conjunction(parts)
    assert merged is not None
    return Filter(node, merged)


def _place(node: Node, part: Expr) -> Node:
    if isinstance(node, Filter) and isinstance(node.child, Join):
        # One that something was joined for, above which the others must not stay.
        placed = _place(node.child, part)
        return Filter(placed, node.predicate) if isinstance(placed, Join) else _filtered(node, [part])
    if not isinstance(node, Join) or not part.columns:
        return _filtered(node, [part])
    if part.columns <= set(node.left.columns):
        return replace(node, left=_place(node.left, part))
    if node.kind is not JoinKind.INNER:
        return Filter(node, part)
    if part.columns <= set(node.right.columns):
        return replace(node, right=_place(node.right, part))
    # The clock moves the rows of a filter; a join has no law for a condition that moves.
    return Filter(node, part) if reads(part) else _met(node, part)


def on(join: Join, condition: Expr, *, keeps_right: bool = False) -> Join:
    """The join with a further condition of its ON. keeps_right: rows of the right side that fail it are shown too."""
    for part in _with_implied(condition):
        if join.kind is JoinKind.INNER:
            placed = _place(join, part)
            join = placed if isinstance(placed, Join) else _met(join, part)
        elif not keeps_right and part.columns and part.columns <= set(join.right.columns):
            join = replace(join, right=_place(join.right, part))
        else:
            join = _met(join, part)
    return join


def _met(join: Join, part: Expr) -> Join:
    equality = _equality(join, part)
    if equality is not None:
        return replace(join, equalities=(*join.equalities, equality))
    return replace(join, residual=part if join.residual is None else conjunction([join.residual, part]))


def full(join: Join, left_types: tuple[str, ...]) -> Node:
    """L ⟗ R = (L ⟕ R) ∪ ({NULL} × (R ▷ L)): by the laws of the two."""
    swapped = tuple((r, l, safe) for l, r, safe in join.equalities)
    alone = Join(join.right, join.left, swapped, join.residual, JoinKind.ANTI)
    return either(replace(join, kind=JoinKind.LEFT), alone, join, left_types)


def either(kept: Node, alone: Node, join: Join, left_types: tuple[str, ...]) -> Node:
    """kept: L ⟕ R of the join; alone: its R ▷ L."""
    if kept.columns != join.met:
        kept = Project(kept, tuple(zip(join.met, columns(join.met), strict=True)))
    nulls = [(name, null(t)) for name, t in zip(join.left.columns, left_types, strict=True)]
    shown = [(name, column(name)) for name in join.right.columns]
    return UnionAll((kept, Project(alone, (*nulls, *shown))))


def _equality(join: Join, part: Expr) -> tuple[Expr, Expr, bool] | None:
    """left = right (or <=>) if each side of the comparison reads one side of the join alone."""
    tree = part.tree
    while isinstance(tree, exp.Paren):
        tree = tree.this
    if not isinstance(tree, exp.EQ | exp.NullSafeEQ):
        return None
    a, b = Expr.of(tree.this), Expr.of(tree.expression)
    safe = isinstance(tree, exp.NullSafeEQ)
    left, right = set(join.left.columns), set(join.right.columns)
    if a.columns and b.columns:
        if a.columns <= left and b.columns <= right:
            return a, b, safe
        if a.columns <= right and b.columns <= left:
            return b, a, safe
    return None


def parts(predicate: exp.Expression) -> list[exp.Expression]:
    """The conditions of which each has to be met."""
    while isinstance(predicate, exp.Paren):
        predicate = predicate.this
    if isinstance(predicate, exp.And):
        return [p for side in (predicate.this, predicate.expression) for p in parts(side)]
    return [predicate]
