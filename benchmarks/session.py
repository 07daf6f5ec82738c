"""The Spark that a benchmark runs on: one machine, a store of its own that goes with it."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from dbt_spark_dynamic.embedded.session import open_session
from dbt_spark_dynamic.embedded.settings import EmbeddedSettings
from dbt_spark_dynamic.embedded.start_error import StartError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONF = {"spark.sql.ansi.enabled": "false"}
"""As dbt-spark sets it for every connection."""


def console_of(width: int) -> Console:
    """A terminal as it is; a file as wide as its table."""
    return Console() if sys.stdout.isatty() else Console(width=width)


@contextmanager
def benchmark_session(console: Console) -> Iterator[tuple[SparkSession, Path]]:
    """The session and the folder of its store. Where Spark cannot start, the process ends with why."""
    with tempfile.TemporaryDirectory(prefix="dbt-spark-dynamic-", ignore_cleanup_errors=True) as folder:
        try:
            spark = open_session(EmbeddedSettings(store=Path(folder), catalog="in-memory", conf=CONF))
        except StartError as error:
            console.print(str(error), style="red", markup=False)
            sys.exit(2)
        yield spark, Path(folder)
