"""The Java process: started quietly, explained in one sentence when it does not start or ends too soon, ended with this
process."""

from __future__ import annotations

import atexit
import logging
import os
import signal
import subprocess
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..commit.classic import java_class
from .class_archive import ClassArchive
from .conf import merged
from .jars import spark_jars
from .java import OPTIONS, find_java_home
from .settings import cache_folder
from .start_error import StartError
from .store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECONDS_TO_END = 20

HEAP_TOO_SMALL = 52
"""What Spark ends Java with where its memory was used up (SparkExitCode.OOM)."""

_store: Store | None = None
"""Of the Java that was started last, whose log is there."""
_archive: ClassArchive | None = None
"""Of its classes."""


def launch(conf: Mapping[str, str], store: Store, *, is_local: bool, fetching: str = "") -> SparkSession:
    """Start Spark with this configuration, its output going to the store's log, and return its root
    session.

    fetching: the packages that Spark has to fetch on the way, for the message if that fails. Raises
    StartError.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    global _store, _archive
    _store = store
    silence_pyspark()
    spark = SparkConf(loadDefaults=False).setAll(list(conf.items()))
    # A Spark that was stopped in this process has left its Java process behind, and pyspark allows only one.
    gateway = SparkContext._gateway
    if gateway is None:
        variables = java_environment(store, is_local)
        _archive = None
        if is_local:
            _archive = ClassArchive.of(conf, Path(variables["JAVA_HOME"]), spark_jars(), cache_folder())
        if _archive is not None:
            spark.set(OPTIONS, merged({OPTIONS: _archive.options()}, dict(conf))[OPTIONS])
        try:
            gateway = _java(spark, store, variables, fetching)
        except StartError:
            if _archive is not None:
                _archive.distrust()
            raise
    context = SparkContext(gateway=gateway, conf=spark)
    atexit.register(stop, context)
    return SparkSession(context)


def fetch(conf: Mapping[str, str], store: Store, *, is_local: bool, fetching: str) -> None:
    """Have Spark fetch packages, and do no more: of those that it fetches for itself, a server that it becomes does not
    find the classes, as it does on the class path. Raises StartError."""
    from pyspark import SparkConf

    spark = SparkConf(loadDefaults=False).setAll(list(conf.items()))
    # They are there before Java has anything to do.
    gateway = _java(spark, store, java_environment(store, is_local), fetching)
    gateway.shutdown()
    _end(gateway.proc)


def _java(spark: Any, store: Store, variables: Mapping[str, str], fetching: str) -> Any:
    """The gateway to a new Java process. spark: a SparkConf."""
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    with store.open_log() as log, environment(variables):
        try:
            return launch_gateway(spark, {"stdout": log, "stderr": subprocess.STDOUT})
        except PySparkRuntimeError as error:
            raise not_started(store, fetching) from error


def java_environment(store: Store, is_local: bool) -> dict[str, str]:
    """Which Java is started and, on one machine, on which address; Spark takes both from the environment."""
    variables = {"JAVA_HOME": str(find_java_home(store.java))}
    if is_local:
        # Without it Spark looks this host's name up, which is slow or wrong on many a laptop.
        variables["SPARK_LOCAL_IP"] = "127.0.0.1"
    return variables


def silence_pyspark() -> None:
    """Keep pyspark from printing a JSON line with a Java stack for each failed statement, for dbt shows the error; and
    from warning of a pandas that nothing here uses, as it does in every process that finds a new one installed."""
    logging.getLogger("SQLQueryContextLogger").disabled = True
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    # py4j logs to the root logger where Java ends between two of its answers.
    logging.getLogger().addFilter(_is_news)


def _is_news(record: logging.LogRecord) -> bool:
    """False for a traceback of py4j's that Java is gone, which is said in a sentence (`ended`)."""
    from py4j.protocol import Py4JNetworkError

    return not (record.exc_info and isinstance(record.exc_info[1], Py4JNetworkError))


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """These environment variables, for the child process that is started inside."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def not_started(store: Store, fetching: str) -> StartError:
    """Why the Java process ended before it could be used, from what it wrote."""
    said = store.log.read_text(errors="replace")
    if fetching and ("unresolved dependencies" in said or "UNRESOLVED DEPENDENCIES" in said):
        return StartError(
            f"The jars {fetching} are not on this machine and could not be fetched: connect "
            f"to the network for this first start, or name a mirror with "
            f"`spark.jars.repositories` or `spark.jars.ivySettings` in the profile's "
            f"server_side_parameters; details are in {store.log}."
        )
    lines = [line for line in said.splitlines() if "rror" in line or "xception" in line]
    last = f" ({lines[0].strip()[:200]})" if lines else ""
    return StartError(f"Spark's Java process ended while starting{last}: see {store.log}.")


def ended() -> str:
    """What to say instead of what py4j does, if Java has ended under this process, or is just ending; empty if not."""
    if _store is None:
        return ""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if (process := getattr(gateway, "proc", None)) is None:
        return ""
    if _is_ending(gateway):
        with suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS_TO_END)
    if (code := process.poll()) is None:
        return ""
    why, remedy = f"exit code {code}", ""
    if code == HEAP_TOO_SMALL:
        why, remedy = "its memory was too small", " More memory is given to it by `driver_memory` in the profile."
    elif code == -signal.SIGKILL:
        why = "it was killed"
        remedy = " Where the machine's memory was too small, `driver_memory` in the profile makes it take less."
    return (
        f"Spark's Java process has ended ({why}): see {_store.log}, or {_store.log.name}.1 beside it once another has "
        f"started.{remedy} What was committed counts, and nothing else has happened."
    )


def _is_ending(gateway: Any) -> bool:
    """Whether Java has begun to end, when it still answers, or does not answer any more."""
    from py4j.protocol import Py4JError

    try:
        return bool(java_class(gateway, "org.apache.spark.util.ShutdownHookManager").inShutdown())
    except (Py4JError, ConnectionError):
        # Where Java is gone in the middle of a question, py4j says that what was asked for does not exist.
        return True


def forget() -> None:
    """As if this process had never had a Spark. Not by SparkContext.stop, which would ask Java to stop it."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    SparkContext._active_spark_context = None
    SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


def stop(context: Any) -> None:
    """End Spark and wait for its Java process, so that no file of the store is open when this process is gone."""
    gateway = context._gateway
    process = getattr(gateway, "proc", None)
    if process is None or process.poll() is not None:
        return
    try:
        context.stop()
        if _archive is not None:
            _archive.fill(gateway)
        # Python objects of Java's that are collected from now on would be reported to nobody.
        gateway.shutdown()
    finally:
        _end(process)


def _end(process: Any) -> None:
    # The Java process reads its standard input and ends when that closes.
    process.stdin.close()
    try:
        process.wait(SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        process.kill()
