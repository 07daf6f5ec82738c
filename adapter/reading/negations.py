"""NOT as far inside as it goes: NOT (a OR b) is NOT a AND NOT b.

So does Spark's optimizer, and what a test of a subquery is where NULLs leave it open depends on it: IN is then false,
and NOT IN too.
"""

from __future__ import annotations

from sqlglot import exp

from ..algebra.expressions import operand


def negated_inside(tree: exp.Expression) -> exp.Expression:
    """The expression, changed in place, with NOT inside of every AND and OR that asks a subquery."""
    if tree.find(exp.Not) is None or tree.find(exp.Query) is None:
        return tree
    return tree.transform(_inside, copy=False)


def _inside(node: exp.Expression) -> exp.Expression:
    inner = node.this.unnest() if isinstance(node, exp.Not) else None
    if inner is None or inner.find(exp.Query) is None:
        return node
    if isinstance(inner, exp.In | exp.Exists):
        return exp.Not(this=inner)
    if isinstance(inner, exp.Not):
        return _inside(inner.this.unnest())
    if isinstance(inner, exp.And | exp.Or):
        other = exp.Or if isinstance(inner, exp.And) else exp.And
        sides = (exp.Not(this=operand(side)) for side in (inner.this, inner.expression))
        return exp.paren(other(**dict(zip(("this", "expression"), map(_inside, sides), strict=True))), copy=False)
    return node
