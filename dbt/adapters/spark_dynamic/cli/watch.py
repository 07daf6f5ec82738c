"""dbt-dynamic watch: what `dbt run` builds, kept up to date with every commit of what it reads."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Any

import click
from dbt.cli.options import MultiOption
from rich.console import Console

from dbt.adapters.spark_dynamic.cli.project import project_options
from dbt.adapters.spark_dynamic.watching import WatchedProject
from dbt_spark_dynamic.errors import DynamicTableError
from dbt_spark_dynamic.watch.events import Event
from dbt_spark_dynamic.watch.show import Board, Listener, lines
from dbt_spark_dynamic.watch.watch import Watch

SELECTORS: dict[str, Any] = {"cls": MultiOption, "multiple": True, "type": tuple}
"""As dbt has these options: everything up to the next one."""


@click.command()
@click.option("--select", "-s", help="Models to maintain, by dbt's selectors.", **SELECTORS)
@click.option("--exclude", help="Models to leave out, by dbt's selectors.", **SELECTORS)
@click.option("--threads", type=click.IntRange(1), help="Refreshes at a time; by default the target's threads.")
@click.option(
    "--interval", default=0.1, show_default=True, type=click.FloatRange(0.01), help="Seconds between looks for commits."
)
@click.option("--event-log", type=click.File("a"), help="A file that gets an object of JSON per event.")
@click.option("--metrics-port", type=click.IntRange(1, 65535), help="Serves metrics for Prometheus on 127.0.0.1.")
@project_options
def watch(
    select: tuple[str, ...],
    exclude: tuple[str, ...],
    threads: int | None,
    interval: float,
    event_log: IO[str] | None,
    metrics_port: int | None,
    project: dict[str, str | None],
) -> None:
    """Runs the selected dynamic tables, then refreshes each within its target_lag of every commit it has to follow.

    SIGTERM or Ctrl-C ends it after the refreshes that are running; a second one ends it at once, which is safe too.
    """
    given = [part for name, value in project.items() if value is not None for part in (f"--{name}", value)]
    watched = WatchedProject(given, select, exclude)
    listeners: list[Listener] = []

    def tell(event: Event) -> None:
        for listener in listeners:
            listener(event)

    with ExitStack() as stack:
        stack.callback(watched.close)
        try:
            watched.open()
            loop = Watch(watched, tell, threads=threads or watched.threads, interval=interval)
            console = Console()
            if console.is_terminal:
                board = Board(console, loop.lags)
                stack.callback(board.close)
                listeners.append(board)
            else:
                listeners.append(lines(console))
            if event_log is not None:
                listeners.append(logging_to(event_log))
            if metrics_port is not None:
                # Only here: it brings a web server that nobody else needs.
                from dbt_spark_dynamic.watch.metrics import serve

                listeners.append(serve(metrics_port, loop.lags))
            loop.run(stack.enter_context(stopping()))
        except DynamicTableError as error:
            raise click.ClickException(str(error)) from error


def logging_to(file: IO[str]) -> Listener:
    """Each event as a line of JSON, there at once for whoever follows the file."""

    def tell(event: Event) -> None:
        file.write(event.json() + "\n")
        file.flush()

    return tell


@contextmanager
def stopping() -> Iterator[threading.Event]:
    """An event that SIGTERM and Ctrl-C set. The second of them ends the process."""
    stop, before = threading.Event(), dict[int, Any]()

    def asked(_: int, __: Any) -> None:
        stop.set()
        for number in before:
            signal.signal(number, signal.SIG_DFL)

    handler: Callable[[int, Any], None] = asked
    for number in (signal.SIGTERM, signal.SIGINT):
        before[number] = signal.signal(number, handler)
    try:
        yield stop
    finally:
        for number, old in before.items():
            signal.signal(number, old or signal.SIG_DFL)
