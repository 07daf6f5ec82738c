"""What a SELECT is read as where neither a result nor a whole refresh could show it."""

from __future__ import annotations

import pytest

from dbt_spark_dynamic.algebra.connect import connected
from dbt_spark_dynamic.algebra.nodes import Join, JoinKind, Node, scans, walk
from dbt_spark_dynamic.algebra.prune import prune
from dbt_spark_dynamic.algebra.show import show
from dbt_spark_dynamic.dialect import parse
from dbt_spark_dynamic.errors import Refusal
from dbt_spark_dynamic.reading.lower import Lowering
from dbt_spark_dynamic.reading.relations import Kind, Relation

EVENTS = (("id", "int"), ("ts", "timestamp"), ("info", "struct<a:int,b:string>"))


class Events:
    def relation(self, parts: tuple[str, ...]) -> Relation:
        return Relation(parts[-1], Kind.DELTA, EVENTS)


def read(sql: str) -> Node:
    return prune(Lowering(Events(), types).query(parse(sql), {}))


def types(node: Node) -> tuple[str, ...]:
    known = dict(EVENTS)
    return tuple(known.get(name, known["info"]) for name in node.columns)


def test_a_star_in_a_function_keeps_every_column() -> None:
    node = read("SELECT HASH(*) AS h, COUNT(*) OVER (PARTITION BY id) AS n FROM events")
    assert [c for scan in scans(node) for _, c in scan.outputs] == ["id", "ts", "info"]


def test_a_star_of_a_struct_is_its_fields() -> None:
    assert read("SELECT info.*, e.id FROM events e").columns == ("a", "b", "id")


@pytest.mark.parametrize("sql", ("TABLE events", "FROM events", "SELECT * FROM events DISTRIBUTE BY id SORT BY ts"))
def test_the_rows_of_a_table(sql: str) -> None:
    assert show(read(sql)) == show(read("SELECT * FROM events"))


@pytest.mark.parametrize("condition", ("FALSE", "id > 1 AND FALSE", "FALSE AND (id > 1 AND info.a = 2)"))
def test_no_row_is_read_where_a_condition_is_never_met(condition: str) -> None:
    node = read(f"SELECT id FROM events WHERE {condition}")
    assert (len(node.leaves), node.leaves_read) == (1, ())


@pytest.mark.parametrize("window", ("window(ts, '1 hour')", "session_window(ts, '5 minutes')"))
def test_a_window_of_time_is_refused_where_it_is_no_group(window: str) -> None:
    with pytest.raises(Refusal, match=r"window\(\) makes rows.*\(line 2\)"):
        read(f"SELECT id FROM events\nWHERE {window}.start > TIMESTAMP '2026-01-01'")


def test_a_window_can_still_be_named() -> None:
    assert "PARTITION BY" in show(
        read("SELECT COUNT(*) OVER window AS n FROM events WINDOW window AS (PARTITION BY id)")
    )


@pytest.mark.parametrize(
    "sql",
    (
        "SELECT a.id FROM events a, events b, events c WHERE a.id = c.id AND c.ts = b.ts",
        "SELECT a.id FROM events a, events b WHERE (a.id = b.id AND a.ts > b.ts) OR (b.info.a > 1 AND a.id = b.id)",
        "SELECT a.id FROM events a, events b WHERE (a.id IN (SELECT id FROM events) OR a.ts IS NULL) AND a.id = b.id",
    ),
)
def test_tables_that_a_condition_joins_are_joined_by_it(sql: str) -> None:
    """Whatever the order of FROM and WHERE, and where every alternative of an OR has it."""
    node = connected(read(sql))
    assert all(n.equalities for n in walk(node) if isinstance(n, Join) and n.kind is JoinKind.INNER)
