"""Whether a table equals its query: EXCEPT ALL both ways against a timed rebuild."""

from __future__ import annotations

import time
from dataclasses import dataclass

from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Comparison:
    """A table beside its rebuild.

    Attributes:
        missing: rows of the query that the table lacks, counted with their multiplicity.
        surplus: rows of the table that the query does not have, counted likewise.
        same_columns: whether names, types and order of the columns agree; if not, no row was
            compared.
        rebuild_seconds: what CREATE OR REPLACE TABLE ... AS the query took.
    """

    missing: int
    surplus: int
    same_columns: bool
    rebuild_seconds: float

    @property
    def equal(self) -> bool:
        """Whether the table equals its query."""
        return self.missing == 0 and self.surplus == 0 and self.same_columns

    def __str__(self) -> str:
        """Say `equal`, or in what way it is not."""
        if self.equal:
            return "equal"
        if not self.same_columns:
            return "columns differ"
        return f"{self.missing} missing, {self.surplus} surplus"


def compare(spark: SparkSession, table: str, query: str, scratch: str) -> Comparison:
    """Rebuild `query` into the table `scratch`, timed, and compare `table` with it.

    Args:
        spark: a session with Delta.
        table: the maintained table, with its schema.
        query: the compiled SELECT that the table is said to equal.
        scratch: the table to rebuild into, with its schema; replaced if it exists.
    """
    started = time.perf_counter()
    spark.sql(f"CREATE OR REPLACE TABLE {scratch} USING delta AS {query}")
    rebuild_seconds = time.perf_counter() - started
    columns = _columns(spark, table)
    same_columns = columns == _columns(spark, scratch)
    missing, surplus = 0, 0
    if same_columns:
        names = [name for name, _ in columns]
        missing, surplus = _except_all_both_ways(spark, table, scratch, names)
    return Comparison(missing, surplus, same_columns, rebuild_seconds)


def _columns(spark: SparkSession, table: str) -> list[tuple[str, str]]:
    return [(f.name, f.dataType.simpleString()) for f in spark.table(table).schema.fields]


def _except_all_both_ways(spark: SparkSession, table: str, scratch: str, columns: list[str]) -> tuple[int, int]:
    # Spark itself evaluates EXCEPT ALL by counting each row with a sign. Counting once gives both
    # directions from one scan and one shuffle, which is what dominates over a large table.
    listed = ", ".join(f"`{column}`" for column in columns)
    row = spark.sql(f"""
        SELECT
            COALESCE(SUM(GREATEST(-surplus, 0)), 0) AS missing,
            COALESCE(SUM(GREATEST(surplus, 0)), 0) AS surplus
        FROM (
            SELECT SUM(`its sign`) AS surplus
            FROM (
                SELECT {listed}, 1 AS `its sign` FROM {table}
                UNION ALL
                SELECT {listed}, -1 AS `its sign` FROM {scratch}
            )
            GROUP BY {listed}
            HAVING SUM(`its sign`) <> 0
        )""").collect()[0]
    return int(row["missing"]), int(row["surplus"])
