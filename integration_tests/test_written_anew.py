"""A table of which most changed is written anew, and is its query by either way."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from click.testing import CliRunner

from dbt.adapters.spark_dynamic.cli import cli
from dbt_spark_dynamic.changes.literal_keys import MOST_KEYS
from dbt_spark_dynamic.commit.costs import OF_TABLES
from dbt_spark_dynamic.commit.outcome import Code, Outcome
from dbt_spark_dynamic.commit.spec import RefreshMode
from dbt_spark_dynamic.errors import DynamicTableError
from integration_tests.conftest import DbtProject
from integration_tests.maintained import Maintained

EXPECTED = r": expected [\d.,]+ s by change, [\d.,]+ s anew"


@pytest.fixture(autouse=True)
def small_tables_are_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if they were large, and every second were worth something."""
    monkeypatch.setattr("dbt_spark_dynamic.commit.costs.LARGE", 1)
    monkeypatch.setattr("dbt_spark_dynamic.commit.costs.OF_TABLES", replace(OF_TABLES, saved=0.0))


@pytest.fixture
def sales(maintained: Maintained) -> Maintained:
    maintained.sql(
        "CREATE TABLE sales USING delta AS SELECT id, CAST(id % 100 AS INT) AS customer, "
        "CAST(id % 7 AS DECIMAL(12,2)) AS amount FROM RANGE(0, 1000, 1, 1)"
    )
    maintained.sql("CREATE TABLE customers USING delta AS SELECT CAST(id AS INT) AS customer FROM RANGE(0, 100, 1, 1)")
    return maintained


def test_most_rows_of_a_source_changed(sales: Maintained) -> None:
    """Also if the session replaces only the partitions that a query has rows for. Readers of the table's feed see all
    of its rows leave and come, and net them."""
    sales.session.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    partitioned = {"layout": "PARTITIONED BY (odd)", "partition_by": ("odd",)}
    query = "SELECT customer, customer % 2 AS odd, AVG(amount) AS a FROM sales GROUP BY customer"
    above = {"sql": "SELECT * FROM m WHERE a > 1", "refresh_mode": RefreshMode.INCREMENTAL}
    sales.refresh("m", sql=query, **partitioned)
    sales.refresh("above", **above)
    sales.sql("DELETE FROM sales WHERE customer % 2 = 1")
    sales.sql("UPDATE sales SET amount = amount + 1 WHERE id < 900")
    assert_written_anew(sales.refresh("m", **partitioned), r"950 of about [\d,]+ rows of .*\.sales changed")
    assert (sales.difference("m"), len(sales.rows("m"))) == (0, 50)
    assert sales.refresh("above", **above).code is Code.INCREMENTAL
    assert sales.difference("above") == 0

    sales.sql("UPDATE sales SET amount = 100 WHERE id = 2")
    outcome = sales.refresh("m", **partitioned)
    assert (outcome.code, outcome.rows_in, outcome.rows_updated) == (Code.INCREMENTAL, 1, 1)
    assert sales.difference("m") == 0


def test_a_source_that_is_itself_written_anew_every_time(sales: Maintained, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its feed is all of its rows twice: that most of them changed is read off it once, and now and then again."""
    monkeypatch.setattr("dbt_spark_dynamic.commit.decide.AGAIN", 4)
    sales.refresh("p", sql="SELECT customer, AVG(amount) AS a FROM sales GROUP BY customer")
    sales.refresh("m", sql="SELECT customer, a FROM p WHERE a > 1")
    looked = []
    for _ in range(4):
        sales.sql("UPDATE sales SET amount = amount + 1 WHERE id < 900")
        assert_written_anew(sales.refresh("p"), r"900 of about [\d,]+ rows of .*\.sales changed")
        outcome = sales.refresh("m")
        looked.append(any("rows that came to" in s for s in sales.statements))
        unknown = r"nothing says how many rows of .*\.p changed, and the last time they were too many"
        assert_written_anew(outcome, r"\d+ of about \d+ rows of .*\.p changed" if looked[-1] else unknown)
        assert sales.difference("m") == 0
    assert looked == [True, False, True, False]

    sales.sql("UPDATE sales SET amount = 100 WHERE id = 2")
    assert sales.refresh("p").code is sales.refresh("m").code is Code.INCREMENTAL
    assert sales.difference("m") == 0


def test_most_rows_of_the_table_are_to_be_made_again(sales: Maintained) -> None:
    """Which only what was computed shows: rows came, and it may have been enough to insert some."""
    sales.refresh("by_key", sql="SELECT customer, AVG(amount) AS a FROM sales GROUP BY customer")
    joined = "SELECT c.customer, s.id FROM customers c LEFT JOIN sales s ON s.customer = c.customer + 1000"
    sales.refresh("by_row", sql=joined)
    sales.sql("INSERT INTO sales SELECT id, CAST(id % 100 AS INT), 1 FROM RANGE(1000, 1100, 1, 1)")
    assert_written_anew(sales.refresh("by_key"), "100 of the table's 100 rows are to be made again")
    sales.sql("INSERT INTO sales SELECT id, CAST(1000 + id % 100 AS INT), 1 FROM RANGE(1100, 1200, 1, 1)")
    assert_written_anew(sales.refresh("by_row"), "100 of the table's 100 rows are to be made again")
    sales.sql("UPDATE sales SET amount = 3 WHERE id = 1")
    sales.refresh("by_key")
    assert (sales.difference("by_row"), sales.difference("by_key")) == (0, 0)


def test_a_small_result_of_which_no_change_was_timed(maintained: Maintained, monkeypatch: pytest.MonkeyPatch) -> None:
    """What its change plan does tells beforehand; of a few keys it does not. Of about as many rows as the last time, it
    is not looked at again."""
    for least in ("LARGE", "SMALL"):
        monkeypatch.setattr(f"dbt_spark_dynamic.commit.costs.{least}", 50_000)
    monkeypatch.setattr("dbt_spark_dynamic.commit.costs.RELATION", 60)
    maintained.sql("CREATE TABLE sales USING delta AS SELECT id, id % 100 AS customer, RAND(7) AS r FROM RANGE(20000)")
    maintained.refresh("m", sql="SELECT customer, MAX_BY(id, r) AS id FROM sales GROUP BY customer")
    for changed, is_looked_at in ((900, True), (600, False)):
        maintained.sql(f"UPDATE sales SET r = r + 1 WHERE id < {changed}")
        outcome = maintained.refresh("m")
        assert any("'readChangeFeed'" in s for s in maintained.statements) is is_looked_at
        if is_looked_at:
            assert_written_anew(outcome, r"the change takes \d relations, which read [\d.]+ times what the query reads")
        else:
            assert (outcome.code, outcome.technique) == (Code.RECOMPUTE, "rewrite")
            again = r"600 of about [\d,]+ rows of .*\.sales changed, and as few were too many the last time"
            assert re.fullmatch(again, outcome.reason or "")
        assert maintained.difference("m") == 0
    maintained.sql(f"UPDATE sales SET r = r + 1 WHERE id < {MOST_KEYS}")
    assert maintained.refresh("m").code is Code.INCREMENTAL
    assert maintained.difference("m") == 0


@pytest.mark.usefixtures("large_tables")
def test_groups_that_no_row_meets_are_not_made(sales: Maintained) -> None:
    """Where all is computed too: who the few customers are is asked of a table that is small beside the sales."""
    sales.sql("INSERT INTO sales SELECT id, CAST(id % 100 AS INT), RAND(3) FROM RANGE(1000, 20000, 1, 1)")
    sales.refresh(
        "m",
        sql="SELECT s.id FROM sales s JOIN customers c ON s.customer = c.customer WHERE c.customer < 9 AND s.amount > "
        "(SELECT 1.5 * AVG(a.amount) FROM sales a WHERE a.customer = c.customer)",
    )
    (created,) = (s for s in sales.statements if s.startswith("CREATE OR REPLACE"))
    assert re.search(r"LEFT SEMI JOIN `customers\w*`\s+ON `a`.`customer` = ", created)
    assert (sales.difference("m"), len(sales.rows("m")) > 0) == (0, True)
    sales.sql("UPDATE sales SET amount = amount + id % 3, customer = customer + id % 2")
    assert_written_anew(sales.refresh("m"), "20,000 of about .* changed")
    assert any("LEFT SEMI JOIN" in s for s in sales.statements if s.startswith("INSERT OVERWRITE"))
    sales.sql("DELETE FROM customers WHERE customer IN (0, 3)")
    sales.refresh("m")
    assert sales.difference("m") == 0


def test_a_model_that_is_to_be_maintained_by_change_is(sales: Maintained) -> None:
    only = {"refresh_mode": RefreshMode.INCREMENTAL}
    sales.refresh("m", sql="SELECT customer, AVG(amount) AS a FROM sales GROUP BY customer", **only)
    sales.sql("UPDATE sales SET amount = amount + 1")
    assert sales.refresh("m", **only).code is Code.INCREMENTAL
    assert sales.difference("m") == 0


def test_a_declared_key_is_checked(sales: Maintained) -> None:
    declared = {"unique_key": ("id",)}
    sales.refresh("m", sql="SELECT id, amount FROM sales", **declared)
    sales.sql("UPDATE sales SET id = 0 WHERE id < 900")
    with pytest.raises(DynamicTableError, match="not unique"):
        sales.refresh("m", **declared)
    assert len(sales.rows("m")) == len(set(sales.rows("m"))) == 1000


@pytest.mark.parametrize("key", ["id", "CONCAT('no. ', id)"])
def test_what_a_key_is_checked_of_is_computed_once(sales: Maintained, key: str) -> None:
    """To see that it holds and to be written; with words of bits, or without any integer."""
    declared = {"unique_key": ("k",)}
    joined = f"SELECT {key} AS k, c.customer, amount FROM sales AS s JOIN customers AS c ON s.customer = c.customer"
    sales.refresh("m", sql=joined, **declared)
    sales.sql("UPDATE sales SET amount = amount + 1 WHERE id < 900")
    assert_written_anew(sales.refresh("m", **declared), r"900 of about [\d,]+ rows of .*\.sales changed")
    assert sum("JOIN" in s for s in sales.statements if not s.startswith("DESCRIBE")) == 1
    assert sales.difference("m") == 0

    held = sales.rows("m")
    sales.sql("UPDATE sales SET amount = amount + 1 WHERE id < 900")
    sales.sql("INSERT INTO customers VALUES (7)")
    with pytest.raises(DynamicTableError, match=r"(?s)k\) is not unique.*for example .*7"):
        sales.refresh("m", **declared)
    assert not [s for s in sales.statements if s.startswith("INSERT")]
    assert sorted(sales.rows("m")) == sorted(held)
    assert not [v for v in sales.sql("SHOW VIEWS") if "content" in str(v)]

    sales.sql("DELETE FROM customers WHERE customer = 7")
    assert_written_anew(sales.refresh("m", **declared), r"9\d\d of about [\d,]+ rows of .*\.sales changed")
    assert (sales.difference("m"), len(sales.rows("m"))) == (0, 990)


def test_what_is_explained_is_what_runs(dbt_project: DbtProject) -> None:
    dbt_project.sql("create table orders using delta as select id, id % 100 as customer from range(0, 1000, 1, 1)")
    dbt_project.model(
        "latest",
        "select customer, max_by(id, id) as id from {{ target.schema }}.orders group by customer",
        materialized="dynamic_table",
    )
    dbt_project.dbt("run")
    dbt_project.sql("update orders set id = id + 1")
    folders = ["--project-dir", str(dbt_project.folder), "--profiles-dir", str(dbt_project.folder)]
    said = CliRunner().invoke(cli, ["explain", "latest", *folders]).output
    why = re.search(rf"RECOMPUTE, because (1,000 of about [\d,]+ rows of \S+ changed{EXPECTED})", said)
    assert why is not None, said
    assert re.search(r"\n  keyed .* expected [\d.]+ s\n  rewrite .* expected [\d.]+ s\n  recompute .* at least", said)
    dbt_project.dbt("run")
    response = dbt_project.responses()["latest"]
    assert (response["code"], response["technique"], response["reason"]) == ("RECOMPUTE", "rewrite", why[1])
    assert (response["rows_inserted"], response["rows_deleted"]) == (100, 100)


def assert_written_anew(outcome: Outcome, why: str) -> None:
    assert (outcome.code, outcome.technique) == (Code.RECOMPUTE, "rewrite"), outcome.line()
    assert re.fullmatch(why + EXPECTED, outcome.reason or ""), outcome.reason
