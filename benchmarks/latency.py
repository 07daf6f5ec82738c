"""`python -m benchmarks.latency`: from the commit of a base table to the commit of the tables that stand on it.

Three dynamic tables in a chain are watched, and beside them a bare streaming query merges the same change feed into a
table of its own (foreachBatch and MERGE, by hand): what Spark takes at the least. The next commit is made once the one
before it has arrived everywhere; times are those of the commit files.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.box import SIMPLE_HEAD
from rich.table import Table

from dbt_spark_dynamic.commit.classic import ClassicEngine
from dbt_spark_dynamic.commit.engine import Table as Delta
from dbt_spark_dynamic.commit.history import Commit, parse_actions, read_commit
from dbt_spark_dynamic.commit.ledger import Entry
from dbt_spark_dynamic.commit.outcome import Outcome
from dbt_spark_dynamic.commit.refresh import refresh
from dbt_spark_dynamic.commit.spec import Spec
from dbt_spark_dynamic.watch.graph import Watched
from dbt_spark_dynamic.watch.project import Built
from dbt_spark_dynamic.watch.watch import Watch

from .session import benchmark_session, console_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MODELS = {
    "bench.per_customer": "SELECT customer, COUNT(*) AS n, SUM(amount) AS total FROM bench.sales GROUP BY customer",
    "bench.large": "SELECT customer, total FROM bench.per_customer WHERE n > 1",
    "bench.sizes": "SELECT CAST(total / 1000 AS INT) AS size, COUNT(*) AS n FROM bench.large GROUP BY ALL",
}
BARE = "bench.bare"
BARE_MERGE = (
    f"MERGE INTO {BARE} t USING (SELECT customer, COUNT(*) AS n, SUM(amount) AS total FROM batch GROUP BY customer) s "
    "ON t.customer <=> s.customer WHEN MATCHED THEN UPDATE SET t.n = t.n + s.n, t.total = t.total + s.total "
    "WHEN NOT MATCHED THEN INSERT *"
)
WARM_UP = 5


class Models:
    """The tables as the loop sees them, without dbt."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark, self._own = spark, threading.local()
        self._tables: dict[str, Delta] = {}
        self._specs = {name: Spec(target=name, sql=sql, place=name) for name, sql in MODELS.items()}

    def engine(self) -> ClassicEngine:
        """This thread's own."""
        if not hasattr(self._own, "engine"):
            self._own.engine = ClassicEngine(self._spark.newSession())
        return self._own.engine

    def build(self) -> Built:
        found = [(name, self.refresh(name, {})) for name in MODELS]
        return Built(tuple(Watched(name, o.table, frozenset(o.sources)) for name, o in found))

    def build_again(self, names: Collection[str]) -> Built:
        return self.build()

    def edited(self) -> bool:
        return False

    free = edited

    def notes(self) -> list[str]:
        return []

    def versions(self, tables: Collection[str]) -> Mapping[str, int]:
        engine = self.engine()
        for name in tables:
            if name not in self._tables and (found := engine.table(name)) is not None:
                self._tables[name] = found
        return {name: engine.version(self._tables[name]) for name in tables}

    def refresh(self, name: str, versions: Mapping[str, int]) -> Outcome:
        return refresh(self._specs[name], self.engine(), versions)


class Log:
    """A Delta log read from its files: asking Spark would be part of what is measured, as would be the time to list
    them all, or to read one again and again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._version = -1
        self._commits: dict[int, Commit] = {}

    def version(self) -> int:
        while self._file(self._version + 1).exists():
            self._version += 1
        return self._version

    def time(self, version: int) -> float:
        return self._file(version).stat().st_mtime

    def commit(self, version: int) -> Commit:
        if version not in self._commits:
            self._commits[version] = read_commit(version, parse_actions(self._file(version).read_text()))
        return self._commits[version]

    def _file(self, version: int) -> Path:
        return self.folder / f"{version:020d}.json"


class Latency:
    """rows: of the base table at first; commits: that are timed, of ten rows each."""

    def __init__(self, spark: SparkSession, rows: int, commits: int) -> None:
        self.spark, self.rows, self.commits = spark, rows, commits
        self.models = Models(spark)
        self.engine = ClassicEngine(spark.newSession())
        self._logs: dict[str, Log] = {}

    def load(self) -> None:
        self.spark.sql("CREATE SCHEMA bench")
        values = (
            f"SELECT id, CAST(id % {self.rows // 10} AS INT) AS customer, CAST(id % 100 AS DECIMAL(12,2)) AS amount"
        )
        self.spark.sql(f"CREATE TABLE bench.sales USING delta AS {values} FROM RANGE({self.rows})")
        self.models.build()
        self.spark.sql(f"CREATE TABLE {BARE} USING delta AS SELECT * FROM bench.per_customer")

    def measure(self, checkpoint: str, say: Callable[[str], None]) -> dict[str, list[float]]:
        """Table -> seconds from commit to commit."""
        say("the chain, watched")
        with self.watched():
            watched = self._commit_and_wait(list(MODELS), self._held_by_ledger)
        say("the bare stream")
        query = self._bare_stream(checkpoint)
        try:
            bare = self._commit_and_wait([BARE], self._held_by_stream)
        finally:
            query.stop()
        return watched | bare

    @contextmanager
    def watched(self) -> Iterator[None]:
        """The chain is refreshed meanwhile. What it fails with is raised at the end."""
        stop, failed = threading.Event(), list[BaseException]()
        loop = Watch(self.models, lambda _: None, threads=2, interval=0.02)

        def run() -> None:
            try:
                loop.run(stop)
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
        if failed:
            raise failed[0]

    def _commit_and_wait(self, tables: list[str], held: Callable[[str, int], int | None]) -> dict[str, list[float]]:
        seconds: dict[str, list[float]] = {t: [] for t in tables}
        for n in range(WARM_UP + self.commits):
            first = self.rows + 10 * n
            self.spark.sql(
                f"INSERT INTO bench.sales SELECT id, CAST(id % 97 AS INT), 1.00 FROM RANGE({first}, {first + 10})"
            )
            for table, took in self.arrivals(tables, held).items():
                if n >= WARM_UP:
                    seconds[table].append(took)
        return seconds

    def arrivals(self, tables: Iterable[str], held: Callable[[str, int], int | None] | None = None) -> dict[str, float]:
        """Table -> seconds from the latest commit of the base table to its own commit that holds it. Waits for them."""
        base, of = self.log("bench.sales"), held or self._held_by_ledger
        version, seconds = base.version(), {}
        # Where files were put together there is nothing to be brought further.
        while not base.commit(version).changes_data:
            version -= 1
        begun = base.time(version)
        for table in tables:
            while (at := of(table, version)) is None:
                time.sleep(0.005)
            seconds[table] = self.log(table).time(at) - begun
        return seconds

    def _held_by_ledger(self, table: str, version: int) -> int | None:
        """The first version of a table of the chain that holds this version of the base, None if there is none yet."""
        source, needed = "bench.sales", version
        for name in MODELS:
            log = self.log(name)
            reached = None
            for at in range(log.version(), -1, -1):
                entry = Entry.read(log.commit(at).user_metadata)
                if entry is None:
                    # Files were put together: the rows are those of the version before.
                    continue
                if entry.sources[source].version < needed:
                    break
                reached = at
            if reached is None or name == table:
                return reached
            source, needed = name, reached
        raise AssertionError(table)

    def _held_by_stream(self, table: str, version: int) -> int | None:
        """The next version of the bare table: one commit of the base is one batch of the stream."""
        reached = self.log(table).version()
        if reached == self._bare_version:
            return None
        self._bare_version = reached
        return reached

    def _bare_stream(self, checkpoint: str) -> Any:
        start = self.log("bench.sales").version() + 1
        self.spark.conf.set("spark.databricks.delta.changeDataFeed.timestampOutOfRange.enabled", "true")
        stream = (
            self.spark.readStream.option("readChangeFeed", "true").option("startingVersion", start).table("bench.sales")
        )

        def merge(batch: Any, _: int) -> None:
            batch.createOrReplaceTempView("batch")
            batch.sparkSession.sql(BARE_MERGE)

        self._bare_version = self.log(BARE).version()
        return stream.writeStream.foreachBatch(merge).option("checkpointLocation", checkpoint).start()

    def log(self, name: str) -> Log:
        if name not in self._logs:
            table = self.engine.table(name)
            assert table is not None
            self._logs[name] = Log(Path(table.path.removeprefix("file:")) / "_delta_log")
        return self._logs[name]


def percentile(values: Iterable[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


@click.command()
@click.option("--rows", default=1_000_000, show_default=True, help="Rows of the base table.")
@click.option("--commits", default=100, show_default=True, help="Commits that are timed.")
def latency(rows: int, commits: int) -> None:
    """Seconds from the commit of a base table to that of each table of a watched chain, beside a bare stream."""
    console = console_of(120)
    with benchmark_session(console) as (spark, folder):
        run = Latency(spark, rows, commits)
        with console.status(f"Making a source of {rows:,} rows") as status:
            run.load()
            measured = run.measure(f"{folder}/checkpoint", status.update)
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("table", "p50", "p95", "p50 of the bare stream", "p95"):
        table.add_column(heading, justify="left" if heading == "table" else "right")
    bare = measured[BARE]
    for name, seconds in measured.items():
        half, most = statistics.median(seconds), percentile(seconds, 0.95)
        of = (f"{half / statistics.median(bare):.1f}x", f"{most / percentile(bare, 0.95):.1f}x")
        table.add_row(name, f"{half:.2f}s", f"{most:.2f}s", *of)
    console.print(f"Commit to commit, {commits} commits of ten rows over {rows:,}:")
    console.print(table)


if __name__ == "__main__":
    latency()
