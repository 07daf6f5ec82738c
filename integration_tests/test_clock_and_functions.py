"""What a SELECT reads besides tables: the session's clock, and functions of the user's own."""

from __future__ import annotations

from typing import Any

import pytest

from dbt_spark_dynamic.commit.clock import MOMENT
from dbt_spark_dynamic.commit.engine import Engine
from dbt_spark_dynamic.commit.outcome import Code
from dbt_spark_dynamic.commit.spec import RefreshMode
from dbt_spark_dynamic.errors import DynamicTableError
from integration_tests.maintained import Maintained


class Clock:
    """A session whose clock stands where the test sets it."""

    def __init__(self) -> None:
        self.date = "2026-01-10"

    def around(self, engine: Engine) -> Engine:
        rows = engine.rows

        def told(sql: str) -> list[tuple[Any, ...]]:
            if sql != MOMENT:
                return rows(sql)
            moment = f"TIMESTAMP '{self.date} 12:00:00'"
            query = f"SELECT UNIX_MICROS({moment}), '{self.date}', '{self.date} 12:00:00', UNIX_TIMESTAMP({moment})"
            return rows(query)

        engine.rows = told  # type: ignore[method-assign]
        return engine


def test_a_filter_moves_with_the_clock(maintained: Maintained) -> None:
    """The last seven days, and totals over them, as days pass with and without new rows."""
    clock = Clock()
    maintained.wrap = clock.around
    maintained.sql("CREATE TABLE visits (id INT, at TIMESTAMP, day DATE, n INT) USING delta")
    rows = [f"({i}, TIMESTAMP '2026-01-{i:02d} 12:00:00', DATE '2026-01-{i:02d}', {i % 3})" for i in range(1, 20)]
    maintained.sql(f"INSERT INTO visits VALUES {', '.join(rows)}, (99, NULL, NULL, 1)")
    recent = "SELECT id, n FROM visits WHERE at > {now} - INTERVAL 7 DAYS AND at <= {now}"
    totals = "SELECT n, COUNT(*) AS visits FROM visits WHERE day BETWEEN {today} - 3 AND {today} GROUP BY n"
    said = {"now": "current_timestamp()", "today": "current_date()"}

    def check(code: Code) -> None:
        meant = {"now": f"TIMESTAMP '{clock.date} 12:00:00'", "today": f"DATE '{clock.date}'"}
        for name, sql in (("recent", recent), ("totals", totals)):
            outcome = maintained.refresh(name, sql=sql.format(**said))
            assert outcome.code is code, outcome.line()
            maintained.models[name] = sql.format(**meant)
            assert maintained.difference(name) == 0, f"{name} at {clock.date}: {outcome.line()}"

    check(Code.CREATED)
    check(Code.NO_CHANGE)
    for date in ("2026-01-11", "2026-01-14", "2026-03-01", "2026-01-05"):
        clock.date = date
        check(Code.INCREMENTAL)
    clock.date = "2026-01-08"
    maintained.sql("DELETE FROM visits WHERE id IN (3, 7)")
    maintained.sql("INSERT INTO visits VALUES (100, TIMESTAMP '2026-01-07 00:00:00', DATE '2026-01-07', 2)")
    check(Code.INCREMENTAL)


def test_a_clock_that_is_shown_is_recomputed_with_the_reason(maintained: Maintained) -> None:
    maintained.sql("CREATE TABLE some (id INT) USING delta")
    sql = "SELECT id, current_date() AS today FROM some"
    maintained.refresh("dated", sql=sql)
    outcome = maintained.refresh("dated", sql=sql)
    assert outcome.code is Code.RECOMPUTE
    assert "current_date() has another value at every refresh" in str(outcome.reason)


def test_a_function_of_the_user_is_asked_about_and_declared(maintained: Maintained) -> None:
    maintained.sql("CREATE TABLE numbers (id INT, n INT) USING delta")
    maintained.sql("INSERT INTO numbers VALUES (1, 1), (2, 5)")
    maintained.sql("CREATE FUNCTION doubled(x INT) RETURNS INT DETERMINISTIC RETURN x * 2")
    sql = "SELECT id, doubled(n) AS d FROM numbers"
    with pytest.raises(DynamicTableError, match=r"deterministic_functions: \['doubled'\]"):
        maintained.refresh("twice", sql=sql, refresh_mode=RefreshMode.INCREMENTAL)
    declared = frozenset({"doubled"})
    maintained.refresh("twice", sql=sql, deterministic=declared)
    maintained.sql("INSERT INTO numbers VALUES (3, 7)")
    outcome = maintained.refresh("twice", sql=sql, deterministic=declared)
    assert outcome.code is Code.INCREMENTAL, outcome.line()
    assert maintained.difference("twice") == 0
