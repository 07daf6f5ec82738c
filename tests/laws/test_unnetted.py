"""Which plans add up all that came and left, without netting it; test_change_plans.py has that they may."""

from __future__ import annotations

import pytest

from dbt_spark_dynamic.algebra.expressions import Expr, column
from dbt_spark_dynamic.algebra.nodes import Aggregate, Filter, Join, JoinKind, Node, Project, Scan, UnionAll
from dbt_spark_dynamic.changes.additive import Own
from dbt_spark_dynamic.changes.partials import partials
from dbt_spark_dynamic.changes.plan import plan
from dbt_spark_dynamic.changes.unnetted import adding_up
from dbt_spark_dynamic.dialect import parse_expression

from .carrying_out import OWN

ROWS = Scan("s.a", "a", (("k", "k"), ("x", "x")))
OTHERS = Scan("t.A", "b", (("k", "k"), ("x", "x")))
FEEDS = {"s.a": "a_change", "t.A": "a_change_2"}


def said(text: str) -> Expr:
    return Expr.of(parse_expression(text))


def groups(call: str, rows: Node = ROWS, by: tuple[str, ...] = ("k",)) -> Aggregate:
    return Aggregate(rows, tuple((f"g{i}", said(e)) for i, e in enumerate(by)), (("a", said(call)),))


def added_up(model: Node, held: bool = False) -> frozenset[str]:
    types = dict.fromkeys(model.columns, "bigint")
    found = partials(model, lambda node: ("bigint",) * len(node.columns)) if held else None
    return adding_up(plan(model, frozenset(FEEDS), {}, Own(OWN, types), partials=found, held=held))


@pytest.mark.parametrize(
    "call",
    [
        "COUNT(*)",
        "COUNT(x)",
        "SUM(x)",
        "SUM(x * 2 + k)",
        "COUNT_IF(x > 1)",
        "SUM(CASE WHEN x > 1 THEN k ELSE 0 END)",
        "SUM(x) FILTER(WHERE k > 1)",
    ],
)
@pytest.mark.parametrize(
    "rows",
    [ROWS, Filter(ROWS, said("x > 0")), Project(ROWS, (("k", said("k + 1")), ("x", column("x"))))],
    ids=["a table", "some of its rows", "computed columns"],
)
@pytest.mark.parametrize("by", [("k",), ("k", "x % 2"), ()])
def test_sums_of_rows_add_up_all_changes(call: str, rows: Node, by: tuple[str, ...]) -> None:
    assert added_up(groups(call, rows, by)) == {FEEDS["s.a"]}


def test_rows_of_several_tables_do() -> None:
    assert added_up(groups("SUM(x)", UnionAll((ROWS, OTHERS)))) == set(FEEDS.values())


def test_averages_do_where_the_ledger_has_what_they_are_made_of() -> None:
    assert added_up(groups("AVG(x)"), held=True) == {FEEDS["s.a"]}
    assert added_up(groups("AVG(x)")) == frozenset()


@pytest.mark.parametrize("call", ["MIN(x)", "MAX(x)", "COUNT(DISTINCT x)", "AVG(x)", "MAX_BY(x, k)"])
def test_what_is_no_sum_needs_the_net_change(call: str) -> None:
    assert added_up(groups(call)) == frozenset()


@pytest.mark.parametrize(
    "model",
    [
        ROWS,
        groups("SUM(x)", Join(ROWS, Project(OTHERS, (("l", column("k")),)), ((column("k"), column("l"), False),))),
        groups("SUM(x)", UnionAll((ROWS, groups("SUM(x)")))),
        Join(ROWS, Project(groups("SUM(x)"), (("l", column("g0")),)), ((column("k"), column("l"), False),), None,
             JoinKind.SEMI),
    ],
)  # fmt: skip
def test_so_does_what_is_read_for_more_than_sums(model: Node) -> None:
    assert added_up(model) == frozenset()
