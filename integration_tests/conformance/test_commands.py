"""dbt's tests of its commands, and of what a project may contain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dbt.tests.adapter.aliases import fixtures as aliases_files
from dbt.tests.adapter.aliases import test_aliases as aliases
from dbt.tests.adapter.caching import test_caching as caching
from dbt.tests.adapter.dbt_show import test_dbt_show as show
from dbt.tests.adapter.empty import test_empty as empty
from dbt.tests.adapter.ephemeral import test_ephemeral as ephemeral
from dbt.tests.adapter.unit_testing import test_quoted_reserved_word_column_names as reserved
from dbt.tests.adapter.unit_testing import test_types as unit_types
from dbt.tests.util import check_relations_equal, run_dbt

from integration_tests.conformance.suite import as_they_are

pytestmark = pytest.mark.thorough
"""They are dbt's own and dbt-spark's."""

globals().update(
    as_they_are(
        __name__,
        "basic.test_adapter_methods:BaseAdapterMethod",
        "basic.test_base:BaseSimpleMaterializations",
        "basic.test_empty:BaseEmpty",
        "basic.test_ephemeral:BaseEphemeral",
        "basic.test_generic_tests:BaseGenericTests",
        "basic.test_incremental:BaseIncremental",
        "basic.test_incremental:BaseIncrementalNotSchemaChange",
        "basic.test_singular_tests:BaseSingularTests",
        "basic.test_singular_tests_ephemeral:BaseSingularTestsEphemeral",
        "basic.test_snapshot_check_cols:BaseSnapshotCheckCols",
        "basic.test_snapshot_timestamp:BaseSnapshotTimestamp",
        "basic.test_table_materialization:BaseTableMaterialization",
        "basic.test_validate_connection:BaseValidateConnection",
        "concurrency.test_concurrency:BaseConcurrency",
        "dbt_clone.test_dbt_clone:BaseCloneNotPossible",
        "dbt_clone.test_dbt_clone:BaseClonePossible",
        "dbt_clone.test_dbt_clone:BaseCloneSameTargetAndState",
        "dbt_debug.test_dbt_debug:BaseDebugInvalidProjectPostgres",
        "dbt_debug.test_dbt_debug:BaseDebugPostgres",
        "dbt_show.test_dbt_show:BaseShowLimit",
        "dbt_show.test_dbt_show:BaseShowSqlHeader",
        "empty.test_empty:BaseTestEmpty",
        "empty.test_empty:BaseTestEmptyInlineSourceRef",
        "ephemeral.test_ephemeral:BaseEphemeralErrorHandling",
        "query_comment.test_query_comment:BaseEmptyQueryComments",
        "query_comment.test_query_comment:BaseMacroArgsQueryComments",
        "query_comment.test_query_comment:BaseMacroInvalidQueryComments",
        "query_comment.test_query_comment:BaseMacroQueryComments",
        "query_comment.test_query_comment:BaseNullQueryComments",
        "query_comment.test_query_comment:BaseQueryComments",
        "relations.test_changing_relation_type:BaseChangeRelationTypeValidator",
        "relations.test_dropping_schema_named:BaseDropSchemaNamed",
        "sample_mode.test_sample_mode:BaseSampleModeTest",
        "store_test_failures_tests.basic:StoreTestFailuresAsExceptions",
        "store_test_failures_tests.basic:StoreTestFailuresAsGeneric",
        "store_test_failures_tests.basic:StoreTestFailuresAsInteractions",
        "store_test_failures_tests.basic:StoreTestFailuresAsProjectLevelEphemeral",
        "store_test_failures_tests.basic:StoreTestFailuresAsProjectLevelOff",
        "store_test_failures_tests.basic:StoreTestFailuresAsProjectLevelView",
        "store_test_failures_tests.test_store_test_failures:BaseStoreTestFailures",
        "store_test_failures_tests.test_store_test_failures:BaseStoreTestFailuresLimit",
        "unit_testing.test_case_insensitivity:BaseUnitTestCaseInsensivity",
        "unit_testing.test_invalid_input:BaseUnitTestInvalidInput",
        "unit_testing.test_types:BaseUnitTestingVarcharFixtureNoTruncation",
    )
)

TEXT_OF_SPARK = "{% macro string_literal(s) -%} cast('{{ s }}' as string) {%- endmacro %}"


class Aliases:
    @pytest.fixture(scope="class")
    def macros(self) -> dict[str, str]:
        return {"cast.sql": TEXT_OF_SPARK, "expect_value.sql": aliases_files.MACROS__EXPECT_VALUE_SQL}


class TestAliases(Aliases, aliases.BaseAliases):
    pass


class TestAliasErrors(Aliases, aliases.BaseAliasErrors):
    pass


class TestSameAliasDifferentSchemas(Aliases, aliases.BaseSameAliasDifferentSchemas):
    pass


class TestMetadataWithEmptyFlag(empty.MetadataWithEmptyFlag):
    """With Spark's word for text of any length."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        names = ("schema", "control", "get_columns_in_relation", "alter_column_type", "alter_relation_comment",
                 "alter_column_comment", "alter_relation_add_remove_columns", "truncate_relation")  # fmt: skip
        texts = {name: getattr(empty._models, name.upper()).replace("varchar", "string") for name in names}
        return {f"{name}.{'yml' if name == 'schema' else 'sql'}": text for name, text in texts.items()}


class TestEphemeralMulti(ephemeral.BaseEphemeralMulti):
    """Without the text of Postgres's CREATE VIEW."""

    def test_ephemeral_multi(self, project: Any) -> None:
        run_dbt(["seed"])
        assert len(run_dbt(["run"])) == 3
        for name in ("dependent", "double_dependent", "super_dependent"):
            check_relations_equal(project.adapter, ["seed", name])
        written = Path("target/run/test/models/double_dependent.sql").read_text()
        assert written.count("__dbt__cte__base as (") == written.count("__dbt__cte__base_copy as (") == 1


class TestEphemeralNested(ephemeral.BaseEphemeralNested):
    """Likewise."""

    def test_ephemeral_nested(self, project: Any) -> None:
        assert len(run_dbt(["run"])) == 2
        check_relations_equal(project.adapter, ["source_table", "root_view"])
        written = Path("target/run/test/models/root_view.sql").read_text()
        assert written.index("__dbt__cte__ephemeral_level_two as (") < written.index("__dbt__cte__ephemeral as (")


class TestUnitTestQuotedReservedWordColumnNames(reserved.BaseUnitTestQuotedReservedWordColumnNames):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "my_model.sql": reserved.my_model_sql,
            "my_upstream_model.sql": reserved.my_upstream_model_with_reserved_word_column_name_sql.replace('"', "`"),
            "unit_tests.yml": reserved.test_my_model_csv_fixtures_yml,
        }


class WithoutDatabase:
    """As dbt's own, but for the database of a relation: in Spark it has none."""

    def run_and_inspect_cache(self, project: Any, run_args: list[str]) -> None:
        seen = []
        for _ in range(2):
            run_dbt(run_args)
            (relation,) = project.adapter.cache.relations
            seen.append((relation.schema.lower(), relation.identifier.lower()))
        assert seen == [(project.test_schema, "model")] * 2


class TestCachingLowercaseModel(WithoutDatabase, caching.BaseCachingLowercaseModel):
    pass


class TestCachingUppercaseModel(WithoutDatabase, caching.BaseCachingUppercaseModel):
    pass


class TestNoPopulateCache(WithoutDatabase, caching.BaseNoPopulateCache):
    pass


class TestCachingSelectedSchemaOnly(WithoutDatabase, caching.BaseCachingSelectedSchemaOnly):
    pass


class TestShowDoubleLimit(show.BaseShowDoesNotHandleDoubleLimit):
    DATABASE_ERROR_MESSAGE = "PARSE_SYNTAX_ERROR"


class TestUnitTestingTypes(unit_types.BaseUnitTestingTypes):
    @pytest.fixture
    def data_types(self) -> list[list[str]]:
        return [
            ["1", "1"],
            ["2.0", "2.0"],
            ["'12345'", "12345"],
            ["'string'", "string"],
            ["true", "true"],
            ["date '2011-11-11'", "2011-11-11"],
            ["timestamp '2013-11-03 00:00:00-0'", "2013-11-03 00:00:00-0"],
            ["array(1, 2, 3)", "'array(1, 2, 3)'"],
            # Text that is to be code again must not need quotes of its own.
            ["map('10', 't')", """'map("10", "t")'"""],
            ["named_struct('a', 1)", """'named_struct("a", 1)'"""],
        ]
