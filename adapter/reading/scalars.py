"""What may stand in an expression: a function of its columns and nothing else."""

from __future__ import annotations

from sqlglot import exp

from ..dialect import Clock, print_sql
from ..errors import Volatility
from .aggregates import is_windowed
from .functions import (
    CLOCK,
    GENERATORS,
    MAINTAINED_AGGREGATES,
    MAINTAINED_BY_NAME,
    OF_THE_SESSION,
    RANDOM,
    TIME_WINDOWS,
    WINDOW_FUNCTIONS,
    is_unknown,
    spark_name,
)
from .refuse import refuse

CONDITIONS = ("WHERE", "HAVING", "QUALIFY", "ON")
"""Clauses that may read the clock: they decide about rows, and what they decided can be asked again."""


def scalar(tree: exp.Expression, clause: str, *, aggregates: bool = False, windows: bool = False) -> exp.Expression:
    """The expression, with the functions of the clock marked as such. Raises Refusal for what has no law.

    clause: where it stands, for the message; aggregates, windows: whether an aggregate or a window function may stand
    in it.
    """
    for node in tree.walk():
        if isinstance(node, exp.Query | exp.Subquery):
            raise refuse(f"a subquery in {clause}", "has no law of change here yet", node, "write it as a join")
        if isinstance(node, exp.Window) and not windows:
            raise refuse(f"a window function in {clause}", "has no law of change here yet", node)
        if isinstance(node, exp.Grouping | exp.GroupingId):
            continue
        elif isinstance(node, exp.AggFunc):
            _aggregate(node, clause, aggregates)
        elif isinstance(node, exp.Func):
            _function(node, clocked=clause in CONDITIONS)
        elif isinstance(node, exp.Placeholder | exp.Parameter | exp.SessionParameter):
            raise refuse("a parameter", "has no value in a model", node)
    return tree.transform(_clock, copy=False)


def _clock(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.Func) and _reads_clock(node, spark_name(node)):
        return Clock(this=CLOCK[spark_name(node)])
    return node


def _aggregate(node: exp.AggFunc, clause: str, allowed: bool) -> None:
    name, windowed = spark_name(node), is_windowed(node)
    if not (allowed or windowed):
        raise refuse(f"{name}() in {clause}", "is an aggregate where none can be maintained", node)
    known = isinstance(node, MAINTAINED_AGGREGATES) or (windowed and isinstance(node, WINDOW_FUNCTIONS))
    if not known and not (isinstance(node, exp.AnonymousAggFunc) and name in MAINTAINED_BY_NAME):
        # As it is printed: the tree knows some functions by another of their names.
        shown = print_sql(node).partition("(")[0].lower()
        raise refuse(f"{shown}()", "is an aggregate that has no law of change here yet", node)


def is_volatile(tree: exp.Expression) -> bool:
    """Whether anything in a query can have another value although no table changed."""
    return any(_volatile(node) for node in tree.find_all(exp.Func, exp.TableSample))


def _volatile(node: exp.Expression) -> bool:
    if isinstance(node, exp.TableSample):
        return True
    name = spark_name(node)
    return _reads_clock(node, name) or name in RANDOM or name in OF_THE_SESSION or is_unknown(node)


def _reads_clock(node: exp.Func, name: str) -> bool:
    return name in CLOCK and not (name == "unix_timestamp" and bool(node.args.get("this") or node.expressions))


def _function(node: exp.Func, *, clocked: bool) -> None:
    name = spark_name(node)
    inside = node.find_ancestor(exp.AggFunc, exp.Window)
    if name in OF_THE_SESSION or (_reads_clock(node, name) and (inside or not clocked)):
        raise refuse(
            f"{name}()", "has another value at every refresh, and is maintained only where it decides about rows", node,
            "filter by it in WHERE, HAVING or QUALIFY", volatility=Volatility.VOLATILE,
        )  # fmt: skip
    if name in TIME_WINDOWS:
        raise refuse(
            f"{name}()", "makes rows and is no value of one", node, "select it, or group by it; or date_trunc()"
        )
    if name in RANDOM:
        raise refuse(f"{name}()", "is not a function of its arguments", node, volatility=Volatility.VOLATILE)
    if name in GENERATORS or isinstance(node, exp.UDTF):
        raise refuse(f"{name}()", "makes many rows of one and has no law of change here yet", node)
    if is_unknown(node):
        raise refuse(
            f"the function {name}()",
            "is not one of Spark's own, so nothing says that equal arguments give equal values", node,
            f"if they do, and it reads no table, set deterministic_functions: ['{name}']",
            volatility=Volatility.VOLATILE,
        )  # fmt: skip
