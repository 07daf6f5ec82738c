"""The first row of each partition, where no row left: by what a MERGE sees of a row that came and the table's own."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from sqlglot import exp

from dbt_spark_dynamic.algebra.evaluate import Bag, Row, Table, evaluate, value
from dbt_spark_dynamic.algebra.expressions import Expr, column
from dbt_spark_dynamic.algebra.nodes import Filter, Node, Project, Scan, Window
from dbt_spark_dynamic.algebra.orderable import ranked
from dbt_spark_dynamic.changes.additive import Own
from dbt_spark_dynamic.changes.newcomers import CAME, THERE, Newcomers, newcomers
from dbt_spark_dynamic.changes.plan import plan
from dbt_spark_dynamic.dialect import parse_expression

from .carrying_out import OWN, bound, key_places, meaning
from .plans import first_plans
from .states import KEYS, Script, grown, scripts


@given(first_plans(keyed=True), scripts(refreshes=3, growing=True))
def test_what_came_takes_the_place_of_what_it_stands_before(model: Node, script: Script) -> None:
    _assert_told(model, script)


@given(st.sampled_from(["y, k", "y DESC, k", "y DESC NULLS FIRST, k DESC"]), scripts(refreshes=3, growing=True))
def test_a_partition_falls_where_the_table_does_not_show_which_is_first(order: str, script: Script) -> None:
    """Of what is ordered by, it shows y; k only in what is made of it."""
    rows = Scan("s.a", "a", (("k", "k"), ("x", "x"), ("y", "y")))
    place = Expr.of(parse_expression(f"ROW_NUMBER() OVER (PARTITION BY x ORDER BY {order})"))
    first = Filter(Window(rows, (column("x"),), (("place", place),)), Expr.of(parse_expression("place = 1")))
    more = Expr.of(parse_expression("k + 1"))
    _assert_told(Project(first, (("x", column("x")), ("y", column("y")), ("more", more))), script)


def _assert_told(model: Node, script: Script) -> None:
    """Where nobody can tell, the law of the first rows computes a partition again, too."""
    table = meaning(model, script.states[0])
    own = Own(OWN, dict.fromkeys(model.columns, "decimal(28,2)"))
    for before, after, touched in script.refreshes:
        planned = plan(model, touched, KEYS, own, grown=grown(before, after))
        now = bound(planned.feeds, planned.bindings, before, after, Table(model.columns, table))
        if planned.newcomers is not None:
            found = _set_beside(table, planned.newcomers, evaluate(planned.newcomers.rows, now), key_places(planned))
            event("told" if found is not None else "falls")
            assert found == meaning(model, after) if found is not None else now.named[planned.falling.name]
        table = meaning(model, after)


def _set_beside(table: Bag, newcomers: Newcomers, rows: Bag, key: list[int]) -> Bag | None:
    """The table after the MERGE, None if that fails."""
    now = Counter(table)
    for came in rows:
        there = [row for row in table if all(row[p] == came[p] for p in key)]
        assert rows[came] == 1 and len(there) <= 1
        if there and newcomers.falls is not None and _is_true(newcomers.falls.tree, came, there[0]):
            return None
        if not there or _is_true(newcomers.wins.tree, came, there[0]):
            now = now - Counter(there) + Counter([came])
    return now


def _is_true(condition: exp.Expression, came: Row, there: Row) -> bool:
    names = {side.format(i): v for side, row in ((CAME, came), (THERE, there)) for i, v in enumerate(row)}
    return value(condition, [names]) is True


ROWS = Scan("s.a", "a", (("key", "k"), ("at", "x"), ("said", "y")))
TYPES = dict.fromkeys(ROWS.columns, "int")


@pytest.mark.parametrize(
    ("order", "came", "there", "expected"),
    [
        ("at DESC", 2, 1, "wins"),
        ("at DESC", 1, 2, "stays"),
        ("at", 1, 2, "wins"),
        ("at DESC", 1, None, "wins"),
        ("at", 1, None, "stays"),
        ("at", None, 1, "wins"),
        ("at DESC", None, 1, "stays"),
        ("at DESC NULLS FIRST", None, 1, "wins"),
        ("at NULLS LAST", 1, None, "wins"),
        ("at NULLS LAST", None, 1, "stays"),
        ("at", None, None, "falls"),
        ("at DESC", 1, 1, "falls"),
        ("-at", 2, 1, "wins"),
        ("key, at", 1, 2, "wins"),
    ],
)
def test_which_of_two_is_first(order: str, came: int | None, there: int | None, expected: str) -> None:
    """As Spark orders NULLs where nobody says how."""
    told = newcomers(ROWS, ("key",), ordered_by(order), TYPES)
    assert told.falls is not None
    wins, falls = (_is_true(c.tree, (0, came, "a"), (0, there, "b")) for c in (told.wins, told.falls))
    assert (wins, falls) == (expected == "wins", expected == "falls")
    # Equal rows are no matter who is first.
    assert not _is_true(told.falls.tree, (0, came, "a"), (0, came, "a"))


def test_rows_that_show_all_they_are_ordered_by_are_never_level_and_others() -> None:
    assert newcomers(ROWS, ("key",), ordered_by("at, said"), TYPES).falls is None
    payload = {**TYPES, "said": "variant"}
    assert newcomers(ROWS, ("key",), ordered_by("at"), payload).falls is not None
    said = exp.Ordered(this=ranked(column("said").tree, "variant"), nulls_first=True)
    assert newcomers(ROWS, ("key",), [*ordered_by("at"), said], payload).falls is None


def ordered_by(order: str) -> list[exp.Ordered]:
    return parse_expression(f"ROW_NUMBER() OVER (ORDER BY {order})").args["order"].expressions
