"""dbt's tests of what makes tables: incremental models, snapshots, seeds, Python models; and of their comments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dbt.tests.adapter.incremental import test_incremental_microbatch as microbatch
from dbt.tests.adapter.incremental import test_incremental_predicates as predicates
from dbt.tests.adapter.python_model import test_spark as pyspark_models
from dbt.tests.adapter.simple_copy import test_copy_uppercase as copy_uppercase
from dbt.tests.adapter.simple_seed import test_seed as seeds
from dbt.tests.adapter.simple_seed import test_seed_type_override as seed_types
from dbt.tests.adapter.simple_snapshot import test_various_configs as snapshots
from dbt.tests.util import check_relations_equal, run_dbt

from integration_tests.conformance.suite import TARGET, as_they_are

globals().update(
    as_they_are(
        __name__,
        "incremental.test_incremental_unique_id:BaseIncrementalUniqueKey",
        "persist_docs.test_persist_docs:BasePersistDocs",
        "python_model.test_python_model:BasePythonIncrementalTests",
        "python_model.test_python_model:BasePythonModelTests",
        "simple_snapshot.test_snapshot:BaseSimpleSnapshot",
        "simple_snapshot.test_snapshot:BaseSnapshotCheck",
    )
)

# The same in other configurations, which dbt and dbt-spark carry out.
globals().update(
    as_they_are(
        __name__,
        "incremental.test_incremental_merge_exclude_columns:BaseMergeExcludeColumns",
        "incremental.test_incremental_on_schema_change:BaseIncrementalOnSchemaChange",
        "persist_docs.test_persist_docs:BasePersistDocsAllColumnsMissing",
        "persist_docs.test_persist_docs:BasePersistDocsColumnMissing",
        "persist_docs.test_persist_docs:BasePersistDocsCommentOnQuotedColumn",
        "persist_docs.test_persist_docs:BasePersistDocsQuotedColumnCaseSensitive",
        "persist_docs.test_persist_docs:BasePersistDocsQuotedDescriptionNotAppliedOnMismatch",
        "python_model.test_python_model:BasePythonEmptyTests",
        "python_model.test_python_model:BasePythonMetaGetTests",
        "python_model.test_python_model:BasePythonSampleTests",
        "simple_seed.test_seed:BaseSeedConfigFullRefreshOff",
        "simple_seed.test_seed:BaseSeedCustomSchema",
        "simple_seed.test_seed:BaseSeedParsing",
        "simple_seed.test_seed:BaseSeedWithEmptyDelimiter",
        "simple_seed.test_seed:BaseSeedWithUniqueDelimiter",
        "simple_seed.test_seed:BaseSeedWithWrongDelimiter",
        "simple_seed.test_seed:BaseSimpleSeedEnabledViaConfig",
        "simple_seed.test_seed:BaseTestEmptySeed",
        "simple_snapshot.new_record_check_mode:BaseSnapshotNewRecordCheckMode",
        "simple_snapshot.new_record_dbt_valid_to_current:BaseSnapshotNewRecordDbtValidToCurrent",
        "simple_snapshot.new_record_timestamp_mode:BaseSnapshotNewRecordTimestampMode",
        "simple_snapshot.test_ephemeral_snapshot_hard_deletes:BaseSnapshotEphemeralHardDeletes",
        "simple_snapshot.test_ephemeral_snapshot_hard_deletes:BaseSnapshotNewColumnSpecificCheckCols",
        "simple_snapshot.test_ephemeral_snapshot_hard_deletes:BaseSnapshotNewColumnTimestampStrategy",
        "simple_snapshot.test_ephemeral_snapshot_hard_deletes:BaseSnapshotNewColumnWithDeletes",
        "simple_snapshot.test_various_configs:BaseSnapshotColumnNames",
        "simple_snapshot.test_various_configs:BaseSnapshotColumnNamesFromDbtProject",
        "simple_snapshot.test_various_configs:BaseSnapshotInvalidColumnNames",
        "simple_snapshot.test_various_configs:BaseSnapshotMultiUniqueKey",
        mark=pytest.mark.thorough,
    )
)


class TestPySpark(pyspark_models.BasePySparkTests):
    """Without koalas, which have become Spark's own pandas."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "pandas_df.py": pyspark_models.PANDAS_MODEL,
            "pyspark_df.py": pyspark_models.PYSPARK_MODEL,
            "pandas_on_spark_df.py": pyspark_models.PANDAS_ON_SPARK_MODEL,
        }

    def test_different_dataframes(self, project: Any) -> None:
        assert len(run_dbt(["run"])) == 3
        for model in ("pandas_df", "pyspark_df", "pandas_on_spark_df"):
            assert project.run_sql(f"select count(*) from {{schema}}.{model} where Latitude < 0", fetch="one") == (3,)


@pytest.mark.thorough
class TestIncrementalPredicates(predicates.BaseIncrementalPredicates):
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        asked = {"+incremental_predicates": ["DBT_INTERNAL_DEST.id != 2"], "+incremental_strategy": "merge"}
        return {"models": {**asked, "+file_format": "delta"}}


@pytest.mark.thorough
class TestSimpleCopyUppercase(copy_uppercase.BaseSimpleCopyUppercase):
    @pytest.fixture(scope="class")
    def dbt_profile_target(self) -> dict[str, Any]:
        return dict(TARGET)


class TestBasicSeedTests(seeds.BaseBasicSeedTests):
    """A view on a seed outlives it, as everywhere but in Postgres."""

    def test_simple_seed_full_refresh_flag(self, project: Any) -> None:
        self._build_relations_for_test(project)
        result = run_dbt(["seed", "--full-refresh"])
        self._check_relation_end_state(run_result=result, project=project, exists=True)


@pytest.mark.thorough
class TestSeedConfigFullRefreshOn(seeds.BaseSeedConfigFullRefreshOn):
    """Likewise."""

    def test_simple_seed_full_refresh_config(self, project: Any) -> None:
        self._build_relations_for_test(project)
        self._check_relation_end_state(run_result=run_dbt(["seed"]), project=project, exists=True)


@pytest.mark.thorough
class TestSimpleSeedWithBOM(seeds.BaseSimpleSeedWithBOM):
    @pytest.fixture(scope="class")
    def project(self, project: Any) -> Any:
        project.test_dir = str(Path(seeds.__file__).parent)
        return project


@pytest.mark.thorough
class TestSnapshotDbtValidToCurrent(snapshots.BaseSnapshotDbtValidToCurrent):
    """By the rows themselves: a table has no first one."""

    def test_valid_to_current(self, project: Any) -> None:
        for statement in (
            snapshots.create_seed_sql,
            snapshots.create_snapshot_expected_sql,
            snapshots.seed_insert_sql,
            snapshots.populate_snapshot_expected_valid_to_current_sql,
        ):
            project.run_sql(statement)
        assert len(run_dbt(["snapshot"])) == 1
        open_rows = "select count(*) from {schema}.snapshot_actual where test_valid_to = timestamp '2099-12-31'"
        assert project.run_sql(open_rows, fetch="one")[0] == 20
        project.run_sql(snapshots.invalidate_sql)
        project.run_sql(snapshots.update_with_current_sql)
        assert len(run_dbt(["snapshot"])) == 1
        assert project.run_sql(open_rows, fetch="one")[0] == 20
        check_relations_equal(project.adapter, ["snapshot_actual", "snapshot_expected"])


@pytest.mark.thorough
class TestSeedSpecificFormats(seeds.BaseSeedSpecificFormats):
    @pytest.fixture(scope="class")
    def test_data_dir(self, tmp_path_factory: pytest.TempPathFactory) -> Path:
        return tmp_path_factory.mktemp("seeds") / "data"


class TestSimpleSeedColumnOverride(seed_types.BaseSimpleSeedColumnOverride):
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        types = {"type: timestamp without time zone": "type: timestamp", "type: text": "type: string"}
        properties = seed_types.fixtures.properties__schema_yml.replace("type: integer", "type: bigint")
        for theirs, ours in types.items():
            properties = properties.replace(theirs, ours)
        return {"schema.yml": properties}

    @staticmethod
    def seed_enabled_types() -> dict[str, str]:
        return {"seed_id": "string", "birthday": "date"}

    @staticmethod
    def seed_tricky_types() -> dict[str, str]:
        return {"seed_id_str": "string", "looks_like_a_bool": "string", "looks_like_a_date": "string"}


class TestMicrobatch(microbatch.BaseMicrobatch):
    """Spark replaces a batch by its partition."""

    @pytest.fixture(scope="class")
    def microbatch_model_sql(self) -> str:
        return (
            "{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='event_time', "
            "batch_size='day', begin=modules.datetime.datetime(2020, 1, 1, 0, 0, 0), partition_by=['day']) }}\n"
            "select *, cast(event_time as date) as day from {{ ref('input_model') }}"
        )
