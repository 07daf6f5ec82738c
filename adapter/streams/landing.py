"""A stream into its Delta table: Spark's own sink, or for a stream with a key a MERGE, either of which commits each
batch with its number, and a checkpoint that lies in the table's folder. So a batch that is played again after a crash
is not written again, and a table that is dropped takes its checkpoint along: the next run begins anew."""

from __future__ import annotations

import logging
import re
import threading
from dataclasses import dataclass
from typing import Any

from ..commit.classic import ClassicEngine, unmasked
from ..commit.engine import Table
from ..commit.ledger import TXN_APP, TXN_VERSION
from ..commit.look import KEY_PROPERTY, key_of
from ..commit.problems import comparable
from ..commit.upkeep import keep_up
from ..errors import DynamicTableError, SourceError, TargetError
from ..names import PREFIX
from ..reading.relations import Kind
from ..sparksql.statements import defined, listed, literal, merge_upserts
from .declaration import Stream
from .upserts import kept_by_the_table, last_of_each_key, recorded

PROPERTY = "dbt_spark_dynamic.stream"
"""Set on a table that a stream lands in: its format."""

CHECKPOINT = "_checkpoint"
"""In the table's folder. Delta passes over what begins with an underscore."""

PACKING = "spark.databricks.delta.autoCompact.enabled"
"""Under which Delta packs the small files of a table while it is followed, between its batches."""

CARRIERS = ("STREAM_FAILED", "TASK_WRITE_FAILED", "Task failed", "Job aborted")
"""Errors of Spark's that only carry another one."""

BATCH, UPSERTS = f"{PREFIX}batch", f"{PREFIX}upserts"

_following: dict[str, Any] = {}
"""Table -> the query that lands its stream for as long as this process watches it."""
_broken: dict[str, Exception] = {}
"""Table -> what its last batch failed with: of that, what Spark says of the query has only the traceback."""
_lock = threading.Lock()


def _is_news(record: logging.LogRecord) -> bool:
    """False for a traceback of what a batch failed with, which the user is told without one."""
    return not (record.exc_info and record.exc_info[1] in _broken.values())


logging.getLogger("py4j.clientserver").addFilter(_is_news)


@dataclass(frozen=True)
class Landed:
    """rows: that were read; before, after: versions of the table; note: what the user may want to see to."""

    rows: int
    before: int
    after: int
    note: str | None = None


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
            query = _writer(session, stream, table).trigger(availableNow=True).start()
            query.awaitTermination()
            rows = sum(int(p["numInputRows"]) for p in query.recentProgress)
    except Exception as error:
        raise _failed(stream, error) from error
    after = engine.version(table)
    return Landed(rows, before, after, keep_up(engine, table, stream.table, after))


def follow(session: Any, stream: Stream) -> None:
    """From now on all that comes, as soon as it comes, until `unfollow`. Raises DynamicTableError."""
    with _lock:
        running = _following.get(stream.table)
        if running is not None and running.isActive:
            return
        engine = ClassicEngine(session)
        table, asked = _prepared(session, engine, stream), engine.setting(PACKING)
        try:
            # A query has the settings that its session had when it was started.
            engine.set(PACKING, asked or "true")
            _following[stream.table] = _writer(session, stream, table).trigger(processingTime="0 seconds").start()
        except Exception as error:
            raise _failed(stream, error) from error
        finally:
            engine.set(PACKING, asked)


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
    writer = (
        _frame(session, stream)
        .writeStream.outputMode("append")
        .option("checkpointLocation", f"{table.path}/{CHECKPOINT}")
        .queryName(f"{stream.table} from {stream.format}")
    )
    if stream.key:
        return writer.foreachBatch(lambda batch, number: _merge(batch, number, stream, table))
    return writer.format("delta").option("mergeSchema", "true").option("path", table.path)


def _frame(session: Any, stream: Stream) -> Any:
    reader = session.readStream.format(stream.format).options(**stream.options)
    if stream.schema is not None:
        reader = reader.schema(stream.schema)
    frame, shown = reader.load(), recorded(stream) if stream.key else stream.projection
    return frame.selectExpr(*shown) if shown else frame


def _merge(batch: Any, number: int, stream: Stream, table: Table) -> None:
    """One batch as one commit. Delta skips it if the batch of this number of this checkpoint is committed already."""
    engine = ClassicEngine(batch.sparkSession)
    batch.createOrReplaceTempView(BATCH)
    _broken.pop(stream.table, None)
    try:
        if not engine.pin(UPSERTS, last_of_each_key(stream, BATCH), few=False):
            return
        names = [n for n, _ in stream.columns]
        compared = [n for n, t in table.columns if comparable(t)]
        merge = merge_upserts(stream.table, UPSERTS, stream.key, names, compared, "", kept_by_the_table(stream))
        # The identifier that Spark keeps in the checkpoint: whoever goes on from there has it, and nobody else.
        query = batch.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
        engine.write(merge, {TXN_APP: query, TXN_VERSION: str(number)})
    except Exception as error:
        _broken[stream.table] = error
        raise
    finally:
        engine.unpin(UPSERTS)
        engine.unpin(BATCH)


def _prepared(session: Any, engine: ClassicEngine, stream: Stream) -> Table:
    """The table, there before the first row is, so that models over a stream that has none yet can be compiled."""
    found = engine.table(stream.table)
    if found is None:
        properties = {"delta.enableChangeDataFeed": "true", PROPERTY: stream.format}
        if stream.key:
            properties[KEY_PROPERTY] = "\n".join(stream.key)
        columns = _columns(session, stream)
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
    return _fitting(engine, stream, found) if stream.key or key_of(found) else found


def _columns(session: Any, stream: Stream) -> str:
    """Of the table, as CREATE TABLE has them."""
    try:
        fields = _frame(session, stream).schema.fields
    except Exception as error:
        raise _failed(stream, error) from error
    if stream.key:
        return defined(stream.columns)
    return defined(tuple((f.name, f.dataType.simpleString()) for f in fields))


def _fitting(engine: ClassicEngine, stream: Stream, table: Table) -> Table:
    """The table with all columns that are declared. Raises TargetError if its rows are not those of this key."""
    if key_of(table) != stream.key:
        had = f"by the key {', '.join(key_of(table))}" if key_of(table) else "without a key, every record as a row"
        raise TargetError(
            f"the stream {stream.table} has another key than its table.",
            where=stream.place,
            why=f"it was landed {had}; nothing was written",
            remedy=f"drop the table to begin the stream anew (DROP TABLE {stream.table}), or set key as it was",
        )
    known = {n.lower() for n, _ in table.columns}
    new = tuple((n, t) for n, t in stream.columns if n.lower() not in known)
    if not new:
        return table
    engine.write(f"ALTER TABLE {stream.table} ADD COLUMNS ({defined(new)})", {})
    found = engine.table(stream.table)
    assert found is not None
    return found


def _failed(stream: Stream, error: BaseException) -> SourceError:
    own = _broken.pop(stream.table, None)
    said = str(own or unmasked(error)).strip()
    remedy = "correct the source, and run again: what has landed is not read again"
    if (stream.format == "kafka" and "DATA_SOURCE_NOT_FOUND" in said) or "Failed to find data source: kafka" in said:
        remedy = (
            "Spark was started without its Kafka package; start it anew, or give it to your cluster: "
            "spark.jars.packages: org.apache.spark:spark-sql-kafka-0-10_2.13:<its version>"
        )
    first = next((line for line in said.splitlines() if line.strip()), type(error).__name__)
    why = first if own is not None else "; ".join(_causes(error)) or first
    return SourceError(f"the stream {stream.table} could not be landed.", why=why, remedy=remedy)


def _causes(error: BaseException) -> list[str]:
    """What went wrong from the outside in, without those who say only that something did: the file, the record, and
    the place in it."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    causes = []
    while java is not None:
        lines = (java.getMessage() or "").strip().splitlines()
        if lines and not any(sign in lines[0] for sign in CARRIERS):
            said = " ".join(line.strip() for line in lines[:2])
            causes.append(re.sub(r"\s*SQLSTATE: \w+", "", said).strip().rstrip("."))
        java = java.getCause()
    return list(dict.fromkeys(causes))
