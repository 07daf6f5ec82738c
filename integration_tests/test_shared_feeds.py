"""Models that stand on one table read its change feed once."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from dbt_spark_dynamic.commit.classic import ClassicEngine
from dbt_spark_dynamic.commit.outcome import Code
from dbt_spark_dynamic.commit.shared_feeds import WIDE
from dbt_spark_dynamic.commit.spec import LostHistoryPolicy
from integration_tests.maintained import Maintained

MODELS = {
    "narrow": "SELECT customer FROM sales WHERE customer > 1",
    "wide": "SELECT id, customer, amount FROM sales WHERE amount > 1",
    "days": "SELECT day, COUNT(*) AS n FROM sales GROUP BY day",
    "number": "SELECT COUNT(*) AS n FROM sales",
    "joined": "SELECT s.id, c.name FROM sales AS s LEFT JOIN customers AS c ON s.customer = c.customer",
}

CHANGES = (
    "INSERT INTO sales SELECT id, id % 7, id % 3, NULL FROM RANGE(500, 530)",
    "UPDATE sales SET customer = NULL WHERE id % 11 = 0",
    "DELETE FROM sales WHERE id % 5 = 1",
    "MERGE INTO sales AS t USING (SELECT id, -id AS amount FROM RANGE(20)) AS s ON t.id = s.id "
    "WHEN MATCHED AND s.id > 9 THEN DELETE WHEN MATCHED THEN UPDATE SET amount = s.amount "
    "WHEN NOT MATCHED THEN INSERT (id, amount) VALUES (s.id, s.amount)",
    "UPDATE customers SET name = 'x'",
    "UPDATE sales SET day = day",
)


@pytest.fixture
def sales(maintained: Maintained) -> Maintained:
    build(maintained, MODELS, "id % 7 AS customer, id % 5 AS amount", "RANGE(200)", "RANGE(5)")
    return maintained


def build(maintained: Maintained, models: Mapping[str, str], shown: str, sales: str, customers: str) -> None:
    """The two tables and the models over them, of which no feed is kept yet. shown: columns of sales beside its id and
    day; sales, customers: where their ids are from."""
    maintained.sql(
        f"CREATE TABLE sales USING delta AS SELECT id, {shown}, "
        f"DATE '2026-01-01' + CAST(id % 3 AS INT) AS day FROM {sales}"
    )
    maintained.sql(f"CREATE TABLE customers USING delta AS SELECT id AS customer, UUID() AS name FROM {customers}")
    ClassicEngine(maintained.session).feeds.forget()
    for name, sql in models.items():
        maintained.refresh(name, sql=sql)


def feeds_read(maintained: Maintained, name: str) -> int:
    """How often the last statements read the change feed of that table."""
    return sum(s.count(f"`{name}` WITH ('readChangeFeed'") for s in maintained.statements)


def read_by_each(sales: Maintained) -> list[int]:
    read = []
    for name in MODELS:
        outcome = sales.refresh(name)
        assert outcome.code in (Code.INCREMENTAL, Code.NO_CHANGE), outcome.line()
        assert sales.difference(name) == 0, name
        read.append(feeds_read(sales, "sales"))
    return read


@pytest.mark.parametrize(("few", "changes"), [(5_000, CHANGES), (3, CHANGES[:3])])
def test_a_feed_is_read_once_for_all_models(
    sales: Maintained, monkeypatch: pytest.MonkeyPatch, few: int, changes: tuple[str, ...]
) -> None:
    """Whether its rows are literals on the driver or are kept by Spark."""
    monkeypatch.setattr("dbt_spark_dynamic.commit.classic.FEW", few)
    sales.sql(CHANGES[0])
    assert read_by_each(sales) == [1, 1, 1, 0, 0], "each with a column that nobody needed before reads it again"
    for change in changes[1:]:
        sales.sql(change)
        assert read_by_each(sales) == [int("sales" in change), 0, 0, 0, 0], change


def test_several_changes_at_once(sales: Maintained) -> None:
    for change in CHANGES:
        sales.sql(change)
    sales.refresh("days")
    # The others are brought to the same state from an older one than this.
    sales.sql(CHANGES[2].replace("1", "2"))
    read_by_each(sales)


def test_a_column_that_is_dropped(sales: Maintained) -> None:
    sales.sql("ALTER TABLE sales SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    sales.sql(CHANGES[0])
    read_by_each(sales)
    sales.sql("ALTER TABLE sales DROP COLUMN day")
    sales.sql(CHANGES[2])
    for name in ("narrow", "wide", "number"):
        outcome = sales.refresh(name, on_lost_history=LostHistoryPolicy.RECOMPUTE)
        assert sales.difference(name) == 0, outcome.line()


def test_models_side_by_side(sales: Maintained) -> None:
    """In sessions of their own, as dbt's threads have them."""
    sales.sql(CHANGES[1])
    sales.sql(CHANGES[2])
    found = sales.refresh_side_by_side(MODELS)
    assert set(found) == set(MODELS) and set(found.values()) == {Code.INCREMENTAL.value}
    assert [sales.difference(name) for name in MODELS] == [0] * len(MODELS)


APART = {
    "every": "SELECT id, customer, amount, day FROM sales",
    "copies": "SELECT customer, amount FROM sales",
    "kinds": "SELECT DISTINCT customer FROM sales WHERE amount > 0",
    "totals": "SELECT customer, COUNT(*) AS n, SUM(amount) AS amount FROM sales GROUP BY customer",
    "most": "SELECT customer, MAX(amount) AS most, COUNT(DISTINCT day) AS days FROM sales GROUP BY customer",
    "first_two": "SELECT customer, amount FROM (SELECT customer, amount, ROW_NUMBER() OVER "
    "(PARTITION BY customer ORDER BY amount, day) AS n FROM sales) WHERE n <= 2",
    "ranks": "SELECT customer, day, RANK() OVER (PARTITION BY customer ORDER BY day) AS r FROM sales",
    "named": "SELECT s.amount, c.name FROM sales AS s LEFT JOIN customers AS c ON s.customer = c.customer",
    "known": "SELECT amount FROM sales WHERE customer IN (SELECT customer FROM customers)",
    "pairs": "SELECT a.day, COUNT(*) AS n FROM sales AS a JOIN sales AS b ON a.customer = b.customer GROUP BY a.day",
}


@pytest.mark.parametrize("few", [5_000, 3])
def test_equal_rows_may_stand_apart_where_none_cancel(
    maintained: Maintained, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """Customers came and others left, each with rows that are equal but for their id."""
    monkeypatch.setattr("dbt_spark_dynamic.commit.classic.FEW", few)
    build(maintained, APART, "id % 13 AS customer, id % 2 AS amount", "RANGE(260)", "RANGE(5, 20)")
    for first, came, left in ((1000, "20 + id % 2", "< 2"), (2000, "NULLIF(id % 3 + 7, 8)", "IN (2, 20)")):
        for sign, day in (("", "NULL"), ("-", "DATE '2026-01-02'")):
            maintained.sql(
                f"INSERT INTO sales SELECT {sign}id, {came}, id % 2, {day} FROM RANGE({first}, {first + 12})"
            )
        maintained.sql(f"DELETE FROM sales WHERE customer {left}")
        for name in APART:
            outcome = maintained.refresh(name)
            assert outcome.code is Code.INCREMENTAL, outcome.line()
            assert maintained.difference(name) == 0, f"{name}, {outcome.line()}"
            assert not any(f"FROM `{WIDE}`" in s for s in maintained.statements), name


@pytest.mark.parametrize("few", [3, pytest.param(5_000, marks=pytest.mark.thorough)])
def test_what_only_came_is_read_as_it_is_where_a_key_tells_its_rows_apart(
    maintained: Maintained, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """A key that the project expects: where it is none, equal rows stand apart, which is all that comes of it."""
    monkeypatch.setattr("dbt_spark_dynamic.commit.classic.FEW", few)
    build(maintained, APART, "id % 13 AS customer, id % 2 AS amount", "RANGE(260)", "RANGE(5, 20)")
    came = "INSERT INTO sales SELECT 1000 + id % {}, 20 + id % 2, NULLIF(id % 3, 2), NULL FROM RANGE(12)"
    for change, is_net in (
        (came.format(12), True),
        (came.format(5), True),
        ("DELETE FROM sales WHERE id % 7 = 1", False),
    ):
        maintained.sql(change)
        read = list[str]()
        for name in APART:
            outcome = maintained.refresh(name, expected_keys={f"{maintained.schema}.sales": ("id",)})
            assert outcome.code is Code.INCREMENTAL, outcome.line()
            assert maintained.difference(name) == 0, f"{name}, {outcome.line()}"
            read += [s for s in maintained.statements if "readChangeFeed" in s and "`sales`" in s]
        assert read and all(("GROUP BY" in s) != (is_net and "`id`" in s) for s in read), (change, read)
