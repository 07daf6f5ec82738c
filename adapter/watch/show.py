"""What people see: a table that is kept up to date on a terminal, a line per event elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.live import Live
from rich.table import Table

from .events import Event, Kind, label

Lags = Callable[[], Mapping[str, float]]
"""Model -> seconds behind."""


class Listener(Protocol):
    def __call__(self, event: Event) -> None: ...


def lines(console: Console) -> Listener:
    """Every event as a line."""

    def tell(event: Event) -> None:
        console.print(event.line(), markup=False, highlight=False, soft_wrap=True)

    return tell


@dataclass
class Row:
    technique: str = ""
    rows: str = ""
    seconds: str = ""
    refreshes: int = 0
    error: str = ""


class Board:
    """The table of all models; events that are about none are lines above it. While dbt runs, it is not there."""

    def __init__(self, console: Console, lags: Lags) -> None:
        self._console, self._lags = console, lags
        self._rows: dict[str, Row] = {}
        self._live: Live | None = None

    def __call__(self, event: Event) -> None:
        if event.kind in (Kind.BUILDING, Kind.STOPPED):
            self.close()
        elif event.kind is Kind.WATCHING:
            self.close()
            self._rows = {name: self._rows.get(name, Row()) for name in self._lags()}
            self._live = Live(get_renderable=self.table, console=self._console, refresh_per_second=2)
            self._live.start()
        if event.model in self._rows and event.kind in (Kind.REFRESHED, Kind.FAILED):
            self._note(self._rows[event.model], event)
        else:
            self._console.print(event.line(), markup=False, highlight=False, soft_wrap=True)

    def _note(self, row: Row, event: Event) -> None:
        if event.kind is Kind.FAILED:
            row.error = str(event.fields["error"]).splitlines()[0]
            return
        fields = event.fields
        row.technique = fields["technique"] if fields["code"] == "INCREMENTAL" else fields["code"].lower()
        row.rows = f"+{fields['rows_inserted']} ~{fields['rows_updated']} -{fields['rows_deleted']}"
        row.seconds = f"{fields['seconds']:.1f}"
        row.refreshes, row.error = row.refreshes + 1, ""

    def table(self) -> Table:
        shown = Table(box=SIMPLE_HEAD, pad_edge=False)
        shown.add_column("model", no_wrap=True)
        for heading in ("behind, s", "refreshes"):
            shown.add_column(heading, justify="right", no_wrap=True)
        shown.add_column("last", no_wrap=True)
        for heading in ("rows", "seconds"):
            shown.add_column(heading, justify="right", no_wrap=True)
        shown.add_column("error", style="red", overflow="ellipsis", no_wrap=True)
        lags = self._lags()
        for name, row in self._rows.items():
            lag = f"{lags.get(name, 0.0):.1f}"
            shown.add_row(label(name), lag, str(row.refreshes), row.technique, row.rows, row.seconds, row.error)
        return shown

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
