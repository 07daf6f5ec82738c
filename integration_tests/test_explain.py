"""`dbt-dynamic explain` and `dbt run-operation explain`: one text, true of the refresh that follows it."""

from __future__ import annotations

import re

from click.testing import CliRunner

from dbt.adapters.spark_dynamic.cli import cli
from integration_tests.conftest import DbtProject


def test_what_is_explained_is_what_runs(dbt_project: DbtProject) -> None:
    dbt_project.sql("create table orders (id int, customer int) using delta")
    dbt_project.sql("insert into orders values (1, 7), (2, 7), (3, 8)")
    dbt_project.model("large", "select * from {{ target.schema }}.orders where id > 0", materialized="ephemeral")
    dbt_project.model(
        "per_customer",
        "select customer, count(*) as n, max(id) as latest\nfrom {{ ref('large') }} group by customer",
        materialized="dynamic_table",
    )
    before = explained(dbt_project, "per_customer")
    assert "CREATED, because there is no such table yet" in before
    dbt_project.dbt("run")
    dbt_project.sql("insert into orders values (4, 8)")

    said = explained(dbt_project, "per_customer")
    assert "INCREMENTAL, because 1 of 1 sources changed" in said
    assert "(customer), derived from GROUP BY" in said
    assert re.search(r"additive +Aggregate by \[customer\]", said)
    assert re.search(r"orders +v1 +v2 +1 changed rows, change feed", said)
    dbt_project.dbt("run-operation", "explain", "--args", "{model: per_customer}")
    assert said.strip() in "\n".join(dbt_project.lines)

    assert "NO CHANGE" not in said
    dbt_project.dbt("run")
    run = dbt_project.folder / "target/run/tests/models/per_customer.sql"
    sent = [s for s in statements(run.read_text()) if not s.startswith(("DESCRIBE", "SET"))]
    shown = statements(said)
    asked = [s for s in sent if s not in shown and not s.startswith(("MERGE", "SELECT CAST(MIN", "SELECT SUM"))]
    assert not asked, asked
    assert any("`__dynamic_orders_change`" in s or "readChangeFeed" in s for s in sent)
    assert "NO CHANGE, because no source has new data" in explained(dbt_project, "per_customer")


def test_a_model_that_is_not_there(dbt_project: DbtProject) -> None:
    dbt_project.model("orders", "select 1 as id", materialized="dynamic_table")
    result = CliRunner().invoke(cli, ["explain", "order", *folders(dbt_project)])
    assert result.exit_code == 1
    assert "there is no SQL model named order in this project: did you mean orders?" in result.output


def explained(project: DbtProject, model: str) -> str:
    result = CliRunner().invoke(cli, ["explain", model, *folders(project)])
    assert result.exit_code == 0, result.output
    return result.output


def folders(project: DbtProject) -> list[str]:
    return ["--project-dir", str(project.folder), "--profiles-dir", str(project.folder)]


def statements(text: str) -> list[str]:
    """Each statement of a text on one line, without the comment lines above it."""
    found = [" ".join(part.split()) for part in re.sub(r"(?m)^--.*$", "", text).split(";\n")]
    return [s.rstrip(";") for s in found if s]
