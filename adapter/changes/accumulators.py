"""What a group's change says about one of its aggregates, and when that is not enough.

COUNT and SUM add up; MIN and MAX take a new extremum. COUNT_IF counts the rows of a FILTER; BOOL_OR is the MAX of what
is true or false, BOOL_AND the MIN. COUNT(DISTINCT e) adds up what DISTINCT group, e wins and loses. Sums over floating
point are no accumulators: in another order they are another number.

Columns of the i-th aggregate: of_i what it reads, if_i its FILTER, add_i what is added, known_i how many values that
are not NULL it won or lost, lost_i the best value it lost, own_i what the table holds. Of COUNT(DISTINCT e), of_i is 0
in what changed, 1 in a value that the group has now and had not, -1 in one that it had and has not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from sqlglot import exp

from ..algebra.expressions import Expr, cast, column, integer
from ..algebra.nodes import Aggregate, Filter, Node
from ..names import WEIGHT

EXACT_SUMS = re.compile(r"bigint|decimal\((\d|1\d|2[0-8]),\d+\)|decimal\(\d+,[0-6]\)")
"""Types of a SUM that is the same in any order. Of a value times its copies Spark keeps 38 digits, and of those behind
the point at least 6: only a longer and finer decimal could lose some."""

ORDERED = re.compile(r"(tiny|small|big)?int|decimal\(\d+,\d+\)|string|date|timestamp(_ntz)?|boolean")
"""Types whose least and greatest value are one value."""


EXTREMES = {exp.LogicalOr: exp.Max, exp.LogicalAnd: exp.Min}
"""Aggregates that are an extremum by another name."""


class Combine(Enum):
    """How a column of the table and what is added to it make its new value. NULL adds nothing."""

    GROUP = "group"
    ADD = "add"
    LEAST = "least"
    GREATEST = "greatest"


@dataclass(frozen=True)
class Accumulator:
    """The i-th aggregate. call: COUNT, SUM, MIN or MAX; of: what it reads, None for COUNT(*); only: its FILTER;
    type: of its result; once: what COUNT(DISTINCT …) counts each value of once, nothing for all others."""

    i: int
    call: type[exp.AggFunc]
    of: exp.Expression | None
    only: exp.Expression | None
    type: str
    once: tuple[exp.Expression, ...] = ()

    @property
    def add(self) -> str:
        return f"add_{self.i}"

    @property
    def counts_rows(self) -> bool:
        return self.call is exp.Count and self.of is None and self.only is None and not self.once

    @property
    def is_extreme(self) -> bool:
        return self.call in (exp.Min, exp.Max)

    def read(self) -> list[tuple[str, Expr]]:
        """What it needs of a row."""
        if self.once:
            return [(f"of_{self.i}", integer(0))]
        needed = ((f"of_{self.i}", self.of), (f"if_{self.i}", self.only))
        return [(name, Expr.of(e)) for name, e in needed if e is not None]

    def values(self, groups: tuple[tuple[str, Expr], ...], rows: Node) -> Aggregate:
        """What COUNT(DISTINCT …) counts, each value once for each group: DISTINCT groups, values."""
        conditions = [*([self.only] if self.only is not None else []), *map(_is_known, self.once)]
        counted = Filter(rows, Expr.of(exp.and_(*(exp.paren(c.copy()) for c in conditions))))
        return Aggregate(counted, (*groups, *((f"once_{k}", Expr.of(e)) for k, e in enumerate(self.once))))

    def value_for(self, other: Accumulator) -> Expr:
        """What `other` reads of a row that stands for a value that came to a group or left it, with WEIGHT: it is one
        for this aggregate alone."""
        if other is self:
            return column(WEIGHT)
        return integer(0) if other.once else Expr.of(exp.Null())

    def contributions(self) -> list[tuple[str, Expr]]:
        """What a group's change adds, and what says whether that is enough; over rows with `read` and WEIGHT."""
        of, weight = reference(f"of_{self.i}"), reference(WEIGHT)
        if self.once:
            return [(self.add, summed(of))]
        known = [_is_known(of)] if self.of is not None else []
        if self.call is exp.Count:
            return [(self.add, summed(self._if(weight, *known)))]
        if self.call is exp.Sum:
            # A decimal keeps its digits next to an INT; an integer needs the BIGINT that a weight is.
            copies = exp.cast(weight, "int") if self.type.startswith("decimal") else weight
            value = self._if(exp.Mul(this=of, expression=copies))
            total = Expr.of(exp.Sum(this=value))
            return [(self.add, total), (f"known_{self.i}", summed(self._if(weight, *known)))]
        gained = self._if(of, exp.GT(this=weight, expression=zero()))
        lost = self._if(of, exp.LT(this=weight, expression=zero()))
        return [(self.add, Expr.of(self.call(this=gained))), (f"lost_{self.i}", Expr.of(self.call(this=lost)))]

    def may_fall(self) -> exp.Expression | None:
        """When the change of a group may not tell what its aggregate is now; over `contributions`."""
        if self.call is exp.Count:
            return None
        if self.call is exp.Sum:
            return exp.LT(this=reference(f"known_{self.i}"), expression=zero())
        gained, lost = reference(self.add), reference(f"lost_{self.i}")
        worse = (exp.GT if self.call is exp.Min else exp.LT)(this=gained, expression=lost)
        return exp.and_(_is_known(lost), exp.paren(exp.or_(_is_null(gained), worse)))

    def falls(self) -> exp.Expression | None:
        """When change and table together do not tell it; over `contributions` and own_i, where it may fall."""
        if self.call is exp.Count:
            return None
        if self.call is exp.Sum:
            return exp.EQ(this=self._total(), expression=zero())
        best = exp.LTE if self.call is exp.Min else exp.GTE
        return best(this=reference(f"lost_{self.i}"), expression=self._own())

    def shows_rows(self) -> exp.Expression:
        """What says that the group has rows left."""
        if self.call is exp.Count:
            return exp.GT(this=self._total(), expression=zero())
        if self.call is exp.Sum:
            return exp.NEQ(this=self._total(), expression=zero())
        lost = reference(f"lost_{self.i}")
        worse = (exp.GT if self.call is exp.Min else exp.LT)(this=lost, expression=self._own())
        stays = exp.and_(_is_known(self._own()), exp.paren(exp.or_(_is_null(lost), worse)))
        return exp.or_(_is_known(reference(self.add)), exp.paren(stays))

    @property
    def combine(self) -> Combine:
        return {exp.Min: Combine.LEAST, exp.Max: Combine.GREATEST}.get(self.call, Combine.ADD)

    def value(self) -> Expr:
        """What is added, in the type of the result."""
        return cast(column(self.add), self.type) if self.call is exp.Sum else column(self.add)

    def _own(self) -> exp.Expression:
        return reference(f"own_{self.i}")

    def _total(self) -> exp.Expression:
        return exp.Add(this=_or_zero(self._own()), expression=_or_zero(reference(self.add)))

    def _if(self, value: exp.Expression, *conditions: exp.Expression) -> exp.Expression:
        """The value where its FILTER and the conditions hold, else NULL."""
        met = [*([reference(f"if_{self.i}")] if self.only is not None else []), *(exp.paren(c) for c in conditions)]
        return exp.Case(ifs=[exp.If(this=exp.and_(*met), true=value.copy())]) if met else value.copy()


def accumulator(i: int, tree: exp.Expression, data_type: str | None) -> Accumulator | None:
    """The i-th aggregate of a group. data_type: of its result, None if it is not shown. None if it does not add up."""
    found = taken(tree)
    if data_type is None or found is None:
        return None
    if found.call is not exp.Count:
        exact = EXACT_SUMS if found.call is exp.Sum else ORDERED if found.call in (exp.Min, exp.Max) else None
        if found.once or exact is None or not exact.fullmatch(data_type):
            return None
    return Accumulator(i, found.call, found.of, found.only, data_type, found.once)


@dataclass(frozen=True)
class Taken:
    """What an aggregate takes of the rows of a group. call: itself; of: its operand, None for COUNT(*); only: which
    rows alone, its FILTER; once: of DISTINCT, what each value of is taken once."""

    call: type[exp.AggFunc]
    of: exp.Expression | None
    only: exp.Expression | None = None
    once: tuple[exp.Expression, ...] = ()


def taken(tree: exp.Expression) -> Taken | None:
    """None for an aggregate of several operands, and for what is no aggregate."""
    only = None
    if isinstance(tree, exp.Filter):
        tree, only = tree.this, tree.expression.this
    if not isinstance(tree, exp.AggFunc) or tree.expressions:
        return None
    if isinstance(tree.this, exp.Distinct):
        return Taken(type(tree), None, only, tuple(tree.this.expressions))
    if type(tree) is exp.CountIf:
        counted = [exp.paren(e) for e in (only, tree.this) if e is not None]
        return Taken(exp.Count, None, exp.and_(*counted))
    if type(tree) is exp.Count and isinstance(tree.this, exp.Star | exp.Literal):
        return Taken(exp.Count, None, only)
    return Taken(EXTREMES.get(type(tree), type(tree)), tree.this, only)


def summed(value: exp.Expression) -> Expr:
    """SUM, and 0 over no rows."""
    return Expr.of(_or_zero(exp.Sum(this=value)))


def reference(name: str) -> exp.Expression:
    return column(name).tree.copy()


def zero() -> exp.Expression:
    return exp.Literal.number(0)


def _or_zero(value: exp.Expression) -> exp.Expression:
    return exp.Coalesce(this=value, expressions=[zero()])


def _is_null(value: exp.Expression) -> exp.Expression:
    return exp.Is(this=value.copy(), expression=exp.Null())


def _is_known(value: exp.Expression) -> exp.Expression:
    return exp.Not(this=_is_null(value))
