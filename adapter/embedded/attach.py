"""This process as the guest of another one's Spark: the session is used as if Java ran below this process.

Python reaches Java through py4j, by a port and a token; so can a second process. It is given a gateway of its own, so
that what it keeps alive in Java, and where Java calls it back, ends with it and is nobody else's.
"""

from __future__ import annotations

import atexit
import secrets
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from ..commit.classic import java_class
from .launch import environment, forget, silence_pyspark
from .served import Served, differences, enter, find, is_held, is_still
from .settings import EmbeddedSettings
from .start_error import StartError
from .store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Visit:
    """entered: open for as long as it lasts."""

    served: Served
    store: Store
    gateway: Any
    entered: IO[str]


_visit: Visit | None = None


def visited() -> Served | None:
    """The server whose Spark this process uses."""
    return _visit.served if _visit is not None else None


def attach(settings: EmbeddedSettings) -> SparkSession | None:
    """The root session of the Spark that another process keeps for this store; None if none does.

    Raises StartError where it does not answer, or was started with other settings."""
    global _visit
    store = Store(settings.store)
    if not is_held(store):
        return None
    entered = enter(store)
    served = find(store)
    if served is None:
        entered.close()
        return None
    try:
        return _received(served, store, entered, settings)
    except BaseException:
        part()
        entered.close()
        raise


def _received(served: Served, store: Store, entered: IO[str], settings: EmbeddedSettings) -> SparkSession:
    global _visit
    others = list(differences(served, settings))
    # Of what is not Spark's to say, nothing can be asked of a Spark: not even how, where its version is another.
    _refuse(served, store, [name for name in others if not name.startswith("spark.")])
    try:
        gateway = _own_gateway(served)
    except Exception as error:
        raise StartError(
            f"The store {store.folder} is served by {served.place}, which does not answer ({error}): end it "
            f"(kill {served.pid}), and start `dbt-dynamic serve` again or go on without."
        ) from error
    _visit = Visit(served, store, gateway, entered)
    root = _root_session(gateway)
    _refuse(served, store, [n for n in others if not (n in settings.conf and root.conf.isModifiable(n))])
    return root


def _refuse(served: Served, store: Store, others: Sequence[str]) -> None:
    if others:
        raise StartError(
            f"The store {store.folder} is served by {served.place}, whose Spark was started with other values of "
            f"{', '.join(others)} than this profile, project or installation has: end it (kill {served.pid}), and "
            f"start `dbt-dynamic serve` again or go on without."
        )


def part() -> None:
    """End the visit, if there is one: as if this process had never had a Spark."""
    global _visit
    if _visit is None:
        return
    visit, _visit = _visit, None
    with suppress(Exception):
        visit.gateway.shutdown()
    forget()
    visit.entered.close()


def part_if_alone() -> None:
    """End the visit if its server has ended, so that another Spark can be had."""
    if _visit is not None and not is_still(_visit.store, _visit.served):
        part()


def gone() -> str:
    """What to say instead of what py4j does, if the server has ended under its guest; empty if it has not."""
    if _visit is None or is_still(_visit.store, _visit.served):
        return ""
    return (
        f"The Spark of the store {_visit.store.folder}, which was served by {_visit.served.place}, has ended: run this "
        f"again. What was committed counts, and nothing else has happened."
    )


atexit.register(part)


def _own_gateway(served: Served) -> Any:
    """A gateway in the server's Java for this process alone, known there as one of its guests'."""
    from py4j.java_gateway import GatewayParameters, JavaGateway
    from pyspark.java_gateway import launch_gateway

    door = JavaGateway(gateway_parameters=GatewayParameters(port=served.port, auth_token=served.token))
    token = secrets.token_hex(32)
    try:
        made = gateway_server(door, 0, token)
        door.entry_point.add(made)
        port = made.getJavaServer().getListeningPort()
        door.detach(made)
    finally:
        door.close()
    # pyspark's own way to be told of a Java that runs already.
    with environment({"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": token}):
        return launch_gateway()


def gateway_server(gateway: Any, port: int, token: str, entry_point: Any = None) -> Any:
    """Opens a port on loopback, 0 for any that is free, to Java behind this gateway. Raises Py4JJavaError."""
    loopback = java_class(gateway, "java.net.InetAddress").getByName("127.0.0.1")
    builder = java_class(gateway, "py4j.ClientServer$ClientServerBuilder")(entry_point)
    made = builder.javaPort(port).javaAddress(loopback).authToken(token).build()
    made.startServer()
    return made


def _root_session(gateway: Any) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    silence_pyspark()
    running = java_class(gateway, "org.apache.spark.SparkContext").getOrCreate()
    java = gateway.jvm.JavaSparkContext(running)
    with _interrupts_as_they_are():
        context = SparkContext(gateway=gateway, jsc=java, conf=SparkConf(_jvm=gateway.jvm, _jconf=java.getConf()))
    return SparkSession(context)


@contextmanager
def _interrupts_as_they_are() -> Iterator[None]:
    """pyspark would let Ctrl-C cancel all jobs of the Spark, those of other guests too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
