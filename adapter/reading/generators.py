"""Generators, which make many rows of one: LATERAL VIEW, LATERAL in FROM, and explode() in a SELECT list."""

from __future__ import annotations

from sqlglot import exp

from ..algebra.expressions import Expr
from ..algebra.nodes import Generate, Node, Project
from .functions import GENERATORS, spark_name
from .refuse import refuse
from .relations import Typer
from .scalars import scalar


def is_generator(tree: exp.Expression) -> bool:
    return isinstance(tree, exp.Func) and spark_name(tree) in GENERATORS


def argument(call: exp.Expression) -> exp.Expression:
    """What a generator reads. Raises Refusal for one that reads more than one value, or that is none."""
    of = call.args.get("this") if not isinstance(call, exp.Anonymous) else (call.expressions or [None])[0]
    more = call.expressions[1:] if isinstance(call, exp.Anonymous) else call.expressions
    if not is_generator(call) or not isinstance(of, exp.Expression) or more:
        raise refuse("this generator", "has no law of change here yet", call, "use explode() or inline()")
    return scalar(of, "a generator")


def generated(node: Node, call: exp.Expression, made: tuple[str, ...], *, outer: bool) -> Generate:
    """call: over the plan's columns; `…_outer` functions say themselves that rows of which nothing is made stay."""
    argument(call)
    return Generate(node, Expr.of(call), made, outer)


def width(node: Node, call: exp.Expression, typer: Typer) -> tuple[str, ...]:
    """The names that Spark gives to what a generator makes."""
    name, (of,) = spark_name(call), typer(Project(node, (("of", Expr.of(argument(call))),)))
    if name.startswith("inline"):
        raise refuse("inline() without names", "shows the fields of a struct", call, "name them: AS v (a, b)")
    columns = ("key", "value") if of.startswith("map") else ("col",)
    return ("pos", *columns) if name.startswith("posexplode") else columns
