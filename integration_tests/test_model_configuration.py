"""A dynamic table is a dbt model: contract, layout, hooks, grants, full_refresh, and changing its kind."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from integration_tests.conftest import DbtProject

CONTRACT = """
models:
  - name: m
    config: {contract: {enforced: true}}
    constraints: [{type: check, name: Positive, expression: amount > 0}]
    columns:
      - {name: amount, data_type: int}
      - {name: id, data_type: int, constraints: [{type: not_null}, {type: primary_key, warn_unsupported: false}]}
"""


@pytest.fixture
def project(dbt_project: DbtProject) -> DbtProject:
    dbt_project.sql("CREATE TABLE t (id INT, amount INT) USING delta")
    dbt_project.sql("INSERT INTO t VALUES (1, 10), (2, 20)")
    return dbt_project


def write(project: DbtProject, materialized: str = "dynamic_table", **config: Any) -> None:
    project.model("m", f"select id, amount from {project.schema}.t", materialized=materialized, **config)


def rows(project: DbtProject) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, project.sql("SELECT id, amount FROM m")))


def version(project: DbtProject) -> int:
    return int(project.sql("DESCRIBE HISTORY m LIMIT 1")[0]["version"])


def detail(project: DbtProject) -> Any:
    return project.sql("DESCRIBE DETAIL m")[0]


def replaced(project: DbtProject) -> int:
    return sum("REPLACE" in row["operation"] for row in project.sql("DESCRIBE HISTORY m"))


@pytest.mark.every_connection(pytest.mark.thorough)
def test_a_contract_is_enforced_by_delta(project: DbtProject) -> None:
    project.write("models/models.yml", CONTRACT)
    write(project)
    project.dbt("run")
    assert detail(project)["properties"]["delta.constraints.positive"] == "amount > 0"
    assert [row[0] for row in project.sql("DESCRIBE TABLE m")][:2] == ["amount", "id"]
    before = version(project)
    for wrong, said in (("(NULL, 5)", "id_not_null"), ("(3, -5)", "positive")):
        project.sql(f"INSERT INTO t VALUES {wrong}")
        message = project.fails("run")
        assert "violates the table's constraints" in message and said in message and "models/m.sql" in message
        assert said in project.fails("run", "--full-refresh")
        assert (version(project), rows(project)) == (before, [(1, 10), (2, 20)])
        project.sql("DELETE FROM t WHERE id IS NULL OR amount < 0")
    project.dbt("run")

    # What the contract asks for is changed in place; what it does not ask for any more goes.
    project.write("models/models.yml", CONTRACT.replace("amount > 0", "amount > 5").replace("{type: not_null}, ", ""))
    project.dbt("run")
    assert (replaced(project), detail(project)["properties"]["delta.constraints.positive"]) == (1, "amount > 5")
    assert "delta.constraints.id_not_null" not in detail(project)["properties"]
    # Rows that are there and violate what is new: the table is built again, which they fail too.
    project.write("models/models.yml", CONTRACT.replace("amount > 0", "amount > 15"))
    assert "violates the table's constraints" in project.fails("run")
    project.sql("DELETE FROM t WHERE id = 1")
    project.dbt("run")
    assert rows(project) == [(2, 20)]

    project.write("models/models.yml", CONTRACT.replace("data_type: int}", "data_type: string}"))
    assert "contract" in project.fails("run")


@pytest.mark.parametrize("materialized", ["table", "incremental"])
def test_a_contract_holds_for_every_kind_of_table(project: DbtProject, materialized: str) -> None:
    project.write("models/models.yml", CONTRACT)
    write(project, materialized, **({"on_schema_change": "fail"} if materialized == "incremental" else {}))
    project.dbt("run")
    project.sql("INSERT INTO t VALUES (NULL, 5)")
    assert "id_not_null" in project.fails("run")
    assert rows(project) == [(1, 10), (2, 20)]


@pytest.mark.every_connection(pytest.mark.thorough)
def test_what_is_configured_is_applied_in_place(project: DbtProject) -> None:
    write(project)
    project.dbt("run")
    # Set by a hand or a platform: nobody's drift.
    project.sql("ALTER TABLE m SET TBLPROPERTIES ('somebody.else' = 'x')")
    project.dbt("run")
    assert project.responses()["m"]["altered"] == []
    write(project, tblproperties={"team": "sales", "delta.appendOnly": False}, liquid_clustered_by=["id"])
    project.dbt("run")
    response = project.responses()["m"]
    assert (response["code"], len(response["altered"])) == ("NO CHANGE", 3)
    altered = r"altered tblproperties delta.appendOnly: .*; tblproperties team: not set → sales"
    assert any(re.search(altered, line) for line in project.lines)
    assert detail(project)["properties"]["team"] == "sales"
    assert detail(project)["properties"]["somebody.else"] == "x"
    assert (detail(project)["clusteringColumns"], replaced(project)) == (["id"], 1)
    project.sql("INSERT INTO t VALUES (3, 30)")
    project.dbt("run")
    assert (project.responses()["m"]["code"], project.responses()["m"]["altered"]) == ("INCREMENTAL", [])


def test_what_needs_a_rebuild_and_what_is_not_to_be_applied(project: DbtProject, tmp_path: Path) -> None:
    write(project, liquid_clustered_by="id")
    project.dbt("run")
    before = version(project)
    parted: dict[str, Any] = {"partition_by": "id", "location_root": str(tmp_path)}
    write(project, **parted, on_configuration_change="fail")
    assert "partition_by: none → id" in project.fails("run")
    write(project, **parted, on_configuration_change="continue")
    project.dbt("run")
    assert any("`on_configuration_change` was set to `continue`" in line for line in project.lines)
    write(project, **parted, full_refresh=False)
    assert "`full_refresh: false` forbids that" in project.fails("run", "--full-refresh")
    assert version(project) == before
    # Delta neither moves a table nor partitions one that was clustered: another one takes its place.
    write(project, **parted)
    project.dbt("run")
    assert "partition_by" in project.responses()["m"]["reason"]
    assert detail(project)["partitionColumns"] == ["id"] and str(tmp_path / "m") in detail(project)["location"]
    project.sql("INSERT INTO t VALUES (3, 30)")
    project.dbt("run")
    assert project.responses()["m"]["code"] == "INCREMENTAL"
    assert rows(project) == [(1, 10), (2, 20), (3, 30)]
    assert {row["tableName"] for row in project.sql("SHOW TABLES")} == {"t", "m"}


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"file_format": "parquet"}, "is a Delta table"),
        ({"clustered_by": "id", "buckets": 2}, "liquid_clustered_by"),
        ({"tblproperties": {"delta.enableChangeDataFeed": False}}, "has a change feed"),
        ({"on_schema_change": "sometimes"}, "'append_new_columns', 'sync_all_columns'"),
        ({"grants": {"select": ["reporter"]}}, "this Spark has none"),
    ],
)
def test_an_option_that_cannot_be_had_is_refused(project: DbtProject, config: dict[str, Any], said: str) -> None:
    write(project, **config)
    assert said in project.fails("run")
    assert {row["tableName"] for row in project.sql("SHOW TABLES")} == {"t"}


def test_hooks_run_in_their_order_and_see_the_table(project: DbtProject) -> None:
    project.sql("CREATE TABLE log (what STRING, n INT) USING delta")
    note = f"insert into {project.schema}.log "
    write(
        project,
        pre_hook=[note + "values ('inside', 0)", {"sql": note + "values ('before begin', 0)", "transaction": False}],
        post_hook=[
            {"sql": note + "select 'after commit', count(*) from {{ this }}", "transaction": False},
            note + "select 'done', count(*) from {{ this }}",
        ],
    )
    project.dbt("run")
    logged = project.sql("SELECT what, n FROM log ORDER BY _metadata.file_modification_time")
    assert [tuple(row) for row in logged] == [("before begin", 0), ("inside", 0), ("done", 2), ("after commit", 2)]


@pytest.mark.every_connection(pytest.mark.thorough)
def test_a_model_changes_its_kind_without_losing_rows_or_readers(project: DbtProject) -> None:
    """Each step over what the one before has left, and readers of the table see no moment without it."""
    steps = (
        ("dynamic_table", "CREATED"), ("incremental", None), ("dynamic_table", "RECOMPUTE"), ("table", None),
        ("incremental", None), ("dynamic_table", "CREATED"), ("view", None), ("incremental", None), ("view", None),
        ("dynamic_table", "CREATED"),
    )  # fmt: skip
    for number, (kind, code) in enumerate(steps):
        project.sql(f"INSERT INTO t VALUES ({number + 10}, {number})")
        tracked = kind == "incremental" and steps[number - 1][0] == "dynamic_table"
        write(project, kind, **({"unique_key": "id"} if kind == "incremental" else {}))
        project.dbt("run")
        assert rows(project) == sorted(map(tuple, project.sql("SELECT * FROM t"))), (number, kind)
        if code is not None:
            assert project.responses()["m"]["code"] == code, (number, project.responses()["m"])
        if tracked:
            assert replaced(project) == 1
    assert {row["tableName"] for row in project.sql("SHOW TABLES")} == {"t", "m"}


def test_a_view_that_cannot_be_made_leaves_the_table(project: DbtProject) -> None:
    write(project)
    project.dbt("run")
    project.model("m", f"select nope from {project.schema}.t", materialized="view")
    project.fails("run")
    assert rows(project) == [(1, 10), (2, 20)]


def test_a_table_in_another_format_is_replaced_when_that_is_asked_for(project: DbtProject) -> None:
    project.sql("CREATE TABLE m USING parquet AS SELECT 1 AS id, 2 AS amount")
    write(project)
    assert "--full-refresh" in project.fails("run")
    project.dbt("run", "--full-refresh")
    assert (detail(project)["format"], len(rows(project))) == ("delta", 2)


def test_aliases_schemas_tags_and_unit_tests(project: DbtProject) -> None:
    project.model("src", f"select id, amount from {project.schema}.t", materialized="view")
    project.model(
        "sums", "select sum(amount) as total from {{ ref('src') }}",
        materialized="dynamic_table", alias="totals", schema="marts", tags=["nightly"],
    )  # fmt: skip
    project.write(
        "models/unit.yml",
        "unit_tests: [{name: adds, model: sums, given: [{input: ref('src'), rows: [{amount: 1}, {amount: 2}]}], "
        "expect: {rows: [{total: 3}]}}]",
    )
    project.dbt("build")
    table = f"{project.schema}_marts.totals"
    assert project.sql(f"SELECT * FROM {table}") == [(30,)]
    project.dbt("run", "--select", "tag:nightly")
    assert project.responses()["sums"]["code"] == "NO CHANGE"
    shown = project.dbt("show", "--select", "sums", "--output", "json")
    assert json.loads(json.dumps(shown.success))
    project.sql(f"DROP SCHEMA {project.schema}_marts CASCADE")


@pytest.mark.every_connection(pytest.mark.thorough)
def test_docs_and_freshness_know_the_table(project: DbtProject) -> None:
    write(project, persist_docs={"relation": True, "columns": True})
    project.write(
        "models/models.yml",
        "models: [{name: m, description: all of t, columns: [{name: id, description: who}]}]\n"
        f"sources: [{{name: raw, schema: {project.schema}, config: {{freshness: {{warn_after: "
        "{count: 1, period: day}}}, tables: [{name: t}]}]",
    )
    project.dbt("run")
    project.dbt("docs", "generate")
    catalog = json.loads((project.folder / "target/catalog.json").read_text())
    table = catalog["nodes"]["model.tests.m"]
    assert {n: (c["type"], c["comment"]) for n, c in table["columns"].items()} == {
        "id": ("int", "who"),
        "amount": ("int", None),
    }
    assert (table["metadata"]["comment"], table["stats"]["rows"]["value"]) == ("all of t", 2)
    assert table["stats"]["last_refresh"]["value"] == "create"
    project.dbt("source", "freshness")
    (result,) = json.loads((project.folder / "target/sources.json").read_text())["results"]
    assert result["status"] == "pass" and 0 <= result["max_loaded_at_time_ago_in_s"] < 3600
