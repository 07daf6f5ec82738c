"""A stream into its Delta table: Spark's own sink, which commits each batch with its number, and a checkpoint that lies
in the table's folder. So a batch that is played again after a crash is not written again, and a table that is dropped
takes its checkpoint along: the next run begins anew."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from ..commit.classic import ClassicEngine, unmasked
from ..commit.engine import Table
from ..errors import DynamicTableError, SourceError, TargetError
from ..reading.relations import Kind
from ..sparksql.statements import listed, literal, quoted
from .declaration import Stream

PROPERTY = "dbt_spark_dynamic.stream"
"""Set on a table that a stream lands in: its format."""

CHECKPOINT = "_checkpoint"
"""In the table's folder. Delta passes over what begins with an underscore."""

_following: dict[str, Any] = {}
"""Table -> the query that lands its stream for as long as this process watches it."""
_lock = threading.Lock()


@dataclass(frozen=True)
class Landed:
    """rows: that were read; before, after: versions of the table."""

    rows: int
    before: int
    after: int


def land(session: Any, stream: Stream) -> Landed:
    """All that the stream has now. Raises DynamicTableError; what was committed until then stays, and counts."""
    engine = ClassicEngine(session)
    table = _prepared(session, engine, stream)
    before = table.version
    with _lock:
        query = _following.get(stream.table)
    try:
        if query is not None and query.isActive:
            query.processAllAvailable()
            rows = 0
        else:
            query = _writer(session, stream, table).trigger(availableNow=True).start(table.path)
            query.awaitTermination()
            rows = sum(int(p["numInputRows"]) for p in query.recentProgress)
    except Exception as error:
        raise _failed(stream, error) from error
    return Landed(rows, before, engine.version(table))


def follow(session: Any, stream: Stream) -> None:
    """From now on all that comes, as soon as it comes, until `unfollow`. Raises DynamicTableError."""
    with _lock:
        running = _following.get(stream.table)
        if running is not None and running.isActive:
            return
        table = _prepared(session, ClassicEngine(session), stream)
        try:
            writer = _writer(session, stream, table).trigger(processingTime="0 seconds")
            _following[stream.table] = writer.start(table.path)
        except Exception as error:
            raise _failed(stream, error) from error


def trouble(stream: Stream) -> DynamicTableError | None:
    """Why a stream that is followed has ended; None if it has not."""
    query = _following.get(stream.table)
    if query is None or query.isActive:
        return None
    return _failed(stream, query.exception() or RuntimeError("it has ended"))


def unfollow() -> None:
    """Ends all streams that are followed. A batch that is cut off is played again by whoever is next."""
    with _lock:
        for query in _following.values():
            query.stop()
        _following.clear()


def _writer(session: Any, stream: Stream, table: Table) -> Any:
    return (
        _frame(session, stream)
        .writeStream.format("delta")
        .outputMode("append")
        .option("checkpointLocation", f"{table.path}/{CHECKPOINT}")
        .option("mergeSchema", "true")
        .queryName(f"{stream.table} from {stream.format}")
    )


def _frame(session: Any, stream: Stream) -> Any:
    reader = session.readStream.format(stream.format).options(**stream.options)
    if stream.schema is not None:
        reader = reader.schema(stream.schema)
    frame = reader.load()
    return frame.selectExpr(*stream.projection) if stream.projection else frame


def _prepared(session: Any, engine: ClassicEngine, stream: Stream) -> Table:
    """The table, there before the first row is, so that models over a stream that has none yet can be compiled."""
    found = engine.table(stream.table)
    if found is None:
        try:
            fields = _frame(session, stream).schema.fields
        except Exception as error:
            raise _failed(stream, error) from error
        columns = ", ".join(f"{quoted(f.name)} {f.dataType.simpleString()}" for f in fields)
        properties = {"delta.enableChangeDataFeed": "true", PROPERTY: stream.format}
        pairs = ", ".join(f"{literal(k)} = {literal(v)}" for k, v in properties.items())
        schema, _, _ = stream.table.rpartition(".")
        if schema:
            engine.write(f"CREATE SCHEMA IF NOT EXISTS {schema}", {})
        engine.write(f"CREATE TABLE {stream.table} ({columns}) USING delta TBLPROPERTIES ({pairs})", {})
        found = engine.table(stream.table)
        assert found is not None
    if found.kind is not Kind.DELTA or PROPERTY not in (found.properties or {}):
        raise TargetError(
            f"{stream.table} exists, and is not the table of a stream.",
            why=f"a stream lands in the table that its source names ({listed(n for n, _ in found.columns)})",
            remedy="give the source another identifier, or rename or drop that table",
        )
    return found


def _failed(stream: Stream, error: BaseException) -> SourceError:
    said = str(unmasked(error)).strip()
    remedy = "correct the source, and run again: what has landed is not read again"
    if (stream.format == "kafka" and "DATA_SOURCE_NOT_FOUND" in said) or "Failed to find data source: kafka" in said:
        remedy = (
            "Spark was started without its Kafka package; start it anew, or give it to your cluster: "
            "spark.jars.packages: org.apache.spark:spark-sql-kafka-0-10_2.13:<its version>"
        )
    why = next((line for line in said.splitlines() if line.strip()), type(error).__name__)
    return SourceError(f"the stream {stream.table} could not be landed.", why=why, remedy=remedy)
