"""Which models show the order of a map's entries."""

from __future__ import annotations

import pytest
from sqlglot import exp

from dbt_spark_dynamic.algebra.expressions import Expr, column
from dbt_spark_dynamic.algebra.nodes import Filter, Node, Project, Scan, Window
from dbt_spark_dynamic.algebra.orderable import ranked
from dbt_spark_dynamic.changes.map_order import shows_order
from dbt_spark_dynamic.dialect import parse_expression

TYPES = {
    "t": {
        "k": "int",
        "m": "map<string,int>",
        "s": "struct<m:map<string,int>,v:int>",
        "a": "array<map<string,int>>",
        "o": "map<string,map<string,int>>",
    }
}
ROWS = Scan("t", "t", tuple((c, c) for c in TYPES["t"]))


def shown(expression: str) -> Node:
    return Project(ROWS, (("shown", Expr.of(parse_expression(expression))),))


SHOWN = (
    "TO_JSON(m); CAST(m AS STRING); MAP_KEYS(m); MAP_VALUES(m)[0]; MAP_ENTRIES(m); POSEXPLODE(m); TO_JSON(s); "
    "TO_JSON((s).m); TO_JSON(a[0]); TO_JSON(o['x']); COALESCE(m, MAP()); CONCAT(m['x'], TO_JSON(m)); EXPLODE(o); "
    "CASE WHEN k > 1 THEN MAP_KEYS(m) END"
)
NOT_SHOWN = (
    "k; m; m['x']; ELEMENT_AT(m, 'x'); TRY_ELEMENT_AT(m, 'x') + 1; (s).v; CAST((s).v AS STRING); (s).m['x']; "
    "a[0]['x']; o['x']['y']; SIZE(m); MAP_CONTAINS_KEY(m, 'x'); m IS NULL; EXPLODE(m); TO_JSON(k); "
    "SIZE(MAP_KEYS((s).m)); ARRAY_CONTAINS(MAP_KEYS(m), 'x'); SORT_ARRAY(MAP_KEYS(m)); "
    "TO_JSON(MAP_FROM_ENTRIES(ARRAY_SORT(MAP_ENTRIES(m))))"
)


@pytest.mark.parametrize("expression", SHOWN.split("; "))
def test_order_is_shown(expression: str) -> None:
    assert shows_order(shown(expression), TYPES) == {"t"}


@pytest.mark.parametrize("expression", NOT_SHOWN.split("; "))
def test_order_is_not_shown(expression: str) -> None:
    assert not shows_order(shown(expression), TYPES)


@pytest.mark.parametrize("name", ["m", "s", "a", "o"])
def test_rows_of_equal_rank_do_not_show_it(name: str) -> None:
    by = ranked(column(name).tree, TYPES["t"][name])
    order = exp.Order(expressions=[exp.Ordered(this=e, nulls_first=True) for e in (column("k").tree.copy(), by)])
    placed = Window(ROWS, (), (("place", Expr.of(exp.Window(this=exp.RowNumber(), order=order))),))
    assert not shows_order(placed, TYPES)
    told = Project(placed, (("shown", Expr.of(parse_expression(f"TO_JSON({name})"))),))
    assert shows_order(told, TYPES) == {"t"}


def test_a_map_is_followed_under_other_names() -> None:
    renamed = Project(ROWS, (("n", Expr.of(parse_expression("m"))),))
    assert shows_order(Filter(renamed, Expr.of(parse_expression("TO_JSON(n) = ''"))), TYPES) == {"t"}


def test_maps_that_are_not_read_do_not_matter() -> None:
    narrow = Scan("t", "t", (("k", "k"),))
    assert not shows_order(Project(narrow, (("shown", Expr.of(parse_expression("TO_JSON(k)"))),)), TYPES)
