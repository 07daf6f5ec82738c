"""A peer's process: what it says in lines of JSON, and the most memory that it and its children held meanwhile.

say, in_batches     for the process itself
measured            for who starts it
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

MEASURED = "seconds"
"""The key of the line that ends what is measured: comparing results comes after it, and its memory does not count."""

INTERVAL = 0.2
MINUTES = 12


def say(facts: Mapping[str, object]) -> None:
    print(json.dumps(facts), flush=True)


def in_batches(batches: int, refresh: Callable[[int], None]) -> dict[str, Any]:
    """The seconds that it took to build, to bring up to each batch, and to all of them. refresh: given the batch, 0
    for what is built."""
    took = []
    for n in range(batches + 1):
        started = time.perf_counter()
        refresh(n)
        took.append(time.perf_counter() - started)
    built, *each = took
    return {MEASURED: sum(each), "each": each, "built": built}


class PeerFailed(Exception):
    """The end of what the peer said."""


def measured(command: Sequence[str], log: Path, environment: Mapping[str, str] = {}) -> tuple[dict[str, Any], int]:
    """All that it said, in one, and its peak of resident bytes (0 where there is no /proc). log: what else it said,
    too. Raises PeerFailed."""
    said: dict[str, Any] = {}
    with log.open("w") as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env={**os.environ, **environment}
        )
        assert process.stdout is not None
        enough = threading.Timer(MINUTES * 60, process.kill)
        enough.start()
        peak = Peak(process.pid)
        peak.start()
        try:
            for line in process.stdout:
                errors.write(line)
                errors.flush()
                if line.startswith("{"):
                    said |= json.loads(line)
                    if MEASURED in said:
                        peak.stop()
            code = process.wait()
        finally:
            enough.cancel()
            peak.stop()
            process.kill()
    if code or MEASURED not in said:
        raise PeerFailed(f"{' '.join(command[:4])} …: {log.read_text(errors='replace')[-2000:]}")
    return said, peak.bytes


class Peak(threading.Thread):
    """bytes: the most that the process and all below it held at once, shared pages counted for each."""

    def __init__(self, root: int) -> None:
        super().__init__(daemon=True)
        self.bytes, self._root, self._stopped = 0, root, threading.Event()

    def stop(self) -> None:
        self._stopped.set()

    def run(self) -> None:
        while not self._stopped.wait(INTERVAL):
            self.bytes = max(self.bytes, resident(self._root))


def resident(root: int) -> int:
    """Bytes of memory that this process and its descendants hold now."""
    parents, pages = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            # The name, in parentheses, may contain anything: what comes after it is counted from its end.
            after_name = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(folder.name)
        parents[pid], pages[pid] = int(after_name[1]), int(after_name[21])
    return sum(pages[pid] for pid in family(root, parents)) * os.sysconf("SC_PAGE_SIZE")


def family(root: int, parents: Mapping[int, int]) -> set[int]:
    """The process and all whose parents lead to it. parents: process -> its parent."""
    found = {root} & parents.keys()
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found
