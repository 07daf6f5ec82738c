"""What may stand in an expression: a function of its columns and nothing else."""

from __future__ import annotations

from sqlglot import exp

from ..dialect import print_sql
from ..errors import Volatility
from .aggregates import is_windowed
from .functions import BUILT_IN, CLOCK, GENERATORS, MAINTAINED_AGGREGATES, ORDER_DEPENDENT, RANDOM, spark_name
from .refuse import refuse


def scalar(tree: exp.Expression, clause: str, *, aggregates: bool = False, windows: bool = False) -> exp.Expression:
    """The expression itself. Raises Refusal for what has no law.

    clause: where it stands, for the message; aggregates, windows: whether an aggregate or a window function may stand
    in it.
    """
    for node in tree.walk():
        if isinstance(node, exp.Query | exp.Subquery):
            raise refuse(f"a subquery in {clause}", "has no law of change here yet", node, "write it as a join")
        if isinstance(node, exp.Window) and not windows:
            raise refuse(f"a window function in {clause}", "has no law of change here yet", node)
        if isinstance(node, exp.AggFunc) and is_windowed(node):
            _windowed(node)
        elif isinstance(node, exp.Grouping | exp.GroupingId):
            continue
        elif isinstance(node, exp.AggFunc):
            _aggregate(node, clause, aggregates)
        elif isinstance(node, exp.Func):
            _function(node)
        elif isinstance(node, exp.Placeholder | exp.Parameter | exp.SessionParameter):
            raise refuse("a parameter", "has no value in a model", node)
    return tree


def _aggregate(node: exp.AggFunc, clause: str, allowed: bool) -> None:
    name = spark_name(node)
    if not allowed:
        raise refuse(f"{name}() in {clause}", "is an aggregate where none can be maintained", node)
    if isinstance(node, exp.Quantile | exp.ApproxQuantile) or not isinstance(node, MAINTAINED_AGGREGATES):
        why = (
            "depends on the order in which rows arrive"
            if name in ORDER_DEPENDENT
            else "is an aggregate that has no law of change here yet"
        )
        # As it is printed: the tree knows some functions by another of their names.
        raise refuse(f"{print_sql(node).partition('(')[0].lower()}()", why, node)


def _windowed(node: exp.AggFunc) -> None:
    window = node.find_ancestor(exp.Window)
    assert window is not None
    if spark_name(node) in ORDER_DEPENDENT and not window.args.get("order"):
        raise refuse(f"{spark_name(node)}() OVER", "has no order, so that its value is open", node, "add an ORDER BY")


def is_volatile(tree: exp.Expression) -> bool:
    """Whether anything in a query can have another value although no table changed."""
    return any(_volatile(node) for node in tree.find_all(exp.Func, exp.TableSample))


def _volatile(node: exp.Expression) -> bool:
    if isinstance(node, exp.TableSample):
        return True
    name = spark_name(node)
    unknown = isinstance(node, exp.Anonymous) and name not in BUILT_IN
    return _reads_clock(node, name) or name in RANDOM or unknown


def _reads_clock(node: exp.Func, name: str) -> bool:
    return name in CLOCK and not (name == "unix_timestamp" and bool(node.args.get("this") or node.expressions))


def _function(node: exp.Func) -> None:
    name = spark_name(node)
    if _reads_clock(node, name):
        raise refuse(f"{name}()", "has another value at every refresh", node, volatility=Volatility.VOLATILE)
    if name in RANDOM:
        raise refuse(f"{name}()", "is not a function of its arguments", node, volatility=Volatility.VOLATILE)
    if name in GENERATORS or isinstance(node, exp.UDTF):
        raise refuse(f"{name}()", "makes many rows of one and has no law of change here yet", node)
    if isinstance(node, exp.Anonymous) and name in ORDER_DEPENDENT:
        raise refuse(f"{name}()", "depends on the order in which rows arrive", node)
    if isinstance(node, exp.Anonymous) and name not in BUILT_IN:
        raise refuse(
            f"the function {name}()",
            "is not one of Spark's own, so nothing says that equal arguments give equal values",
            node,
            volatility=Volatility.VOLATILE,
        )
