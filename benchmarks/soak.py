"""`python -m benchmarks.soak`: an hour of watching, and whether memory, files or lag grow.

A writer commits inserts, updates and deletes to a base table, each as soon as the one before has arrived in all tables
of a watched chain. Every quarter of the time is a line; at the end every table is compared with its query.

A machine may be quicker in one quarter than in another. So every tenth commit is followed by a bare MERGE into a table
that nobody watches, and the lag is also told in such MERGEs.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import click
from rich.box import SIMPLE_HEAD
from rich.table import Table

from integration_tests.maintained import shorter_log

from .latency import BARE_MERGE, MODELS, Latency, percentile
from .session import benchmark_session, console_of

QUARTERS = 4
LAST = list(MODELS)[-1]
MEGABYTE = 2**20
EVERY = 10
"""Commits from one bare MERGE to the next."""

BATCH = "SELECT CAST(id AS INT) AS customer, CAST(1 AS DECIMAL(12,2)) AS amount FROM RANGE({some}, {some} + 10)"

CHANGES = (
    "INSERT INTO bench.sales SELECT id, CAST(id % 97 AS INT), 1.00 FROM RANGE({fresh}, {fresh} + 10)",
    "UPDATE bench.sales SET amount = amount + 1 WHERE id BETWEEN {some} AND {some} + 9",
    "DELETE FROM bench.sales WHERE id BETWEEN {some} AND {some} + 9",
)


@dataclass
class Quarter:
    """lags: seconds from a commit to the last table of the chain; bare: of each bare MERGE; memory: bytes that this
    process has and that its Spark still holds once what nobody needs is collected, at the end; files: of each table at
    the end."""

    lags: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)
    memory: int = 0
    files: dict[str, int] = field(default_factory=dict)


def soak(run: Latency, minutes: float) -> Iterator[Quarter]:
    """Each quarter as it ends."""
    rng, n = random.Random(1), 0
    for _ in range(QUARTERS):
        quarter, until = Quarter(), time.monotonic() + minutes * 60 / QUARTERS
        while time.monotonic() < until:
            n += 1
            said = {"fresh": run.rows + 10 * n, "some": rng.randrange(run.rows)}
            run.spark.sql(rng.choice(CHANGES).format(**said))
            quarter.lags.append(run.arrivals(MODELS)[LAST])
            if n % EVERY == 0 or not quarter.bare:
                quarter.bare.append(bare_merge(run, rng.randrange(run.rows // 10)))
        quarter.memory = resident() + held(run)
        quarter.files = {name: files(run, name) for name in MODELS}
        yield quarter


def bare_merge(run: Latency, some: int) -> float:
    """Seconds of merging ten rows by hand."""
    run.spark.sql(BATCH.format(some=some)).createOrReplaceTempView("batch")
    began = time.monotonic()
    run.spark.sql(BARE_MERGE)
    return time.monotonic() - began


def files(run: Latency, table: str) -> int:
    return int(run.spark.sql(f"DESCRIBE DETAIL {table}").first()["numFiles"])


def held(run: Latency) -> int:
    """Bytes of Spark's heap that are in use: what its process has only shows how large the heap has once been."""
    run.spark._jvm.System.gc()
    runtime = run.spark._jvm.Runtime.getRuntime()
    return int(runtime.totalMemory() - runtime.freeMemory())


def resident() -> int:
    """Bytes of memory that this process has."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))


def wrong(run: Latency) -> list[str]:
    """The tables that are not their query."""
    return [
        name
        for name, sql in MODELS.items()
        if run.spark.sql(f"(TABLE {name} EXCEPT ALL {sql}) UNION ALL ({sql} EXCEPT ALL TABLE {name})").count()
    ]


@click.command()
@click.option("--rows", default=1_000_000, show_default=True, help="Rows of the base table.")
@click.option("--minutes", default=60.0, show_default=True, help="How long.")
@click.option("--kept-for", default="", help="How long the chain's tables keep their logs: 'interval 10 minutes'.")
def main(rows: int, minutes: float, kept_for: str) -> None:
    """Lag, memory and files of a watched chain while a writer goes on and on."""
    console = console_of(120)
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in (
        "quarter",
        "commits",
        "lag p50",
        "p95",
        "bare MERGE p50",
        "lag of it",
        "memory",
        *(f"files of {name.removeprefix('bench.')}" for name in MODELS),
    ):
        table.add_column(heading, justify="right")
    with benchmark_session(console) as (spark, _):
        run = Latency(spark, rows, 0)
        with console.status(f"Making a source of {rows:,} rows") as status:
            run.load()
            spark.sql("ALTER TABLE bench.sales SET TBLPROPERTIES ('delta.autoOptimize.autoCompact' = 'true')")
            for name in MODELS if kept_for else ():
                spark.sql(shorter_log(name, kept_for))
            with run.watched():
                for number, quarter in enumerate(soak(run, minutes), 1):
                    half, most = statistics.median(quarter.lags), percentile(quarter.lags, 0.95)
                    bare = statistics.median(quarter.bare)
                    table.add_row(
                        str(number), str(len(quarter.lags)), f"{half:.2f}s", f"{most:.2f}s", f"{bare:.2f}s",
                        f"{half / bare:.1f}", f"{quarter.memory // MEGABYTE:,} MB", *map(str, quarter.files.values()),
                    )  # fmt: skip
                    status.update(f"quarter {number} of {QUARTERS} done: {len(quarter.lags)} commits")
        differing = wrong(run)
    console.print(table)
    if differing:
        console.print(f"Not their query: {', '.join(differing)}", style="red")
        sys.exit(1)
    console.print("Every table is its query.")


if __name__ == "__main__":
    main()
