"""dbt's tests of materialized views, with `dynamic_table` in the place of `materialized_view`."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.materialized_view import basic, changes, files
from dbt.tests.util import get_model_file, run_dbt, set_model_file

from dbt_spark_dynamic.commit.ledger import Entry

MODEL = files.MY_MATERIALIZED_VIEW.replace("materialized='materialized_view'", "materialized='dynamic_table'")


def reconfigure(project: Any, relation: Any, before: str, after: str) -> None:
    model = get_model_file(project, relation)
    assert before in model
    set_model_file(project, relation, model.replace(before, after))


def kind(project: Any, relation: Any) -> str:
    """As dbt's tests call it: a dynamic table is a table whose latest commit has a ledger."""
    rows = project.run_sql(f"show views in {relation.schema} like '{relation.identifier}'", fetch="all")
    if any(not row["isTemporary"] for row in rows):
        return "view"
    history = project.run_sql(f"describe history {relation.render()}", fetch="all")
    replaced = next(n for n, row in enumerate(history) if "CREATE" in row["operation"])
    maintained = any(Entry.read(row["userMetadata"]) for row in history[: replaced + 1])
    return "materialized_view" if maintained else "table"


class TestDynamicTableBasic(basic.MaterializedViewBasic):
    @pytest.fixture(scope="class", autouse=True)
    def models(self) -> Any:
        yield {
            "my_table.sql": files.MY_TABLE,
            "my_view.sql": files.MY_VIEW,
            "my_materialized_view.sql": MODEL,
        }

    @staticmethod
    def insert_record(project: Any, table: Any, record: tuple[int, int]) -> None:
        project.run_sql(f"insert into {table.render()} values {record}")

    @staticmethod
    def refresh_materialized_view(project: Any, materialized_view: Any) -> None:
        run_dbt(["run", "--select", materialized_view.identifier])

    @staticmethod
    def query_row_count(project: Any, relation: Any) -> int:
        return int(project.run_sql(f"select count(*) from {relation.render()}", fetch="one")[0])

    @staticmethod
    def query_relation_type(project: Any, relation: Any) -> str:
        return kind(project, relation)

    @staticmethod
    def swap_table_to_materialized_view(project: Any, table: Any) -> None:
        reconfigure(project, table, "materialized='table'", "materialized='dynamic_table'")

    @staticmethod
    def swap_view_to_materialized_view(project: Any, view: Any) -> None:
        reconfigure(project, view, "materialized='view'", "materialized='dynamic_table'")

    @staticmethod
    def swap_materialized_view_to_table(project: Any, materialized_view: Any) -> None:
        reconfigure(project, materialized_view, "materialized='dynamic_table'", "materialized='table'")

    @staticmethod
    def swap_materialized_view_to_view(project: Any, materialized_view: Any) -> None:
        reconfigure(project, materialized_view, "materialized='dynamic_table'", "materialized='view'")


class Changes(changes.MaterializedViewChanges):
    """In place: a property. By a rebuild: the partitions."""

    @pytest.fixture(scope="class", autouse=True)
    def models(self) -> Any:
        configured = "dynamic_table', tblproperties={'a.b': 'x'}"
        yield {"my_materialized_view.sql": MODEL.replace("dynamic_table'", configured)}

    @staticmethod
    def query_relation_type(project: Any, relation: Any) -> str:
        return kind(project, relation)

    @staticmethod
    def check_start_state(project: Any, materialized_view: Any) -> None:
        detail = project.run_sql(f"describe detail {materialized_view.render()}", fetch="one")
        assert (detail["properties"]["a.b"], detail["partitionColumns"]) == ("x", [])

    @staticmethod
    def change_config_via_alter(project: Any, materialized_view: Any) -> None:
        reconfigure(project, materialized_view, "'a.b': 'x'", "'a.b': 'y'")

    @staticmethod
    def check_state_alter_change_is_applied(project: Any, materialized_view: Any) -> None:
        detail = project.run_sql(f"describe detail {materialized_view.render()}", fetch="one")
        assert detail["properties"]["a.b"] == "y"

    @staticmethod
    def change_config_via_replace(project: Any, materialized_view: Any) -> None:
        reconfigure(project, materialized_view, "tblproperties", "partition_by='id', tblproperties")

    @staticmethod
    def check_state_replace_change_is_applied(project: Any, materialized_view: Any) -> None:
        detail = project.run_sql(f"describe detail {materialized_view.render()}", fetch="one")
        assert detail["partitionColumns"] == ["id"]


class TestChangesApply(Changes, changes.MaterializedViewChangesApplyMixin):
    pass


class TestChangesContinue(Changes, changes.MaterializedViewChangesContinueMixin):
    pass


class TestChangesFail(Changes, changes.MaterializedViewChangesFailMixin):
    pass
