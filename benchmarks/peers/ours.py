"""`python -m benchmarks.peers.ours FOLDER BATCHES SHAPE`: a dynamic table, refreshed after each batch."""

from __future__ import annotations

import sys
from pathlib import Path

from dbt_spark_dynamic.reading.relations import Versioning
from integration_tests.maintained import Maintained

from ..session import benchmark_session, console_of
from .base import SCHEMA, register
from .process import in_batches, say
from .shapes import NAMED, Shape

RATES = {f"{SCHEMA}.rates": Versioning(("currency",))}


def maintain(folder: Path, batches: int, shape: Shape) -> None:
    with benchmark_session(console_of(120)) as (spark, _):
        register(spark, folder)
        tables = Maintained(spark, SCHEMA)
        options = {"sql": shape.sql, "unique_key": shape.unique_key, "versionings": RATES if shape.plain else {}}
        techniques: dict[str, None] = {}

        def refresh(n: int) -> None:
            outcome = tables.refresh("m", **options, until={f"{SCHEMA}.orders": n})
            if n:
                techniques[outcome.technique] = None

        took = in_batches(batches, refresh)
        say({**took, "how": " ".join(techniques)})
        tables.models["m"] = shape.batch_sql
        say({"different": tables.difference("m")})


if __name__ == "__main__":
    maintain(Path(sys.argv[1]), int(sys.argv[2]), NAMED[sys.argv[3]])
