"""What a store says of the process that serves it: who it is, where it listens, and who is there as its guest.

Two files in the store, each with a lock that the system releases when its process ends, however it ends. `server` is
locked by the one that serves, from before its Spark starts until that has ended; it holds a line of JSON while guests
are welcome. `guests` is share-locked by every process that uses that Spark, so whoever can lock it alone is alone.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

from .settings import EmbeddedSettings
from .start_error import StartError
from .store import Store

SECONDS_TO_OPEN = 120.0
"""For which a guest waits for a server that is starting, or ending."""

PACKAGES = ("pyspark", "delta-spark", "py4j")


@dataclass(frozen=True)
class Served:
    """pid: of the process that serves; port: on 127.0.0.1; token: whoever has it may do there all that the process may;
    started_with: see `starting`."""

    pid: int
    port: int
    token: str
    started_with: Mapping[str, Any]

    @property
    def place(self) -> str:
        return f"process {self.pid} on 127.0.0.1:{self.port}"


def starting(settings: EmbeddedSettings) -> dict[str, Any]:
    """What a Spark is started with, by the profile's names. Of Spark's settings only digests: they may be passwords."""
    return {
        "catalog": settings.catalog,
        "master": settings.master,
        "driver_memory": settings.driver_memory,
        "packages": list(settings.packages),
        "conf": {name: sha256(str(value).encode()).hexdigest() for name, value in settings.conf.items()},
        **{package: version(package) for package in PACKAGES},
    }


def hold(store: Store) -> IO[str]:
    """Be the one that serves the store for as long as the returned file is open. Raises StartError."""
    store.prepare()
    file = _opened(store.server)
    for _ in range(20):
        if _locked(file, fcntl.LOCK_EX):
            file.truncate(0)
            return file
        # Somebody may only be looking.
        time.sleep(0.05)
    file.close()
    served = _read(store)
    who = served.place if served else "a process that is starting or ending"
    remedy = f"use that one, or end it first: kill {served.pid}" if served else "wait until it is there"
    raise StartError(f"The store {store.folder} is served already, by {who}: {remedy}.")


def publish(held: IO[str], served: Served | None) -> None:
    """Welcome guests from now on, or with None no more of them. held: what `hold` returned."""
    held.seek(0)
    held.truncate()
    # At once, for somebody may be reading.
    held.write(json.dumps(asdict(served)) if served else "")
    held.flush()


def find(store: Store, seconds: float = SECONDS_TO_OPEN) -> Served | None:
    """The server of the store, waited for while it is starting or ending; None if there is none.

    Raises StartError if it takes longer than that."""
    deadline = time.monotonic() + seconds
    while is_held(store):
        if served := _read(store):
            return served
        if time.monotonic() > deadline:
            raise StartError(
                f"The store {store.folder} is served by a process that has been starting or ending for "
                f"{seconds:.0f} seconds: try again when it is done, or see {store.log}."
            )
        time.sleep(0.1)
    return None


def is_held(store: Store) -> bool:
    """True while a process serves the store. What one that was killed has left in the file means nothing."""
    try:
        file = store.server.open()
    except OSError:
        return False
    with file:
        return not _locked(file, fcntl.LOCK_SH)


def is_still(store: Store, served: Served) -> bool:
    """True while this server is there, though it may be ending."""
    return is_held(store) and (_read(store) or served) == served


def enter(store: Store) -> IO[str]:
    """Be a guest for as long as the returned file is open. Waits while a server ends."""
    file = _opened(store.guests)
    fcntl.flock(file, fcntl.LOCK_SH)
    return file


class Guests:
    """Those of a store, as its server sees them."""

    def __init__(self, store: Store) -> None:
        self._file = _opened(store.guests)

    def any(self) -> bool:
        if not self.shut_out():
            return True
        self.let_in()
        return False

    def shut_out(self) -> bool:
        """Keep guests waiting from now on; False if there is one already."""
        return _locked(self._file, fcntl.LOCK_EX)

    def let_in(self) -> None:
        fcntl.flock(self._file, fcntl.LOCK_UN)


def differences(served: Served, settings: EmbeddedSettings) -> Iterator[str]:
    """The names of what is not as the server was started with; Spark's settings begin with `spark.`."""
    wanted, given = starting(settings), served.started_with
    for name, value in wanted.items():
        if name == "packages":
            # One more does no harm.
            if not set(value) <= set(given.get(name, ())):
                yield name
        elif name != "conf" and value != given.get(name):
            yield name
    ours, theirs = wanted["conf"], given.get("conf", {})
    yield from (name for name in sorted(ours.keys() | theirs.keys()) if ours.get(name) != theirs.get(name))


def _opened(path: Path) -> IO[str]:
    """For this user alone."""
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+")


def _locked(file: IO[str], how: int) -> bool:
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _read(store: Store) -> Served | None:
    try:
        return Served(**json.loads(store.server.read_text()))
    except (OSError, ValueError, TypeError):
        return None
