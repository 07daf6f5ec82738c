"""dbt's own commands and flags over dynamic tables: retry, --empty, --sample, clone, --defer, show, and the like."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from integration_tests.conftest import DbtProject

SALES = "select id, item, amount, sold_at from {{ source('shop', 'sales') }}"
TOTALS = "select item, count(*) as n, sum(amount) as amount from {{ ref('staged') }} group by item"
BY_ITEM = "select item, n, amount from {{ ref('totals') }} where amount > 0"


@pytest.fixture
def shop(dbt_project: DbtProject) -> DbtProject:
    """staged (a dynamic table over a source) -> totals -> by_item."""
    dbt_project.sql("create table sales (id int, item int, amount int, sold_at timestamp) using delta")
    dbt_project.sql("insert into sales select id, id % 3, id, timestamp_seconds(id * 86400) from range(1, 10)")
    tables = [{"name": "sales", "config": {"event_time": "sold_at"}}]
    source = {"name": "shop", "schema": dbt_project.schema, "tables": tables}
    dbt_project.write("models/sources.yml", yaml.safe_dump({"version": 2, "sources": [source]}))
    dbt_project.model("staged", SALES, materialized="dynamic_table", event_time="sold_at")
    dbt_project.model("totals", TOTALS, materialized="dynamic_table", unique_key="item")
    dbt_project.model("by_item", BY_ITEM, materialized="dynamic_table")
    return dbt_project


def codes(project: DbtProject) -> dict[str, str]:
    return {name: response.get("code", "") for name, response in project.responses().items()}


def kept_state(project: DbtProject) -> Path:
    """The artifacts of the last invocation."""
    state = project.folder / "state"
    shutil.copytree(project.folder / "target", state)
    return state


def elsewhere(project: DbtProject, new_project: Callable[..., DbtProject]) -> DbtProject:
    """The same models in an environment of their own."""
    other = new_project()
    shutil.copytree(project.folder / "models", other.folder / "models")
    return other


def totals(project: DbtProject, name: str = "by_item") -> dict[int, tuple[int, int]]:
    return {r["item"]: (r["n"], r["amount"]) for r in project.sql(f"select * from {name}")}


ALL = {0: (3, 18), 1: (3, 12), 2: (3, 15)}


def test_retry_runs_what_failed_and_what_was_skipped(shop: DbtProject) -> None:
    shop.dbt("run")
    assert totals(shop) == ALL
    shop.sql("insert into sales values (10, 1, 100, timestamp '2024-01-01')")
    shop.model("totals", TOTALS.replace("sum(amount)", "sum(amunt)"), materialized="dynamic_table", unique_key="item")
    said = shop.fails("run")
    assert "amunt" in said and totals(shop) == ALL
    assert codes(shop)["staged"] == "INCREMENTAL"
    shop.model("totals", TOTALS, materialized="dynamic_table", unique_key="item")
    shop.dbt("retry")
    assert codes(shop) == {"totals": "INCREMENTAL", "by_item": "INCREMENTAL"}
    assert totals(shop) == {**ALL, 1: (4, 112)}


def test_empty_makes_tables_without_rows_and_the_next_run_fills_them(shop: DbtProject) -> None:
    shop.dbt("run", "--empty")
    assert totals(shop) == {} == totals(shop, "totals")
    shop.dbt("run")
    assert totals(shop) == ALL
    shop.dbt("build", "--empty")
    assert totals(shop) == {}
    shop.dbt("run")
    assert totals(shop) == ALL
    shop.dbt("run")
    assert set(codes(shop).values()) == {"NO CHANGE"}


def test_a_sample_holds_the_rows_of_its_time_and_the_next_run_all(shop: DbtProject) -> None:
    sample = "{'start': '1970-01-01', 'end': '1970-01-05'}"
    shop.dbt("run", "--sample", sample)
    assert sorted(r["id"] for r in shop.sql("select * from staged")) == [1, 2, 3]
    assert totals(shop) == {0: (1, 3), 1: (1, 1), 2: (1, 2)}
    shop.dbt("run")
    assert totals(shop) == ALL
    shop.sql("insert into sales values (10, 1, 100, timestamp '1970-01-02')")
    shop.dbt("run")
    assert set(codes(shop).values()) == {"INCREMENTAL"} and totals(shop) == {**ALL, 1: (4, 112)}


def test_a_clone_is_a_table_of_its_own_that_is_maintained_from_the_next_run_on(
    shop: DbtProject, new_project: Callable[..., DbtProject]
) -> None:
    shop.dbt("run")
    state = kept_state(shop)
    other = elsewhere(shop, new_project)
    other.dbt("clone", "--state", str(state))
    assert totals(other) == ALL
    other.dbt("run")
    assert totals(other) == ALL
    shop.sql(f"insert into {shop.schema}.sales values (10, 1, 100, timestamp '2024-01-01')")
    other.dbt("run")
    assert set(codes(other).values()) == {"INCREMENTAL"} and totals(other) == {**ALL, 1: (4, 112)}
    # What it was cloned from knows nothing of that.
    assert {r["item"]: (r["n"], r["amount"]) for r in shop.sql(f"select * from {shop.schema}.by_item")} == ALL


def test_one_model_is_built_here_over_tables_that_another_environment_maintains(
    shop: DbtProject, new_project: Callable[..., DbtProject]
) -> None:
    shop.dbt("run")
    state = kept_state(shop)
    other = elsewhere(shop, new_project)
    deferred = ("run", "--select", "by_item", "--defer", "--state", str(state))
    other.dbt(*deferred)
    assert totals(other) == ALL
    shop.sql(f"insert into {shop.schema}.sales values (10, 1, 100, timestamp '2024-01-01')")
    shop.sql(f"use {shop.schema}")
    shop.dbt("run")
    shop.sql(f"use {other.schema}")
    other.dbt(*deferred)
    assert codes(other) == {"by_item": "INCREMENTAL"} and totals(other) == {**ALL, 1: (4, 112)}
    assert [r["tableName"] for r in other.sql(f"show tables in {other.schema}")] == ["by_item"]


def test_a_selection_by_state_and_by_result(shop: DbtProject) -> None:
    shop.dbt("run")
    state = kept_state(shop)
    shop.model("by_item", BY_ITEM + " and n > 0", materialized="dynamic_table")
    shop.dbt("run", "--select", "state:modified", "--state", str(state))
    assert list(codes(shop)) == ["by_item"]
    shop.dbt("run", "--select", "result:success+", "--state", str(state))
    assert set(codes(shop)) == {"staged", "totals", "by_item"}


def test_show_and_compile_read_and_write_nothing(shop: DbtProject) -> None:
    shop.dbt("run")
    before = [r["version"] for r in shop.sql("describe history totals")]
    shop.dbt("show", "--select", "totals", "--output", "json")
    rows = json.loads(next(line for line in shop.lines if '"show"' in line))["show"]
    assert {r["item"]: (r["n"], r["amount"]) for r in rows} == ALL
    shop.dbt("compile", "--select", "totals")
    shop.dbt("list", "--select", "config.materialized:dynamic_table")
    assert {line.split(".")[-1] for line in shop.lines} >= {"staged", "totals", "by_item"}
    assert [r["version"] for r in shop.sql("describe history totals")] == before


def test_the_select_of_a_dynamic_table_is_unit_tested_over_given_rows(shop: DbtProject) -> None:
    shop.dbt("run")
    given = [{"item": 1, "amount": 2}, {"item": 1, "amount": 3}, {"item": None, "amount": 4}]
    expected = [{"item": 1, "n": 2, "amount": 5}, {"item": None, "n": 1, "amount": 4}]
    test = {
        "name": "sums", "model": "totals", "given": [{"input": "ref('staged')", "rows": given}],
        "expect": {"rows": expected},
    }  # fmt: skip
    shop.write("models/unit.yml", yaml.safe_dump({"version": 2, "unit_tests": [test]}))
    shop.dbt("test", "--select", "totals")
    assert any("PASS=1" in line for line in shop.lines) and totals(shop, "totals") == ALL
