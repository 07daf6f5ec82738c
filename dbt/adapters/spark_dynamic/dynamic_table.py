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

from dbt.adapters.spark_dynamic.constraints import constraints_of, contracted
from dbt.adapters.spark_dynamic.docs import documenting
from dbt.adapters.spark_dynamic.emit import emission_of
from dbt.adapters.spark_dynamic.expected_keys import expected_keys
from dbt.adapters.spark_dynamic.literals import sql_literal
from dbt.adapters.spark_dynamic.readers import read_by_change
from dbt.adapters.spark_dynamic.temporal import late_by, require_temporal_join, versionings
from dbt_spark_dynamic.commit.changelog import changelog
from dbt_spark_dynamic.commit.classic import ClassicEngine
from dbt_spark_dynamic.commit.drift import checked_by
from dbt_spark_dynamic.commit.engine import Engine, SqlError, Table
from dbt_spark_dynamic.commit.ledger import USER_METADATA, writing_as
from dbt_spark_dynamic.commit.outcome import Code, Outcome
from dbt_spark_dynamic.commit.refresh import refresh
from dbt_spark_dynamic.commit.remote import SqlEngine
from dbt_spark_dynamic.commit.spec import (
    ChangeFeedPolicy,
    ChangelogMode,
    ConfigurationChange,
    LostHistoryPolicy,
    RefreshMode,
    SchemaChange,
    Spec,
    choice,
)
from dbt_spark_dynamic.commit.standing import lags, unequal_rows
from dbt_spark_dynamic.dialect import without_as_of
from dbt_spark_dynamic.embedded.session import lost
from dbt_spark_dynamic.errors import ConfigError, DynamicTableError
from dbt_spark_dynamic.sinks.declaration import Sink, by_key, sink_of
from dbt_spark_dynamic.sinks.destination import delivering
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
    altered: list[str] = field(default_factory=list)
    due_in: float | None = None
    delivered: int | None = None

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
        self._gathered: tuple[dict[str, Any], dict[str, tuple[str, ...]], frozenset[str]] = ({}, {}, frozenset())

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
            constraints = constraints_of(model, type(self))  # type: ignore[arg-type]
            spec = spec_of(relation.render(), contracted(sql, model), model, layout, full_refresh, graph, constraints)
            spec = self.placed(spec, model["unique_id"], graph)
            sink = sink_of(model["config"], spec.target, spec.place)
            self.maintained[model["unique_id"]] = _refreshing(replace(spec, full_refresh=False), model["config"], sink)
            outcome = _refreshing(spec, model["config"], sink)(self._engine(sent), {})
        except Exception as error:
            if (said := lost()) or isinstance(error, DynamicTableError):
                raise DbtRuntimeError(said or str(error)) from error
            raise
        for note in outcome.notes:
            logger.warning(note)
        # In dbt's own words for materialized views.
        if outcome.altered:
            logger.debug(f"Applying ALTER to: {relation}")
        elif outcome.reason is not None and outcome.code is Code.CREATED:
            logger.debug(f"Applying REPLACE to: {relation}")
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

    @available
    def table_properties(self, model: dict[str, Any], file_format: str | None) -> dict[str, str]:
        """TBLPROPERTIES of a table of any kind: those configured, and on Delta the constraints of the contract."""
        properties = {k: property_text(v) for k, v in (model["config"].get("tblproperties") or {}).items()}
        if file_format != "delta":
            return properties
        return properties | checked_by(constraints_of(model, type(self)))  # type: ignore[arg-type]

    @available
    def analyzable(self, sql: str) -> str:
        """A SELECT with the same columns that Spark can analyze: it does not know a join at the time of a row."""
        return without_as_of(sql)

    @available
    def text_literal(self, value: str) -> str:
        """A string literal of Spark's SQL."""
        return sql_literal(value)

    def mark_commits(self, materialized: str) -> bool:
        """Lets what this connection commits from now on say what kind of model it is; False if it says something else
        already."""
        engine = self._engine(lambda _: None)
        if engine.setting(USER_METADATA):
            return False
        engine.set(USER_METADATA, writing_as(materialized))
        return True

    def unmark_commits(self) -> None:
        self._engine(lambda _: None).set(USER_METADATA, "")

    def placed(self, spec: Spec, unique_id: str, graph: dict[str, Any]) -> Spec:
        """With what the whole project says of the table, gathered once in an invocation of dbt, all models of which are
        given one graph."""
        if self._gathered[0] is not graph:
            self._gathered = (graph, expected_keys(graph), read_by_change(graph))
        _, keys, read = self._gathered
        return replace(spec, expected_keys=keys, is_read=unique_id in read)

    def _engine(self, sent: Callable[[str], None]) -> Engine:
        """The session in this process where there is one, else SQL over this thread's connection. sent: told every
        statement before it runs."""
        connection = self.connections.get_thread_connection()  # type: ignore[attr-defined]
        session = getattr(connection.handle, "session", None)
        if session is not None and hasattr(session, "_jsparkSession"):
            return ClassicEngine(session, sent)

        def execute(statement: str) -> tuple[list[str], list[tuple[Any, ...]]]:
            try:
                _, cursor = self.connections.add_query(statement, auto_begin=False)  # type: ignore[attr-defined]
                names = [column[0] for column in cursor.description or []]
                return names, [tuple(row) for row in (cursor.fetchall() if names else None) or []]
            except DbtRuntimeError as error:
                # Its text, without dbt's heading.
                raise SqlError(error.msg) from error

        return SqlEngine(execute, sent)


def _refreshing(spec: Spec, config: Mapping[str, Any], sink: Sink | None) -> Refreshing:
    versioned = config.get("materialized") == "versioned_table"
    refreshing = partial(refresh_versions, spec, config) if versioned else partial(refresh, spec)
    # The unique_key of a versioned table is that of its events, of which a row is one version.
    return refreshing if sink is None else partial(delivering, refreshing, sink, spec.target, _key(spec, versioned))


def _key(spec: Spec, versioned: bool) -> tuple[str, ...]:
    return () if versioned else spec.unique_key


def spec_of(
    target: str,
    sql: str,
    model: dict[str, Any],
    layout: str,
    full_refresh: bool,
    graph: dict[str, Any],
    constraints: dict[str, str],
) -> Spec:
    """The model's configuration, read and checked. Raises ConfigError for a value that an option cannot have.

    graph: what the model reads, as Jinja has it; constraints: of its contract."""
    config, place = model["config"], model.get("original_file_path", "")
    _refuse_what_has_no_effect(config, place)
    emission = emission_of(config, place)
    if config.get("materialized") == "temporal_join":
        require_temporal_join(sql, place)
    # It means nothing to a run, but this is where the user sees that it is wrong.
    target_lag(config.get("target_lag"), place)
    root, sink = config.get("location_root"), sink_of(config, target, place)

    def option(name: str, kind: Any) -> Any:
        value = config.get(name)
        return choice(kind, value, name, place) if value is not None else next(iter(kind))

    return Spec(
        target=target,
        sql=sql,
        place=place,
        layout=" ".join(layout.split()),
        properties={k: property_text(v) for k, v in (config.get("tblproperties") or {}).items()},
        partition_by=_listed(config.get("partition_by")),
        cluster_by=_listed(config.get("liquid_clustered_by")),
        location=f"{root}/{model['alias']}" if root else "",
        constraints=constraints,
        unique_key=_listed(config.get("unique_key")),
        refresh_mode=option("refresh_mode", RefreshMode),
        changelog_mode=option("changelog_mode", ChangelogMode),
        source_change_feed=option("source_change_feed", ChangeFeedPolicy),
        on_lost_history=option("on_source_history_lost", LostHistoryPolicy),
        on_schema_change=option("on_schema_change", SchemaChange),
        on_configuration_change=option("on_configuration_change", ConfigurationChange),
        full_refresh=full_refresh,
        deterministic=frozenset(f.lower() for f in _listed(config.get("deterministic_functions"))),
        versionings=versionings(model, graph),
        late_by=late_by(config, sql, emission, place),
        emission=emission,
        sink_by_key=sink is not None and by_key(sink, config),
        may_rebuild=config.get("full_refresh") is not False,
    )


def property_text(value: Any) -> str:
    """A value of `tblproperties` as Delta keeps it: YAML's true is not Python's."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _listed(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value or ())


def _refuse_what_has_no_effect(config: dict[str, Any], place: str) -> None:
    if (config.get("file_format") or "delta") != "delta":
        raise ConfigError(
            f"file_format: '{config['file_format']}', but a dynamic table is a Delta table.",
            where=place,
            why="its refreshes are Delta commits",
            remedy="set file_format='delta' for this model, or leave it out",
        )
    instead = {
        "clustered_by": "Delta has no buckets: set liquid_clustered_by",
        "buckets": "Delta has no buckets: set liquid_clustered_by",
        "options": "a Delta table keeps none: set tblproperties",
    }
    for name, remedy in instead.items():
        if config.get(name):
            raise ConfigError(f"{name} has no effect on a dynamic table.", where=place, remedy=remedy)
