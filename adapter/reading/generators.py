"""Generators, which make many rows of one: LATERAL VIEW, LATERAL in FROM, and explode() in a SELECT list."""

from __future__ import annotations

from sqlglot import exp

from ..algebra.expressions import FALSE, Expr, cast, integer
from ..algebra.nodes import Filter, Generate, Node, Project, Unit
from .functions import GENERATORS, IN_FROM, spark_name
from .refuse import refuse
from .relations import Typer
from .scalars import scalar
from .types import fields


def is_generator(tree: exp.Expression) -> bool:
    return isinstance(tree, exp.Func) and spark_name(tree) in GENERATORS


def arguments(call: exp.Expression) -> list[exp.Expression]:
    """What a generator reads. Raises Refusal for what is none."""
    first = [] if isinstance(call, exp.Anonymous) else [call.args.get("this")]
    read = [e for e in (*first, *call.expressions) if isinstance(e, exp.Expression)]
    if not is_generator(call) or not read:
        raise refuse("this generator", "has no law of change here yet", call, "use explode() or inline()")
    return [scalar(e, "a generator") for e in read]


def generated(node: Node, call: exp.Expression, made: tuple[str, ...], *, outer: bool) -> Generate:
    """call: over the plan's columns; `…_outer` functions say themselves that rows of which nothing is made stay."""
    arguments(call)
    return Generate(node, Expr.of(call), made, outer)


def number_range(call: exp.Expression) -> Node | None:
    """RANGE(end), or (start, end, step), of numbers that are written out; None for anything else."""
    name = spark_name(call) if isinstance(call, exp.Func) else ""
    bounds = [_number(e) for e in call.expressions] if isinstance(call, exp.Anonymous) else []
    if name != "range" or not 1 <= len(bounds) <= 3 or None in bounds:
        return None
    start, end, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    numbers = range(start, end, step) if step else ()
    if not numbers:
        return Filter(Project(Unit(), (("id", cast(integer(0), "bigint")),)), FALSE)
    every = [cast(integer(n), "bigint").tree.copy() for n in (numbers[0], numbers[-1], step)]
    return Generate(Unit(), Expr.of(exp.Explode(this=exp.Anonymous(this="SEQUENCE", expressions=every))), ("id",))


def _number(e: exp.Expression) -> int | None:
    sign, e = (-1, e.this) if isinstance(e, exp.Neg) else (1, e)
    return sign * int(e.name) if isinstance(e, exp.Literal) and e.is_int else None


def width(node: Node, call: exp.Expression, typer: Typer) -> tuple[str, ...]:
    """The names that Spark gives to what a generator makes."""
    name, read = spark_name(call), arguments(call)
    if name == "json_tuple":
        return tuple(f"c{i}" for i in range(len(read) - 1))
    if name == "stack":
        rows = _number(read[0])
        if not rows:
            raise refuse("stack()", "has a number of rows that is not written out", call)
        return tuple(f"col{i}" for i in range(-(-(len(read) - 1) // rows)))
    if name in IN_FROM:
        return "pos", "key", "value"
    (of,) = typer(Project(node, (("of", Expr.of(read[0])),)))
    if name.startswith("inline"):
        return fields(of)
    columns = ("key", "value") if of.startswith("map") else ("col",)
    return ("pos", *columns) if name.startswith("posexplode") else columns
