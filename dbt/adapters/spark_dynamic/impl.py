"""The adapter: dbt-spark's, with its faults mended and Delta as the format of every table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dbt.adapters.base import BaseRelation, PythonJobHelper
from dbt.adapters.base.impl import AdapterTrackingRelationInfo
from dbt.adapters.contracts.relation import RelationConfig
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark.impl import SparkAdapter, SparkConfig
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_dynamic import __version__
from dbt.adapters.spark_dynamic.catalog import Catalog
from dbt.adapters.spark_dynamic.connections import SparkDynamicConnectionManager
from dbt.adapters.spark_dynamic.constraints import SUPPORT
from dbt.adapters.spark_dynamic.diagnosis import diagnose, report
from dbt.adapters.spark_dynamic.dynamic_table import DynamicTables
from dbt.adapters.spark_dynamic.explaining import Explaining
from dbt.adapters.spark_dynamic.grants import Grants
from dbt.adapters.spark_dynamic.python_models import SessionJob
from dbt.adapters.spark_dynamic.seeds import Seeds
from dbt.adapters.spark_dynamic.stream_sources import StreamSources
from dbt_spark_dynamic.embedded.attach import visited
from dbt_spark_dynamic.embedded.jars import packages_for

if TYPE_CHECKING:
    import agate

logger = AdapterLogger("Spark Dynamic")

# What dbt-spark can MERGE into.
MERGEABLE = ("delta", "iceberg", "hudi")
WITHOUT_FILES = ("view", "ephemeral", "test", "unit")
# What stands on streams: these are landed before it runs, but not before a test of what has landed.
READS_STREAMS = ("model", "snapshot")


@dataclass
class SparkDynamicConfig(SparkConfig):
    """Model configs: dbt-spark's, and those of our materializations.

    on_schema_change and on_configuration_change are dbt's own.
    """

    file_format: str = "delta"
    unique_key: str | list[str] | None = None
    changelog_mode: str | None = None
    refresh_mode: str | None = None
    source_change_feed: str | None = None
    on_source_history_lost: str | None = None
    deterministic_functions: str | list[str] | None = None
    target_lag: str | None = None
    liquid_clustered_by: str | list[str] | None = None
    tblproperties: dict[str, str] | None = None
    strategy: str | None = None
    updated_at: str | None = None
    check_cols: str | list[str] | None = None
    hard_deletes: str | None = None
    invalidate_hard_deletes: bool | None = None
    dbt_valid_to_current: str | None = None
    snapshot_meta_column_names: dict[str, str] | None = None
    changelog: str | None = None
    watermark: str | None = None
    late_events: str | None = None
    history_from: str | None = None
    operation: str | None = None
    operation_time: str | None = None
    sequence_by: str | list[str] | None = None
    format: str | None = None
    payload: str | None = None
    column_types: dict[str, str] | None = None
    track_history_column_list: list[str] | None = None
    track_history_except_column_list: list[str] | None = None
    late_versions: str | None = None
    emit: dict[str, Any] | None = None
    sink: dict[str, Any] | None = None


class SparkDynamicAdapter(DynamicTables, StreamSources, Explaining, Catalog, Grants, Seeds, SparkAdapter):
    ConnectionManager = SparkDynamicConnectionManager
    AdapterSpecificConfigs = SparkDynamicConfig
    CONSTRAINT_SUPPORT = SUPPORT

    @classmethod
    def get_adapter_run_info(cls, config: RelationConfig) -> AdapterTrackingRelationInfo:
        """dbt would look for the version below the class name in lower case, which has no underscore."""
        return AdapterTrackingRelationInfo(
            adapter_name="spark_dynamic",
            base_adapter_version=import_module("dbt.adapters.__about__").version,
            adapter_version=__version__.version,
            model_adapter_details=cls._get_adapter_specific_run_info(config),
        )

    def set_macro_resolver(self, macro_resolver: Any) -> None:
        """dbt tells here what the project consists of, before anything connects: Spark is started with the packages
        that its streams and sinks need."""
        super().set_macro_resolver(macro_resolver)
        formats = {str(said.get("format")) for said in self.declared_streams(macro_resolver)}
        self.config.credentials.spark_packages = packages_for(formats)

    def pre_model_hook(self, config: Any) -> None:
        """Land the streams that the model stands on, and fill in what it leaves open: Delta as its format, MERGE where
        there is a key to merge by. Raises DbtRuntimeError for grants where Spark has none.

        dbt-spark's materializations read these configs one by one with a default of their own
        (parquet, append), so the place to change the default is the config itself.
        """
        if config.model.resource_type in READS_STREAMS:
            self.land_streams(config.model)
        node = config.model.config
        self.refuse_grants(config.model)
        if node.get("materialized") in WITHOUT_FILES:
            return super().pre_model_hook(config)
        if node.get("file_format") is None:
            node["file_format"] = SparkDynamicConfig.file_format
        if node.get("materialized") == "incremental" and node.get("incremental_strategy") is None:
            by_key = node.get("unique_key") and node["file_format"] in MERGEABLE
            node["incremental_strategy"] = "merge" if by_key else "append"
        super().pre_model_hook(config)
        # A dynamic table that becomes an incremental model and then one again tells its commits from a stranger's.
        return node.get("materialized") == "incremental" and self.mark_commits("incremental")

    def post_model_hook(self, config: Any, context: Any) -> None:
        if context:
            self.unmark_commits()
        super().post_model_hook(config, context)

    @property
    def default_python_submission_method(self) -> str:
        return "session"

    @property
    def python_submission_helpers(self) -> dict[str, type[PythonJobHelper]]:
        return {**super().python_submission_helpers, "session": SessionJob}

    def debug_query(self) -> None:
        """`dbt debug`: says what dynamic tables need and whether it is there. Raises DbtRuntimeError if something is
        missing without which there are none."""
        super().debug_query()
        session = getattr(self.connections.get_thread_connection().handle, "session", None)
        jvm = getattr(session, "_jvm", None) if hasattr(session, "_jsparkSession") else None
        java = jvm.java.lang.System.getProperty("java.version") if jvm is not None else None
        if java and (server := visited()):
            java += f", in the Spark that is served by {server.place}"
        missing = report(diagnose(self._engine(lambda _: None), java), logger.info)
        if missing:
            raise DbtRuntimeError(missing)

    def _build_spark_relation_list(
        self,
        row_list: agate.Table,
        relation_info_func: Callable[[agate.Row], tuple[str, str, str]],
    ) -> list[BaseRelation]:
        """Leave out temporary views: Spark lists them in every schema, and dbt would take them for models."""
        kept = [row for row in row_list if not row["isTemporary"]]
        return super()._build_spark_relation_list(kept, relation_info_func)
