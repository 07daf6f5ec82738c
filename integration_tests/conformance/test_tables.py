"""dbt's tests of what makes tables: incremental models, snapshots, seeds, Python models; and of their comments."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.incremental import test_incremental_microbatch as microbatch

from integration_tests.conformance.suite import as_they_are

globals().update(
    as_they_are(
        __name__,
        "incremental.test_incremental_merge_exclude_columns:BaseMergeExcludeColumns",
        "incremental.test_incremental_on_schema_change:BaseIncrementalOnSchemaChange",
        "incremental.test_incremental_predicates:BaseIncrementalPredicates",
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
        "simple_copy.test_copy_uppercase:BaseSimpleCopyUppercase",
        "simple_seed.test_seed:BaseBasicSeedTests",
        "simple_seed.test_seed:BaseSeedConfigFullRefreshOff",
        "simple_seed.test_seed:BaseSeedConfigFullRefreshOn",
        "simple_seed.test_seed:BaseSeedCustomSchema",
        "simple_seed.test_seed:BaseSeedParsing",
        "simple_seed.test_seed:BaseSeedSpecificFormats",
        "simple_seed.test_seed:BaseSeedWithEmptyDelimiter",
        "simple_seed.test_seed:BaseSeedWithUniqueDelimiter",
        "simple_seed.test_seed:BaseSeedWithWrongDelimiter",
        "simple_seed.test_seed:BaseSimpleSeedEnabledViaConfig",
        "simple_seed.test_seed:BaseSimpleSeedWithBOM",
        "simple_seed.test_seed:BaseTestEmptySeed",
        "simple_seed.test_seed_type_override:BaseSimpleSeedColumnOverride",
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


class TestMicrobatch(microbatch.BaseMicrobatch):
    """Spark replaces a batch by its partition."""

    @pytest.fixture(scope="class")
    def microbatch_model_sql(self) -> str:
        return (
            "{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='event_time', "
            "batch_size='day', begin=modules.datetime.datetime(2020, 1, 1, 0, 0, 0), partition_by=['day']) }}\n"
            "select *, cast(event_time as date) as day from {{ ref('input_model') }}"
        )
