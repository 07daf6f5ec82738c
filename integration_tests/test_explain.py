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
    # Rows only came, so that no group is looked for that falls.
    assert len(computed(dbt_project, said)) == 2
    dbt_project.sql("delete from orders where id = 1")
    assert len(computed(dbt_project, explained(dbt_project, "per_customer"))) == 3
    assert "NO CHANGE, because no source has new data" in explained(dbt_project, "per_customer")


def computed(project: DbtProject, said: str) -> list[str]:
    """What a run computes, all of which was explained. Descriptions of tables are asked for, and the bounds of the
    change, which stand in the MERGE."""
    project.dbt("run")
    run = project.folder / "target/run/tests/models/per_customer.sql"
    found = [s for s in run.read_text().split(";\n\n") if s.startswith("/*")]
    assert all(s in said for s in found)
    return found


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
