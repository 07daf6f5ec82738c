"""Delta cannot read the change feed of a commit that deletes very many rows here and there of a file that has lost rows
before (https://github.com/delta-io/delta/issues/5662). Versions are compared instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from dbt_spark_dynamic.commit.classic import ClassicEngine
from dbt_spark_dynamic.commit.engine import Engine
from dbt_spark_dynamic.commit.outcome import Code
from dbt_spark_dynamic.errors import SourceError
from integration_tests.conftest import DbtProject
from integration_tests.maintained import Maintained, sql_engine

ROWS = 500_000
"""Of one file. Delta can list the rows that a commit deletes of it in 64 KB, with a bit and more for each of these."""

LOSE_SOME = "DELETE FROM readings WHERE id < 10"
LOSE_MANY = "DELETE FROM readings WHERE PMOD(HASH(id), 3) = 0"
MODELS = {
    "sums": "SELECT device, COUNT(*) AS n, SUM(value) AS total FROM readings GROUP BY device",
    "filtered": "SELECT id, value FROM readings WHERE device = 3",
}


def create(sql: Callable[[str], object]) -> None:
    sql(
        "CREATE TABLE readings (id BIGINT, device BIGINT, value BIGINT) USING delta\n"
        "TBLPROPERTIES (delta.enableDeletionVectors = true)"
    )
    sql(f"INSERT INTO readings SELECT id, id % 50, id % 1009 FROM RANGE(0, {ROWS}, 1, 1)")


@pytest.fixture
def readings(maintained: Maintained) -> Iterator[Maintained]:
    create(maintained.sql)
    yield maintained
    ClassicEngine(maintained.session).feeds.forget()


def feed_since(version: int) -> str:
    return f"SELECT COUNT(*) AS n FROM readings WITH ('readChangeFeed'='true', 'startingVersion'='{version}')"


@pytest.mark.parametrize("only_sql", [False, True], ids=["in this process", "by SQL alone"])
def test_versions_are_compared(readings: Maintained, only_sql: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not only_sql:
        # Feeds that models add up without netting them first.
        monkeypatch.setattr("dbt_spark_dynamic.commit.incremental.MANY_CHANGES", 1)

    def by_sql(engine: Engine) -> Engine:
        return sql_engine(readings.session, readings.statements.append)

    readings.wrap = by_sql if only_sql else None
    for name, sql in MODELS.items():
        readings.refresh(name, sql=sql)
    for statement in (LOSE_SOME, LOSE_MANY, "UPDATE readings SET value = value + 1 WHERE id % 1000 = 1"):
        readings.sql(statement)
        if statement is LOSE_MANY:
            with pytest.raises(Exception, match="too long"):
                readings.sql(feed_since(3))
        for name in MODELS:
            outcome = readings.refresh(name)
            assert (outcome.code, readings.difference(name)) == (Code.INCREMENTAL, 0), outcome.line()


def test_a_changelog_says_what_can_be_done(readings: Maintained) -> None:
    readings.sql(LOSE_SOME)
    readings.sql(LOSE_MANY)
    with pytest.raises(SourceError, match="change feed of a table that this SELECT reads cannot be read") as found:
        readings.refresh("n", sql=feed_since(1))
    assert "since=" in str(found.value)


def test_a_history_goes_on(dbt_project: DbtProject) -> None:
    create(dbt_project.sql)
    dbt_project.model(
        "m", f"select * from {dbt_project.schema}.readings where id < 100",
        materialized="versioned_table", unique_key="id", strategy="check", check_cols="all",
        hard_deletes="invalidate",
    )  # fmt: skip
    dbt_project.dbt("run")
    dbt_project.sql(LOSE_SOME)
    dbt_project.dbt("run")
    dbt_project.sql(LOSE_MANY)
    dbt_project.sql("UPDATE readings SET value = -1 WHERE id BETWEEN 10 AND 20")
    dbt_project.dbt("run")
    assert dbt_project.responses()["m"]["code"] == "INCREMENTAL"
    assert "versions in between are not in the history" in "\n".join(dbt_project.lines)
    current = dbt_project.sql("SELECT id, device, value FROM m WHERE dbt_valid_to IS NULL ORDER BY id")
    assert current == dbt_project.sql("SELECT * FROM readings WHERE id < 100 ORDER BY id")
