"""TPC-H data: parquet by the tpchgen-cli program, then Delta tables with change data feed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

TABLES = (
    "region",
    "nation",
    "supplier",
    "customer",
    "part",
    "partsupp",
    "orders",
    "lineitem",
)


class DataError(Exception):
    """The data could not be generated; the text says why and what to do."""


def generate(folder: Path, scale: float) -> Path:
    """Generate the eight tables as parquet below `folder`, or reuse what is there.

    Args:
        folder: where the data of all scales is kept; made if missing.
        scale: the TPC-H scale factor; 1 is about 6 million order lines.

    Returns:
        The folder that holds one `<table>.parquet` per table.

    Raises:
        DataError: the generator is not installed or failed.
    """
    finished = folder / f"tpch-sf{scale:g}"
    if all((finished / f"{table}.parquet").is_file() for table in TABLES):
        return finished
    # Generated aside and renamed at the end, so that an interrupted run is never taken for data.
    unfinished = folder / f"{finished.name}.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.rmtree(finished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    command = [_generator(), "parquet", "-s", f"{scale:g}", "--output-dir", str(unfinished)]
    outcome = subprocess.run(command, capture_output=True, text=True)
    if outcome.returncode != 0:
        raise DataError(f"tpchgen-cli could not generate scale {scale:g}: {outcome.stderr.strip()}")
    unfinished.rename(finished)
    return finished


def load(
    spark: SparkSession,
    parquet: Path,
    schema: str,
    on_table: Callable[[str, int], None] = lambda table, rows: None,
) -> dict[str, int]:
    """Load the eight tables into `schema`, replacing what is there.

    Args:
        spark: a session with Delta.
        parquet: what `generate` returned.
        schema: the schema to load into; made if missing.
        on_table: called with each table's name and number of rows once it is loaded.

    Returns:
        The number of rows of each table.
    """
    spark.sql(f"CREATE SCHEMA IF NOT EXISTS {schema}")
    rows = {}
    for table in TABLES:
        spark.sql(
            f"CREATE OR REPLACE TABLE {schema}.{table} USING delta"
            " TBLPROPERTIES (delta.enableChangeDataFeed = true)"
            f" AS SELECT * FROM parquet.`{parquet / table}.parquet`"
        )
        rows[table] = spark.table(f"{schema}.{table}").count()
        on_table(table, rows[table])
    return rows


def _generator() -> str:
    beside_python = Path(sys.executable).parent / "tpchgen-cli"
    found = shutil.which(str(beside_python)) or shutil.which("tpchgen-cli")
    if found is None:
        raise DataError(
            "The TPC-H generator tpchgen-cli is not installed: run `pip install 'dbt-spark-dynamic[demo]'`."
        )
    return found
