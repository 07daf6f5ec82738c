"""Sources of which names of columns come to mean other data, or other types, in commits that change no row."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dbt_spark_dynamic.commit.outcome import Code, Outcome
from dbt_spark_dynamic.commit.spec import RefreshMode
from integration_tests.conftest import DbtProject
from integration_tests.maintained import Maintained

MODELS = {
    "grouped": "SELECT g, COUNT(v) AS n, SUM(v) AS s, MAX(v) AS most FROM t GROUP BY g",
    "shown": "SELECT k, CAST(v AS STRING) AS v FROM t",
}
SWAPPED = [
    "ALTER TABLE t RENAME COLUMN v TO other",
    "ALTER TABLE t RENAME COLUMN w TO v",
    "ALTER TABLE t RENAME COLUMN other TO w",
]
REDEFINED = {
    "two columns take each other's name": SWAPPED,
    "a column is dropped and comes back empty": ["ALTER TABLE t DROP COLUMN v", "ALTER TABLE t ADD COLUMN v INT"],
    "rows change as well": ["UPDATE t SET v = 7 WHERE k = 1", *SWAPPED, "DELETE FROM t WHERE k = 2"],
}


@pytest.fixture
def tables(maintained: Maintained) -> Maintained:
    maintained.sql(
        "CREATE TABLE t (k INT, g STRING, v INT, w INT) USING delta TBLPROPERTIES"
        " ('delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = 'true')"
    )
    maintained.sql("INSERT INTO t VALUES (1, 'a', 1, 10), (2, 'a', 2, 1), (3, 'b', 3, 30), (4, NULL, NULL, 4)")
    for name, sql in MODELS.items():
        maintained.refresh(name, sql=sql)
    return maintained


@pytest.mark.parametrize("statements", REDEFINED.values(), ids=REDEFINED)
def test_a_name_means_another_column(tables: Maintained, statements: list[str]) -> None:
    for statement in statements:
        tables.sql(statement)
    for outcome in _refreshed(tables):
        assert outcome.code is Code.RECOMPUTE
        assert "column v" in (outcome.reason or "")
    _go_on(tables)


def test_names_that_are_restored(tables: Maintained) -> None:
    for statement in SWAPPED:
        tables.sql(statement)
    assert {outcome.code for outcome in _refreshed(tables)} == {Code.RECOMPUTE}
    tables.sql("RESTORE TABLE t TO VERSION AS OF 1")
    assert {outcome.code for outcome in _refreshed(tables)} == {Code.RECOMPUTE}
    _go_on(tables)


def test_a_column_has_a_wider_type(tables: Maintained) -> None:
    """Its values are the same, and not what is made of them."""
    tables.sql("ALTER TABLE t ALTER COLUMN v TYPE DOUBLE")
    assert Code.NO_CHANGE not in {outcome.code for outcome in _refreshed(tables)}
    assert "1.0" in {v for _, v in tables.rows("shown")}
    assert tables.refresh("shown").code is Code.NO_CHANGE
    _go_on(tables)


def test_other_columns_do_not_matter(tables: Maintained) -> None:
    for statement in (
        "ALTER TABLE t RENAME COLUMN w TO other",
        "ALTER TABLE t ADD COLUMN w STRING",
        "ALTER TABLE t DROP COLUMN other",
        "ALTER TABLE t ALTER COLUMN v COMMENT 'an amount'",
    ):
        tables.sql(statement)
        assert {outcome.code for outcome in _refreshed(tables)} == {Code.NO_CHANGE}, statement
    _go_on(tables)


def test_a_table_that_is_made_whole_reads_all_columns(tables: Maintained) -> None:
    tables.refresh("whole", sql="SELECT g, v FROM t", refresh_mode=RefreshMode.FULL)
    for statement in SWAPPED:
        tables.sql(statement)
    assert tables.refresh("whole", refresh_mode=RefreshMode.FULL).code is Code.RECOMPUTE
    assert not tables.missing_and_more("whole")
    assert tables.refresh("whole", refresh_mode=RefreshMode.FULL).code is Code.NO_CHANGE


def test_a_history_has_the_rows_as_they_are_read_since(dbt_project: DbtProject) -> None:
    dbt_project.sql(
        "CREATE TABLE people (id INT, v STRING, w STRING) USING delta"
        " TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    )
    dbt_project.sql("INSERT INTO people VALUES (1, 'Wien', 'Graz'), (2, 'Oslo', 'Oslo')")
    dbt_project.model(
        "m", f"select id, v from {dbt_project.schema}.people",
        materialized="versioned_table", unique_key="id", strategy="check", check_cols=["v"],
    )  # fmt: skip
    dbt_project.dbt("run")
    for statement in SWAPPED:
        dbt_project.sql(statement.replace(" t ", " people "))
    dbt_project.dbt("run")
    shown = "SELECT id, v, dbt_valid_to IS NULL FROM m ORDER BY id, dbt_valid_from"
    assert [tuple(r) for r in dbt_project.sql(shown)] == [(1, "Wien", False), (1, "Graz", True), (2, "Oslo", True)]
    dbt_project.sql("UPDATE people SET v = 'Bergen' WHERE id = 2")
    dbt_project.dbt("run")
    assert dbt_project.responses()["m"]["code"] == "INCREMENTAL"
    assert [tuple(r) for r in dbt_project.sql(shown)][2:] == [(2, "Oslo", False), (2, "Bergen", True)]


def _refreshed(tables: Maintained) -> Iterator[Outcome]:
    for name in MODELS:
        yield tables.refresh(name)
        assert not tables.missing_and_more(name), name


def _go_on(tables: Maintained) -> None:
    """By change, from there."""
    tables.sql("UPDATE t SET v = 8 WHERE k = 3")
    assert {outcome.code for outcome in _refreshed(tables)} == {Code.INCREMENTAL}
