"""What is said of a model before its first run, for models over the tables that the documentation has."""

from __future__ import annotations

import pytest

from dbt_spark_dynamic.changes.laws import MOVING, SOURCE
from dbt_spark_dynamic.commit.spec import ChangelogMode, RefreshMode, Spec
from dbt_spark_dynamic.dialect import parse
from dbt_spark_dynamic.errors import ConfigError
from dbt_spark_dynamic.explain.explanation import Explanation, explain
from dbt_spark_dynamic.explain.text import text
from dbt_spark_dynamic.reading.relations import Columns, Versioning
from docs.printing.shop import Shop

LATEST = "SELECT * FROM orders QUALIFY ROW_NUMBER() OVER (PARTITION BY customer ORDER BY day DESC) = 1"
COUNTED = "SELECT customer, COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY customer"
JOINED = "SELECT o.id, c.city FROM orders o JOIN customers c ON o.customer = c.id"


def explained(sql: str, **options) -> Explanation:
    return explain(Spec("shop.model", sql, "models/model.sql", **options), Shop())


@pytest.mark.parametrize(
    ("sql", "key", "techniques"),
    [
        (COUNTED, "(customer), derived from GROUP BY", ["additive", "keyed", "recompute"]),
        ("SELECT DISTINCT customer FROM orders", "(customer), derived from DISTINCT", ["keyed", "recompute"]),
        (LATEST, "(customer), derived from ROW_NUMBER() … = 1", ["top", "keyed", "recompute"]),
        ("SELECT id FROM orders ORDER BY id LIMIT 3", "none: no columns are known", ["top", "retract", "recompute"]),
        (JOINED, "none: no columns are known to be unique", ["append", "retract", "recompute"]),
        ("SELECT 1 AS one", "none is needed: there is at most one row", ["create"]),
        ("SELECT COUNT(*) AS n FROM orders", "none is needed: there is at most one row", ["additive", "recompute"]),
    ],
)
def test_key_and_techniques(sql: str, key: str, techniques: list[str]) -> None:
    found = explained(sql)
    assert found.key.startswith(key)
    assert [t.name for t in found.techniques] == techniques


def test_a_declared_key() -> None:
    found = explained(JOINED, unique_key=("id",))
    assert found.key == "(id), declared by unique_key and checked at every refresh"
    assert [t.name for t in found.techniques] == ["append", "merge", "recompute"]


def test_a_changelog_mode_that_is_set() -> None:
    found = explained(JOINED, changelog_mode=ChangelogMode.APPEND)
    assert found.changelog == "append, as set by changelog_mode"
    assert [t.name for t in found.techniques] == ["append", "recompute"]


def test_the_clock_is_an_input() -> None:
    found = explained("SELECT id FROM orders WHERE day > current_date() - INTERVAL 7 DAYS")
    assert [s.law for s in found.steps] == [MOVING, SOURCE]
    assert any(s.name == "the clock, current_date" and "2026-01-07" in s.change for s in found.sources)
    assert "'<current_date at the last refresh>'" in text(found)


def test_the_law_of_each_node() -> None:
    steps = explained(f"SELECT n, COUNT(*) AS m FROM ({COUNTED}) WHERE n > 1 GROUP BY n").steps
    laws = [(s.depth, type(s.node).__name__, s.law.kind) for s in steps]
    assert laws == [
        (0, "Aggregate", "additive"),
        (1, "Filter", "linear"),
        (2, "Aggregate", "keyed"),
        (3, "Scan", "source"),
    ]


def test_the_law_of_values_that_are_counted_once() -> None:
    root, *_ = explained(
        "SELECT customer, COUNT(DISTINCT day) AS days, COUNT(*) AS n FROM orders GROUP BY customer"
    ).steps
    assert root.law.kind == "additive"
    assert root.law.formula.startswith("γ(R⁺) = γ(R⁻) ⊕ γ(ΔR); COUNT(DISTINCT e) ⊕ Σ Δδ(R)")
    assert root.law.reads.startswith("changed rows, and those that are equal to one in group and e; ")


def test_the_law_of_first_rows() -> None:
    laws = [(type(s.node).__name__, s.law.kind) for s in explained(LATEST).steps]
    assert laws == [("Filter", "linear"), ("Window", "top"), ("Scan", "source")]
    hidden = explained("SELECT id FROM orders ORDER BY amount LIMIT 3")
    assert [s.law.kind for s in hidden.steps] == ["linear", "keyed", "linear", "source"]


def test_what_is_recomputed_is_named_with_its_line() -> None:
    said = text(explained("SELECT customer,\n  uuid() AS u\nFROM orders"))
    assert "uuid() is not a function of its arguments (line 2)" in said
    assert "recompute  the only one" in said and "SQL OF RECOMPUTE" in said


@pytest.mark.parametrize("sql", [COUNTED, LATEST, JOINED])
def test_every_statement_can_be_read_and_says_what_it_is(sql: str) -> None:
    for case in explained(sql).rehearsed:
        for statement in case.statements:
            # Delta's way to name a change feed is the one thing that only Spark reads.
            assert "readChangeFeed" in statement.sql or parse(statement.sql) is not None
            assert statement.sql.startswith(("/* ", "MERGE INTO shop.model", "INSERT INTO shop.model"))


def test_mode_full_always_recomputes() -> None:
    found = explained(COUNTED, refresh_mode=RefreshMode.FULL)
    assert [t.name for t in found.techniques] == ["recompute"]
    assert "refresh_mode='full' is set" in text(found)


def test_mode_incremental_refuses_what_has_no_law() -> None:
    with pytest.raises(ConfigError) as caught:
        explained("SELECT customer,\n  uuid() AS u\nFROM orders", refresh_mode=RefreshMode.INCREMENTAL)
    said = str(caught.value)
    assert "models/model.sql, line 2 of the compiled SQL: UUID()" in said
    assert "uuid() is not a function of its arguments" in said and "remedy:" in said


def test_a_select_that_was_not_understood_is_recomputed_every_time() -> None:
    """Printed again from the algebra it would have other types: whether the table is there already or not."""

    class Other(Shop):
        def columns(self, sql: str) -> Columns:
            found = super().columns(sql)
            return found if sql == COUNTED else tuple((name, "string") for name, _ in found)

    found = explain(Spec("shop.model", COUNTED), Other())
    assert "the SELECT has other types when it is read and printed again" in text(found)
    assert [t.name for t in found.techniques] == ["recompute"]


def test_a_join_that_keeps_its_results_goes_by_the_declared_key() -> None:
    found = explained(
        "SELECT p.id, r.rate FROM payments p JOIN rates FOR SYSTEM_TIME AS OF proctime() r ON p.currency = r.currency",
        unique_key=("id",),
        versionings={"rates": Versioning(("currency",), valid_from="valid_from", valid_to="valid_to")},
    )
    assert "kept" in [s.law.kind for s in found.steps]
    assert "keys of the rows to join" in text(found)
