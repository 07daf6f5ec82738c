"""A temporal join by bins of time: a version stands in every bin that it is valid in, a row in the one of its own time,
and they meet on key and bin.

A join on the key alone compares every row with all versions of its key; here it meets those of one bin. It means the
same for any versions, overlapping ones and changes of them too. (The time-binned join of `benchmarks/`.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from ..algebra.expressions import Expr, column, integer, operand
from ..algebra.nodes import Aggregate, Generate, Join, JoinKind, Node, Project
from ..changes.column_types import INTEGERS
from ..changes.derivation import passed
from ..names import PREFIX
from .versions_met import COUNT, KEY, lasting, of_versions, place

ROW_BIN, VERSION_BIN = f"{PREFIX}bin", f"{PREFIX}bin_met"

MICROS = "UNIX_MICROS(CAST({} AS TIMESTAMP))"
SINCE = "TIMESTAMPDIFF(MICROSECOND, TIMESTAMP_NTZ '1970-01-01 00:00:00', CAST({} AS TIMESTAMP_NTZ))"
DAYS = "DATEDIFF({}, DATE '1970-01-01')"
NUMBER = "CAST({} AS BIGINT)"


def position(types: Iterable[str]) -> str | None:
    """SQL for a time as a whole number, one that keeps the order in which Spark compares times of these types, with
    braces in place of the time; None if there is none."""
    met = set(types)
    if met <= set(INTEGERS):
        return NUMBER
    if met == {"date"}:
        return DAYS
    if met <= {"date", "timestamp"}:
        return MICROS
    return SINCE if met <= {"date", "timestamp_ntz"} else None


@dataclass(frozen=True)
class Bins:
    """position: as above; first, last: positions before and after which all times fall into the outermost bins; width:
    of a bin, in the unit of the positions."""

    position: str
    first: int
    last: int
    width: int

    def __call__(self, join: Join) -> Node:
        """The join with its meaning, made by bins."""
        assert join.as_of is not None and join.as_of.time is not None
        left = Project(join.left, (*passed(join.left.columns), (ROW_BIN, self._bin(join.as_of.time))))
        by_bin = (*join.equalities, (column(ROW_BIN), column(VERSION_BIN), False))
        joined = Join(left, self._binned(join), by_bin, join.residual, join.kind)
        shown = join.left if join.kind in (JoinKind.SEMI, JoinKind.ANTI) else join
        return Project(joined, passed(shown.columns))

    def filling(self, join: Join) -> Node:
        """One row about the right side of the join: (most versions of one key in one bin)."""
        keys = tuple(KEY.format(i) for i in range(len(join.equalities)))
        groups = (*zip(keys, of_versions(join), strict=True), (VERSION_BIN, column(VERSION_BIN)))
        by_bin = Aggregate(self._binned(join), groups, (("met", COUNT),))
        return Aggregate(by_bin, (), (("most", Expr.of(exp.Max(this=column("met").tree.copy()))),))

    def stood_in(self, join: Join) -> Node:
        """One row about the right side of the join: (bins that its versions stand in, all together)."""
        first, last = self._valid(join)
        bins = Expr.of(exp.Add(this=exp.Sub(this=last, expression=first), expression=exp.Literal.number(1)))
        stood_in = Project(lasting(join), (("bins", bins),))
        return Aggregate(stood_in, (), (("all", Expr.of(exp.Sum(this=column("bins").tree.copy()))),))

    def _binned(self, join: Join) -> Node:
        first, last = self._valid(join)
        bins = exp.Explode(this=exp.GenerateSeries(start=first, end=last))
        return Generate(lasting(join), Expr.of(bins), (VERSION_BIN,))

    def _valid(self, join: Join) -> tuple[exp.Expression, exp.Expression]:
        """The first and the last bin that a version stands in."""
        assert join.as_of is not None
        first, last = (self._bin(column(n)).tree for n in (join.as_of.valid_from, join.as_of.valid_to))
        return exp.paren(first, copy=True), exp.paren(last, copy=True)

    def _bin(self, time: Expr) -> Expr:
        """Of any two times the later one never has the lower bin. One without an end is in the last."""
        at = place(time, self.position)
        known = exp.Coalesce(this=at, expressions=[integer(self.last).tree.copy()])
        begun = exp.Greatest(this=known, expressions=[integer(self.first).tree.copy()])
        within = exp.Least(this=begun, expressions=[integer(self.last).tree.copy()])
        since = exp.paren(exp.Sub(this=within, expression=operand(integer(self.first).tree)))
        return Expr.of(exp.IntDiv(this=since, expression=integer(self.width).tree.copy()))
