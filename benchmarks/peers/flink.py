"""Flink, in an environment of its own below `build/`: it is no dependency of this project.

Its best settings for this, as far as known here: the changelog as Parquet, which it reads with the least work, turned
into changes by FROM_CHANGELOG; state on the heap, no checkpoints, mini-batches, reused objects, as many tasks as cores,
and a heap of three times what Spark is given.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from decimal import Decimal
from pathlib import Path

import duckdb
import pyspark

from dbt_spark_dynamic.embedded.java import find_java_home

from .process import measured
from .shapes import SOURCES, Shape
from .workload import Workload

VERSION = "2.3.0"
HOME = Path(__file__).parents[2] / "build" / "peers"
ENVIRONMENT = HOME / "flink-venv"
JAR = HOME / f"flink-sql-parquet-{VERSION}.jar"
JOB = Path(__file__).with_name("flink_job.py")
SPARK_JARS = Path(pyspark.__file__).parent / "jars"
HEAP = "12g"


class NotInstalled(Exception):
    """Flink could not be installed, and why."""


def install() -> None:
    """Flink into its environment, and its reader of Parquet from Maven Central, unless they are there. Raises
    NotInstalled."""
    python = ENVIRONMENT / "bin" / "python"
    if not (ENVIRONMENT / "bin" / "pyflink-shell.sh").exists():
        if sys.version_info >= (3, 13):
            raise NotInstalled(
                f"apache-flink {VERSION} runs on Python 3.9 to 3.12, and this is {sys.version.split()[0]}."
            )
        venv.create(ENVIRONMENT, with_pip=True, clear=True)
        _run([str(python), "-m", "pip", "install", "--quiet", f"apache-flink=={VERSION}"])
    if not JAR.exists():
        ivy = next(SPARK_JARS.glob("ivy-*.jar"))
        _run(
            [
                str(_java()), f"-Divy.default.ivy.user.dir={HOME / 'ivy'}", "-jar", str(ivy), "-dependency",
                "org.apache.flink", "flink-sql-parquet", VERSION, "-confs", "master", "-types", "jar", "bundle",
                "-retrieve", f"{HOME}/[artifact]-[revision].[ext]",
            ]
        )  # fmt: skip


def maintain(workload: Workload, small: Workload, shape: Shape, log: Path) -> tuple[dict, int]:
    """What the job said and its peak of memory. Its result over the small workload is compared with DuckDB's."""
    job = {
        "folder": str(workload.folder),
        "small": str(small.folder),
        "sql": shape.sql,
        "columns": shape.columns,
        "checksum": shape.checksum(shape.sql),
        "temporal": bool(shape.plain),
        "jars": [JAR.as_uri()],
    }
    path = log.with_suffix(".json")
    path.write_text(json.dumps(job))
    # Its reader of Parquet takes Hadoop from whoever has it.
    hadoop = ":".join(str(jar) for jar in SPARK_JARS.glob("hadoop-client-*.jar"))
    environment = {
        "HADOOP_CLASSPATH": hadoop,
        "JAVA_HOME": str(_java().parents[1]),
        "JVM_ARGS": f"-Xmx{HEAP} -XX:+UseParallelGC",
    }
    said, peak = measured(
        [str(ENVIRONMENT / "bin" / "python"), str(JOB), str(path)],
        log,
        environment,
    )
    told, expected = [Decimal(v) for v in said["checksum"]], expected_sums(small, shape)
    return said | {"different": int(told != expected)}, peak


def expected_sums(workload: Workload, shape: Shape) -> list[Decimal]:
    """Of the shape's query over the orders at the end, by DuckDB."""
    with duckdb.connect() as db:
        for name in SOURCES:
            path = workload.path("after" if name == "orders" else name)
            db.sql(f"CREATE VIEW {name} AS SELECT * FROM '{path}'")
        (row,) = db.sql(shape.checksum(shape.batch_sql)).fetchall()
    return [Decimal(str(v)) for v in row]


def _java() -> Path:
    return Path(find_java_home(HOME)) / "bin" / "java"


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise NotInstalled(f"{' '.join(command)}:\n{(done.stderr or done.stdout)[-2000:]}")
