"""What is said of a model whose results are made by the end of their windows, and of one whose results have no end."""

from __future__ import annotations

import pytest

from dbt_spark_dynamic.algebra.emission import PROCESSING_TIME, Emission, sides
from dbt_spark_dynamic.algebra.nodes import scans
from dbt_spark_dynamic.changes.laws import EMITTED
from dbt_spark_dynamic.commit.catalog import SessionCatalog
from dbt_spark_dynamic.commit.spec import Spec
from dbt_spark_dynamic.errors import ConfigError
from dbt_spark_dynamic.explain.explanation import Explanation, explain, results_made
from dbt_spark_dynamic.explain.text import text
from dbt_spark_dynamic.pipeline import compile_model
from docs.printing.shop import Shop

HOUR = 3_600_000_000
RUNNING = "SELECT id, customer, day, SUM(amount) OVER (PARTITION BY customer ORDER BY day) AS total FROM orders"
BY_WEEK = "SELECT customer, window.start, COUNT(*) AS n FROM orders GROUP BY customer, window(day, '7 days')"


def explained(sql: str, emission: Emission) -> Explanation:
    return explain(Spec("shop.model", sql, "models/model.sql", emission=emission, late_by="'0' SECOND"), Shop())


def test_its_law_is_that_of_results_that_are_made() -> None:
    found = explained(RUNNING, Emission(clock=PROCESSING_TIME, late=True, last=HOUR))
    assert found.steps[0].law is EMITTED
    assert [s.law.kind for s in found.steps] == ["emitted", "linear", "keyed", "source"]
    assert any(s.name == f"the clock, {PROCESSING_TIME}" for s in found.sources)
    said = text(found)
    assert "RESULTS OF WINDOWS ARE MADE" in said
    assert "results that are due" in said and "rows that may end a result that is due" in said
    assert "recompute" in [t.name for t in found.techniques] and "rewrite" not in [t.name for t in found.techniques]


@pytest.mark.parametrize(
    ("emission", "said"),
    [
        (
            Emission(),
            ["complete when the watermark has passed the end of their window",
             "rows that change after that are ignored and counted"],
        ),
        (
            Emission(-HOUR // 4, HOUR // 30, every=HOUR // 12, late=True, last=HOUR),
            ["first when the watermark has passed the end of their window less 15 minutes, and again every 5 minutes",
             "complete when the watermark has passed the end of their window plus 2 minutes",
             "rows that change after that correct them at once until it has passed the end of their window plus 1 "
             "hour, and then are ignored and counted"],
        ),
        (
            Emission(0, 36 * HOUR, rows=5, late=True, clock=PROCESSING_TIME),
            ["first when the time of the refresh has passed the end of their window, and again with every 5 rows",
             "complete when the time of the refresh has passed the end of their window plus 36 hours",
             "rows that change after that correct them at once"],
        ),
    ],
)  # fmt: skip
def test_it_says_when_results_are_made(emission: Emission, said: list[str]) -> None:
    assert results_made(emission).splitlines() == said


@pytest.mark.parametrize(
    ("sql", "what", "remedy"),
    [
        ("SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer", "the SELECT has none", "GROUP BY window("),
        ("SELECT id FROM orders", "the SELECT has none", "GROUP BY window("),
        (f"SELECT customer, SUM(n) AS n FROM ({BY_WEEK}) GROUP BY customer", "grouped or put together", "its own"),
        (f"SELECT c.name, w.n FROM ({BY_WEEK}) w JOIN customers c ON w.customer = c.id", "joined, grouped", "its own"),
        ("SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer, window(day, '7 days')", "not show", "end"),
        ("SELECT window.end, COUNT(*) AS n FROM orders GROUP BY customer, window(day, '7 days')", "not show", "all"),
        (
            "SELECT customer, session_window.end, COUNT(*) AS n FROM orders "
            "GROUP BY customer, session_window(day, '2 days')", "not show", "of a session both",
        ),
        ("SELECT id, day, SUM(amount) OVER (PARTITION BY customer ORDER BY day) AS n FROM orders", "not show", "OVER"),
        ("SELECT id, day, SUM(amount) OVER (PARTITION BY id) AS n FROM orders", "ordered by one column", "ORDER BY"),
        ("SELECT id, day, SUM(amount) OVER (ORDER BY day DESC) AS n FROM orders", "ascending", "ORDER BY event_time"),
        (f"{RUNNING} WHERE day > current_date() - INTERVAL 7 DAYS", "reads the session's clock", "another model"),
        ("SELECT id, RAND() AS r FROM orders", "maintained by change", "rewrite that part"),
    ],
)  # fmt: skip
def test_a_select_whose_results_have_no_end(sql: str, what: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as raised:
        explained(sql, Emission())
    assert what in raised.value.what and remedy in raised.value.remedy
    assert raised.value.where.startswith("models/model.sql")


def test_rows_of_a_result_that_is_one_row_are_not_counted() -> None:
    with pytest.raises(ConfigError, match="the results of an OVER window are single rows"):
        explained(RUNNING, Emission(-HOUR, rows=100))


def test_an_event_time_is_a_time() -> None:
    with pytest.raises(ConfigError, match="amount` is of type int"):
        explained("SELECT id, amount, COUNT(*) OVER (ORDER BY amount) AS n FROM orders", Emission())


@pytest.mark.parametrize(
    ("rows", "sources"),
    [
        ("orders", ["orders"]),
        ("(SELECT * FROM orders WHERE amount > 1)", ["orders"]),
        ("(SELECT o.day, c.city AS customer FROM customers c JOIN orders o ON o.customer = c.id)", ["orders"]),
        ("(SELECT day, customer FROM orders UNION ALL SELECT day, customer FROM returns)", ["orders", "returns"]),
    ],
)
@pytest.mark.parametrize("window", ["window(day, '4 days', '2 days')", "session_window(day, '2 days')"])
def test_the_watermark_is_of_the_tables_that_have_the_times(rows: str, sources: list[str], window: str) -> None:
    """Whatever the SELECT leaves of them: the least of the newest, where there are several."""
    name = window.partition("(")[0]
    sql = f"SELECT customer, {name}.start, {name}.end, COUNT(*) AS n FROM {rows} GROUP BY customer, {window}"
    columns = (("customer", "int"), ("start", "timestamp"), ("end", "timestamp"), ("n", "bigint"))
    shop = Shop()
    model = compile_model(sql, columns, SessionCatalog(shop), shop.columns, emission=Emission())
    assert model.node is not None, model.refusal
    assert [scan.source for side in sides(model.node) for scan in scans(side)] == sources
