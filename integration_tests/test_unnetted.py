"""Of a long change feed, what a model only adds up is not netted before."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dbt_spark_dynamic.commit.classic import ClassicEngine
from dbt_spark_dynamic.commit.outcome import Code
from integration_tests.maintained import Maintained, sql_engine
from integration_tests.test_shared_feeds import feeds_read

pytestmark = pytest.mark.usefixtures("large_tables", "long_feeds")

SUMS = "SELECT customer, COUNT(*) AS n, SUM(amount) AS total, COUNT_IF(amount > 3) AS many FROM sales GROUP BY customer"
MODELS = {
    "sums": SUMS,
    "of_all": "SELECT COUNT(*) AS n, SUM(amount) AS total FROM sales WHERE amount <> 4 OR amount IS NULL",
    "averages": "SELECT customer, AVG(amount) AS mean FROM sales GROUP BY customer",
    "without_a_number": "SELECT customer, SUM(amount) AS total FROM sales GROUP BY customer",
}

CHANGES = (
    ("INSERT INTO sales SELECT id, id % 7, id % 5 FROM RANGE(200, 230)", "DELETE FROM sales WHERE id % 5 = 1"),
    # Groups that come and go in between, and one of which a row is changed and changed back.
    (
        "INSERT INTO sales VALUES (300, 70, 1), (301, 71, NULL), (302, 72, -5), (303, 72, 5)",
        "DELETE FROM sales WHERE customer IN (70, 71)",
        "UPDATE sales SET amount = amount + 1 WHERE customer = 2",
        "UPDATE sales SET amount = amount - 1 WHERE customer = 2",
    ),
    ("UPDATE sales SET customer = NULL WHERE customer = 3", "UPDATE sales SET amount = NULL WHERE customer = 4"),
    ("DELETE FROM sales WHERE customer = 72 AND amount > 0", "INSERT INTO sales VALUES (4, 5, 5), (4, 5, 5)"),
    ("DELETE FROM sales WHERE customer = 72", "DELETE FROM sales WHERE amount IS NULL"),
    ("DELETE FROM sales",),
    ("INSERT INTO sales VALUES (1, 1, 1), (2, NULL, NULL)",),
)
EMPTIED = 5


@pytest.fixture
def long_feeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever changes."""
    monkeypatch.setattr("dbt_spark_dynamic.commit.incremental.MANY_CHANGES", 1)


@pytest.fixture
def sales(maintained: Maintained) -> Iterator[Maintained]:
    maintained.sql("CREATE TABLE sales (id BIGINT, customer BIGINT, amount DECIMAL(12,2)) USING delta")
    maintained.sql("INSERT INTO sales SELECT id, id % 7, id % 5 FROM RANGE(200)")
    ClassicEngine(maintained.session).feeds.forget()
    yield maintained
    ClassicEngine(maintained.session).feeds.forget()


def netted(maintained: Maintained) -> list[str]:
    """The last statements by which equal rows of a feed are put together."""
    return [s for s in maintained.statements if "equal ones put together" in s]


@pytest.mark.parametrize("sql_alone", [False, pytest.param(True, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("model", MODELS)
def test_the_table_equals_its_query(sales: Maintained, model: str, sql_alone: bool) -> None:
    if sql_alone:
        sales.wrap = lambda _: sql_engine(sales.session, sales.statements.append)
    sales.refresh(model, sql=MODELS[model])
    for number, statements in enumerate(CHANGES):
        for statement in statements:
            sales.sql(statement)
        outcome = sales.refresh(model)
        assert outcome.code in (Code.INCREMENTAL, Code.NO_CHANGE), outcome.line()
        assert sales.difference(model) == 0, statements
        # The ledger keeps what averages of a large table are made of: from the first time on, until it has no rows.
        if model != "averages" or 0 < number < EMPTIED:
            assert (feeds_read(sales, "sales"), netted(sales)) == (1, []), statements


def test_a_change_that_is_none_changes_nothing(sales: Maintained) -> None:
    sales.refresh("sums", sql=SUMS)
    version = sales.sql("DESCRIBE HISTORY sums LIMIT 1")[0][0]
    sales.sql("UPDATE sales SET amount = amount")
    sales.sql("INSERT INTO sales VALUES (900, 90, 9)")
    sales.sql("DELETE FROM sales WHERE customer = 90")
    outcome = sales.refresh("sums")
    assert outcome.line().startswith("INCREMENTAL no_op"), outcome.line()
    assert sales.difference("sums") == 0
    assert sales.sql(f"SELECT COUNT(*) FROM table_changes('sums', {version + 1})")[0][0] == 0


@pytest.mark.parametrize("call", ["MIN(amount)", "MAX(amount)", "COUNT(DISTINCT amount)"])
def test_what_sees_rows_that_came_and_left_is_told_the_net_change(sales: Maintained, call: str) -> None:
    sales.refresh("m", sql=f"SELECT customer, COUNT(*) AS n, {call} AS a FROM sales GROUP BY customer")
    for statements in CHANGES[:3]:
        for statement in statements:
            sales.sql(statement)
        assert sales.refresh("m").code is Code.INCREMENTAL
        assert sales.difference("m") == 0 and netted(sales)


def test_a_feed_that_others_need_more_of_is_netted_once_for_all(sales: Maintained) -> None:
    models = {"sums": SUMS, "rows": "SELECT id, customer, amount FROM sales WHERE amount > 1"}
    for name, sql in models.items():
        sales.refresh(name, sql=sql)
    read = []
    for statements in CHANGES[:2]:
        for statement in statements:
            sales.sql(statement)
        for name in models:
            assert sales.refresh(name).code is Code.INCREMENTAL
            assert sales.difference(name) == 0
            read.append(feeds_read(sales, "sales"))
    assert read == [1, 1, 1, 0]


def test_where_a_commit_has_no_feed_versions_are_compared(sales: Maintained) -> None:
    sales.refresh("sums", sql=SUMS)
    sales.sql("ALTER TABLE sales SET TBLPROPERTIES (delta.enableChangeDataFeed = false)")
    sales.sql("INSERT INTO sales VALUES (900, 90, 9)")
    sales.sql("ALTER TABLE sales SET TBLPROPERTIES (delta.enableChangeDataFeed = true)")
    sales.sql("DELETE FROM sales WHERE id % 3 = 1")
    outcome = sales.refresh("sums")
    assert outcome.code is Code.INCREMENTAL, outcome.line()
    assert sales.difference("sums") == 0


def test_a_row_that_came_and_left_need_not_be_computable(sales: Maintained) -> None:
    sales.session.conf.set("spark.sql.ansi.enabled", "true")
    divided = "SELECT customer, COUNT(*) AS n, COUNT_IF(100 DIV (amount + 9) > 3) AS m FROM sales GROUP BY customer"
    sales.refresh("n", sql=divided)
    sales.sql("INSERT INTO sales VALUES (901, 1, 5), (902, 1, -9)")
    sales.sql("DELETE FROM sales WHERE amount = -9")
    outcome = sales.refresh("n")
    assert outcome.code is Code.INCREMENTAL and netted(sales), outcome.line()
    assert sales.difference("n") == 0
