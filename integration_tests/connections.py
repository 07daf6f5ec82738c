"""The ways to reach Spark, each with a real server on loopback where it has one.

`--connection` chooses between CONNECTIONS; tests marked `every_connection` run over what is SERVED, too.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark
import pytest

from dbt_spark_dynamic.embedded.conf import CHANGE_FEED_DEFAULT
from dbt_spark_dynamic.embedded.java import find_java_home
from dbt_spark_dynamic.embedded.session import open_session, running_root
from dbt_spark_dynamic.embedded.settings import EmbeddedSettings
from integration_tests.kafka_broker import free_port

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPARK_HOME = Path(pyspark.__file__).parent
SECONDS = 120
"""In which a server has to answer."""

IN_MEMORY = "in-memory"


@dataclass(frozen=True)
class Connection:
    """root: a session of the Spark that is reached, for tests to look at; new_session: another one; output: what a
    profile says to reach it."""

    root: SparkSession
    new_session: Callable[[], SparkSession]
    output: Mapping[str, Any] = field(default_factory=dict)


@contextmanager
def session(store: Path, conf: Mapping[str, str]) -> Iterator[Connection]:
    """A Spark in this process."""
    root = _embedded(EmbeddedSettings(store=store, catalog=IN_MEMORY, conf=dict(conf)))
    yield Connection(root, root.newSession)


@contextmanager
def cluster(store: Path, conf: Mapping[str, str]) -> Iterator[Connection]:
    """A driver in this process, and a standalone cluster of one worker."""
    port, worker_port = free_port(), free_port()
    java = {"JAVA_HOME": str(find_java_home(store / "java")), "SPARK_DAEMON_MEMORY": "512m"}
    launch = (str(SPARK_HOME / "bin/spark-class"), "org.apache.spark.deploy.")
    quiet = ("--host", "127.0.0.1", "--webui-port", "0")
    url = f"spark://127.0.0.1:{port}"
    master = (launch[0], launch[1] + "master.Master", *quiet, "--port", str(port))
    worker = (
        launch[0], launch[1] + "worker.Worker", *quiet, "--port", str(worker_port), "--cores", "2", "--memory", "1g",
        "--work-dir", str(store / "work"), url,
    )  # fmt: skip
    settings = {
        **conf,
        **_small(store),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.executor.memory": "700m",
    }
    with (
        running(store / "master.log", port, *master, **java),
        running(store / "worker.log", worker_port, *worker, **java),
    ):
        root = _embedded(EmbeddedSettings(store=store, catalog=IN_MEMORY, master=url, conf=settings))
        yield Connection(root, root.newSession, {"master": url})
        root.stop()


CONNECTIONS: dict[str, Callable[[Path, Mapping[str, str]], AbstractContextManager[Connection]]] = {
    "session": session,
    "cluster": cluster,
}
"""Each takes the folder of the tables and Spark's settings. Which one it is is decided once in a process."""

SERVED = ("thrift", "connect")


@contextmanager
def served(root: SparkSession) -> Iterator[dict[str, dict[str, Any]]]:
    """A Spark in this process serves others: what a profile says to reach it over thrift, by nothing but SQL, and over
    Spark Connect."""
    thrift, connect = free_port(), free_port()
    jvm = root._jvm
    conf = jvm.org.apache.spark.SparkEnv.get().conf()
    conf.set("spark.connect.grpc.binding.address", "127.0.0.1")
    conf.set("spark.connect.grpc.binding.port", str(connect))
    connect_server = jvm.org.apache.spark.sql.connect.service.SparkConnectService
    connect_server.start(root._jsc.sc())
    context = root._jsparkSession.sqlContext()
    context.setConf("hive.server2.thrift.bind.host", "127.0.0.1")
    context.setConf("hive.server2.thrift.port", str(thrift))
    thrift_server = jvm.org.apache.spark.sql.hive.thriftserver.HiveThriftServer2.startWithContext(context)
    yield {
        "thrift": {"method": "thrift", "host": "127.0.0.1", "port": thrift, "user": "dbt", "poll_interval": 0},
        "connect": {"master": f"sc://127.0.0.1:{connect}"},
    }
    thrift_server.stop()
    nothing = jvm.scala.Option.empty()
    connect_server.stop(nothing, nothing)


@contextmanager
def without_change_feeds(root: SparkSession) -> Iterator[None]:
    """Sessions that begin meanwhile make tables as on a server that somebody else has started."""
    conf = root._jvm.org.apache.spark.SparkEnv.get().conf()
    ours = conf.get(CHANGE_FEED_DEFAULT)
    conf.remove(CHANGE_FEED_DEFAULT)
    yield
    conf.set(CHANGE_FEED_DEFAULT, ours)


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


def _embedded(settings: EmbeddedSettings) -> SparkSession:
    open_session(settings)
    root = running_root()
    assert root is not None
    return root


def _small(store: Path) -> dict[str, str]:
    """What a Spark that we start for a user's own tables has without being asked, and one of a cluster has not."""
    return {
        "spark.sql.warehouse.dir": str(store / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.buffer.pageSize": "1m",
        "spark.ui.enabled": "false",
    }
