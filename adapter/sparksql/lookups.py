"""A temporal join without meeting every version of a key: rows and versions in one order of time, and with each row the
last version before it.

A join on the key compares every row with all versions of its key; this sorts both sides once. It means the same where
the versions of a key do not overlap, and both sides have keys and times of the same types.
"""

from __future__ import annotations

from sqlglot import exp

from ..algebra.expressions import Expr, column, columns, integer
from ..algebra.nodes import Filter, Join, JoinKind, Node, Project, UnionAll, Window
from ..changes.derivation import passed
from ..names import PREFIX
from .versions_met import KEY, lasting, of_versions

TIME, IS_ROW = f"{PREFIX}time", f"{PREFIX}is_row"
ROW, VERSION, LAST = f"{PREFIX}row", f"{PREFIX}version", f"{PREFIX}last"


def look_up(join: Join) -> Node:
    """The join with its meaning, made by lookup."""
    assert join.as_of is not None and join.as_of.time is not None and join.residual is not None
    keys = tuple(KEY.format(i) for i in range(len(join.equalities)))
    rows = _side(join.left, keys, [l for l, _, _ in join.equalities], join.as_of.time, ROW)
    versions = _side(lasting(join), keys, of_versions(join), column(join.as_of.valid_from), VERSION)
    last = Window(UnionAll((rows, versions)), columns(keys), ((LAST, _last(keys)),))
    is_row = exp.EQ(this=column(IS_ROW).tree.copy(), expression=exp.Literal.number(1))
    shown = [(n, _field(ROW, n)) for n in join.left.columns] + [(n, _field(LAST, n)) for n in join.right.columns]
    met = Project(Filter(last, Expr.of(is_row)), tuple(shown))
    if join.kind is JoinKind.INNER:
        return Filter(met, join.residual)
    if join.kind is JoinKind.LEFT:
        return Project(met, (*passed(join.left.columns), *((n, _if(join.residual, n)) for n in join.right.columns)))
    valid = join.residual if join.kind is JoinKind.SEMI else _never(join.residual)
    return Project(Filter(met, valid), passed(join.left.columns))


def _side(node: Node, keys: tuple[str, ...], values: list[Expr], time: Expr, whole: str) -> Node:
    """One side with what both are sorted by, and all of its columns as one value."""
    fields = [
        exp.PropertyEQ(this=exp.to_identifier(n, quoted=True), expression=column(n).tree.copy()) for n in node.columns
    ]
    struct, nothing = Expr.of(exp.Struct(expressions=fields)), Expr.of(exp.Null())
    return Project(
        node,
        (
            *zip(keys, values, strict=True),
            (TIME, time),
            (IS_ROW, integer(int(whole == ROW))),
            (ROW, struct if whole == ROW else nothing),
            (VERSION, struct if whole == VERSION else nothing),
        ),
    )


def _last(keys: tuple[str, ...]) -> Expr:
    """At one time a version comes first: it is valid from then on."""
    by = [exp.Ordered(this=column(n).tree.copy(), nulls_first=True) for n in (TIME, IS_ROW)]
    window = exp.Window(
        this=exp.IgnoreNulls(this=exp.LastValue(this=column(VERSION).tree.copy())),
        partition_by=[column(k).tree.copy() for k in keys],
        order=exp.Order(expressions=by),
        spec=exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW"),
        over="OVER",
    )
    return Expr.of(window)


def _field(struct: str, name: str) -> Expr:
    return Expr.of(exp.Dot(this=column(struct).tree.copy(), expression=exp.to_identifier(name, quoted=True)))


def _if(condition: Expr, name: str) -> Expr:
    return Expr.of(exp.Case(ifs=[exp.If(this=condition.tree.copy(), true=column(name).tree.copy())]))


def _never(condition: Expr) -> Expr:
    known = exp.Coalesce(this=condition.tree.copy(), expressions=[exp.false()])
    return Expr.of(exp.Not(this=known))
