"""Pipe syntax is read as the nested SELECTs that Spark makes of it, in the order in which it is written."""

from __future__ import annotations

import pytest

from dbt_spark_dynamic.algebra.show import show
from dbt_spark_dynamic.dialect import SqlglotError, parse
from tests.reading.test_reading import read


@pytest.mark.parametrize(
    ("pipes", "nested"),
    (
        (
            "FROM events |> ORDER BY id |> LIMIT 3 |> WHERE ts IS NULL",
            "SELECT * FROM (SELECT * FROM events ORDER BY id LIMIT 3) events WHERE ts IS NULL",
        ),
        (
            "FROM events |> ORDER BY id LIMIT 3 |> AGGREGATE COUNT(*) AS n GROUP BY ts AS at",
            "SELECT ts AS at, COUNT(*) AS n FROM (SELECT * FROM events ORDER BY id LIMIT 3) GROUP BY ts",
        ),
        ("FROM events |> SELECT DISTINCT id", "SELECT DISTINCT id FROM events"),
        (
            "TABLE events |> EXTEND id + 1 AS next |> DROP info, ts",
            "SELECT * EXCEPT (info, ts) FROM (SELECT *, id + 1 AS next FROM events) events",
        ),
        (
            "FROM events |> WHERE id > 1 |> RIGHT JOIN events b ON b.id = events.id |> SELECT b.id",
            "SELECT b.id FROM (SELECT * FROM events WHERE id > 1) events RIGHT JOIN events b ON b.id = events.id",
        ),
        (
            "FROM events |> AS a |> JOIN events b USING (id) |> WHERE a.ts < b.ts |> SELECT a.id, b.ts",
            "SELECT a.id, b.ts FROM (SELECT * FROM events) a JOIN events b USING (id) WHERE a.ts < b.ts",
        ),
        (
            "FROM events |> SELECT id |> EXCEPT ALL (SELECT 1) |> WHERE id > 0 |> ORDER BY id |> LIMIT 1",
            "SELECT * FROM (SELECT * FROM (SELECT id FROM events) EXCEPT ALL SELECT 1) WHERE id > 0 "
            "ORDER BY id LIMIT 1",
        ),
    ),
)
def test_an_operator_reads_what_those_before_it_give(pipes: str, nested: str) -> None:
    assert show(read(pipes)) == show(read(nested))


def test_an_operator_that_is_not_known_is_no_sql() -> None:
    with pytest.raises(SqlglotError, match="SET"):
        parse("FROM events |> SET id = 1")
