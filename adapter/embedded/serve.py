"""The process that keeps a Spark for others: `dbt-dynamic serve`.

The Spark is the one that a dbt process would start, on the same store. Beside its own way into Java this process opens
a second one, the door, at which each guest is given a third (`attach.py`).
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

from ..commit.classic import java_class
from .attach import gateway_server
from .served import Guests, Served, hold, publish, starting
from .session import connect_url, end, start
from .settings import EmbeddedSettings
from .start_error import StartError
from .store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECONDS_BETWEEN_LOOKS = 0.5

STOPPED, IDLE, BROKEN = "it was told to", "nobody used it", "its Spark ended"
"""Why a server has ended."""


class Server:
    """settings: of the profile; port: on 127.0.0.1, 0 for any that is free.

    Raises StartError where the store is in use or served already, or Spark does not start, or the port is taken."""

    def __init__(self, settings: EmbeddedSettings, port: int = 0) -> None:
        if url := connect_url(settings):
            raise StartError(f"The profile's Spark is a server already ({url}): there is nothing to serve.")
        self._store = Store(settings.store)
        self._held: IO[str] = hold(self._store)
        self._root = start(settings)
        self._gateway = self._root.sparkContext._gateway
        self._door = Door(self._gateway, port)
        self._guests = Guests(self._store)
        _warm(self._root)
        self.served = Served(os.getpid(), self._door.port, self._door.token, starting(settings))
        publish(self._held, self.served)

    def run(self, stop: threading.Event, idle: float | None, waiting: Callable[[], None]) -> str:
        """Until `stop` is set and the last guest is gone, or for `idle` seconds there was none. Returns why it ended.

        waiting: called once if there are guests when `stop` is set."""

        def asked() -> None:
            publish(self._held, None)
            if self._guests.any():
                waiting()

        return keep(self._guests, self._is_running, stop, idle, asked, self._clear_up)

    def close(self) -> None:
        """End Spark, and only then let the store go."""
        publish(self._held, None)
        end()
        self._held.close()

    def _is_running(self) -> bool:
        """A guest can stop it: a Python model that says so."""
        try:
            return self._gateway.proc.poll() is None and not self._root.sparkContext._jsc.sc().isStopped()
        except Exception:
            return False

    def _clear_up(self) -> None:
        """What guests that were killed have left running or in memory."""
        with suppress(Exception):
            self._door.clear()
            self._root.sparkContext.cancelAllJobs()


def keep(
    guests: Guests,
    running: Callable[[], bool],
    stop: threading.Event,
    idle: float | None,
    asked: Callable[[], None],
    alone: Callable[[], None],
) -> str:
    """asked: called when `stop` is set; alone: when the last guest has gone, while none can come. Returns why it is
    over, with guests shut out but where Java ended."""
    used, was_asked, was_alone = time.monotonic(), False, True
    while running():
        if stop.is_set() and not was_asked:
            was_asked = True
            asked()
        if not guests.shut_out():
            used, was_alone = time.monotonic(), False
        else:
            if not was_alone:
                alone()
                was_alone = True
            if was_asked or (idle is not None and time.monotonic() - used > idle):
                return STOPPED if was_asked else IDLE
            guests.let_in()
        # Once it is set, waiting for `stop` would take no time.
        (time.sleep if was_asked else stop.wait)(SECONDS_BETWEEN_LOOKS)
    return BROKEN


class Door:
    """The port at which guests ask for a gateway. What it hands out is kept in a list, which guests add to."""

    def __init__(self, gateway: Any, port: int) -> None:
        self.token = secrets.token_hex(32)
        self._made = java_class(gateway, "java.util.concurrent.ConcurrentLinkedQueue")()
        try:
            self._server = gateway_server(gateway, port, self.token, self._made)
        except Exception as error:
            raise StartError(
                f"Port {port} of 127.0.0.1 cannot be opened ({_last_line(error)}): choose another."
            ) from error
        self.port = int(self._server.getJavaServer().getListeningPort())

    def clear(self) -> None:
        """Ends the gateways that were handed out; for a guest that has parted as it should, there is nothing to do."""
        for _ in range(self._made.size()):
            with suppress(Exception):
                self._made.poll().shutdown()


def _warm(root: SparkSession) -> None:
    """The metastore opened, and some of what runs in every statement loaded, before the first guest comes."""
    root.sql("SHOW SCHEMAS").collect()
    root.sql("SELECT id % 2, COUNT(*) FROM RANGE(10) GROUP BY 1").collect()


def _last_line(error: Exception) -> str:
    java = getattr(error, "java_exception", None)
    return str(java.getMessage() if java is not None else error)
