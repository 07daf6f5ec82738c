"""What the demo prints after each `dbt run`: one small table, and what was not as it should be."""

from __future__ import annotations

from collections.abc import Mapping

from rich.box import SIMPLE_HEAD
from rich.table import Table

from .check import Comparison
from .project import Refresh


def created_table(refreshes: Mapping[str, Refresh]) -> Table:
    """The first build: model, rows, seconds."""
    table = _table("First build", words=("model",), figures=("rows", "took"))
    for refresh in refreshes.values():
        table.add_row(refresh.model, f"{refresh.rows_out[0]:,}", f"{refresh.seconds:.1f}s")
    return table


def wave_table(title: str, refreshes: Mapping[str, Refresh], comparisons: Mapping[str, Comparison]) -> Table:
    """One wave: each model beside a full rebuild of it, and all of them summed in the last row."""
    figures = ("in", "out", "took", "rebuild", "ratio", "equal")
    table = _table(title, words=("model", "technique"), figures=figures)
    for model, refresh in refreshes.items():
        comparison = comparisons[model]
        rows_in = "?" if refresh.rows_in is None else f"{refresh.rows_in:,}"
        inserted, updated, deleted = refresh.rows_out
        table.add_row(
            model,
            _technique(refresh),
            rows_in,
            f"+{inserted:,} ~{updated:,} -{deleted:,}",
            *_speed(refresh.seconds, comparison.rebuild_seconds),
            "[green]yes" if comparison.equal else "[red]no",
        )
    seconds = sum(refresh.seconds for refresh in refreshes.values())
    rebuild = sum(comparison.rebuild_seconds for comparison in comparisons.values())
    table.add_section()
    table.add_row("all", "", "", "", *_speed(seconds, rebuild), "")
    return table


def complaints(refreshes: Mapping[str, Refresh], comparisons: Mapping[str, Comparison]) -> list[str]:
    """One sentence for each table that differs from its query or was not maintained by change."""
    unequal = [
        f"{model} does not equal its query: {comparison}."
        for model, comparison in comparisons.items()
        if not comparison.equal
    ]
    recomputed = [
        f"{model} was not maintained incrementally: {refresh.code} because {refresh.reason}."
        for model, refresh in refreshes.items()
        if refresh.code not in ("INCREMENTAL", "NO CHANGE")
    ]
    return unequal + recomputed


def _table(title: str, words: tuple[str, ...], figures: tuple[str, ...]) -> Table:
    # Without padding, the widest row still fits a terminal of 80 columns.
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, padding=0)
    for heading in words:
        table.add_column(heading, no_wrap=True)
    for heading in figures:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _technique(refresh: Refresh) -> str:
    return refresh.technique if refresh.code == "INCREMENTAL" else f"[yellow]{refresh.code.lower()}"


def _speed(seconds: float, rebuild_seconds: float) -> tuple[str, str, str]:
    ratio = f"{rebuild_seconds / seconds:.1f}x" if seconds else ""
    return f"{seconds:.1f}s", f"{rebuild_seconds:.1f}s", ratio
