"""The session's clock as an input of a model: what an expression reads of it, and at which of two times.

`current_date`, `current_timestamp` and their like have one value in a refresh, which the ledger keeps. A model is over
the undated clock; a change plan says for each of its expressions whether it means the clock before or after.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from ..dialect import Clock
from .expressions import Expr
from .nodes import Filter, Node, Time, expressions, walk

CLOCK = "the clock"
"""What stands for the clock among the sources that changed."""

WATERMARK = "watermark"
"""The clock of event time: up to where the rows and the versions of temporal joins are taken to be complete."""

NOT_READ = {WATERMARK: "CAST(NULL AS TIMESTAMP)"}
"""What stands for a function of the clock that the session does not have, where it is not read."""

Reading = Mapping[str, str]
"""Function of the clock, as Spark names it -> its value at one time, as a Spark SQL literal."""


def reads(e: Expr) -> frozenset[str]:
    """The functions of the clock in an expression."""
    return frozenset(c.name for c in e.tree.find_all(Clock))


def read_by(model: Node) -> frozenset[str]:
    """The functions of the clock in a plan. They stand in filters alone."""
    return frozenset().union(*(reads(n.predicate) for n in walk(model) if isinstance(n, Filter)))


def misplaced(model: Node) -> Expr | None:
    """An expression that reads the clock and is not the condition of a filter, if there is one."""
    nodes = (n for n in walk(model) if not isinstance(n, Filter))
    found = (e for n in nodes for e in expressions(n))
    return next((e for e in found if reads(e)), None)


def at_time(e: Expr, time: Time) -> Expr:
    """The expression with the clock as it is at one time."""
    if not reads(e):
        return e

    def dated(node: exp.Expression) -> exp.Expression:
        return Clock(this=node.this, time=time.value) if isinstance(node, Clock) else node

    return Expr.of(e.tree.transform(dated))


def told(tree: exp.Expression, clock: Mapping[Time, Reading]) -> exp.Expression:
    """SQL with the readings in place of the clock; where there is none for a time, the function itself."""

    def put(node: exp.Expression) -> exp.Expression:
        if not isinstance(node, Clock):
            return node
        read = clock.get(Time(node.args.get("time") or Time.UNDATED.value), {})
        value = read.get(node.name, NOT_READ.get(node.name))
        if value is None:
            return exp.Anonymous(this=node.name.upper())
        return exp.maybe_parse(value, dialect="spark")

    return tree.transform(put, copy=False)
