"""dbt's tests of what makes tables: incremental models, snapshots, seeds, Python models; and of their comments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dbt.tests.adapter.incremental import test_incremental_microbatch as microbatch
from dbt.tests.adapter.incremental import test_incremental_predicates as predicates
from dbt.tests.adapter.simple_copy import test_copy_uppercase as copy_uppercase
from dbt.tests.adapter.simple_seed import test_seed as seeds
from dbt.tests.adapter.simple_seed import test_seed_type_override as seed_types

from integration_tests.conformance.suite import TARGET, as_they_are

globals().update(
    as_they_are(
        __name__,
        "incremental.test_incremental_merge_exclude_columns:BaseMergeExcludeColumns",
        "incremental.test_incremental_on_schema_change:BaseIncrementalOnSchemaChange",
        "incremental.test_incremental_unique_id:BaseIncrementalUniqueKey",
        "persist_docs.test_persist_docs:BasePersistDocs",
        "persist_docs.test_persist_docs:BasePersistDocsAllColumnsMissing",
        "persist_docs.test_persist_docs:BasePersistDocsColumnMissing",
        "persist_docs.test_persist_docs:BasePersistDocsCommentOnQuotedColumn",
        "persist_docs.test_persist_docs:BasePersistDocsQuotedColumnCaseSensitive",
        "persist_docs.test_persist_docs:BasePersistDocsQuotedDescriptionNotAppliedOnMismatch",
        "python_model.test_python_model:BasePythonEmptyTests",
        "python_model.test_python_model:BasePythonIncrementalTests",
        "python_model.test_python_model:BasePythonMetaGetTests",
        "python_model.test_python_model:BasePythonModelTests",
        "python_model.test_python_model:BasePythonSampleTests",
        "simple_seed.test_seed:BaseBasicSeedTests",
        "simple_seed.test_seed:BaseSeedConfigFullRefreshOff",
        "simple_seed.test_seed:BaseSeedConfigFullRefreshOn",
        "simple_seed.test_seed:BaseSeedCustomSchema",
        "simple_seed.test_seed:BaseSeedParsing",
        "simple_seed.test_seed:BaseSeedWithEmptyDelimiter",
        "simple_seed.test_seed:BaseSeedWithUniqueDelimiter",
        "simple_seed.test_seed:BaseSeedWithWrongDelimiter",
        "simple_seed.test_seed:BaseSimpleSeedEnabledViaConfig",
        "simple_seed.test_seed:BaseSimpleSeedWithBOM",
        "simple_seed.test_seed:BaseTestEmptySeed",
        "simple_snapshot.new_record_check_mode:BaseSnapshotNewRecordCheckMode",
        "simple_snapshot.new_record_dbt_valid_to_current:BaseSnapshotNewRecordDbtValidToCurrent",
        "simple_snapshot.new_record_timestamp_mode:BaseSnapshotNewRecordTimestampMode",
        "simple_snapshot.test_ephemeral_snapshot_hard_deletes:BaseSnapshotEphemeralHardDeletes",
        "simple_snapshot.test_ephemeral_snapshot_hard_deletes:BaseSnapshotNewColumnSpecificCheckCols",
        "simple_snapshot.test_ephemeral_snapshot_hard_deletes:BaseSnapshotNewColumnTimestampStrategy",
        "simple_snapshot.test_ephemeral_snapshot_hard_deletes:BaseSnapshotNewColumnWithDeletes",
        "simple_snapshot.test_snapshot:BaseSimpleSnapshot",
        "simple_snapshot.test_snapshot:BaseSnapshotCheck",
        "simple_snapshot.test_various_configs:BaseSnapshotColumnNames",
        "simple_snapshot.test_various_configs:BaseSnapshotColumnNamesFromDbtProject",
        "simple_snapshot.test_various_configs:BaseSnapshotDbtValidToCurrent",
        "simple_snapshot.test_various_configs:BaseSnapshotInvalidColumnNames",
        "simple_snapshot.test_various_configs:BaseSnapshotMultiUniqueKey",
    )
)


class TestIncrementalPredicates(predicates.BaseIncrementalPredicates):
    @pytest.fixture(scope="class")
    def project_config_update(self) -> dict[str, Any]:
        asked = {"+incremental_predicates": ["DBT_INTERNAL_DEST.id != 2"], "+incremental_strategy": "merge"}
        return {"models": {**asked, "+file_format": "delta"}}


class TestSimpleCopyUppercase(copy_uppercase.BaseSimpleCopyUppercase):
    @pytest.fixture(scope="class")
    def dbt_profile_target(self) -> dict[str, Any]:
        return dict(TARGET)


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
