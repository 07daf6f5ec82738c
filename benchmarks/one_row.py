"""What one changed row costs: refreshes timed beside a bare MERGE of one row and a full rebuild, in one Spark."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbt_spark_dynamic.commit.outcome import Outcome
from integration_tests.maintained import Maintained

from .cases import CHANGES, CUSTOMERS, SOURCES, Case, change

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BARE, ROW = "bare", "bare_row"
"""A copy of the dynamic table for the bare MERGE to write to, and one of its rows."""

PROPERTIES = "TBLPROPERTIES (delta.enableChangeDataFeed = true, delta.enableDeletionVectors = true)"
"""Of the dynamic table, and so of its copy: what stands on either reads its change feed."""


@dataclass(frozen=True)
class Measured:
    """A case under one kind of change. seconds, bare, rebuild: medians, of wall time; statements: SQL statements sent
    by one refresh; equal: whether table and query have the same rows after all of it."""

    case: str
    change: str
    technique: str
    statements: int
    seconds: float
    bare: float
    rebuild: float
    equal: bool


class OneRow:
    """rows: of the large source; repeat: refreshes per case and change, of which the median counts."""

    def __init__(self, spark: SparkSession, rows: int, repeat: int, cases: Sequence[Case]) -> None:
        self.spark, self.rows, self.repeat, self.cases = spark, rows, repeat, cases
        self._tables = Maintained(spark, "bench")
        self._changes = 0

    def load(self) -> None:
        """Makes the sources, with change feeds as every table of this adapter has them."""
        self.spark.sql("CREATE SCHEMA bench")
        self.spark.sql("USE bench")
        for name, query in SOURCES.items():
            self.spark.sql(f"CREATE TABLE {name} USING delta AS {query.format(rows=self.rows, customers=CUSTOMERS)}")

    def measure(self, say: Callable[[str], None]) -> Iterator[Measured]:
        """One result per case and change, and one for a refresh with nothing changed."""
        for case in self.cases:
            say(f"{case.name}: first build")
            self._refresh(case)
            rebuild = self._timed(f"CREATE OR REPLACE TABLE {BARE} USING delta {PROPERTIES} AS {case.sql}")
            row = self.spark.table(BARE).limit(1).collect()
            self.spark.createDataFrame(row, self.spark.table(BARE).schema).createOrReplaceTempView(ROW)
            self._refresh(case)
            seconds, outcome, statements = self._refresh(case)
            yield Measured(case.name, "nothing", outcome.code.value, statements, seconds, 0.0, rebuild, True)
            for kind in CHANGES:
                say(f"{case.name}: {kind}")
                yield self._changed(case, kind, rebuild)
            self.spark.sql("DROP TABLE m")

    def _changed(self, case: Case, kind: str, rebuild: float) -> Measured:
        refreshes, bare = [], []
        # The first of each is not counted: it compiles what the others find compiled.
        for i in range(self.repeat + 1):
            self._changes += 1
            self.spark.sql(change(kind, self.rows, self._changes))
            refreshed = self._refresh(case)
            merged = self._timed(case.bare_merge(BARE, ROW))
            if i:
                refreshes.append(refreshed)
                bare.append(merged)
        _, outcome, statements = refreshes[-1]
        seconds = statistics.median(s for s, _, _ in refreshes)
        technique = outcome.technique if outcome.rows_affected else outcome.code.value
        equal = self._tables.difference("m") == 0
        return Measured(case.name, kind, technique, statements, seconds, statistics.median(bare), rebuild, equal)

    def _refresh(self, case: Case) -> tuple[float, Outcome, int]:
        started = time.perf_counter()
        outcome = self._tables.refresh("m", sql=case.sql)
        return time.perf_counter() - started, outcome, len(self._tables.statements)

    def _timed(self, statement: str) -> float:
        started = time.perf_counter()
        self.spark.sql(statement)
        return time.perf_counter() - started
