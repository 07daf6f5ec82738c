"""dbt's tests of hooks. They look into a table that hooks write to, by the names and the profile of Postgres."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.hooks import test_model_hooks as model_hooks
from dbt.tests.adapter.hooks import test_run_hooks as run_hooks

from integration_tests.conformance.suite import as_they_are

FIELDS = ("test_state", "target_name", "target_schema", "target_type", "target_threads", "run_started_at")

globals().update(
    as_they_are(
        __name__,
        "hooks.test_model_hooks:BasePrePostModelHooksOnSeeds",
        "hooks.test_model_hooks:BaseHooksRefsOnSeeds",
        "hooks.test_model_hooks:BasePrePostModelHooksOnSeedsPlusPrefixed",
        "hooks.test_model_hooks:BasePrePostModelHooksOnSeedsPlusPrefixedWhitespace",
        "hooks.test_model_hooks:BasePrePostModelHooksOnSnapshots",
        "hooks.test_model_hooks:BasePrePostSnapshotHooksInConfigKwargs",
        "hooks.test_model_hooks:BaseDuplicateHooksInConfigs",
        "hooks.test_run_hooks:BaseAfterRunHooks",
    )
)


class OnThisProfile:
    table = "on_model_hook"

    def check_hooks(self, state: str, project: Any, host: Any, count: int = 1) -> None:
        query = f"select {', '.join(FIELDS)} from {project.test_schema}.{self.table} where test_state = '{state}'"
        rows = project.run_sql(query, fetch="all")
        assert len(rows) == count
        for row in rows:
            assert tuple(row)[:5] == (state, "default", project.test_schema, "spark_dynamic", 2)
            assert row[5]


class TestModelHooks(OnThisProfile, model_hooks.BasePrePostModelHooks):
    pass


class TestHookRefs(OnThisProfile, model_hooks.BaseHookRefs):
    pass


class TestModelHooksInConfig(OnThisProfile, model_hooks.BasePrePostModelHooksInConfig):
    pass


class TestModelHooksInConfigWithCount(OnThisProfile, model_hooks.BasePrePostModelHooksInConfigWithCount):
    pass


class TestModelHooksInConfigKwargs(OnThisProfile, model_hooks.BasePrePostModelHooksInConfigKwargs):
    pass


class TestRunHooks(OnThisProfile, run_hooks.BasePrePostRunHooks):
    table = "on_run_hook"

    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        make = "create table {{ target.schema }}"
        fill = "insert into {{ target.schema }}"
        return {
            "on-run-start": [
                "{{ custom_run_hook('start', target, run_started_at, invocation_id) }}",
                f"{make}.start_hook_order_test ( id int )",
                "drop table {{ target.schema }}.start_hook_order_test",
                "{{ log(env_var('TERM_TEST'), info=True) }}",
            ],
            "on-run-end": [
                "{{ custom_run_hook('end', target, run_started_at, invocation_id) }}",
                f"{make}.end_hook_order_test ( id int )",
                "drop table {{ target.schema }}.end_hook_order_test",
                f"{make}.schemas ( schema string )",
                fill + ".schemas (schema) values {% for schema in schemas %}( '{{ schema }}' ){% endfor %}",
                f"{make}.db_schemas ( db string, schema string )",
                fill + ".db_schemas (db, schema) values "
                "{% for db, schema in database_schemas %}({{ \"'\" ~ db ~ \"'\" if db else 'null' }}, '{{ schema }}')"
                "{% endfor %}",
            ],
            "seeds": {"quote_columns": False},
        }
