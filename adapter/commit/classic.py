"""The engine over a Spark session in this process: small relations stay on the driver, Delta's log is read directly."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from ..reading.relations import Columns, Kind
from .describe import SPARK_CATALOG, DeltaState, complete_name, look_up
from .engine import DESCRIBE, SqlError, Table, Written
from .history import commit_time, parse_actions

FEW = 5_000
"""Rows up to which a pinned relation becomes literals on the driver: planning over them costs nothing more."""

MATERIALIZE = "spark.databricks.delta.merge.materializeSource"

FIRST_PARTITIONS = "spark.sql.limit.initialNumPartitions"


class ClassicEngine:
    """session: a pyspark.sql.SparkSession (not Spark Connect) that no other refresh uses at the same time."""

    def __init__(self, session: Any, sent: Callable[[str], None] = lambda _: None) -> None:
        """sent: told every statement before it runs."""
        self._spark = session
        self._jspark = session._jsparkSession
        self._gateway = session.sparkContext._gateway
        self._pinned: dict[str, Any] = {}
        self._sent = sent

    @property
    def session(self) -> Any:
        """For what SQL cannot do."""
        return self._spark

    def _sql(self, sql: str) -> Any:
        self._sent(sql)
        try:
            return self._spark.sql(sql)
        except Exception as error:
            raise unmasked(error, sql) from error

    def columns(self, sql: str) -> Columns:
        # Not spark.sql(sql).schema: that would run a model that is not a query but a command.
        return tuple((row[0], row[1]) for row in self.rows(DESCRIBE + sql))

    def setting(self, name: str) -> str:
        # Not conf.get(name, None): that would answer None for what was never set, whatever Spark's own default is.
        try:
            return self._spark.conf.get(name)
        except Exception as error:
            if "SQL_CONF_NOT_FOUND" in str(error):
                return ""
            raise unmasked(error) from error

    def set(self, name: str, value: str) -> None:
        if value:
            self._spark.conf.set(name, value)
        else:
            self._spark.conf.unset(name)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        frame = self._sql(sql)
        try:
            return [tuple(r) for r in frame.collect()]
        except Exception as error:
            raise unmasked(error) from error

    def table(self, name: str) -> Table | None:
        return look_up(name, self.rows, self._delta)

    def glance(self, name: str) -> Table | None:
        state = self._jspark.sessionState()
        if state.catalogManager().currentCatalog().name() != SPARK_CATALOG:
            return None
        try:
            known = state.catalog().getTableMetadata(state.sqlParser().parseTableIdentifier(name))
            if not known.provider().isDefined() or known.provider().get().lower() != "delta":
                return None
            path = self._java("org.apache.hadoop.fs.Path")(known.location()).toString()
            snapshot = self._snapshot(path)
        except Exception:
            # Not there, not in this catalog, or not readable: whoever asks by a statement is told.
            return None
        complete = complete_name(SPARK_CATALOG, known.database(), known.identifier().table())
        return Table(complete, Kind.DELTA, (), snapshot.metadata().id(), snapshot.version(), path)

    def _delta(self, path: str) -> DeltaState:
        """Of the latest snapshot, found without a Spark job."""
        snapshot = self._snapshot(path)
        metadata = snapshot.metadata()
        properties = self._java("scala.jdk.javaapi.CollectionConverters").asJava(metadata.configuration())
        checksum = snapshot.checksumOpt()
        size = checksum.get().tableSizeBytes() if checksum.isDefined() else 0
        return DeltaState(metadata.id(), snapshot.version(), dict(properties), size)

    def version(self, table: Table) -> int:
        return int(self._snapshot(table.path).version())

    def _snapshot(self, path: str) -> Any:
        none = self._java("scala.Option").empty()
        return self._delta_log(path).update(False, none, none)

    def _delta_log(self, path: str) -> Any:
        return self._java("org.apache.spark.sql.delta.DeltaLog").forTable(self._jspark, path)

    def _java(self, name: str) -> Any:
        return java_class(self._gateway, name)

    def log(self, table: Table, version: int) -> list[dict[str, Any]]:
        log, file = self._delta_log(table.path), self._commit_file(table, version)
        try:
            lines = log.store().read(file, log.newDeltaHadoopConf())
        except Exception as error:
            if "FileNotFoundException" in str(error):
                return []
            raise unmasked(error) from error
        return parse_actions(lines.mkString("\n"))

    def read_ahead(self, table: Table) -> None:
        # After each commit Delta puts the list of a table's files together anew, for whoever first asks for it: that is
        # a third of a second, in which a MERGE would wait, and a refresh has other things to compute.
        threading.Thread(target=self._list_files, args=(table.path,), daemon=True).start()

    def _list_files(self, path: str) -> None:
        with suppress(Exception):
            # Kept by the snapshot, which all sessions share.
            self._snapshot(path).stateDS().count()

    def committed_at(self, table: Table, version: int) -> int:
        actions = self.log(table, version)
        if not actions:
            return 0
        file = self._commit_file(table, version)
        files = file.getFileSystem(self._delta_log(table.path).newDeltaHadoopConf())
        return commit_time(actions, files.getFileStatus(file).getModificationTime())

    def _commit_file(self, table: Table, version: int) -> Any:
        names = self._java("org.apache.spark.sql.delta.util.FileNames")
        return names.unsafeDeltaFile(self._delta_log(table.path).logPath(), version)

    def pin(self, name: str, sql: str, *, few: bool) -> int:
        frame = self._sql(sql)
        try:
            return self._pin_few(name, frame) if few else self._pin_many(name, frame)
        except Exception as error:
            raise unmasked(error) from error

    def _pin_few(self, name: str, frame: Any) -> int:
        before = self._spark.conf.get(FIRST_PARTITIONS)
        # Spark would look at one partition, then at four more, and so on: one job over all of them is quicker.
        self._spark.conf.set(FIRST_PARTITIONS, "1000000")
        try:
            rows = frame._jdf.limit(FEW + 1).collectAsList()
        finally:
            self._spark.conf.set(FIRST_PARTITIONS, before)
        if rows.size() > FEW:
            return self._pin_many(name, frame)
        self._jspark.createDataFrame(rows, frame._jdf.schema()).createOrReplaceTempView(name)
        self._pinned[name] = None
        return int(rows.size())

    def _pin_many(self, name: str, frame: Any) -> int:
        """Computed once and kept in memory, on disk where that is short.

        Not by DataFrame.persist: Spark finds what it keeps by comparing plans, and does not find a view that has a WITH
        in a query that has one too. And a plan that holds the plans of all that it reads takes long to plan and, for
        Spark's listeners, to tell. So what is kept is an RDD and no plan: a leaf."""
        plan = frame._jdf.queryExecution()
        leaf = self._jspark.internalCreateDataFrame(plan.toRdd(), frame._jdf.schema(), False)
        level = self._java("org.apache.spark.storage.StorageLevel").MEMORY_AND_DISK()
        relations = getattr(self._java("org.apache.spark.sql.execution.columnar.InMemoryRelation$"), "MODULE$")
        kept = relations.apply(level, leaf.queryExecution(), self._java("scala.Option").empty())
        self._pinned[name] = kept
        held = self._java("org.apache.spark.sql.classic.Dataset").ofRows(self._jspark, kept)
        held.createOrReplaceTempView(name)
        return int(held.count())

    def unpin(self, name: str) -> None:
        kept = self._pinned.pop(name, None)
        self._spark.catalog.dropTempView(name)
        if kept is not None:
            kept.cacheBuilder().clearCache(False)

    def write(self, sql: str, settings: Mapping[str, str]) -> Written:
        if all(kept is None for kept in self._pinned.values()):
            # Literals on the driver are the same each time MERGE reads them: it need not copy them first.
            settings = {MATERIALIZE: "none", **settings}
        before = {key: self._spark.conf.get(key, None) or "" for key in settings}
        for key, value in settings.items():
            self.set(key, value)
        try:
            frame = self._sql(sql)
            return Written.of(frame.columns, frame.collect())
        except SqlError:
            raise
        except Exception as error:
            raise unmasked(error) from error
        finally:
            # Left behind, the transaction identifier would make later writes vanish without a word.
            for key, value in before.items():
                self.set(key, value)


def java_class(gateway: Any, name: str) -> Any:
    """A class by its full name. Asked for `_jvm.org.apache…`, Java looks for a class in all jars at each dot."""
    from py4j.java_gateway import JavaClass

    return JavaClass(name, gateway._gateway_client)


def unmasked(error: BaseException, statement: str = "") -> SqlError:
    """The error with Delta's own words: pyspark looks them up in Spark's table of messages, which lacks Delta's."""
    message, seen = str(error), error
    while seen is not None:
        java = getattr(seen, "java_exception", None)
        text = java.getMessage() if java is not None else None
        if text and "Cannot find main error class" not in text:
            message = text
        seen = seen.__cause__ or seen.__context__
    message = message.split("\nJVM stacktrace:")[0].strip()
    found = re.search(r"\[([A-Z_0-9.]+)\]", message)
    return SqlError(message, found.group(1) if found else "", statement)
