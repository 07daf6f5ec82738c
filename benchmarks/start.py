"""`python -m benchmarks.start`: what the start of a `dbt run` takes, and what of it `dbt-dynamic serve` spares."""

from __future__ import annotations

import json
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from integration_tests.own_process import CLI, shop_project

from .session import console_of

STEPS = {
    "dbt": "Python, dbt's imports, parsing",
    "jars": "resolved and fetched by Ivy",
    "java": "Java up to its first answer",
    "spark": "Spark's context, or a visit to the server's",
    "catalog": "the first statement: the metastore",
    "run": "two models: one more row, one refresh",
    "end": "Java ended",
}

FILES = {
    "models/visits.sql": "{{ config(materialized='incremental') }} select {{ range(100000) | random }} as id",
    "models/totals.sql": "{{ config(materialized='dynamic_table') }}\n"
    "select id % 2 as half, count(*) as n from {{ ref('visits') }} group by id % 2",
    "profiles.yml": "shop: {target: dev, outputs: {dev: {type: spark_dynamic, schema: shop}}}",
}

RESOLVED = re.compile(r"resolution report :: resolve (\d+)ms :: artifacts dl (\d+)ms")


@dataclass(frozen=True)
class Start:
    """One `dbt run`. seconds: of each of STEPS; resolved: whether Ivy was asked for anything."""

    seconds: Mapping[str, float]
    resolved: bool

    @property
    def total(self) -> float:
        return sum(self.seconds.values())


@dataclass(frozen=True)
class Shop:
    """The project in a folder, with a store and a cache of jars of its own."""

    folder: Path
    environment: Mapping[str, str]

    @classmethod
    def made(cls, folder: Path) -> Shop:
        return cls(folder, {**shop_project(folder, FILES), "XDG_CACHE_HOME": str(folder / "cache")})

    def run(self) -> Start:
        """Raises click.ClickException with what dbt said if it failed."""
        took, log = self.folder / "took.json", self.folder / "store/spark.log"
        written = log.stat().st_mtime_ns if log.exists() else 0
        command = [sys.executable, "-m", "benchmarks.stopwatch", str(took), str(time.time()), "run"]
        folders = ["--project-dir", str(self.folder), "--profiles-dir", str(self.folder)]
        ran = subprocess.run([*command, *folders], env=self.environment, capture_output=True, text=True)
        over = time.time()
        if ran.returncode:
            raise click.ClickException(ran.stdout + ran.stderr)
        seconds: dict[str, float] = json.loads(took.read_text())
        end = over - seconds.pop("ended")
        said = log.read_text() if log.stat().st_mtime_ns != written else ""
        jars = sum(int(part) for found in RESOLVED.findall(said) for part in found) / 1000
        seconds |= {"jars": jars, "java": seconds["java"] - jars, "end": end}
        return Start(seconds, "resolving dependencies" in said)

    @contextmanager
    def served(self) -> Iterator[float]:
        """A server of its store; the seconds until it was there."""
        began = time.time()
        server = subprocess.Popen(
            [*CLI, "serve"],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            assert server.stdout is not None
            said = server.stdout.readline()
            if "is served by" not in said:
                raise click.ClickException(said + server.stdout.read())
            yield time.time() - began
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(60)


@click.command()
@click.option("--repeat", default=3, show_default=True, help="Runs of each kind but the first.")
def benchmark(repeat: int) -> None:
    """Seconds of each step of a `dbt run` of two small models: on a new machine, on one with the jars, with a server.

    It ends with an error if Ivy is asked for anything where the jars are there."""
    console = console_of(140)
    with tempfile.TemporaryDirectory(prefix="dbt-spark-dynamic-", ignore_cleanup_errors=True) as folder:
        shop = Shop.made(Path(folder))
        with console.status("Starting"):
            first = shop.run()
            # One leaves a sign that it is not the last, and the next fills the archive of Java's classes.
            for _ in range(2):
                shop.run()
            later = [shop.run() for _ in range(repeat)]
            with shop.served() as ready:
                fresh = shop.run()
                visits = [shop.run() for _ in range(repeat)]
    columns = {"first start": [first], "later start": later, "served, first": [fresh], "served, later": visits}
    console.print(report(columns))
    console.print(f"The server itself took {ready:.1f} s to start. Medians of {repeat}.")
    _refuse_resolution(console, [*later, fresh, *visits])


def report(columns: Mapping[str, Sequence[Start]]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("", "step"):
        table.add_column(heading, no_wrap=True)
    for heading in columns:
        table.add_column(heading, justify="right", no_wrap=True)
    for step, text in STEPS.items():
        table.add_row(step, text, *(_shown([s.seconds[step] for s in starts]) for starts in columns.values()))
    table.add_section()
    table.add_row("all", "", *(_shown([s.total for s in starts]) for starts in columns.values()), style="bold")
    resolved = ("yes" if any(s.resolved for s in starts) else "no" for starts in columns.values())
    table.add_row("", "Ivy asked for anything", *resolved)
    return table


def _shown(seconds: Sequence[float]) -> str:
    median = statistics.median(seconds)
    return f"{median:.1f} s" if median >= 0.05 else ""


def _refuse_resolution(console: Console, starts: Sequence[Start]) -> None:
    if any(start.resolved for start in starts):
        console.print("Ivy was asked for jars that are there already.", style="red")
        sys.exit(1)


if __name__ == "__main__":
    benchmark()
