"""One Spark per Python process, one session per dbt connection."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING

from .attach import attach, gone, part_if_alone
from .conf import brings_delta, spark_conf, with_jars, with_more_packages, with_packages
from .jars import DeltaJars, installed_delta
from .launch import ended, fetch, forget, launch, silence_pyspark, stop
from .settings import EmbeddedSettings, cache_folder
from .start_error import StartError
from .store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_starting = threading.Lock()
# What lives as long as the process: the store that Spark was started on here, and the lock on it.
_started_on: Path | None = None
_claims: list[IO[str]] = []


def open_session(settings: EmbeddedSettings) -> SparkSession:
    """A new session (own temporary views and settings, shared tables), starting Spark if this
    process has none and no other one keeps one for this store.

    A Spark that already runs in this process is reused. Raises StartError if Spark cannot be
    started, or was started here on another store.
    """
    global _started_on
    if url := connect_url(settings):
        session = open_remote(url)
    else:
        with _starting:
            part_if_alone()
            if ended():
                forget()
            root = running_root()
            if root is None:
                root = attach(settings) or start(settings)
                _started_on = settings.store
            if _started_on not in (None, settings.store):
                raise StartError(
                    f"This process already runs Spark on the store {_started_on} and cannot use "
                    f"{settings.store} as well: start one process per store."
                )
        session = root.newSession()
    adopt(session, settings.conf)
    return session


def lost() -> str:
    """What to say instead of what py4j does, if Spark has ended while it was in use; empty if it has not."""
    return gone() or ended()


def connect_url(settings: EmbeddedSettings) -> str | None:
    """The address of a Spark Connect server, if that is where the user's Spark is."""
    url = settings.master or os.environ.get("SPARK_REMOTE") or ""
    return url if url.startswith("sc://") else None


def open_remote(url: str) -> SparkSession:
    from pyspark.sql.connect.session import SparkSession as RemoteSession

    silence_pyspark()
    return RemoteSession.builder.remote(url).create()


def end_session(session: SparkSession) -> None:
    """A session on a server ends with whoever opened it; one in this process shares its Spark with the others."""
    if not hasattr(session, "_jsparkSession"):
        session.stop()


def running_root() -> SparkSession | None:
    """The session that this process already has, if any: ours, a notebook's or a test's."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context = SparkContext._active_spark_context
    # While another thread is starting it, it is there but not complete.
    java = getattr(context, "_jsc", None)
    if java is None or java.sc().isStopped():
        return None
    return SparkSession.builder.getOrCreate()


def adopt(session: SparkSession, conf: Mapping[str, str]) -> None:
    """Give a session those of the user's settings that a running Spark can still take."""
    for name, value in conf.items():
        if session.conf.get(name, None) != value and session.conf.isModifiable(name):
            session.conf.set(name, value)


def start(settings: EmbeddedSettings) -> SparkSession:
    """Start Spark on the store, with Delta's jars from the cache or, the first time, fetched into it."""
    store = Store(settings.store)
    store.prepare()
    if settings.is_local and settings.catalog == "hive" and not _claims:
        _claims.append(store.claim())
    cache, jars = cache_folder(), installed_delta()
    conf = with_more_packages(spark_conf(settings), settings.packages, cache / "ivy")
    more = ",".join(settings.packages)
    if not brings_delta(conf):
        if not jars.found(cache):
            _fetch_delta(settings, jars, store, cache)
        conf = with_jars(conf, jars.paths(cache), settings.is_local)
    return launch(conf, store, is_local=settings.is_local, fetching=more)


def _fetch_delta(settings: EmbeddedSettings, jars: DeltaJars, store: Store, cache: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="dbt-spark-dynamic-", ignore_cleanup_errors=True) as ivy:
        conf = with_packages(spark_conf(settings), jars, Path(ivy))
        fetch(conf, store, is_local=settings.is_local, fetching=jars.packages)
        jars.keep(Path(conf["spark.jars.ivy"]), cache)


def end() -> None:
    """End the Spark that was started in this process, and let its store go."""
    from pyspark import SparkContext

    # Not `running_root`, which asks Java: it may have ended.
    if (context := SparkContext._active_spark_context) is not None:
        stop(context)
    while _claims:
        _claims.pop().close()
