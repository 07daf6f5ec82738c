"""f ∘ γ = f ∘ π ∘ γ′: a table of averages and ratios does not show what they are made of, nor does one of ranks or
shares of groups, or of the largest of them, so that nothing can be added to it.

γ′ holds what they are made of: sums, counts and extrema, which add up. Where there are few groups, the ledger keeps the
rows of γ′ with every refresh, and the next one adds to them (held_partials.py). f is anything that is made of groups
alone: expressions, conditions (HAVING), windows, an ORDER BY with LIMIT.

AVG(x) is SUM(x) / COUNT(x) as Spark has it: of integers two DOUBLEs, of decimals to four more digits than x has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from ..algebra.expressions import Expr, cast, column
from ..algebra.nodes import Aggregate, Filter, Node, Project, Window
from ..algebra.show import show
from ..algebra.transform import with_children
from .accumulators import accumulator, zero
from .additive import projected
from .derivation import KEY
from .padded import padded_apart

PARTIALS, HELD = "partials", "held_partials"
"""What the rows of γ′ are called in a plan, as they are now and as the ledger keeps them from the refresh before."""

OPERAND = "part_{}"
"""The columns of γ′ beside KEY."""

ROWS_HELD = OPERAND.format(0)
"""The number of rows of a group."""

WHOLE = "decimal(20,0)"
WHOLE_SUM = "decimal(30,0)"
"""What holds any integer, and the type of a sum of such."""

EXACT_DOUBLE = 2**53
"""Up to here the DOUBLE of every integer is that integer: so is a sum of integers, in whatever order it is taken, whose
sizes make no more."""

DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")

NUMBER_DIGITS = 12
MOST_AVERAGED = 10**9
"""Digits that the number of averaged values is given, and what it must stay below. Spark divides a DECIMAL(12+s,s) by a
DECIMAL(12,0) to s+13 digits and rounds these to the s+4 of an AVG. Rounded twice it is what it would be rounded once: a
fraction of less than 10^9 is never so near to the middle between two numbers that nine more digits do not tell on which
side of it."""

LONG_DIGITS = 18
"""Digits that any BIGINT can have, as which Spark gives the whole part of a quotient."""


@dataclass(frozen=True)
class Partials:
    """γ′ of a model. types: of its columns, in their order; values: the columns of the model's aggregation over them;
    above: what the model makes of that, from its root down; key: where it makes one row of each group and shows them,
    the columns that are the groups, in their order, else None; below: column -> what its values must stay below for
    `values` to be exactly what Spark's own aggregates are."""

    aggregate: Aggregate
    types: Mapping[str, str]
    values: tuple[tuple[str, Expr], ...]
    above: tuple[Node, ...]
    key: tuple[str, ...] | None
    below: Mapping[str, int]

    def made_of(self, rows: Node) -> Node:
        """The model over rows of γ′."""
        node: Node = Project(rows, self.values)
        for n in reversed(self.above):
            node = with_children(n, (node,))
        return node

    @property
    def hides_groups(self) -> bool:
        """Whether there may be more groups than the table has rows."""
        return any(isinstance(n, Filter) for n in self.above)

    @property
    def text(self) -> str:
        """The same for equal ones: rows kept for one are no rows of another."""
        return f"{show(self.aggregate)}\n{list(self.types.values())}"

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.aggregate.groups)


def partials(model: Node, types_of: Callable[[Node], tuple[str, ...]]) -> Partials | None:
    """None where the model is not made of the groups of one aggregation alone, or has an aggregate that is not made of
    some that add up. types_of: Spark's types of the columns of a relation."""
    above: list[Node] = []
    node = model
    while isinstance(node, Project | Filter | Window):
        above.append(node)
        node = node.child
    if not (isinstance(node, Aggregate) and node.aggregates):
        return None
    node = padded_apart(node)
    groups = tuple((KEY.format(i), e) for i, (_, e) in enumerate(node.groups))
    asked = _Operands()
    for _, e in node.aggregates:
        for tree in _asked(e.tree):
            asked.of(tree)
    asking = Aggregate(node.child, groups, asked.outputs)
    types = dict(zip(asking.columns, types_of(asking), strict=True))
    made = _Operands({e: types[name] for name, e in asked.outputs})
    values: dict[str, Expr] = {name: column(key) for (name, _), (key, _) in zip(node.groups, groups, strict=True)}
    for name, e in node.aggregates:
        value = _value(e.tree, made)
        if value is None:
            return None
        values[name] = value
    return Partials(
        Aggregate(node.child, groups, made.outputs),
        {**{key: types[key] for key, _ in groups}, **{name: made.types[e] for name, e in made.outputs}},
        tuple(values.items()),
        tuple(above),
        _key(model),
        made.below,
    )


def _key(model: Node) -> tuple[str, ...] | None:
    """The columns that are the groups of the model, where it is a projection of them that shows all."""
    found = projected(model)
    if found is None:
        return None
    node, shown = found
    plain = {e.column: name for name, e in reversed(shown)}
    return tuple(plain[name] for name, _ in node.groups) if all(name in plain for name, _ in node.groups) else None


@dataclass
class _Operands:
    """The aggregates of γ′, each once. types: of those that were asked for."""

    types: dict[Expr, str] = field(default_factory=dict)
    below: dict[str, int] = field(default_factory=dict)
    _names: dict[Expr, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.of(exp.Count(this=exp.Star()), "bigint")

    @property
    def outputs(self) -> tuple[tuple[str, Expr], ...]:
        return tuple((name, e) for e, name in self._names.items())

    def of(self, tree: exp.Expression, data_type: str | None = None) -> Expr:
        """The column that holds it. data_type: of one that was not asked for."""
        e = Expr.of(tree)
        if data_type is not None:
            self.types.setdefault(e, data_type)
        return column(self._names.setdefault(e, OPERAND.format(len(self._names))))

    def limit(self, tree: exp.Expression, data_type: str, below: int) -> Expr:
        """The column that holds it, which must stay below that."""
        found = self.of(tree, data_type)
        self.below[found.tree.name] = below
        return found


def _asked(tree: exp.Expression) -> list[exp.Expression]:
    """The aggregates of whose types it depends how this one is made."""
    average = _Average.read(tree)
    return [average.total] if average is not None else [tree]


def _value(tree: exp.Expression, made: _Operands) -> Expr | None:
    """An aggregate over columns of γ′; None if it cannot be said so."""
    average = _Average.read(tree)
    if average is not None:
        return average.value(made)
    return made.of(tree) if accumulator(0, tree, made.types[Expr.of(tree)]) is not None else None


@dataclass(frozen=True)
class _Average:
    """of: what it is the average of; only: its FILTER."""

    of: exp.Expression
    only: exp.Expression | None

    @classmethod
    def read(cls, tree: exp.Expression) -> _Average | None:
        """None where it is none, or that of distinct values."""
        only = tree.expression if isinstance(tree, exp.Filter) else None
        call = tree.this if only is not None else tree
        return cls(call.this, only) if type(call) is exp.Avg and not isinstance(call.this, exp.Distinct) else None

    @property
    def total(self) -> exp.Expression:
        return self._over(exp.Sum, self.of)

    @property
    def number(self) -> exp.Expression:
        return self._over(exp.Count, self.of)

    def value(self, made: _Operands) -> Expr | None:
        data_type = made.types[Expr.of(self.total)]
        return self._of_integers(made) if data_type == "bigint" else self._of_decimals(data_type, made)

    def _of_integers(self, made: _Operands) -> Expr:
        whole = cast(Expr.of(self.of), WHOLE).tree
        total = made.of(self._over(exp.Sum, whole), WHOLE_SUM)
        made.limit(self._over(exp.Sum, exp.Abs(this=whole)), WHOLE_SUM, EXACT_DOUBLE)
        number = made.of(self.number, "bigint")
        return Expr.of(_divided(cast(total, "double").tree, cast(number, "double").tree))

    def _of_decimals(self, data_type: str, made: _Operands) -> Expr | None:
        """The whole of it, and what is left of the sum divided for itself: so that enough digits are left for it."""
        found = DECIMAL.fullmatch(data_type)
        if not found or accumulator(0, self.total, data_type) is None:
            return None
        # A SUM has ten digits more than what it adds, an AVG four; of 38 there may have been more.
        precision, scale = int(found[1]) - 10, int(found[2])
        if precision >= 28 or precision - scale > LONG_DIGITS or scale + NUMBER_DIGITS + 13 > 38:
            return None
        total = made.of(self.total).tree
        number = cast(made.limit(self.number, "bigint", MOST_AVERAGED), f"decimal({NUMBER_DIGITS},0)").tree
        whole = exp.IntDiv(this=total.copy(), expression=_or_null(number))
        left = cast(Expr.of(exp.Mod(this=total.copy(), expression=_or_null(number))), _left(scale)).tree
        part = cast(Expr.of(_divided(left, number)), f"decimal({scale + 5},{scale + 4})")
        both = exp.Add(this=cast(Expr.of(whole), f"decimal({LONG_DIGITS},0)").tree, expression=part.tree)
        return cast(Expr.of(both), f"decimal({precision + 4},{scale + 4})")

    def _over(self, call: type[exp.AggFunc], value: exp.Expression) -> exp.Expression:
        """An aggregate of the same rows."""
        made = call(this=value.copy())
        return exp.Filter(this=made, expression=self.only.copy()) if self.only is not None else made


def _left(scale: int) -> str:
    """The type of what is left of a sum: it is less than the number of its values."""
    return f"decimal({NUMBER_DIGITS + scale},{scale})"


def _divided(dividend: exp.Expression, divisor: exp.Expression) -> exp.Expression:
    return exp.Paren(this=exp.Div(this=dividend.copy(), expression=_or_null(divisor), typed=False, safe=False))


def _or_null(number: exp.Expression) -> exp.Expression:
    """NULL where there is nothing to divide by."""
    return exp.Nullif(this=number.copy(), expression=zero())
