"""`python -m benchmarks.peers.base FOLDER ROWS CHANGES BATCHES`: the workload as Delta tables.

There is a version of `orders` for each batch, written once and read by every peer on Spark. What this takes is the
writer's, and no peer's.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ..session import benchmark_session, console_of
from .process import MEASURED, say
from .workload import Workload

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "peers"
DELTA = "delta"
"""Folder of the tables, in that of the workload."""

MERGE = """
MERGE INTO orders AS t USING (SELECT * FROM parquet.`{changes}` WHERE op <> 'UPDATE_BEFORE') AS s ON t.id = s.id
WHEN MATCHED AND s.op = 'DELETE' THEN DELETE
WHEN MATCHED THEN UPDATE SET t.customer = s.customer, t.amount = s.amount, t.made_at = s.made_at
WHEN NOT MATCHED THEN INSERT (id, customer, currency, amount, made_at)
    VALUES (s.id, s.customer, s.currency, s.amount, s.made_at)
"""


def write(spark: SparkSession, workload: Workload) -> float:
    """Seconds that the batches took. Version n of `orders` holds the first n of them."""
    _schema(spark)
    for name in ("customers", "rates", "orders"):
        spark.sql(
            f"CREATE TABLE {name} USING delta LOCATION '{_location(workload.folder, name)}' TBLPROPERTIES "
            f"(delta.enableDeletionVectors = true) AS SELECT * FROM parquet.`{workload.path(name)}`"
        )
    started = time.perf_counter()
    for n in range(1, workload.batches + 1):
        spark.sql(MERGE.format(changes=workload.path(f"batch_{n}")))
    return time.perf_counter() - started


def register(spark: SparkSession, folder: Path) -> None:
    """Names for the tables that `write` left in the folder of the workload."""
    _schema(spark)
    for name in ("customers", "rates", "orders"):
        spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{_location(folder, name)}'")


def _schema(spark: SparkSession) -> None:
    spark.sql(f"CREATE SCHEMA {SCHEMA}")
    spark.sql(f"USE {SCHEMA}")
    spark.conf.set("spark.sql.session.timeZone", "UTC")


def _location(folder: Path, name: str) -> str:
    return str(folder / DELTA / name)


if __name__ == "__main__":
    folder, rows, changes, batches = sys.argv[1:]
    with benchmark_session(console_of(120)) as (session, _):
        seconds = write(session, Workload(Path(folder), int(rows), int(changes), int(batches)))
        say({MEASURED: seconds})
