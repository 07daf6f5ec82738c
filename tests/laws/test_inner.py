"""A left join none of whose rows without a partner is kept is an inner one."""

from __future__ import annotations

import pytest
from hypothesis import given

from dbt_spark_dynamic.algebra.expressions import Expr, column
from dbt_spark_dynamic.algebra.inner import inner_where_kept
from dbt_spark_dynamic.algebra.nodes import (
    Aggregate,
    AsOf,
    Filter,
    Join,
    JoinKind,
    Node,
    Project,
    Scan,
    UnionAll,
    walk,
)
from dbt_spark_dynamic.dialect import parse_expression

from .carrying_out import meaning
from .plans import Size, filtered_left_joins, plans
from .states import Script, scripts


@given(filtered_left_joins() | plans(Size(nodes=7)), scripts(refreshes=1))
def test_it_means_the_same(model: Node, script: Script) -> None:
    inner = inner_where_kept(model)
    assert inner.columns == model.columns
    for state in script.states:
        assert meaning(inner, state) == meaning(model, state)


A = Scan("s.a", "a", (("k", "k"), ("x", "x")))
B = Scan("t.A", "b", (("l", "k"), ("y", "x")))
C = Scan("s.result", "c", (("m", "x"), ("z", "z")))
LEFT = Join(A, B, ((column("k"), column("l"), False),), None, JoinKind.LEFT)


def of(text: str) -> Expr:
    return Expr.of(parse_expression(text))


def kinds(model: Node) -> list[JoinKind]:
    return [n.kind for n in walk(inner_where_kept(model)) if isinstance(n, Join)]


@pytest.mark.parametrize(
    ("condition", "kind"),
    [
        ("y > 1", JoinKind.INNER),
        ("NOT y IS NULL", JoinKind.INNER),
        ("y > 1 AND x IS NULL", JoinKind.INNER),
        ("y > 1 OR l = 2", JoinKind.LEFT),
        ("y > 1 OR y < 0", JoinKind.INNER),
        ("y IS NULL", JoinKind.LEFT),
        ("COALESCE(y, 0) = 0", JoinKind.LEFT),
        ("y <=> 1", JoinKind.INNER),
        ("x > 1", JoinKind.LEFT),
    ],
)
def test_by_a_condition_above(condition: str, kind: JoinKind) -> None:
    assert kinds(Filter(LEFT, of(condition))) == [kind]
    shown = Project(LEFT, (("x", column("x")), ("l", of("l + 0")), ("y", column("y"))))
    assert kinds(Filter(shown, of(condition))) == [kind]
    assert kinds(Filter(UnionAll((shown, shown)), of(condition))) == [kind, kind]


@pytest.mark.parametrize(
    ("equality", "above", "expected"),
    [
        ((column("y"), column("m"), False), JoinKind.INNER, [JoinKind.INNER, JoinKind.INNER]),
        ((column("y"), column("m"), False), JoinKind.SEMI, [JoinKind.SEMI, JoinKind.INNER]),
        ((column("y"), column("m"), False), JoinKind.LEFT, [JoinKind.LEFT, JoinKind.LEFT]),
        ((column("y"), column("m"), False), JoinKind.ANTI, [JoinKind.ANTI, JoinKind.LEFT]),
        ((column("y"), column("m"), True), JoinKind.INNER, [JoinKind.INNER, JoinKind.LEFT]),
        ((column("x"), column("m"), False), JoinKind.INNER, [JoinKind.INNER, JoinKind.LEFT]),
    ],
)
def test_by_a_join_above(equality: tuple[Expr, Expr, bool], above: JoinKind, expected: list[JoinKind]) -> None:
    assert kinds(Join(LEFT, C, (equality,), None, above)) == expected


@pytest.mark.parametrize("kind", [JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI])
def test_on_the_right_side_of_a_join_by_its_condition(kind: JoinKind) -> None:
    model = Join(C, LEFT, ((column("m"), column("y"), False),), None, kind)
    assert kinds(model) == [kind, JoinKind.INNER]


def test_a_join_with_groups_or_at_a_time_stays() -> None:
    grouped = Aggregate(B, (("l", column("l")),), (("y", of("MAX(y)")),))
    assert kinds(Filter(Join(A, grouped, LEFT.equalities, None, JoinKind.LEFT), of("y > 1"))) == [JoinKind.LEFT]
    at = Join(A, B, LEFT.equalities, None, JoinKind.LEFT, AsOf(column("x")))
    assert kinds(Filter(at, of("y > 1"))) == [JoinKind.LEFT]
