"""Groups of a left join are those of its pairs, and of its left side once more, where nobody can tell them apart."""

from __future__ import annotations

import pytest
from hypothesis import given

from dbt_spark_dynamic.algebra.expressions import Expr, column
from dbt_spark_dynamic.algebra.nodes import Aggregate, Filter, Join, JoinKind, Node, Project, Scan, UnionAll, scans
from dbt_spark_dynamic.changes.additive import Own
from dbt_spark_dynamic.changes.padded import padded_apart
from dbt_spark_dynamic.changes.plan import plan
from dbt_spark_dynamic.dialect import parse_expression

from .carrying_out import OWN, meaning
from .plans import grouped_joins, groups_of_left_joins, summed_plans
from .states import SOURCES, Script, scripts


@given(groups_of_left_joins(), scripts(refreshes=1))
def test_they_are_the_same_groups(model: Aggregate, script: Script) -> None:
    apart = padded_apart(model)
    assert isinstance(apart.child, UnionAll) and apart.columns == model.columns
    assert len(padded_apart(apart).child.children) == len(apart.child.children)
    for state in script.states:
        assert meaning(apart, state) == meaning(model, state)


@given(grouped_joins() | summed_plans(), scripts(refreshes=1))
def test_all_others_stay_what_they_are(model: Node, script: Script) -> None:
    if isinstance(model, Aggregate):
        for state in script.states:
            assert meaning(padded_apart(model), state) == meaning(model, state)


LEFT = Scan("s.a", "a", (("k", "k"), ("x", "x")))
RIGHT = Scan("t.A", "b", (("l", "k"), ("z", "x")))
JOINED = Join(LEFT, RIGHT, ((column("k"), column("l"), False),), None, JoinKind.LEFT)


def groups(call: str, rows: Node = JOINED, by: str = "k") -> Aggregate:
    return Aggregate(rows, (("g", column(by)),), (("a", Expr.of(parse_expression(call))),))


@pytest.mark.parametrize(
    "call",
    [
        "COUNT(*)",
        "COUNT(k)",
        "SUM(x)",
        "AVG(COALESCE(z, 0))",
        "SUM(COALESCE(z, 1))",
        "SUM(COALESCE(z, x))",
        "SUM(CASE WHEN z = 1 THEN x ELSE 0 END)",
        "SUM(COALESCE(z, 0)) FILTER(WHERE z IS NULL OR z > 0)",
        "MIN(COALESCE(z, x))",
        "COUNT(DISTINCT k) FILTER(WHERE z IS NULL)",
        "COUNT_IF(z IS NULL)",
        "COUNT(*) FILTER(WHERE x > 1)",
        "MAX_BY(z, x)",
    ],
)
def test_an_aggregate_that_sees_rows_without_a_partner_keeps_them_where_they_are(call: str) -> None:
    model = groups(call)
    assert padded_apart(model) is model


@pytest.mark.parametrize(
    "model",
    [
        groups("COUNT(z)", by="z"),
        groups("COUNT(z)", Filter(JOINED, Expr.of(parse_expression("z IS NULL")))),
        groups("COUNT(z)", Join(LEFT, RIGHT, JOINED.equalities)),
        groups("COUNT(z)", Project(JOINED, (("k", Expr.of(parse_expression("COALESCE(z, k)"))), ("z", column("z"))))),
    ],
)
def test_groups_of_the_right_side_need_to_know_who_has_a_partner(model: Aggregate) -> None:
    assert padded_apart(model) is model


@pytest.mark.parametrize("call", ["COUNT(z)", "SUM(z)", "MAX(z)", "SUM(COALESCE(z, 0))", "COUNT_IF(z > 1)"])
def test_a_change_of_the_right_side_meets_the_left_one_and_no_other_row_of_its_own(call: str) -> None:
    model = groups(call)
    planned = plan(model, frozenset({"t.A"}), {}, Own(OWN, dict.fromkeys(model.columns, "bigint")), large=SOURCES)
    assert planned.additions is not None
    told = next(b.node for b in planned.bindings if b.name == planned.additions.changes)
    assert [scan.source for scan in scans(told)] == ["s.a"]
    assert {b.name for b in planned.bindings} <= {planned.additions.changes, "falling_groups"}


def test_two_left_joins_are_taken_apart_one_by_one() -> None:
    third = Scan("s.result", "c", (("m", "x"), ("w", "z")))
    model = groups("SUM(w)", Join(JOINED, third, ((column("l"), column("m"), False),), None, JoinKind.LEFT))
    of_three, of_two, alone = padded_apart(model).child.children
    # Who has no partner in the second has none in the third.
    assert [n.kind for n in (of_three, of_three.children[0])] == [JoinKind.INNER, JoinKind.INNER]
    assert [n.kind for n in (of_two, of_two.children[0])] == [JoinKind.LEFT, JoinKind.INNER]
    assert [n.kind for n in (alone, alone.children[0])] == [JoinKind.LEFT, JoinKind.LEFT]


def test_a_name_of_the_right_side_may_be_another_one_below_the_left_side() -> None:
    below = Project(JOINED, (("k", column("k")), ("mine", column("x")), ("theirs", column("z"))))
    third = Scan("s.result", "c", (("m", "x"), ("x", "z")))
    rows = Join(below, third, ((column("k"), column("m"), False),), None, JoinKind.LEFT)
    # Of the rows of the lower join, this one sees those without a partner.
    apart = padded_apart(groups("MAX(CASE WHEN theirs IS NULL THEN mine END)", rows))
    assert [n.kind for n in apart.child.children] == [JoinKind.INNER, JoinKind.LEFT]
