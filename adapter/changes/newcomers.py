"""The first rows of those that came, each to be set beside the table's own row of its partition by whoever meets that.

The law of top.py for one row of each partition, where no row left: what came and stands before the table's row takes
its place, and what stands behind it changes nothing. Where they are level by what the table shows, and not equal,
nobody can tell which is first, and the partition falls.

Names in the conditions: CAME for the columns of the row that came, THERE for those of the table's row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ..algebra.expressions import Expr, column
from ..algebra.nodes import Node
from ..algebra.orderable import ranked

CAME, THERE = "came_{}", "there_{}"
"""The columns of the model, in order."""


@dataclass(frozen=True)
class Newcomers:
    """rows: one of each partition to which any came, with the columns of the model; wins: whether it takes the place of
    the table's row; falls: whether that cannot be told, None if it always can."""

    rows: Node
    wins: Expr
    falls: Expr | None


def newcomers(rows: Node, key: tuple[str, ...], order: Sequence[exp.Ordered], types: Mapping[str, str]) -> Newcomers:
    """key: the columns of the partition; order: of its rows, over columns of the model, as far as the table shows
    it; types: of the columns of the model."""
    came, there = ({c: column(name.format(i)) for i, c in enumerate(rows.columns)} for name in (CAME, THERE))
    compared = [(Expr.of(o.this).substitute(came).tree, Expr.of(o.this).substitute(there).tree) for o in order]
    level = [_equal(*both) for both in compared]
    ahead = [_stands_before(*both, o) for both, o in zip(compared, order, strict=True)]
    before = (exp.and_(*level[:i], this) for i, this in enumerate(ahead))
    told = [[ranked(side[c].tree, types[c]) for side in (came, there)] for c in rows.columns if c not in key]
    ordered = {Expr.of(one) for one, _ in compared}
    others = [_equal(*both) for both in told if Expr.of(both[0]) not in ordered]
    falls = Expr.of(exp.and_(*level, exp.not_(exp.and_(*others)))) if others else None
    return Newcomers(rows, Expr.of(exp.or_(*before)), falls)


def _stands_before(came: exp.Expression, there: exp.Expression, by: exp.Ordered) -> exp.Expression:
    """By one expression of an ORDER BY. What is compared with NULL is NULL, and not true."""
    less = (exp.GT if by.args.get("desc") else exp.LT)(this=_one(came), expression=_one(there))
    null, value = (came, there) if by.args.get("nulls_first") else (there, came)
    return exp.paren(exp.or_(less, exp.and_(_is_null(null), exp.not_(_is_null(value)))))


def _is_null(value: exp.Expression) -> exp.Expression:
    return exp.Is(this=_one(value), expression=exp.Null())


def _equal(one: exp.Expression, other: exp.Expression) -> exp.Expression:
    return exp.NullSafeEQ(this=_one(one), expression=_one(other))


def _one(value: exp.Expression) -> exp.Expression:
    """As an operand."""
    return value.copy() if isinstance(value, exp.Column) else exp.paren(value)
