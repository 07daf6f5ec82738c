"""Scalar and aggregate expressions, carried through the algebra unopened.

A node of the algebra knows which columns an expression reads and can put other expressions in their place; what the
expression means is Spark's business. Equality and hashing are by text, so equal plans are equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from sqlglot import exp

from ..dialect import print_sql


@dataclass(frozen=True)
class Expr:
    """A sqlglot tree over bare column names. The tree is never changed in place."""

    text: str
    tree: exp.Expression = field(compare=False, repr=False)

    @classmethod
    def of(cls, tree: exp.Expression) -> Expr:
        return cls(print_sql(tree), tree)

    @cached_property
    def columns(self) -> frozenset[str]:
        """Names of the columns it reads."""
        return frozenset(c.name for c in self.tree.find_all(exp.Column))

    @property
    def column(self) -> str | None:
        """The column's name if the expression is nothing but a column, else None."""
        return self.tree.name if isinstance(self.tree, exp.Column) else None

    def substitute(self, by: Mapping[str, Expr]) -> Expr:
        """The expression with each column named in `by` replaced."""
        replaced = self.columns & by.keys()
        if not replaced:
            return self
        if (name := self.column) is not None:
            return by[name]
        return Expr.of(replace_columns(self.tree, {name: by[name].tree for name in replaced}))

    def rename(self, to: Mapping[str, str]) -> Expr:
        return self.substitute({old: column(new) for old, new in to.items()})


def replace_columns(tree: exp.Expression, by: Mapping[str, exp.Expression]) -> exp.Expression:
    """A copy of the tree with columns replaced, by operands."""

    def put(node: exp.Expression) -> exp.Expression:
        return operand(by[node.name]) if isinstance(node, exp.Column) and node.name in by else node

    if isinstance(tree, exp.Column) and tree.name in by:
        return operand(by[tree.name])
    return tree.copy().transform(put, copy=False)


def operand(tree: exp.Expression) -> exp.Expression:
    """A copy of the tree that can stand beside an operator: an operator itself is put in parentheses."""
    is_operator = isinstance(tree, exp.Binary | exp.Unary | exp.Between | exp.In) and not isinstance(tree, exp.Paren)
    return exp.paren(tree) if is_operator else tree.copy()


@lru_cache(maxsize=4096)
def column(name: str) -> Expr:
    """The expression that is a column and nothing else."""
    tree = exp.Column(this=exp.to_identifier(name, quoted=True))
    return Expr(print_sql(tree), tree)


def columns(names: tuple[str, ...]) -> tuple[Expr, ...]:
    return tuple(column(n) for n in names)


def integer(value: int) -> Expr:
    tree = exp.Literal.number(value) if value >= 0 else exp.Neg(this=exp.Literal.number(-value))
    return Expr.of(tree)


FALSE = Expr.of(exp.false())
"""The condition that no row meets."""


def cast(of: Expr, data_type: str) -> Expr:
    """`CAST(of AS data_type)`, the type in Spark's own spelling."""
    return Expr.of(exp.Cast(this=of.tree.copy(), to=_data_type(data_type).copy()))


@lru_cache(maxsize=256)
def _data_type(text: str) -> exp.DataType:
    return exp.DataType.build(text, dialect="spark")


@lru_cache(maxsize=256)
def null(data_type: str) -> Expr:
    """`CAST(NULL AS data_type)`"""
    return cast(Expr.of(exp.Null()), data_type)


def conjuncts(predicate: Expr) -> list[Expr]:
    """The parts of an AND, in order."""
    found, waiting = [], [predicate.tree]
    while waiting:
        tree = waiting.pop()
        inner = tree.unnest()
        if isinstance(inner, exp.And):
            waiting += [inner.expression, inner.this]
        else:
            found.append(tree)
    return [Expr.of(tree) for tree in found] if len(found) > 1 else [predicate]


def conjunction(parts: list[Expr]) -> Expr | None:
    """All of them, or None for none."""
    if not parts:
        return None
    return Expr.of(exp.and_(*(p.tree.copy() for p in parts), copy=False)) if len(parts) > 1 else parts[0]


def one_of(of: Expr, values: Sequence[Expr | None]) -> Expr:
    """`of = a OR of = b OR …`, and `of IS NULL` for None. Not `of IN (a, b)`: that may convert both sides to another
    type than `=` does."""
    tests: list[exp.Expression] = [
        exp.Is(this=operand(of.tree), expression=exp.Null())
        if value is None
        else exp.EQ(this=operand(of.tree), expression=value.tree.copy())
        for value in values
    ]
    return Expr.of(exp.or_(*tests, copy=False))
