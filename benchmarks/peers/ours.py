"""`python -m benchmarks.peers.ours FOLDER BATCHES SHAPE`: a dynamic table, refreshed after each batch."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path

from dbt_spark_dynamic.reading.relations import Versioning
from integration_tests.maintained import Maintained

from ..session import benchmark_session, console_of
from .base import SCHEMA, register
from .shapes import NAMED, Shape

RATES = {f"{SCHEMA}.rates": Versioning(("currency",))}


def maintain(folder: Path, batches: int, shape: Shape) -> None:
    with benchmark_session(console_of(120)) as (spark, _):
        register(spark, folder)
        tables = Maintained(spark, SCHEMA)
        options = {"sql": shape.sql, "unique_key": shape.unique_key, "versionings": RATES if shape.plain else {}}
        built, took, techniques = 0.0, list[float](), Counter[str]()
        for n in range(batches + 1):
            started = time.perf_counter()
            outcome = tables.refresh("m", **options, until={f"{SCHEMA}.orders": n})
            seconds = time.perf_counter() - started
            if n:
                took.append(seconds)
                techniques[outcome.technique] += 1
            else:
                built = seconds
        say({"seconds": sum(took), "each": took, "built": built, "how": " ".join(techniques)})
        tables.models["m"] = shape.batch_sql
        say({"different": tables.difference("m")})


def say(facts: dict[str, object]) -> None:
    print(json.dumps(facts), flush=True)


if __name__ == "__main__":
    maintain(Path(sys.argv[1]), int(sys.argv[2]), NAMED[sys.argv[3]])
