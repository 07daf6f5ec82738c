"""The same small test on every way to reach Spark that the other tests do not use: a cluster, and Spark Connect.

Each runs dbt in a process of its own: how Spark is reached is decided once in a process.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest
import yaml

from dbt_spark_dynamic.embedded.conf import DELTA_EXTENSION
from dbt_spark_dynamic.embedded.jars import installed_delta
from dbt_spark_dynamic.embedded.java import find_java_home
from dbt_spark_dynamic.embedded.settings import cache_folder

SPARK_HOME = Path(pyspark.__file__).parent
SECONDS = 120

CHANGES = """
{% macro change() %}
  {% do run_query("insert into " ~ target.schema ~ ".orders values (4, 'b', 40), (5, 'a', 2)") %}
  {% do run_query("delete from " ~ target.schema ~ ".orders where id = 3") %}
{% endmacro %}
{% macro rows() %}
  {% for row in run_query("select customer, n, total from " ~ target.schema ~ ".totals order by customer") %}
    {{ log("row " ~ row[0] ~ " " ~ row[1] ~ " " ~ row[2], info=true) }}
  {% endfor %}
{% endmacro %}
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A project of a seed and two dynamic tables."""
    (tmp_path / "models").mkdir()
    (tmp_path / "seeds").mkdir()
    (tmp_path / "macros").mkdir()
    (tmp_path / "dbt_project.yml").write_text("{name: shop, version: '1.0', profile: shop}")
    (tmp_path / "seeds/orders.csv").write_text("id,customer,amount\n1,a,10\n2,a,\n3,it's,30\n")
    (tmp_path / "macros/change.sql").write_text(CHANGES)
    dynamic = "{{ config(materialized='dynamic_table') }}\n"
    (tmp_path / "models/totals.sql").write_text(
        dynamic + "select customer, count(*) as n, sum(amount) as total from {{ ref('orders') }} group by customer"
    )
    (tmp_path / "models/large.sql").write_text(dynamic + "select customer from {{ ref('totals') }} where total > 5")
    return tmp_path


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def running(log: Path, port: int, *command: str, **variables: str) -> Iterator[None]:
    """A server of Spark on loopback, ready when its port answers, stopped at the end."""
    with log.open("w") as said:
        server = subprocess.Popen(
            command, stdout=said, stderr=subprocess.STDOUT, start_new_session=True, cwd=log.parent,
            env={**os.environ, "SPARK_HOME": str(SPARK_HOME), "SPARK_LOCAL_IP": "127.0.0.1", **variables},
        )  # fmt: skip
    try:
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline and server.poll() is None:
            with socket.socket() as probe:
                probe.settimeout(1)
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.3)
        else:
            pytest.fail(f"{command[0]} did not start: {log.read_text()[-2000:]}")
        yield
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(30)


COMMANDS = (["debug"], ["build"], ["run-operation", "change"], ["run"], ["run-operation", "rows"])

RUN = """
import json, sys
from pathlib import Path
from dbt.cli.main import dbtRunner
for command in json.loads(sys.argv[1]):
    if not dbtRunner().invoke(["--no-use-colors", *command]).success:
        sys.exit(f"dbt {command} failed")
    results = Path("target/run_results.json")
    if command[0] in ("build", "run"):
        results.rename(f"target/{command[0]}.json")
"""


def tried(project: Path, output: dict[str, object], **variables: str) -> None:
    """Looks at the connection, creates the tables, changes the seed, refreshes the tables, and reads them."""
    profile = {"shop": {"target": "dev", "outputs": {"dev": {"type": "spark_dynamic", "schema": "shop", **output}}}}
    (project / "profiles.yml").write_text(yaml.safe_dump(profile))
    ran = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(COMMANDS)],
        cwd=project, capture_output=True, text=True, timeout=5 * SECONDS, check=False,
        env={**os.environ, "DBT_PROFILES_DIR": str(project), "DBT_SEND_ANONYMOUS_USAGE_STATS": "false", **variables},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-2000:]
    assert "delta tables: understood [OK]" in ran.stdout
    assert codes(project, "build") == {"totals": "CREATED", "large": "CREATED"}
    assert codes(project, "run") == {"totals": "INCREMENTAL", "large": "INCREMENTAL"}
    assert "row a 3 12" in ran.stdout and "row b 1 40" in ran.stdout and "it's" not in ran.stdout


def codes(project: Path, command: str) -> dict[str, str]:
    results = json.loads((project / f"target/{command}.json").read_text())["results"]
    responses = {r["unique_id"].split(".")[-1]: r["adapter_response"] for r in results}
    return {name: responses[name]["code"] for name in ("totals", "large")}


@pytest.fixture
def jars(spark: object) -> str:
    """Delta's jars; the Spark of the other tests has fetched them."""
    found = installed_delta().found(cache_folder())
    assert found, "no Delta jars in the cache"
    return ":".join(map(str, found))


def test_a_standalone_cluster(shop: Path, jars: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("cluster")
    port, worker_port = free_port(), free_port()
    java = {"JAVA_HOME": str(find_java_home(folder / "java")), "SPARK_DAEMON_MEMORY": "512m"}
    launch = (str(SPARK_HOME / "bin/spark-class"), "org.apache.spark.deploy.")
    quiet = ("--host", "127.0.0.1", "--webui-port", "0")
    master = (launch[0], launch[1] + "master.Master", *quiet, "--port", str(port))
    worker = (
        launch[0], launch[1] + "worker.Worker", *quiet, "--port", str(worker_port), "--cores", "1", "--memory", "1g",
        "--work-dir", str(folder / "work"), f"spark://127.0.0.1:{port}",
    )  # fmt: skip
    settings = {
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/metastore_db;create=true",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.executor.memory": "700m",
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.buffer.pageSize": "1m",
        "spark.ui.enabled": "false",
    }
    with (
        running(folder / "master.log", port, *master, **java),
        running(folder / "worker.log", worker_port, *worker, **java),
    ):
        output = {"master": f"spark://127.0.0.1:{port}", "server_side_parameters": settings}
        tried(shop, output, DBT_SPARK_DYNAMIC_STORE=str(folder))


def test_spark_connect(shop: Path, jars: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    pytest.importorskip("grpc")
    folder, port = tmp_path_factory.mktemp("connect"), free_port()
    settings = {
        "spark.sql.extensions": DELTA_EXTENSION,
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.buffer.pageSize": "1m",
        "spark.ui.enabled": "false",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
    }
    server = (
        str(SPARK_HOME / "bin/spark-submit"), "--class", "org.apache.spark.sql.connect.service.SparkConnectServer",
        "--master", "local[2]", "--driver-memory", "1200m", "--driver-class-path", jars,
        *(part for name, value in settings.items() for part in ("--conf", f"{name}={value}")), "spark-internal",
    )  # fmt: skip
    with running(folder / "server.log", port, *server, JAVA_HOME=str(find_java_home(folder / "java"))):
        tried(shop, {}, SPARK_REMOTE=f"sc://127.0.0.1:{port}")
