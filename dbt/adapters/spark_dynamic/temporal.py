"""What a project says of the versions that its models hold, for the temporal joins that read them."""

from __future__ import annotations

from enum import Enum
from typing import Any

from dbt_spark_dynamic.algebra.clock import WATERMARK
from dbt_spark_dynamic.algebra.emission import Emission
from dbt_spark_dynamic.commit.spec import choice, interval
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


class LateVersions(Enum):
    """What becomes of a version that comes after the rows it covers: it corrects them, or, as in Flink, rows that were
    joined stay as they are, and are not joined before the watermark has passed them."""

    CORRECT = "correct"
    IGNORE = "ignore"


def late_by(config: dict[str, Any], sql: str, emission: Emission | None, place: str) -> str | None:
    """How late rows and versions may come where late ones are ignored, or rows of windows before these are taken to be
    complete, as an interval in SQL; None where they are not waited for.

    Raises ConfigError."""
    late, watermark = config.get("late_versions"), config.get("watermark")
    policy = choice(LateVersions, late, "late_versions", place) if late is not None else LateVersions.CORRECT
    if config.get("materialized") == "versioned_table":
        # Its watermark is that of its events.
        watermark = None
    if policy is LateVersions.IGNORE:
        if without_as_of(sql) == sql:
            raise ConfigError(
                "late_versions='ignore' is about temporal joins, and the SELECT has none.",
                where=place,
                remedy="write JOIN … FOR SYSTEM_TIME AS OF o.order_time AS r ON …, or leave it out",
            )
        return interval(watermark or "0 seconds", "watermark", place)
    if emission is not None:
        return interval(watermark or "0 seconds", "watermark", place) if emission.clock == WATERMARK else None
    if watermark is not None:
        raise ConfigError(
            "watermark has no effect here.",
            where=place,
            why="a late row or version corrects what it belongs to, however late it comes",
            remedy="leave it out, or set late_versions='ignore' to have rows joined once, when the watermark has "
            "passed them, or emit to have results of windows made when it has passed these",
        )
    return None


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
