"""Where a condition belongs: predicates go to the join or the input that can already answer them.

Over inner joins this never changes the meaning, and it makes `FROM a, b WHERE a.x = b.x` the join its author meant.
"""

from __future__ import annotations

from sqlglot import exp

from ..algebra.expressions import Expr, conjunction, conjuncts
from ..algebra.nodes import Filter, Join, Node


def place(node: Node, predicate: Expr) -> Node:
    """The rows of `node` for which the predicate is true, each part of it as low as inner joins allow."""
    for part in conjuncts(predicate):
        node = _place(node, part)
    return node


def _place(node: Node, part: Expr) -> Node:
    if isinstance(node, Filter):
        merged = conjunction([*conjuncts(node.predicate), part])
        assert merged is not None
        return Filter(node.child, merged)
    if not isinstance(node, Join) or not part.columns:
        return Filter(node, part)
    if part.columns <= set(node.left.columns):
        return Join(_place(node.left, part), node.right, node.equalities, node.residual)
    if part.columns <= set(node.right.columns):
        return Join(node.left, _place(node.right, part), node.equalities, node.residual)
    equality = _equality(node, part)
    if equality is not None:
        return Join(node.left, node.right, (*node.equalities, equality), node.residual)
    residual = part if node.residual is None else conjunction([node.residual, part])
    return Join(node.left, node.right, node.equalities, residual)


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
