"""`python -m integration_tests.demo`: see dynamic tables being maintained by change."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import click
from pyspark.sql import SparkSession
from rich.console import Console

from dbt_spark_dynamic.embedded.session import open_session
from dbt_spark_dynamic.embedded.settings import STORE_VARIABLE, EmbeddedSettings, cache_folder
from dbt_spark_dynamic.embedded.start_error import StartError

from . import data, waves
from .check import Comparison, compare
from .project import Project, ProjectError, Refresh
from .report import complaints, created_table, wave_table

FOLDER = Path(__file__).resolve().parents[1] / "tpch"
# dbt-spark switches ANSI mode off; the rebuilds must mean the same as the models.
AS_DBT = {"spark.sql.ansi.enabled": "false"}
RAW, MARTS, SCRATCH = "tpch_raw", "tpch", "tpch_scratch"

NEXT = """
What to type next, in this folder:

  source .venv/bin/activate
  export {variable}={store}
  export DBT_PROJECT_DIR={project} DBT_PROFILES_DIR={project}

  dbt run                      # nothing has changed, so every table says NO CHANGE
  dbt run-operation execute --args '{{sql: "delete from {raw}.orders where o_orderkey < 100"}}'
  dbt run                      # reads and applies only that change
  dbt show --inline "select * from {marts}.customer_value_bands"

The models are in {project}/models/marts.
Edit a SELECT, and the next dbt run follows it.
"""


@dataclass(frozen=True)
class Demo:
    """What the steps of the demo share."""

    console: Console
    spark: SparkSession
    project: Project

    def load(self, parquet: Path) -> dict[str, int]:
        """Load the sources afresh and forget the tables of an earlier demo; give rows per table."""
        for schema in (MARTS, SCRATCH, RAW):
            self.spark.sql(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
        self.spark.sql(f"CREATE SCHEMA {SCRATCH}")
        started = time.perf_counter()
        with self.console.status("Loading the sources as Delta tables"):
            rows = data.load(self.spark, parquet, RAW, self._say_loaded)
        self.console.print(f"Loaded in {time.perf_counter() - started:.0f} s.")
        return rows

    def dbt_run(self) -> dict[str, Refresh]:
        """Do `dbt run` with its progress shown."""
        started = time.perf_counter()
        with self.console.status("dbt run") as status:
            refreshes = self.project.run(on_model=lambda model: status.update(f"dbt run: {model}"))
        self.console.print(f"dbt run: {time.perf_counter() - started:.1f} s.")
        return refreshes

    def change(self, rows: dict[str, int], fraction: float, seed: int) -> None:
        """Apply one wave of changes to the sources."""
        for change in waves.wave(RAW, fraction, seed, rows):
            with self.console.status(f"{change.table}: {change.action}"):
                [(_, changed)] = waves.apply(self.spark, RAW, [change])
            self.console.print(f"  {change.table}: {changed:,} {change.action}")

    def compare(self, refreshes: dict[str, Refresh]) -> dict[str, Comparison]:
        """Compare every dynamic table with a full rebuild of it."""
        comparisons = {}
        with self.console.status("") as status:
            for model, refresh in refreshes.items():
                status.update(f"comparing {model} with a full rebuild")
                comparisons[model] = compare(self.spark, refresh.relation, refresh.query, f"{SCRATCH}.{model}")
        return comparisons

    def _say_loaded(self, table: str, rows: int) -> None:
        self.console.print(f"  {table}: {rows:,} rows")


@click.command()
@click.option("--scale", default=0.1, show_default=True, help="TPC-H scale factor.")
@click.option("--waves", "count", default=3, show_default=True, help="Waves of changes.")
@click.option(
    "--fraction",
    default=0.001,
    show_default=True,
    help="Share of the orders (and customers) that each change of a wave touches.",
)
@click.option(
    "--store",
    type=click.Path(file_okay=False, path_type=Path),
    default=lambda: cache_folder() / "demo",
    show_default="demo in the user's cache folder",
    help="Folder for data and tables; the generated data is reused.",
)
def demo(scale: float, count: int, fraction: float, store: Path) -> None:
    """Maintain twelve dynamic tables over TPC-H through waves of changes, and check each one."""
    console = Console()
    started = time.perf_counter()
    try:
        faults = play(console, scale, count, fraction, store.absolute())
    except (StartError, data.DataError, ProjectError) as error:
        console.print(str(error), style="red", markup=False)
        sys.exit(2)
    for fault in faults:
        console.print(fault, style="red", markup=False)
    if faults:
        sys.exit(1)
    seconds = time.perf_counter() - started
    console.print(f"Every table equals its query after every wave. {seconds:.0f} s in all.")


def play(console: Console, scale: float, count: int, fraction: float, store: Path) -> list[str]:
    """Play the whole demo; give one sentence for everything that was not as claimed."""
    with console.status(f"Generating TPC-H at scale {scale:g}"):
        parquet = data.generate(store, scale)
    console.print(f"TPC-H at scale {scale:g} is in {parquet}.")
    # dbt opens its own sessions by the profile; the variable brings both to the same store.
    tables = store / "tables"
    os.environ[STORE_VARIABLE] = str(tables)
    with console.status("Starting Spark"):
        spark = open_session(EmbeddedSettings(store=tables, conf=AS_DBT))
    show = Demo(console, spark, Project(FOLDER, store / "dbt"))
    rows = show.load(parquet)
    console.print(created_table(show.dbt_run()))
    faults = []
    for seed in range(1, count + 1):
        title = f"Wave {seed} of {count}"
        console.rule(title)
        show.change(rows, fraction, seed)
        refreshes = show.dbt_run()
        comparisons = show.compare(refreshes)
        console.print(wave_table(title, refreshes, comparisons))
        faults += [f"{title}: {fault}" for fault in complaints(refreshes, comparisons)]
    spark.sql(f"DROP SCHEMA {SCRATCH} CASCADE")
    console.print(next_steps(tables), markup=False, highlight=False, soft_wrap=True)
    return faults


def next_steps(tables: Path) -> str:
    """What a reader can type once the demo is over."""
    project = os.path.relpath(FOLDER)
    return NEXT.format(variable=STORE_VARIABLE, store=tables, project=project, raw=RAW, marts=MARTS)


if __name__ == "__main__":
    demo()
