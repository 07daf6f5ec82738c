"""Stream sources in a dbt run: before the first model that stands on one, what the stream has is landed."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from dbt.adapters.base.meta import AdapterMeta
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError

from dbt_spark_dynamic.errors import ConfigError, DynamicTableError
from dbt_spark_dynamic.streams.declaration import Stream, stream_of
from dbt_spark_dynamic.streams.landing import follow, land, trouble

logger = AdapterLogger("Spark Dynamic")

PASSED_THROUGH = ("view", "ephemeral")
"""Models that hold no rows: what stands on them stands on what they read."""


class StreamSources(metaclass=AdapterMeta):
    """Mixed into the adapter."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._landing: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._landed: set[str] = set()

    def land_streams(self, node: Any) -> None:
        """Each stream that the model stands on, once per dbt invocation. Raises DbtRuntimeError."""
        try:
            for stream in self.streams_below([node.unique_id]):
                with self._landing[stream.source]:
                    if stream.source not in self._landed:
                        self._land(stream)
                        self._landed.add(stream.source)
        except DynamicTableError as error:
            raise DbtRuntimeError(str(error)) from error

    def _land(self, stream: Stream) -> None:
        landed = land(self._session(), stream)
        logger.info(f"{stream.table}: {landed.rows} rows landed from {stream.format}")
        if landed.note:
            logger.warning(landed.note)

    def follow_streams(self, streams: Iterable[Stream]) -> None:
        """Lands what they have from now on, in the background. Raises DynamicTableError."""
        for stream in streams:
            follow(self._session(), stream)

    def troubles(self, streams: Iterable[Stream]) -> list[DynamicTableError]:
        """Why streams that are followed have ended."""
        return [found for stream in streams if (found := trouble(stream)) is not None]

    def streams_below(self, names: Iterable[str]) -> list[Stream]:
        """The streams that these models stand on, through views but not through tables. Raises ConfigError."""
        manifest: Any = self.get_macro_resolver()  # type: ignore[attr-defined]
        if manifest is None:
            return []
        found: dict[str, Stream] = {}
        for source in _sources(manifest, names):
            meta = _meta(source)
            if "stream" not in meta:
                continue
            relation = self.Relation.create_from(self.config, source)  # type: ignore[attr-defined]
            columns = {n: c.to_dict() for n, c in source.columns.items()}
            stream = stream_of(source.unique_id, relation.render(), meta, columns, source.original_file_path)
            if stream is not None:
                found[source.unique_id] = stream
        return list(found.values())

    def declared_streams(self, manifest: Any) -> list[dict[str, Any]]:
        """What the sources of a project say of their streams, and its models of their sinks, unchecked."""
        said = [_meta(source).get("stream") for source in getattr(manifest, "sources", {}).values()]
        said += [node.config.get("sink") for node in getattr(manifest, "nodes", {}).values()]
        return [s for s in said if isinstance(s, dict)]

    def _session(self) -> Any:
        connection = self.connections.get_thread_connection()  # type: ignore[attr-defined]
        session = getattr(connection.handle, "session", None)
        if session is None or not hasattr(session, "_jsparkSession"):
            raise ConfigError(
                "a stream can be landed only by a Spark session in this process.",
                why="over thrift, http, odbc and Spark Connect there is only SQL, and SQL cannot start a stream",
                remedy="use `method: session`, or land the stream by other means and declare its table as a source",
            )
        return session


def _meta(source: Any) -> dict[str, Any]:
    return {**source.meta, **(source.config.get("meta") or {})}


def _sources(manifest: Any, names: Iterable[str]) -> Iterator[Any]:
    seen, waiting = set[str](), list(names)
    while waiting:
        node = manifest.nodes.get(waiting.pop())
        if node is None or node.unique_id in seen:
            continue
        seen.add(node.unique_id)
        for parent in node.depends_on.nodes:
            if parent in manifest.sources:
                yield manifest.sources[parent]
            elif parent in manifest.nodes and manifest.nodes[parent].config.materialized in PASSED_THROUGH:
                waiting.append(parent)
