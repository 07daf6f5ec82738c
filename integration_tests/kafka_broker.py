"""A real Kafka broker for a test: one process on loopback, its jars from Maven Central by the Ivy that Spark brings."""

from __future__ import annotations

import base64
import os
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from dbt_spark_dynamic.embedded.java import find_java_home
from dbt_spark_dynamic.embedded.settings import cache_folder

VERSION = "4.1.0"
SECONDS_TO_START = 120

PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={folder}/logs
num.partitions=2
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
"""


class NoJars(Exception):
    """The broker's jars are not on this machine and could not be fetched."""


@contextmanager
def broker(folder: Path) -> Iterator[str]:
    """The address of a broker that runs until the end. Raises NoJars."""
    java = find_java_home(folder / "java") / "bin/java"
    libs = jars(java)
    port, controller = free_port(), free_port()
    properties = folder / "server.properties"
    properties.write_text(PROPERTIES.format(port=port, controller=controller, folder=folder))
    run = [str(java), "-Xmx512m", "-cp", f"{libs}/*"]
    # Without the dash that one may begin with, which the tool would take for an option.
    cluster = base64.b64encode(uuid.uuid4().bytes, b"AB").decode()[:22]
    tool = [*run, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(properties)]
    subprocess.run(tool, check=True, capture_output=True, timeout=SECONDS_TO_START)
    with open(folder / "broker.log", "wb") as log:
        process = subprocess.Popen([*run, "kafka.Kafka", str(properties)], stdout=log, stderr=subprocess.STDOUT)
        try:
            wait_for(port, process, folder / "broker.log")
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)


def jars(java: Path) -> Path:
    return fetched(java, f"kafka-{VERSION}", "org.apache.kafka", "kafka_2.13", VERSION)


def token_provider() -> Path:
    """The jar that Spark's package for Kafka needs and not every mirror has for every Spark: this one's, or that of an
    older one, which serves as well. Raises NoJars."""
    java = find_java_home(cache_folder() / "java") / "bin/java"
    artifact = "spark-token-provider-kafka-0-10_2.13"
    why = NoJars()
    for spark in (version("pyspark"), "4.0.0"):
        try:
            libs = fetched(java, f"{artifact}-{spark}", "org.apache.spark", artifact, spark, "-notransitive")
            return next(libs.glob("spark-token-provider-*.jar"))
        except NoJars as error:
            why = error
    raise why


def fetched(java: Path, name: str, *dependency: str) -> Path:
    """A folder of jars, fetched once per user. Raises NoJars."""
    from pyspark.find_spark_home import _find_spark_home

    libs = cache_folder() / name
    if not libs.is_dir():
        (ivy,) = Path(_find_spark_home()).glob("jars/ivy-*.jar")
        draft = libs.with_name(f"{libs.name}.{os.getpid()}")
        coordinates, more = dependency[:3], dependency[3:]
        fetch = [str(java), "-jar", str(ivy), "-dependency", *coordinates, *more]
        where = ["-cache", str(draft / "ivy"), "-retrieve", f"{draft}/libs/[artifact]-[revision].[ext]"]
        found = subprocess.run([*fetch, "-confs", "default", *where], capture_output=True, text=True, timeout=400)
        if found.returncode or not list((draft / "libs").glob("*.jar")):
            raise NoJars(found.stdout[-500:] + found.stderr[-500:])
        (draft / "libs").rename(libs)
    return libs


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError(log.read_text()[-3000:])
