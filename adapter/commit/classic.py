"""The engine over a Spark session in this process: small relations stay on the driver, Delta's log is read directly."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from ..errors import causes
from ..reading.relations import Columns, Kind
from ..sparksql.statements import quoted
from .describe import SPARK_CATALOG, DeltaState, clustering, complete_name, look_up
from .engine import DESCRIBE, SqlError, Table, Written
from .history import commit_time, now, parse_actions
from .shared_feeds import SharedFeeds
from .shared_rows import SharedRows

FEW = 5_000
"""Rows up to which a pinned relation becomes literals on the driver: planning over them costs nothing more."""

MATERIALIZE = "spark.databricks.delta.merge.materializeSource"

LITERALS = "LocalTableScan"
"""What Spark calls a plan whose rows it has made when it was planned: to take them is no job."""

FIRST_PARTITIONS = "spark.sql.limit.initialNumPartitions"

STALENESS = "spark.databricks.delta.stalenessLimit"
"""How long ago Delta may have looked at a table's log for a statement to be content with what it saw then."""

RECORDS = re.compile(r'"numRecords":(\d+)')

PADDED = re.compile(r"\b__CHAR_VARCHAR_TYPE_STRING\b[^}]*\bchar\(")
"""What says in a schema that a column is a CHAR, or has some within: its type is STRING."""

LITTLE = 2**20
"""Bytes of files up to which a statement is interpreted, some 50,000 rows. Measured on two cores in a warm process, the
refresh of a table over a thousand rows takes three quarters of what it takes compiled, over 50,000 nine tenths; and
from there on it takes longer."""

INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
}
"""Under which Spark carries a plan out as it is. Otherwise it writes Java for it, which has to be compiled and is slow
until it has run for a while, and plans anew after each of its stages."""

SOME = 512 * 2**20
"""Bytes of files up to which a statement is planned once. Spark plans anew after each stage, to learn which side of a
join turned out short, and each time Delta lists the files of every table with deletion vectors by a query of its own.
Measured on two cores, refreshes of TPC-H of 3 and of 35 MB take a fifth to a quarter less for it, and building its
tables at 330 MB a seventh."""

MANY = 200_000
"""Rows up to which, where no more of them are grouped and joined, a statement is planned once, however large the tables
that they are looked up in. Measured on two cores over 330 MB, with 1,200, 12,000 and 120,000 changed rows: their feed
is netted in less than half of the time, and what joins the fewest with four tables takes a quarter less."""

MOST_TASKS = 32
"""Of each stage of a statement that is planned once, where nothing puts short ones together afterwards."""


FEEDS: WeakKeyDictionary[Any, SharedFeeds] = WeakKeyDictionary()
ROWS_MET: WeakKeyDictionary[Any, SharedRows] = WeakKeyDictionary()
"""By the context that their sessions have in common."""


class Pinned(NamedTuple):
    """A relation that is computed. frame: Java's, of the session that computed it; kept: what holds its rows, None
    where they are literals; lent: whether others may read it too."""

    frame: Any
    kept: Any
    lent: bool = False


class Known(NamedTuple):
    """A Delta table of Spark's own catalog. name: complete; snapshot: Delta's own, of its latest version."""

    name: str
    path: str
    snapshot: Any


class ClassicEngine:
    """session: a pyspark.sql.SparkSession (not Spark Connect) that no other refresh uses at the same time."""

    def __init__(self, session: Any, sent: Callable[[str], None] = lambda _: None) -> None:
        """sent: told every statement before it runs."""
        self._spark = session
        self._jspark = session._jsparkSession
        self._gateway = session.sparkContext._gateway
        self._pinned: dict[str, Pinned] = {}
        self.feeds = FEEDS.setdefault(session.sparkContext, SharedFeeds())
        self.rows_met = ROWS_MET.setdefault(session.sparkContext, SharedRows())
        self._sent = sent
        self._since: int | None = None
        self._found: dict[str, Any] = {}
        self._way: Mapping[str, str] = {}
        self._otherwise: dict[str, str] = {}

    @property
    def session(self) -> Any:
        """For what SQL cannot do."""
        return self._spark

    @contextmanager
    def steady(self) -> Iterator[None]:
        # To look at a table, Delta lists its log, which has several files for each commit of a month. Every statement
        # would have it listed for each table that it reads.
        before, found, limit = self._since, self._found, self._explicit([STALENESS])
        # What was seen in this very millisecond may have been seen before it began, so the first look is after it.
        self._since, self._found = now() + 1, {}
        time.sleep(0.001)
        try:
            yield
        finally:
            self._since, self._found = before, found
            self._give_back(limit)

    @contextmanager
    def reading(self, size: int | None, moved: int | None = None) -> Iterator[None]:
        before = self._way
        self._run_by(self._way_for(size, moved))
        try:
            yield
        finally:
            self._run_by(before)

    def _way_for(self, size: int | None, moved: int | None) -> Mapping[str, str]:
        """Settings under which statements that read and move so much are run; none where that may be anything."""
        if size is not None and size <= LITTLE:
            return INTERPRETED
        is_short = (size is not None and size <= SOME) or (moved is not None and moved <= MANY)
        return self._planned_once if is_short else {}

    @cached_property
    def _planned_once(self) -> Mapping[str, str]:
        tasks = min(self._spark.sparkContext.defaultParallelism, MOST_TASKS)
        return {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": str(tasks)}

    def _run_by(self, way: Mapping[str, str]) -> None:
        """Statements from here on."""
        if way == self._way:
            return
        self._give_back(self._otherwise)
        self._way, self._otherwise = way, self._explicit(way)
        for name, value in way.items():
            self.set(name, value)

    def _explicit(self, names: Iterable[str]) -> dict[str, str]:
        """What these settings were given as values; empty for those that have their defaults."""
        try:
            return {name: self._spark.conf.get(name, None) or "" for name in names}
        except Exception as error:
            raise unmasked(error) from error

    def _give_back(self, settings: Mapping[str, str]) -> None:
        """Values as they were. A Spark that has ended takes none, and must not hide that it has."""
        with suppress(*no_answer()):
            for name, value in settings.items():
                self._put(name, value)

    @contextmanager
    def _under(self, settings: Mapping[str, str]) -> Iterator[None]:
        before = self._explicit(settings)
        try:
            for name, value in settings.items():
                self.set(name, value)
            yield
        finally:
            self._give_back(before)

    def _sql(self, sql: str) -> Any:
        return self._run(sql, self._spark.sql)

    def _run(self, sql: str, run: Callable[[str], Any]) -> Any:
        self._sent(sql)
        try:
            if self._since is not None:
                self._put(STALENESS, f"{max(now() - self._since, 0)}ms")
            return run(sql)
        except Exception as error:
            raise unmasked(error, sql) from error

    def columns(self, sql: str) -> Columns:
        return columns_in(self._run(DESCRIBE + sql, self._analyzed))

    def pads(self, sql: str) -> bool:
        return PADDED.search(self._run(DESCRIBE + sql, self._analyzed)) is not None

    def _analyzed(self, statement: str) -> str:
        """The schema of the query in a DESCRIBE, as JSON. Spark would run the statement, and then what it answers as a
        query of its own, and cut long types short. Without the DESCRIBE it would run a model that is no query."""
        session = self._java("org.apache.spark.sql.classic.SparkSession")
        session.setActiveSession(self._jspark)
        query = self._jspark.sessionState().sqlParser().parsePlan(statement).plan()
        return self._frame(query).schema().json()

    def _frame(self, plan: Any) -> Any:
        """Java's, over a plan that is no text."""
        return self._java("org.apache.spark.sql.classic.Dataset").ofRows(self._jspark, plan)

    def setting(self, name: str) -> str:
        # Not conf.get(name, None): that would answer None for what was never set, whatever Spark's own default is.
        try:
            return self._spark.conf.get(name)
        except Exception as error:
            if "SQL_CONF_NOT_FOUND" in str(error):
                return ""
            raise unmasked(error) from error

    def set(self, name: str, value: str) -> None:
        try:
            self._put(name, value)
        except Exception as error:
            raise unmasked(error) from error

    def _put(self, name: str, value: str) -> None:
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
        known = self._known(name, self._latest)
        if known is None:
            return look_up(name, self, self._delta)
        metadata = metadata_of(known.snapshot)
        columns, state = columns_in(metadata["schemaString"]), state_of(known.snapshot, metadata)
        return Table(
            known.name, Kind.DELTA, columns, state.id, state.version, known.path, state.properties,
            provider="delta", size=state.size, partitioned_by=tuple(metadata["partitionColumns"]),
            clustered_by=self._clustered_by(known.snapshot), rows=state.rows,
        )  # fmt: skip

    def glance(self, name: str) -> Table | None:
        if (known := self._known(name, self._latest)) is None:
            return None
        snapshot = known.snapshot
        return Table(known.name, Kind.DELTA, (), snapshot.metadata().id(), snapshot.version(), known.path)

    def _known(self, name: str, snapshot_of: Callable[[str], Any]) -> Known | None:
        """None where it is not there, not a Delta table, not in this catalog, or not readable: whoever asks by a
        statement is told which."""
        state = self._jspark.sessionState()
        if state.catalogManager().currentCatalog().name() != SPARK_CATALOG:
            return None
        try:
            identifier = state.sqlParser().parseTableIdentifier(name)
            if state.catalog().isTempView(identifier):
                return None
            known = state.catalog().getTableMetadata(identifier)
            if not known.provider().isDefined() or known.provider().get().lower() != "delta":
                return None
            path = self._java("org.apache.hadoop.fs.Path")(known.location()).toString()
            snapshot = snapshot_of(path)
        except Exception:
            return None
        return Known(complete_name(SPARK_CATALOG, known.database(), known.identifier().table()), path, snapshot)

    def _clustered_by(self, snapshot: Any) -> tuple[str, ...] | None:
        tables = self._java("org.apache.spark.sql.delta.skipping.clustering.ClusteredTableUtils")
        try:
            found = tables.getClusterBySpecOptional(snapshot)
        except Exception as error:
            raise unmasked(error) from error
        return clustering(found.get().toJson()) if found.isDefined() else None

    def _delta(self, path: str) -> DeltaState:
        snapshot = self._snapshot(path)
        return state_of(snapshot, metadata_of(snapshot))

    def version(self, table: Table) -> int:
        return int(self._latest(table.path).version())

    def _latest(self, path: str) -> Any:
        """The latest snapshot, for whoever has no statement to run on the table: Delta lists its log to find it, which
        takes the longer the more commits there were."""
        log = self._delta_log(path)
        snapshot = log.unsafeVolatileSnapshot()
        # What this engine writes puts another snapshot in the place of the one that was found.
        if self._since is None or self._found.get(path) != snapshot:
            self._found[path] = snapshot if self._is_latest(log, snapshot) else self._snapshot(path)
        return self._found[path]

    def _is_latest(self, log: Any, snapshot: Any) -> bool:
        """Whether there is no next commit, and the snapshot's own is still the one that it was: a table that was made
        anew at the same place has another file of that number."""
        version = snapshot.version()
        try:
            if version < 0 or snapshot.isCatalogOwned() or snapshot.tableCommitCoordinatorClientOpt().isDefined():
                # Commits are where a catalog says.
                return False
            files, written = files_of(log), snapshot.logSegment().lastCommitFileModificationTimestamp()
            is_own = files.getFileStatus(self._commit_file(log, version)).getModificationTime() == written
            return is_own and not files.exists(self._commit_file(log, version + 1))
        except Exception:
            return False

    def _snapshot(self, path: str) -> Any:
        """The latest, or the latest of when what is asked of tables became steady."""
        option = self._java("scala.Option")
        since = option.empty() if self._since is None else option.apply(self._since)
        return self._delta_log(path).update(False, since, option.empty())

    def _delta_log(self, path: str) -> Any:
        return self._java("org.apache.spark.sql.delta.DeltaLog").forTable(self._jspark, path)

    def _java(self, name: str) -> Any:
        return java_class(self._gateway, name)

    def _module(self, name: str) -> Any:
        """An object of Scala's."""
        return getattr(self._java(f"{name}$"), "MODULE$")

    def _none(self) -> Any:
        return self._java("scala.Option").empty()

    def log(self, table: Table, version: int) -> list[dict[str, Any]]:
        log = self._delta_log(table.path)
        try:
            lines = log.store().read(self._commit_file(log, version), log.newDeltaHadoopConf())
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

    def clean_log(self, table: Table) -> None:
        with suppress(Exception):
            default = self._none()
            minute = self._java("org.apache.spark.sql.delta.TruncationGranularity").MINUTE()
            self._delta_log(table.path).cleanUpExpiredLogs(self._latest(table.path), default, default, minute)

    def committed_at(self, table: Table, version: int) -> int:
        actions = self.log(table, version)
        if not actions:
            return 0
        log = self._delta_log(table.path)
        return commit_time(actions, files_of(log).getFileStatus(self._commit_file(log, version)).getModificationTime())

    def _commit_file(self, log: Any, version: int) -> Any:
        return self._java("org.apache.spark.sql.delta.util.FileNames").unsafeDeltaFile(log.logPath(), version)

    def pin(self, name: str, sql: str, *, few: bool) -> int:
        rows = self.pin_at_most(name, sql, None, few=few)
        assert rows is not None
        return rows

    def pin_at_most(self, name: str, sql: str, most: int | None, *, few: bool) -> int | None:
        frame = self._sql(sql)
        try:
            return self._pin_few(name, frame, most) if few else self._pin_many(name, frame, most)
        except Exception as error:
            raise unmasked(error) from error

    def _pin_few(self, name: str, frame: Any, most: int | None) -> int | None:
        """Rows as Spark has them. As Java's values, strings that are no UTF-8, the order of a map and the days that its
        calendar leaves out would be lost."""
        plan = frame._jdf.queryExecution().executedPlan()
        if plan.nodeName() != LITERALS:
            plan = self._leaf(frame).queryExecution().executedPlan()
        # Spark would look at one partition, then at four more, and so on: one job over all of them is quicker.
        with self._under({FIRST_PARTITIONS: "1000000"}):
            found = plan.executeTake(FEW + 1)
        if (rows := len(found)) > FEW:
            return self._pin_many(name, frame, most)
        columns = self._java("org.apache.spark.sql.catalyst.types.DataTypeUtils").toAttributes(frame._jdf.schema())
        relations = self._module("org.apache.spark.sql.catalyst.plans.logical.LocalRelation")
        listed = self._module("scala.collection.immutable.ArraySeq").unsafeWrapArray(found)
        literals = self._frame(relations.apply(columns, listed, False, self._none()))
        literals.createOrReplaceTempView(name)
        self._pinned[name] = Pinned(literals, None)
        return rows

    def _pin_many(self, name: str, frame: Any, most: int | None) -> int | None:
        """Computed once and kept in memory, on disk where that is short.

        Not by DataFrame.persist: Spark finds what it keeps by comparing plans, and does not find a view that has a WITH
        in a query that has one too."""
        level = self._java("org.apache.spark.storage.StorageLevel").MEMORY_AND_DISK()
        relations = self._module("org.apache.spark.sql.execution.columnar.InMemoryRelation")
        kept = relations.apply(level, self._leaf(frame).queryExecution(), self._none())
        held = self._frame(kept)
        self._pinned[name] = Pinned(held, kept)
        held.createOrReplaceTempView(name)
        if most is None:
            return int(held.count())
        if (rows := self._counted(held, most)) is None:
            self.unpin(name)
        return rows

    def _leaf(self, frame: Any) -> Any:
        """A frame of the same rows, over an RDD and no plan. A plan that has the plans of all that it reads takes long
        to plan and, for Spark's listeners, to tell."""
        return self._jspark.internalCreateDataFrame(frame._jdf.queryExecution().toRdd(), frame._jdf.schema(), False)

    def _counted(self, held: Any, most: int) -> int | None:
        """None if there are more. Spark looks for so many rows in ever more of the partitions, until it has them."""
        with self._under({FIRST_PARTITIONS: str(self._spark.sparkContext.defaultParallelism)}):
            rows = int(held.select(self._columns_of(held, ())).limit(most + 1).collectAsList().size())
        return rows if rows <= most else None

    def _columns_of(self, frame: Any, names: Collection[str]) -> Any:
        """As Java takes them."""
        found = self._gateway.new_array(self._java("org.apache.spark.sql.Column"), len(names))
        for place, name in enumerate(names):
            found[place] = frame.col(quoted(name))
        return found

    def lend(self, name: str) -> Pinned:
        lent = self._pinned[name] = self._pinned[name]._replace(lent=True)
        return lent

    def borrow(self, name: str, lent: Pinned, columns: Collection[str] | None = None) -> None:
        try:
            frame = self._frame(lent.frame.queryExecution().analyzed())
            if columns is not None:
                frame = frame.select(self._columns_of(frame, columns))
            frame.createOrReplaceTempView(name)
        except Exception as error:
            raise unmasked(error) from error
        self._pinned[name] = lent

    def release(self, lent: Pinned) -> None:
        if lent.kept is not None:
            with suppress(*no_answer()):
                lent.kept.cacheBuilder().clearCache(False)

    def unpin(self, name: str) -> None:
        pinned = self._pinned.pop(name, None)
        with suppress(*no_answer()):
            self._spark.catalog.dropTempView(name)
        if pinned is not None and not pinned.lent:
            self.release(pinned)

    def write(self, sql: str, settings: Mapping[str, str]) -> Written:
        if all(pinned.kept is None for pinned in self._pinned.values()):
            # Literals on the driver are the same each time MERGE reads them: it need not copy them first.
            settings = {MATERIALIZE: "none", **settings}
        # Left behind, the transaction identifier would make later writes vanish without a word.
        with self._under(settings):
            frame = self._sql(sql)
            try:
                return written_in(frame)
            except Exception as error:
                raise unmasked(error) from error


def written_in(frame: Any) -> Written:
    """What a statement that has run answered. To collect it would be a query of its own."""
    columns = frame.columns
    if not Written.is_told_by(columns):
        return Written()
    rows = frame._jdf.queryExecution().commandExecuted().rows()
    return Written.of(columns, [[rows.apply(i).getLong(c) for c in range(len(columns))] for i in range(rows.size())])


def no_answer() -> tuple[type[Exception], ...]:
    """What a call raises where Java is not there any more."""
    from py4j.protocol import Py4JNetworkError

    return Py4JNetworkError, ConnectionError


def files_of(log: Any) -> Any:
    """The file system that a Delta log is on."""
    return log.logPath().getFileSystem(log.newDeltaHadoopConf())


def metadata_of(snapshot: Any) -> dict[str, Any]:
    """As the log has it. Asked for part by part it takes longer, and a collection of Java's far longer: it tells Python
    that it is at its end by an exception."""
    return json.loads(snapshot.metadata().json())["metaData"]


def state_of(snapshot: Any, metadata: Mapping[str, Any]) -> DeltaState:
    """Found without a Spark job."""
    found = snapshot.checksumOpt()
    checksum = found.get() if found.isDefined() else None
    size = checksum.tableSizeBytes() if checksum is not None else 0
    rows = rows_of(checksum) if checksum is not None and size <= SOME else None
    return DeltaState(metadata["id"], snapshot.version(), metadata["configuration"], size, rows)


def rows_of(checksum: Any) -> int | None:
    """Rows of all files, by their statistics. Delta lists files beside a commit while there are some dozens at most."""
    files = checksum.allFiles()
    if not files.isDefined():
        return None
    counts = RECORDS.findall(files.get().mkString("\n"))
    return sum(map(int, counts)) if len(counts) == files.get().size() else None


def columns_in(schema: str) -> Columns:
    """schema: a struct in Spark's JSON."""
    from pyspark.sql.types import StructType

    fields = StructType.fromJson(json.loads(schema)).fields
    return tuple((f.name, f.dataType.simpleString()) for f in fields)


def java_class(gateway: Any, name: str) -> Any:
    """A class by its full name. Asked for `_jvm.org.apache…`, Java looks for a class in all jars at each dot."""
    from py4j.java_gateway import JavaClass

    return JavaClass(name, gateway._gateway_client)


def unmasked(error: BaseException, statement: str = "") -> SqlError:
    """The error with Delta's own words: pyspark looks them up in Spark's table of messages, which lacks Delta's."""
    message = str(error)
    for cause in causes(error):
        java = getattr(cause, "java_exception", None)
        text = java.getMessage() if java is not None else None
        if text and "Cannot find main error class" not in text:
            message = text
    message = message.split("\nJVM stacktrace:")[0].strip()
    found = re.search(r"\[([A-Z_0-9.]+)\]", message)
    return SqlError(message, found.group(1) if found else "", statement)
