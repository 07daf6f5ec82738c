"""The versions that a temporal join meets, and what is asked of them before it is chosen how they are met."""

from __future__ import annotations

from sqlglot import exp

from ..algebra.expressions import Expr, column, columns, conjunction, replace_columns
from ..algebra.nodes import Aggregate, Filter, Join, Node, Project, Window
from ..names import PREFIX

KEY = f"{PREFIX}key_{{}}"
COUNT = Expr.of(exp.Count(this=exp.Star()))


def of_versions(join: Join) -> list[Expr]:
    """The key by which the versions are met, over their columns."""
    return [r for _, r, _ in join.equalities]


def lasting(join: Join) -> Node:
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


def census(join: Join) -> Node:
    """One row about the versions: (most of one key; how many of any key are still valid when the next one begins)."""
    overlap = exp.condition("`following` IS NOT NULL AND (`ends` IS NULL OR `following` < `ends`)", dialect="spark")
    counted = exp.Count(this=exp.Case(ifs=[exp.If(this=overlap, true=exp.Literal.number(1))]))
    by_key = _by_key(join, (("versions", COUNT), ("overlaps", Expr.of(counted))))
    return Aggregate(by_key, (), (("most", _of(exp.Max, "versions")), ("overlaps", _of(exp.Sum, "overlaps"))))


def spread(join: Join, position: str) -> Node:
    """One row about the versions: (keys; versions; positions of the earliest and of the latest time at which versions
    of a key change, NULL if none do). A key's first version counts from its second one on: it may well begin with a
    time that stands for ever."""
    changes = (("first", _of(exp.Min, "following")), ("last", _of(exp.Max, "starts")))
    by_key = _by_key(join, (("versions", COUNT), *changes))
    return Aggregate(
        by_key,
        (),
        (
            ("keys", COUNT),
            ("versions", _of(exp.Sum, "versions")),
            ("first", Expr.of(place(_of(exp.Min, "first"), position))),
            ("last", Expr.of(place(_of(exp.Max, "last"), position))),
        ),
    )


def place(time: Expr, position: str) -> exp.Expression:
    """The time as a whole number. position: SQL for it, with braces in place of the time."""
    return replace_columns(exp.condition(position.format("`t`"), dialect="spark"), {"t": time.tree})


def _by_key(join: Join, aggregates: tuple[tuple[str, Expr], ...]) -> Node:
    """Aggregates of each key's versions, over `starts`, `ends` and when the `following` one starts."""
    assert join.as_of is not None
    keys = tuple(KEY.format(i) for i in range(len(join.equalities)))
    starts, ends = (column(n) for n in (join.as_of.valid_from, join.as_of.valid_to))
    versions = Project(lasting(join), (*zip(keys, of_versions(join), strict=True), ("starts", starts), ("ends", ends)))
    following = exp.Window(
        this=exp.Lead(this=column("starts").tree.copy()),
        partition_by=[column(k).tree.copy() for k in keys],
        order=exp.Order(expressions=[exp.Ordered(this=column("starts").tree.copy(), nulls_first=True)]),
        over="OVER",
    )
    in_order = Window(versions, columns(keys), (("following", Expr.of(following)),))
    return Aggregate(in_order, tuple(zip(keys, columns(keys), strict=True)), aggregates)


def _of(function: type[exp.AggFunc], name: str) -> Expr:
    return Expr.of(function(this=column(name).tree.copy()))
