"""`python -m benchmarks.project`: a dbt project of 49 models run day by day, as dynamic tables and as tables."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.box import SIMPLE_HEAD
from rich.table import Table

from dbt_spark_dynamic.embedded.session import open_session
from dbt_spark_dynamic.embedded.settings import STORE_VARIABLE, EmbeddedSettings, cache_folder
from integration_tests.demo import data, waves
from integration_tests.demo.project import Project, Refresh

from .session import CONF, console_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = Path(__file__).with_name("shop")
RAW = "shop_raw"
KINDS = ("dynamic_table", "table")
CHANGES = 4
"""Kinds of changes of orders and lines that a wave makes, each of as many orders."""


@dataclass(frozen=True)
class Day:
    """seconds: of `dbt run` as a whole, by kind; refreshes: of the dynamic tables."""

    seconds: Mapping[str, float]
    refreshes: Mapping[str, Refresh]

    @property
    def ratio(self) -> float:
        return self.seconds["dynamic_table"] / self.seconds["table"]


class Shop:
    """spark: to change the sources with; threads: models at a time, of both kinds; projects: one for each kind, each
    with a schema of its own."""

    def __init__(self, spark: SparkSession, workspace: Path, threads: int) -> None:
        self._spark, self._threads = spark, threads
        self._projects = {
            kind: Project(FOLDER, workspace / kind, {"kind": kind, "mart_schema": schema(kind)}) for kind in KINDS
        }

    def run(self, first: str) -> Day:
        """`dbt run` of both. first: which of them is first, and finds nothing of the sources in memory."""
        seconds, refreshes = {}, {}
        for kind in (first, *(k for k in KINDS if k != first)):
            started = time.perf_counter()
            found = self._projects[kind].run("--threads", str(self._threads))
            seconds[kind] = time.perf_counter() - started
            refreshes |= found
        return Day(seconds, refreshes)

    def different(self, models: Mapping[str, Refresh]) -> list[str]:
        """Models of which the dynamic table and the table do not have the same rows."""
        return [name for name in models if len({self._rows(kind, name) for kind in KINDS}) > 1]

    def _rows(self, kind: str, name: str) -> tuple[object, ...]:
        """How many there are and the sum of their hashes, which equal rows have; others, once in 2^64 times. To set one
        by one beside the other takes longer than all the rest: 20 minutes of 30 M lines with their orders."""
        table = f"{schema(kind)}.{name}"
        cells = ", ".join(f"`{c}`, `{c}` IS NULL" for c in sorted(self._spark.table(table).columns))
        told = f"SELECT COUNT(*), SUM(CAST(XXHASH64({cells}) AS DECIMAL(38, 0))) FROM {table}"
        return tuple(self._spark.sql(told).collect()[0])


def schema(kind: str) -> str:
    return f"shop_{kind}"


@click.command()
@click.option("--scale", default=1.0, show_default=True, help="TPC-H scale factor of the sources.")
@click.option("--days", default=3, show_default=True, help="Batches of changes, each before one `dbt run` of both.")
@click.option("--share", default=0.01, show_default=True, help="Share of the orders that a batch changes.")
@click.option("--latest", type=float, help="Share of the orders, the last ones, that change; any do by default.")
@click.option("--threads", default=1, show_default=True, help="Models that dbt runs at a time.")
def project(scale: float, days: int, share: float, latest: float | None, threads: int) -> None:
    """The whole of `dbt run`, with what dbt itself takes: orders come, change and go, and so do their lines."""
    console = console_of(120)
    with tempfile.TemporaryDirectory(prefix="dbt-spark-dynamic-", ignore_cleanup_errors=True) as folder:
        os.environ[STORE_VARIABLE] = str(Path(folder) / "tables")
        spark = open_session(EmbeddedSettings(store=Path(folder) / "tables", conf=CONF))
        rows = data.load(spark, data.generate(cache_folder() / "demo", scale), RAW, lambda *_: None)
        shop = Shop(spark, Path(folder) / "dbt", threads)
        console.print(row("built", shop.run("table")))
        for day in range(1, days + 1):
            waves.apply(spark, RAW, waves.wave(RAW, share / CHANGES, day, rows, latest))
            ran = shop.run(KINDS[day % 2])
            console.print(row(f"day {day}", ran))
            console.print(slowest(ran, day))
        if wrong := shop.different(ran.refreshes):
            console.print(f"not what the table is: {', '.join(wrong)}", style="red")
            sys.exit(1)
        console.print(f"All {len(ran.refreshes)} dynamic tables equal the tables.")


def row(when: str, day: Day) -> str:
    dynamic, tables = (day.seconds[kind] for kind in KINDS)
    return f"{when}: dynamic tables {dynamic:.1f} s, tables {tables:.1f} s, {day.ratio:.2f} of them"


def slowest(ran: Day, day: int) -> Table:
    table = Table("model", "code", "technique", "seconds", box=SIMPLE_HEAD, title=f"The slowest of day {day}")
    for refresh in sorted(ran.refreshes.values(), key=lambda r: -r.seconds)[:15]:
        table.add_row(refresh.model, refresh.code, refresh.technique, f"{refresh.seconds:.1f}")
    return table


if __name__ == "__main__":
    project()
