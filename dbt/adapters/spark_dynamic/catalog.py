"""What `dbt docs` and `dbt source freshness` know of a table: from Delta's log where there is one.

dbt-spark reads both from the metastore, which says neither how many rows a Delta table has nor when it last changed,
names types otherwise than DESCRIBE does, and has no comments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.capability import Capability, CapabilityDict, CapabilitySupport, Support
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError

from dbt_spark_dynamic.commit.ledger import Entry

if TYPE_CHECKING:
    from dbt.adapters.base.impl import FreshnessResponse

logger = AdapterLogger("Spark Dynamic")

MOST_COMMITS = 20
"""In which the last refresh of a dynamic table is looked for."""

CAPABILITIES = CapabilityDict({Capability.TableLastModifiedMetadata: CapabilitySupport(support=Support.Full)})


class Catalog:
    """Mixed into the adapter."""

    _capabilities = CAPABILITIES

    def _get_columns_for_catalog(self, relation: BaseRelation) -> Iterable[dict[str, Any]]:
        """One dict per column, in the shape of dbt's catalog; statistics are repeated in each."""
        try:
            described = self._asked(f"DESCRIBE TABLE EXTENDED {relation.render()}")
        except DbtRuntimeError as error:
            # Dropped since the schema was listed, or a view whose tables are gone: no reason to go without the others.
            logger.debug(f"No catalog entry for {relation}: {error}")
            return
        columns, detail = _split(described)
        stats = self._statistics(relation) if detail.get("Provider", "").lower() == "delta" else {}
        for index, (name, data_type, comment) in enumerate(columns):
            yield {
                "table_database": None,
                "table_schema": relation.schema,
                "table_name": relation.identifier,
                "table_type": str(relation.type),
                "table_comment": detail.get("Comment"),
                "table_owner": detail.get("Owner"),
                "column_name": name,
                "column_index": index,
                "column_type": data_type,
                "column_comment": comment,
                **stats,
            }

    def _statistics(self, relation: BaseRelation) -> dict[str, Any]:
        detail = self._asked(f"DESCRIBE DETAIL {relation.render()}")[0]
        # Delta answers this from its log, without reading a file.
        rows = self._asked(f"SELECT COUNT(*) AS n FROM {relation.render()}")[0]["n"]
        written = _instant(detail["lastModified"]).isoformat(sep=" ", timespec="seconds")
        found: dict[str, tuple[str, Any, str]] = {
            "rows": ("Rows", int(rows), "in its latest version"),
            "bytes": ("Bytes", int(detail["sizeInBytes"]), "of its data files"),
            "last_modified": ("Last modified", written, "its latest commit, in UTC"),
        }
        # Comments and properties are commits of their own, after the one that holds the rows.
        commits = self._asked(f"DESCRIBE HISTORY {relation.render()} LIMIT {MOST_COMMITS}")
        if entry := next(filter(None, (Entry.read(commit["userMetadata"]) for commit in commits)), None):
            text = f"{entry.technique}: {entry.reason}" if entry.reason else entry.technique
            found["last_refresh"] = ("Last refresh", text, "how the dynamic table was last brought up to its sources")
        return {
            f"stats:{key}:{part}": value
            for key, (label, value, about) in found.items()
            for part, value in (("label", label), ("value", value), ("description", about), ("include", True))
        }

    def calculate_freshness_from_metadata_batch(
        self, sources: list[BaseRelation], macro_resolver: Any = None
    ) -> tuple[list[AdapterResponse | None], dict[BaseRelation, FreshnessResponse]]:
        """When each Delta table was last written to. Raises DbtRuntimeError for a source that is no Delta table."""
        found = {}
        for source in sources:
            try:
                detail = self._asked(f"DESCRIBE DETAIL {source.render()}")[0]
            except DbtRuntimeError as error:
                raise DbtRuntimeError(
                    f"{source.render()} does not say when it was last written to: {error}\n"
                    "  remedy: give the source a `loaded_at_field`"
                ) from error
            last = _instant(detail["lastModified"])
            found[source] = self._create_freshness_response(last, datetime.now(UTC))  # type: ignore[attr-defined]
        return [None], found

    def _asked(self, sql: str) -> list[Mapping[str, Any]]:
        _, table = self.execute(sql, fetch=True)  # type: ignore[attr-defined]
        return [dict(zip(table.column_names, row, strict=True)) for row in table.rows]


def _split(described: list[Mapping[str, Any]]) -> tuple[list[tuple[str, str, str | None]], dict[str, str]]:
    """Columns, and what stands below them, of DESCRIBE TABLE EXTENDED."""
    columns: list[tuple[str, str, str | None]] = []
    detail: dict[str, str] = {}
    in_columns = True
    for row in described:
        name, value, comment = row["col_name"], row["data_type"], row["comment"]
        in_columns = in_columns and bool(name) and not name.startswith("#")
        if in_columns:
            columns.append((name, value, comment or None))
        elif name:
            detail.setdefault(name, value)
    return columns, detail


def _instant(value: Any) -> datetime:
    """A TIMESTAMP as the connection gives it: a datetime in this machine's zone, or its text over thrift."""
    return (datetime.fromisoformat(value) if isinstance(value, str) else value).astimezone(UTC)
