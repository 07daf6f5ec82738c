"""`python -m benchmarks.peers`: the same changes maintained by this project and by what else maintains such tables."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from ..session import console_of
from . import flink
from .base import DELTA
from .process import PeerFailed, measured
from .shapes import NAMED, Shape
from .structured import BY_HAND
from .workload import Workload

MEGABYTE = 2**20
OURS = "dynamic table"
ON_SPARK = {OURS: "ours", "declarative pipeline": "declarative", "stream by hand": "structured"}
FLINK = "flink"
PEERS = (*ON_SPARK, FLINK)
SMALL = (20_000, 100_000)
"""Rows and changes of the workload that Flink's result is compared over."""


@dataclass(frozen=True)
class Measured:
    """seconds: that the changes took; built: that the rows before them took; peak: bytes; how: in the peer's words;
    different: rows that are not those of the query, for Flink whether its sums are not."""

    shape: str
    peer: str
    seconds: float
    built: float
    peak: int
    how: str
    different: int


class Comparison:
    """One workload and the peers that it is given to. Raises PeerFailed."""

    def __init__(self, workload: Workload, folder: Path) -> None:
        self.workload, self._folder = workload, folder
        self._small = Workload(folder / "small", *SMALL, batches=5)

    def prepare(self, console: Console, peers: tuple[str, ...]) -> None:
        """Writes what is not there from an earlier run."""
        for workload in (self.workload, self._small) if FLINK in peers else (self.workload,):
            if not workload.path("after").exists():
                workload.write()
        if not (self.workload.folder / DELTA).exists() and set(peers) & ON_SPARK.keys():
            w = self.workload
            arguments = [str(w.folder), str(w.rows), str(w.changes), str(w.batches)]
            said, _ = measured([sys.executable, "-m", "benchmarks.peers.base", *arguments], self._log("base"))
            console.print(f"The batches took {said['seconds']:.0f} s to be merged into the base table, for nobody.")

    def run(self, peer: str, shape: Shape) -> Measured:
        if peer == FLINK:
            said, peak = flink.maintain(self.workload, self._small, shape, self._log(f"{FLINK}-{shape.name}"))
        else:
            module = f"benchmarks.peers.{ON_SPARK[peer]}"
            arguments = [str(self.workload.folder), str(self.workload.batches), shape.name]
            log = self._log(f"{ON_SPARK[peer]}-{shape.name}")
            said, peak = measured([sys.executable, "-m", module, *arguments], log)
        return Measured(shape.name, peer, said["seconds"], said["built"], peak, said["how"], said["different"])

    def _log(self, name: str) -> Path:
        return self._folder / f"{name.replace(' ', '-')}.log"


def runs(peers: tuple[str, ...], shapes: tuple[str, ...]) -> Iterator[tuple[str, Shape]]:
    for name in shapes:
        for peer in peers:
            if peer != "stream by hand" or name in BY_HAND:
                yield peer, NAMED[name]


def report(found: list[Measured], changes: int) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("shape", "peer", "how"):
        table.add_column(heading, no_wrap=True)
    for heading in ("changes", "seconds", "changes/s", "of ours", "peak MB", "built"):
        table.add_column(heading, justify="right", no_wrap=True)
    ours = {m.shape: m.seconds for m in found if m.peer == OURS}
    for m in found:
        of_ours = f"{m.seconds / ours[m.shape]:.1f}" if m.shape in ours else ""
        table.add_row(
            m.shape, m.peer, m.how, f"{changes:,}", f"{m.seconds:.1f}", f"{changes / m.seconds:,.0f}", of_ours,
            f"{m.peak / MEGABYTE:,.0f}" if m.peak else "", f"{m.built:.1f}s",
        )  # fmt: skip
    return table


@click.command()
@click.option("--rows", default=5_000_000, show_default=True, help="Orders that there are at first.")
@click.option("--changes", default=10_000_000, show_default=True, help="Orders inserted, updated or deleted.")
@click.option("--batches", default=10, show_default=True, help="That the changes come in.")
@click.option("--peer", "peers", multiple=True, type=click.Choice(PEERS), default=PEERS, help="All, if none is named.")
@click.option("--shape", "shapes", multiple=True, type=click.Choice(list(NAMED)), default=list(NAMED), help="The same.")
@click.option(
    "--folder", type=click.Path(file_okay=False, path_type=Path), help="Where the workload is kept and found again."
)
def peers(
    rows: int, changes: int, batches: int, peers: tuple[str, ...], shapes: tuple[str, ...], folder: Path | None
) -> None:
    """Seconds, changes per second and memory of each peer; with 10 million changes half an hour."""
    console = console_of(150)
    with tempfile.TemporaryDirectory(prefix="dbt-spark-dynamic-", ignore_cleanup_errors=True) as temporary:
        chosen = (folder or Path(temporary)).absolute() / f"{rows}-{changes}-{batches}"
        chosen.mkdir(parents=True, exist_ok=True)
        try:
            found = list(
                compare(
                    Comparison(Workload(chosen / "workload", rows, changes, batches), chosen), console, peers, shapes
                )
            )
        except PeerFailed as error:
            console.print(str(error), style="red", markup=False)
            sys.exit(2)
    console.print(f"{changes:,} changes in {batches} batches, over {rows:,} orders:")
    console.print(report(found, changes))
    if any(m.different for m in found):
        wrong = ", ".join(f"{m.peer} ({m.shape})" for m in found if m.different)
        console.print(f"not equal to its query: {wrong}", style="red")
        sys.exit(1)


def compare(
    comparison: Comparison, console: Console, peers: tuple[str, ...], shapes: tuple[str, ...]
) -> Iterator[Measured]:
    with console.status("Making the workload") as status:
        if FLINK in peers:
            status.update("Installing Flink below build/")
            try:
                flink.install()
            except flink.NotInstalled as error:
                console.print(f"Without Flink: {error}", style="yellow", markup=False)
                peers = tuple(peer for peer in peers if peer != FLINK)
            status.update("Making the workload")
        comparison.prepare(console, peers)
        for peer, shape in runs(peers, shapes):
            status.update(f"{shape.name}: {peer}")
            try:
                yield comparison.run(peer, shape)
            except PeerFailed as error:
                if peer == OURS:
                    raise
                console.print(f"{peer} failed: {error}", style="yellow", markup=False)


if __name__ == "__main__":
    peers()
