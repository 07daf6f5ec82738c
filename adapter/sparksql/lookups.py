"""A temporal join without meeting every version of a key: rows and versions in one order of time, and with each row the
last version before it.

A join on the key compares every row with all versions of its key; this sorts both sides once. It means the same where
the versions of a key do not overlap, and both sides have keys and times of the same types.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from ..algebra.expressions import Expr, column, columns, conjunction, integer
from ..algebra.nodes import Aggregate, AsOf, Filter, Join, JoinKind, Node, Project, UnionAll, Window
from ..algebra.transform import rebuild
from ..names import PREFIX

KEY, TIME, IS_ROW = f"{PREFIX}key_{{}}", f"{PREFIX}time", f"{PREFIX}is_row"
ROW, VERSION, LAST = f"{PREFIX}row", f"{PREFIX}version", f"{PREFIX}last"


def looked_up(node: Node, chosen: Collection[AsOf]) -> Node:
    """The plan with its temporal joins made by lookup, as far as they are among the chosen ones."""
    return rebuild(node, lambda n: _made(n) if isinstance(n, Join) and n.as_of in chosen else n)


def _made(join: Join) -> Node:
    assert join.as_of is not None and join.as_of.time is not None and join.residual is not None
    keys = tuple(KEY.format(i) for i in range(len(join.equalities)))
    rows = _side(join.left, keys, [l for l, _, _ in join.equalities], join.as_of.time, ROW)
    of_versions = [r for _, r, _ in join.equalities]
    versions = _side(_lasting(join), keys, of_versions, column(join.as_of.valid_from), VERSION)
    last = Window(UnionAll((rows, versions)), columns(keys), ((LAST, _last(keys)),))
    is_row = exp.EQ(this=column(IS_ROW).tree.copy(), expression=exp.Literal.number(1))
    shown = [(n, _field(ROW, n)) for n in join.left.columns] + [(n, _field(LAST, n)) for n in join.right.columns]
    met = Project(Filter(last, Expr.of(is_row)), tuple(shown))
    if join.kind is JoinKind.INNER:
        return Filter(met, join.residual)
    if join.kind is JoinKind.LEFT:
        whole = [(n, column(n)) for n in join.left.columns]
        return Project(met, (*whole, *((n, _if(join.residual, n)) for n in join.right.columns)))
    valid = join.residual if join.kind is JoinKind.SEMI else _never(join.residual)
    return Project(Filter(met, valid), tuple(zip(join.left.columns, columns(join.left.columns), strict=True)))


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


def _lasting(join: Join) -> Node:
    """Versions that are valid for some time and have a key that can be asked for."""
    assert join.as_of is not None
    starts, ends = column(join.as_of.valid_from).tree, column(join.as_of.valid_to).tree
    is_open = exp.Is(this=ends.copy(), expression=exp.Null())
    lasting = exp.or_(is_open, exp.LT(this=starts.copy(), expression=ends.copy()))
    known = [starts, *(r.tree for _, r, safe in join.equalities if not safe)]
    parts = [Expr.of(exp.paren(lasting))]
    parts += [Expr.of(exp.Not(this=exp.Is(this=exp.paren(k.copy()), expression=exp.Null()))) for k in known]
    condition = conjunction(parts)
    assert condition is not None
    return Filter(join.right, condition)


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


def census(join: Join) -> Node:
    """One row about the right side of a temporal join: (most versions of one key; how many versions of any key are
    still valid when the next one begins)."""
    assert join.as_of is not None
    keys = tuple(KEY.format(i) for i in range(len(join.equalities)))
    of_versions = zip(keys, (r for _, r, _ in join.equalities), strict=True)
    starts, ends = (column(n) for n in (join.as_of.valid_from, join.as_of.valid_to))
    versions = Project(_lasting(join), (*of_versions, ("starts", starts), ("ends", ends)))
    following = exp.Window(
        this=exp.Lead(this=column("starts").tree.copy()),
        partition_by=[column(k).tree.copy() for k in keys],
        order=exp.Order(expressions=[exp.Ordered(this=column("starts").tree.copy(), nulls_first=True)]),
        over="OVER",
    )
    in_order = Window(versions, columns(keys), (("following", Expr.of(following)),))
    overlap = exp.condition("`following` IS NOT NULL AND (`ends` IS NULL OR `following` < `ends`)", dialect="spark")
    counted = exp.Count(this=exp.Case(ifs=[exp.If(this=overlap, true=exp.Literal.number(1))]))
    by_key = Aggregate(
        in_order,
        tuple(zip(keys, columns(keys), strict=True)),
        (("versions", Expr.of(exp.Count(this=exp.Star()))), ("overlaps", Expr.of(counted))),
    )
    most, all_ = exp.Max(this=column("versions").tree.copy()), exp.Sum(this=column("overlaps").tree.copy())
    return Aggregate(by_key, (), (("most", Expr.of(most)), ("overlaps", Expr.of(all_))))
