"""The materialization inside dbt: what a user sees of it, above and below models of other kinds."""

from __future__ import annotations

import re

import pytest

from integration_tests.conftest import DbtProject
from integration_tests.maintained import Maintained


def different(project: DbtProject, model: str, query: str) -> int:
    return Maintained(project.session, project.schema, {model: query}).difference(model)


@pytest.fixture
def shop(dbt_project: DbtProject) -> DbtProject:
    """A seed, an incremental model, a view, an ephemeral model and two dynamic tables in a chain over them."""
    dbt_project.write("seeds/countries.csv", "code,country\nat,Austria\nno,Norway\n")
    dbt_project.write("seeds/first_orders.csv", "id,code,amount\n1,at,10\n2,no,20\n3,no,30\n")
    dbt_project.model("orders", "select * from {{ ref('first_orders') }}", materialized="table")
    dbt_project.model("large", "select * from {{ ref('orders') }} where amount > 5", materialized="view")
    dbt_project.model(
        "named", "select code, upper(country) as country from {{ ref('countries') }}", materialized="ephemeral"
    )
    dbt_project.model(
        "per_country",
        "select n.country, count(*) as n, sum(o.amount) as total\n"
        "from {{ ref('large') }} o join {{ ref('named') }} n on o.code = n.code\ngroup by n.country",
        materialized="dynamic_table",
    )
    dbt_project.model(
        "busy", "select country, total from {{ ref('per_country') }} where n > 1", materialized="dynamic_table"
    )
    dbt_project.write(
        "models/models.yml",
        "models: [{name: per_country, description: 'per country', columns: [{name: country, description: 'who', "
        "data_tests: [unique, not_null]}], config: {persist_docs: {relation: true, columns: true}}}]",
    )
    return dbt_project


PER_COUNTRY = (
    "SELECT upper(c.country), count(*), sum(o.amount) FROM orders o JOIN countries c ON o.code = c.code "
    "WHERE o.amount > 5 GROUP BY upper(c.country)"
)


@pytest.mark.every_connection
def test_a_chain_over_models_of_every_kind(shop: DbtProject) -> None:
    shop.dbt("build")
    assert shop.responses()["per_country"]["code"] == "CREATED"
    assert shop.sql("DESCRIBE DETAIL per_country")[0]["description"] == "per country"

    shop.sql("INSERT INTO orders VALUES (4, 'at', 40), (5, 'at', 1)")
    shop.dbt("run", "--select", "per_country", "busy")
    first, second = shop.responses()["per_country"], shop.responses()["busy"]
    assert (first["code"], first["technique"], first["rows_in"]) == ("INCREMENTAL", "additive", 2)
    assert (first["rows_inserted"], first["rows_updated"], first["rows_deleted"]) == (0, 1, 0)
    assert (second["code"], second["technique"], second["rows_inserted"]) == ("INCREMENTAL", "append", 1)
    assert first["statements"] > 3 and first["seconds"] > 0
    assert any("INCREMENTAL additive: 2 changed in, +0 ~1 -0 out" in line for line in shop.lines)
    assert different(shop, "per_country", PER_COUNTRY) == 0

    # An upstream `table` model is rebuilt by every run: only what really changed counts, then equal rows not at all.
    shop.dbt("run", "--select", "orders", "per_country")
    rebuilt = shop.responses()["per_country"]
    assert (rebuilt["code"], rebuilt["rows_updated"]) == ("INCREMENTAL", 1)
    assert different(shop, "per_country", PER_COUNTRY) == 0
    shop.dbt("run", "--select", "orders", "per_country")
    assert shop.responses()["per_country"]["code"] == "NO CHANGE"

    shop.dbt("run", "--select", "per_country", "busy")
    assert (shop.responses()["busy"]["code"], shop.responses()["busy"]["rows_deleted"]) == ("INCREMENTAL", 1)
    version = shop.sql("DESCRIBE HISTORY busy LIMIT 1")[0]["version"]
    shop.dbt("run", "--select", "per_country", "busy")
    assert {r["code"] for r in shop.responses().values()} == {"NO CHANGE"}
    assert shop.sql("DESCRIBE HISTORY busy LIMIT 1")[0]["version"] == version

    shop.dbt("run", "--select", "per_country", "--full-refresh")
    assert shop.responses()["per_country"]["reason"] == "--full-refresh was asked for"
    shop.dbt("test")


def test_descriptions_are_written_where_they_changed(dbt_project: DbtProject) -> None:
    dbt_project.sql("CREATE TABLE t USING delta AS SELECT 1 AS id")
    dbt_project.model("m", f"select id, id as `No` from {dbt_project.schema}.t", materialized="dynamic_table")

    def run(of_table: str, of_column: str) -> int:
        """Makes these the descriptions, runs, and gives the table's version."""
        dbt_project.write(
            "models/models.yml",
            f'models: [{{name: m, description: "{of_table}", columns: [{{name: "no", description: "{of_column}"}}, '
            "{name: gone}], config: {persist_docs: {relation: true, columns: true}}}]",
        )
        dbt_project.dbt("run")
        described = {row[0]: row for row in dbt_project.sql("DESCRIBE TABLE EXTENDED m")}
        assert (described["Comment"][1], described["No"][2]) == (of_table, of_column)
        return dbt_project.sql("DESCRIBE HISTORY m LIMIT 1")[0]["version"]

    first = run("the whole", "it's a number")
    assert run("the whole", "it's a number") == first
    assert run("the whole thing", "a number") == first + 2


def test_a_model_may_change_its_kind_in_every_direction(dbt_project: DbtProject) -> None:
    dbt_project.sql("CREATE TABLE t USING delta AS SELECT 1 AS id")
    for kind in ("table", "dynamic_table", "view", "dynamic_table", "table", "dynamic_table"):
        dbt_project.model("m", f"select id from {dbt_project.schema}.t", materialized=kind)
        dbt_project.dbt("run")
        assert dbt_project.sql("SELECT id FROM m") == [(1,)]
        if kind == "dynamic_table":
            assert dbt_project.responses()["m"]["code"] == "CREATED"


@pytest.mark.every_connection
def test_a_failing_model_says_where_and_leaves_the_others_alone(dbt_project: DbtProject) -> None:
    dbt_project.sql("CREATE TABLE t USING delta AS SELECT 1 AS id")
    source = f"{dbt_project.schema}.t"
    dbt_project.model("good", f"select id from {source}", materialized="dynamic_table")
    dbt_project.model("bad", f"select id,\n  nope\nfrom {source}", materialized="dynamic_table")
    dbt_project.model("odd", f"select id from {source}", materialized="dynamic_table", refresh_mode="sometimes")
    said = dbt_project.fails("run")
    assert "`nope`" in said and re.search(r"models/bad.sql, line \d of the compiled SQL:\n +nope\n +\^", said)
    assert "refresh_mode: 'sometimes'" in said and "'auto', 'incremental', 'full'" in said
    assert "\tat " not in said
    assert dbt_project.sql("SELECT id FROM good") == [(1,)]
    assert {row["tableName"] for row in dbt_project.sql("SHOW TABLES")} == {"t", "good"}


@pytest.mark.every_connection(pytest.mark.thorough)
def test_layout_and_properties_are_those_of_the_configuration(dbt_project: DbtProject) -> None:
    dbt_project.sql("CREATE TABLE t USING delta AS SELECT 1 AS id, 'a' AS part")
    dbt_project.model(
        "parted",
        f"select part, count(*) as n from {dbt_project.schema}.t group by part",
        materialized="dynamic_table",
        partition_by="part",
        tblproperties={"owner.team": "sales"},
    )
    dbt_project.model(
        "clustered",
        f"select id, part from {dbt_project.schema}.t",
        materialized="dynamic_table",
        liquid_clustered_by=["id"],
        unique_key="id",
    )
    dbt_project.dbt("run")
    parted, clustered = (dbt_project.sql(f"DESCRIBE DETAIL {m}")[0] for m in ("parted", "clustered"))
    assert parted["partitionColumns"] == ["part"]
    assert parted["properties"]["owner.team"] == "sales"
    assert parted["properties"]["delta.enableChangeDataFeed"] == "true"
    assert clustered["clusteringColumns"] == ["id"]
    dbt_project.sql("INSERT INTO t VALUES (2, 'b')")
    dbt_project.sql("UPDATE t SET part = 'c' WHERE id = 1")
    dbt_project.dbt("run")
    assert {m: r["technique"] for m, r in dbt_project.responses().items()} == {
        "parted": "additive",
        "clustered": "merge",
    }
    assert different(dbt_project, "parted", "SELECT part, count(*) FROM t GROUP BY part") == 0
    assert different(dbt_project, "clustered", "SELECT id, part FROM t") == 0
