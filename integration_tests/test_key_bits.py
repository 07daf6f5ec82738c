"""Changes of many rows of a large table: a MERGE sorts the rows that may be meant, not the table."""

from __future__ import annotations

import pytest

from dbt_spark_dynamic.commit.outcome import Code
from integration_tests.maintained import Maintained, sql_engine

pytestmark = pytest.mark.usefixtures("large_tables")

ROWS = (
    "SELECT CAST(id AS INT) AS id, IF(id % 97 = 0, NULL, id % 5000) AS k, CAST(id % 9 AS DECIMAL(12,2)) AS d, "
    "IF(id % 5 = 0, NULL, CONCAT('n', id % 3)) AS name, DATE '2024-01-01' + CAST(id % 400 AS INT) AS day, "
    "TIMESTAMP_MILLIS(id * 1000) AS at, ARRAY(id % 2) AS list, id / 7 AS f FROM RANGE"
)
"""Of every kind that has a hash and of some that have none."""

MODELS = {
    "retract": "SELECT k, d, name, day, at, list, f FROM t WHERE id % 10 < 8",
    "additive": "SELECT k, COUNT(*) AS n, SUM(d) AS d FROM t GROUP BY k",
    "keyed": "SELECT k, day, MAX(name) AS name, MAX(f) AS f FROM t GROUP BY k, day",
}


@pytest.mark.parametrize(
    ("name", "sql_alone"),
    [
        *(pytest.param(name, False, marks=pytest.mark.thorough) for name in ("retract", "keyed")),
        ("additive", False),
        ("retract", True),
    ],
)
def test_many_rows_are_found_by_their_bits(maintained: Maintained, name: str, sql_alone: bool) -> None:
    if sql_alone:
        maintained.wrap = lambda _: sql_engine(maintained.session, maintained.statements.append)
    maintained.sql(f"CREATE TABLE t USING delta AS {ROWS}(20000)")
    maintained.refresh(name, sql=MODELS[name])
    for statements in (
        (f"INSERT INTO t {ROWS}(20000, 20400)", "DELETE FROM t WHERE k % 100 = 3 OR k IS NULL"),
        ("UPDATE t SET d = d + 1, name = IF(name IS NULL, 'x', NULL) WHERE id % 50 < 2",),
    ):
        for statement in statements:
            maintained.sql(statement)
        assert maintained.refresh(name).code is Code.INCREMENTAL
        assert any("SET VAR" in s for s in maintained.statements)
        assert any(s.startswith("MERGE") and "GETBIT" in s for s in maintained.statements)
        assert not maintained.missing_and_more(name)
