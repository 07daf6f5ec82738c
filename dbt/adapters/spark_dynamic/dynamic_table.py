"""The adapter's verbs for the materializations `dynamic_table`, `versioned_table` and `temporal_join`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dbt.adapters.base.meta import AdapterMeta, available
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_dynamic.docs import documenting
from dbt.adapters.spark_dynamic.temporal import check_late_versions, require_temporal_join, versionings
from dbt_spark_dynamic.commit.changelog import changelog
from dbt_spark_dynamic.commit.classic import ClassicEngine
from dbt_spark_dynamic.commit.engine import Engine, Table
from dbt_spark_dynamic.commit.outcome import Outcome
from dbt_spark_dynamic.commit.refresh import refresh
from dbt_spark_dynamic.commit.remote import SqlEngine
from dbt_spark_dynamic.commit.spec import (
    ChangeFeedPolicy,
    ChangelogMode,
    LostHistoryPolicy,
    RefreshMode,
    Spec,
    choice,
)
from dbt_spark_dynamic.commit.standing import lags, unequal_rows
from dbt_spark_dynamic.errors import DynamicTableError
from dbt_spark_dynamic.versions.refresh import refresh_versions
from dbt_spark_dynamic.watch.lag import target_lag

if TYPE_CHECKING:
    from dbt.adapters.base import BaseRelation

logger = AdapterLogger("Spark Dynamic")

WATCHING = "watch"
"""The connection of a thread outside of dbt's own."""

Refreshing = Callable[[Engine, Mapping[str, int]], Outcome]
"""A refresh of one table, with the versions up to which its sources are consumed."""


@dataclass
class DynamicTableResponse(AdapterResponse):
    """What dbt prints after OK, and what it keeps as `adapter_response` in run_results.json."""

    technique: str = ""
    reason: str | None = None
    rows_in: int | None = None
    rows_inserted: int = 0
    rows_updated: int = 0
    rows_deleted: int = 0
    sources: dict[str, list[int | None]] = field(default_factory=dict)
    seconds: float = 0.0
    statements: int = 0
    notes: list[str] = field(default_factory=list)
    ignored: int = 0
    table: str = ""
    version: int = -1
    volatile: bool = False

    @classmethod
    def of(cls, outcome: Outcome, statements: list[str]) -> DynamicTableResponse:
        fields = outcome.fields() | {"statements": len(statements)}
        response = cls(_message=outcome.line(), **fields)
        # Not a field: it goes to target/run, not into run_results.json.
        response.sql = ";\n\n".join(statements)  # type: ignore[attr-defined]
        return response


class DynamicTables(metaclass=AdapterMeta):
    """Mixed into the adapter. The metaclass is what makes @available methods reachable from Jinja.

    maintained: model -> how to refresh its table again, for every one that this dbt invocation has come to."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.maintained: dict[str, Refreshing] = {}

    @available
    def refresh_dynamic_table(
        self,
        relation: BaseRelation,
        sql: str,
        model: dict[str, Any],
        layout: str,
        full_refresh: bool,
        graph: dict[str, Any],
    ) -> DynamicTableResponse:
        """Brings the table up to its sources. Raises DbtRuntimeError, having written nothing."""
        statements: list[str] = []

        def sent(statement: str) -> None:
            statements.append(statement)
            logger.debug(f"On {relation}: {statement}")

        try:
            spec = spec_of(relation.render(), sql, model, layout, full_refresh, graph)
            self.maintained[model["unique_id"]] = _refreshing(replace(spec, full_refresh=False), model["config"])
            outcome = _refreshing(spec, model["config"])(self._engine(sent), {})
        except DynamicTableError as error:
            raise DbtRuntimeError(str(error)) from error
        for note in outcome.notes:
            logger.warning(note)
        return DynamicTableResponse.of(outcome, statements)

    @available
    def changelog(
        self, relation: BaseRelation, mode: str, key: str | list[str] | None, since: int | None, model: dict[str, Any]
    ) -> str:
        """The SELECT of a table's changes in one of three encodings. Raises DbtRuntimeError with why there is none."""
        place = model.get("original_file_path", "")
        keys = [key] if isinstance(key, str) else key or ()
        try:
            encoding = choice(ChangelogMode, mode, "the mode of changelog()", place)
            return changelog(
                self._engine(lambda s: logger.debug(f"On {relation}: {s}")),
                relation.render(), encoding, keys, since, place,
            )  # fmt: skip
        except DynamicTableError as error:
            raise DbtRuntimeError(str(error)) from error

    @available
    def document_dynamic_table(
        self, relation: BaseRelation, model: dict[str, Any], of_table: bool, of_columns: bool
    ) -> None:
        """persist_docs, as far as the catalog does not have the model's descriptions yet."""
        if not (of_table or of_columns):
            return
        engine = self._engine(lambda statement: logger.debug(f"On {relation}: {statement}"))
        described = engine.rows(f"DESCRIBE TABLE EXTENDED {relation.render()}")
        description = model.get("description") if of_table else None
        columns = model.get("columns") or {} if of_columns else {}
        for statement in documenting(relation.render(), described, description, columns):
            engine.write(statement, {})

    @available
    def unequal_rows(self, relation: BaseRelation, where: str | None) -> str:
        """A query of the rows by which a maintained table is not its own query."""
        try:
            return unequal_rows(relation.render(), where or "", self._engine(logger.debug))
        except DynamicTableError as error:
            raise DbtRuntimeError(str(error)) from error

    @available
    def source_lags(self, relation: BaseRelation) -> list[dict[str, Any]]:
        """Of each source of a maintained table: its name, and how many versions and seconds the table is behind it."""
        try:
            return [asdict(lag) for lag in lags(relation.render(), self._engine(logger.debug))]
        except DynamicTableError as error:
            raise DbtRuntimeError(str(error)) from error

    def refresh_again(self, refreshing: Refreshing, versions: Mapping[str, int]) -> Outcome:
        """A refresh outside of a dbt invocation, on a connection that this thread keeps. Raises DynamicTableError."""
        self.acquire_connection(WATCHING)  # type: ignore[attr-defined]
        try:
            return refreshing(self._engine(logger.debug), versions)
        except Exception:
            # It may have been the connection that failed: the next try opens another.
            self.release_connection()  # type: ignore[attr-defined]
            raise

    def versions_of(self, names: Iterable[str], known: dict[str, Table]) -> dict[str, int]:
        """The latest version of each Delta table, -1 for what is none now. known: tables already looked up; is added
        to. Raises SqlError."""
        self.acquire_connection(WATCHING)  # type: ignore[attr-defined]
        engine, versions = self._engine(logger.debug), {}
        for name in names:
            if name not in known and (found := engine.table(name)) is not None:
                known[name] = found
            versions[name] = engine.version(known[name]) if name in known else -1
            if versions[name] < 0:
                known.pop(name, None)
        return versions

    def _engine(self, sent: Callable[[str], None]) -> Engine:
        """The session in this process where there is one, else SQL over this thread's connection. sent: told every
        statement before it runs."""
        connection = self.connections.get_thread_connection()  # type: ignore[attr-defined]
        session = getattr(connection.handle, "session", None)
        if session is not None and hasattr(session, "_jsparkSession"):
            return ClassicEngine(session, sent)

        def execute(statement: str) -> tuple[list[str], list[tuple[Any, ...]]]:
            _, cursor = self.connections.add_query(statement, auto_begin=False)  # type: ignore[attr-defined]
            names = [column[0] for column in cursor.description or []]
            return names, [tuple(row) for row in (cursor.fetchall() if names else None) or []]

        return SqlEngine(execute, sent)


def _refreshing(spec: Spec, config: Mapping[str, Any]) -> Refreshing:
    if config.get("materialized") == "versioned_table":
        return partial(refresh_versions, spec, config)
    return partial(refresh, spec)


def spec_of(
    target: str, sql: str, model: dict[str, Any], layout: str, full_refresh: bool, graph: dict[str, Any]
) -> Spec:
    """The model's configuration, read and checked. Raises ConfigError for a value that an option cannot have."""
    config, place = model["config"], model.get("original_file_path", "")
    if config.get("materialized") == "temporal_join":
        require_temporal_join(sql, place)
    check_late_versions(config, place)
    # It means nothing to a run, but this is where the user sees that it is wrong.
    target_lag(config.get("target_lag"), place)

    def option(name: str, kind: Any) -> Any:
        value = config.get(name)
        return choice(kind, value, name, place) if value is not None else next(iter(kind))

    def listed(name: str) -> list[Any]:
        value = config.get(name) or []
        return [value] if isinstance(value, str) else list(value)

    return Spec(
        target=target,
        sql=sql,
        place=place,
        layout=" ".join(layout.split()),
        properties={k: str(v) for k, v in (config.get("tblproperties") or {}).items()},
        unique_key=tuple(listed("unique_key")),
        refresh_mode=option("refresh_mode", RefreshMode),
        changelog_mode=option("changelog_mode", ChangelogMode),
        source_change_feed=option("source_change_feed", ChangeFeedPolicy),
        on_lost_history=option("on_source_history_lost", LostHistoryPolicy),
        full_refresh=full_refresh,
        deterministic=frozenset(str(f).lower() for f in listed("deterministic_functions")),
        versionings=versionings(model, graph),
    )
