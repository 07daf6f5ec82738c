"""A table that is up to date is seen to be so at a glance, and only then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dbt_spark_dynamic.commit.outcome import Code
from dbt_spark_dynamic.commit.spec import LostHistoryPolicy

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbt_spark_dynamic.commit.outcome import Outcome

    from .maintained import Maintained


@pytest.fixture
def refreshed(maintained: Maintained) -> Callable[..., Outcome]:
    """A refresh of totals per customer of a table that is named with its schema."""
    maintained.sql("CREATE TABLE sales USING delta AS SELECT id, id % 20 AS customer FROM RANGE(500)")
    query = f"SELECT customer, COUNT(*) AS n FROM {maintained.schema}.sales GROUP BY customer"

    def again(**options: object) -> Outcome:
        return maintained.refresh("m", **{"sql": query, "on_lost_history": LostHistoryPolicy.RECOMPUTE, **options})

    again()

    return again


def test_nothing_changed_takes_no_statement(maintained: Maintained, refreshed: Callable[..., Outcome]) -> None:
    # A test that somebody wrote asks for nothing else.
    for tested in ({}, {f"{maintained.schema}.sales": ("id",)}):
        outcome = refreshed(expected_keys=tested)
        assert (outcome.code, maintained.statements) == (Code.NO_CHANGE, [])
        source = f"{maintained.schema}.sales"
        assert (outcome.sources, outcome.table) == ({source: (0, 0)}, f"{maintained.schema}.m")
        assert outcome.version == maintained.version("m")


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO sales VALUES (1000, 3)",
        "DELETE FROM sales WHERE customer = 3",
        # Another table of that name, at the same version.
        "CREATE TABLE other USING delta AS SELECT id, id % 7 AS customer FROM RANGE(50)",
    ],
)
def test_a_source_that_moved_is_seen(maintained: Maintained, refreshed: Callable[..., Outcome], statement: str) -> None:
    maintained.sql(statement)
    if "other" in statement:
        maintained.sql("DROP TABLE sales")
        maintained.sql("ALTER TABLE other RENAME TO sales")
    assert refreshed().code in (Code.INCREMENTAL, Code.RECOMPUTE)
    assert maintained.difference("m") == 0
    assert (refreshed().code, maintained.statements) == (Code.NO_CHANGE, [])


def test_a_source_that_is_a_view_now_is_seen(maintained: Maintained, refreshed: Callable[..., Outcome]) -> None:
    maintained.sql("ALTER TABLE sales RENAME TO raw_sales")
    maintained.sql(f"CREATE VIEW sales AS SELECT * FROM {maintained.schema}.raw_sales WHERE id < 100")
    assert refreshed().code is Code.RECOMPUTE and maintained.difference("m") == 0
    # What a view shows may change without a version: it is looked into every time.
    assert refreshed().code is Code.NO_CHANGE and maintained.statements


@pytest.mark.parametrize("how", ["definition", "options", "session", "touched", "altered"])
def test_what_is_asked_for_and_the_table_itself_are_seen(
    maintained: Maintained, refreshed: Callable[..., Outcome], how: str
) -> None:
    if how == "definition":
        sql = maintained.models["m"] + " HAVING COUNT(*) > 1"
        assert refreshed(sql=sql).code is Code.RECOMPUTE
    elif how == "options":
        refreshed(unique_key=("customer",))
        assert maintained.statements
    elif how == "session":
        maintained.sql("SET TIME ZONE 'Asia/Tokyo'")
        assert refreshed().code is Code.RECOMPUTE
    elif how == "touched":
        maintained.sql("DELETE FROM m WHERE customer = 3")
        with pytest.raises(Exception, match="changed by somebody else"):
            refreshed()
    else:
        maintained.sql("ALTER TABLE m SET TBLPROPERTIES ('delta.logRetentionDuration' = 'interval 60 days')")
        assert refreshed().code is Code.NO_CHANGE and maintained.statements


def test_what_the_text_does_not_say_is_looked_into(maintained: Maintained) -> None:
    """A clock, a name without its schema, and a function that may be another tomorrow."""
    maintained.sql("CREATE TABLE sales USING delta AS SELECT id, id % 20 AS customer, NOW() AS at FROM RANGE(50)")
    source = f"{maintained.schema}.sales"
    for sql in (
        f"SELECT id FROM {source} WHERE at > CURRENT_TIMESTAMP() - INTERVAL 7 DAYS",
        "SELECT customer, COUNT(*) AS n FROM sales GROUP BY customer",
        f"SELECT id, RAND() AS r FROM {source}",
    ):
        maintained.refresh("m", sql=sql, full_refresh=True)
        maintained.refresh("m")
        assert maintained.statements, sql
