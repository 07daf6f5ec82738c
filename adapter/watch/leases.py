"""One watcher per model on one machine: a lock on a file per model, which the system lets go of with the process.

Two watchers on two machines are right too, because the ledger lets only one of two equal refreshes commit; but both
compute, so that is what this spares where it can.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Collection
from pathlib import Path
from typing import IO


class Leases:
    """folder: of the files, shared by all watchers of a project."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[str, IO[str]] = {}
        self._wanted: set[str] = set()

    def take(self, models: Collection[str]) -> frozenset[str]:
        """Holds those of the models that nobody else holds, and lets go of all others. Returns what is held."""
        for name in self._held.keys() - set(models):
            self._held.pop(name).close()
        for name in models:
            if name not in self._held and (file := self._lock(name)) is not None:
                self._held[name] = file
        self._wanted = set(models) - self._held.keys()
        return frozenset(self._held)

    def any_free(self) -> bool:
        """Whether a model that was wanted and held elsewhere is held by nobody now."""
        return any(self._is_free(name) for name in self._wanted)

    def release(self) -> None:
        self.take(())

    def _is_free(self, name: str) -> bool:
        file = self._lock(name)
        if file is None:
            return False
        file.close()
        return True

    def _lock(self, name: str) -> IO[str] | None:
        self._folder.mkdir(parents=True, exist_ok=True)
        file = open(self._folder / f"{name}.lock", "a+")  # noqa: SIM115 - held for as long as the model is
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            return None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        return file
