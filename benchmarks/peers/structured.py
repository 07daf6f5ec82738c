"""`python -m benchmarks.peers.structured FOLDER BATCHES SHAPE`: a stream of the change feed and a MERGE by hand.

Spark's streams have no join of changing tables, no top-N and no temporal join, so that what one writes by hand for
those is a program; here is the GROUP BY alone. Each batch of the workload is one of the stream.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from integration_tests.maintained import Maintained

from ..session import benchmark_session, console_of
from .base import SCHEMA, register
from .process import say
from .shapes import NAMED, Shape

BY_HAND = ("group by",)
"""The shapes that this peer has."""

SIGN = "CASE WHEN _change_type IN ('insert', 'update_postimage') THEN 1 ELSE -1 END"
MERGE = f"""
MERGE INTO m AS t USING (
    SELECT customer, SUM({SIGN}) AS n, SUM({SIGN} * amount) AS total FROM changes GROUP BY customer
) AS s ON t.customer <=> s.customer
WHEN MATCHED AND t.n + s.n = 0 THEN DELETE
WHEN MATCHED THEN UPDATE SET t.n = t.n + s.n, t.total = t.total + s.total
WHEN NOT MATCHED AND s.n <> 0 THEN INSERT *
"""


def stream(folder: Path, shape: Shape) -> None:
    with benchmark_session(console_of(120)) as (spark, store):
        register(spark, folder)
        first = shape.sql.replace("FROM orders", "FROM orders VERSION AS OF 0")
        started = time.perf_counter()
        spark.sql(f"CREATE TABLE m USING delta TBLPROPERTIES (delta.enableDeletionVectors = true) AS {first}")
        built = time.perf_counter() - started

        def merge(changes: Any, _: int) -> None:
            changes.createOrReplaceTempView("changes")
            changes.sparkSession.sql(MERGE)

        started = time.perf_counter()
        # A commit is taken whole, however few the files are that a batch may have.
        feed = spark.readStream.option("readChangeFeed", "true").option("startingVersion", 1)
        query = (
            feed.option("maxFilesPerTrigger", 1)
            .table("orders")
            .writeStream.foreachBatch(merge)
            .option("checkpointLocation", f"{store}/checkpoint")
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        took = time.perf_counter() - started
        say({"seconds": took, "built": built, "how": f"merge in {len(query.recentProgress)} batches"})
        say({"different": Maintained(spark, SCHEMA, {"m": shape.sql}).difference("m")})


if __name__ == "__main__":
    stream(Path(sys.argv[1]), NAMED[sys.argv[3]])
