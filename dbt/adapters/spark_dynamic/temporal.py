"""What a project says of the versions that its models hold, for the temporal joins that read them."""

from __future__ import annotations

from typing import Any

from dbt_spark_dynamic.dialect import without_as_of
from dbt_spark_dynamic.errors import ConfigError
from dbt_spark_dynamic.reading.relations import Versioning

OF_INTERVALS = ("snapshot", "versioned_table")
OF_LATEST = ("dynamic_table", "temporal_join", "incremental")


def require_temporal_join(sql: str, place: str) -> None:
    """Raises ConfigError if the SELECT joins nothing at a time."""
    if without_as_of(sql) == sql:
        raise ConfigError(
            "materialized='temporal_join' is for a SELECT with a temporal join, and this one has none.",
            where=place,
            remedy="write JOIN … FOR SYSTEM_TIME AS OF o.order_time AS r ON …, or set materialized='dynamic_table'",
        )


def check_late_versions(config: dict[str, Any], place: str) -> None:
    """Raises ConfigError for any treatment of late versions but that they correct the rows they cover."""
    late = config.get("late_versions")
    if late in (None, "correct"):
        return
    if late == "ignore":
        raise ConfigError(
            "late_versions='ignore' is not supported.",
            where=place,
            why="it joins a row when the watermarks of both sides have passed it and never again, so that the table is "
            "no longer a function of its sources; a refresh here has no watermarks",
            remedy="leave it out: a late version then corrects the rows it covers, and no others; or join the versions "
            "of the moment, FOR SYSTEM_TIME AS OF PROCTIME(), which never change past results",
        )
    raise ConfigError(
        f"late_versions: '{late}' is not a value it can have.", where=place, remedy="use 'correct', or leave it out"
    )


def versionings(model: dict[str, Any], graph: dict[str, Any]) -> dict[str, Versioning]:
    """By the name of its relation, what each model, seed, snapshot or source that a model reads declares."""
    known = {**graph.get("nodes", {}), **graph.get("sources", {})}
    read = [known[u] for u in model.get("depends_on", {}).get("nodes", []) if u in known]
    return {name: versioning(node) for node in read if (name := node.get("relation_name"))}


def versioning(node: dict[str, Any]) -> Versioning:
    """unique_key and event_time are configs of dbt's own; a source, which has no unique_key, says it in `meta`."""
    config = node.get("config") or {}
    meta = {**(node.get("meta") or {}), **(config.get("meta") or {})}

    def said(name: str) -> Any:
        return config.get(name) or meta.get(name)

    key = said("unique_key") or ()
    key = (key,) if isinstance(key, str) else tuple(key)
    kind, names = config.get("materialized"), said("snapshot_meta_column_names") or {}
    default = Versioning()
    return Versioning(
        key,
        event_time="" if kind in OF_INTERVALS or (kind in OF_LATEST and key) else said("event_time") or "",
        valid_from=names.get("dbt_valid_from") or default.valid_from,
        valid_to=names.get("dbt_valid_to") or default.valid_to,
        is_deleted=names.get("dbt_is_deleted") or default.is_deleted,
        open_until=said("dbt_valid_to_current") or "",
        latest_only=kind in OF_LATEST and bool(key),
    )
