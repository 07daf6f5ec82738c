"""`python -m benchmarks`: what a refresh costs, beside a bare MERGE and a full rebuild."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import click
from rich.box import SIMPLE_HEAD
from rich.table import Table

from .cases import CASES, CHANGES
from .one_row import Measured, OneRow
from .session import benchmark_session, console_of


@click.command()
@click.option("--rows", default=10_000_000, show_default=True, help="Rows of the large source.")
@click.option("--repeat", default=3, show_default=True, help="Refreshes per case, of which the median counts.")
@click.option(
    "--model",
    "models",
    multiple=True,
    type=click.Choice([case.name for case in CASES]),
    help="Only this one (may be given several times).",
)
def benchmark(rows: int, repeat: int, models: tuple[str, ...]) -> None:
    """One changed row over a large source: seconds, SQL statements, and the ratios to a bare MERGE and a rebuild."""
    console = console_of(140)
    with benchmark_session(console) as (spark, _):
        run = OneRow(spark, rows, repeat, [case for case in CASES if not models or case.name in models])
        with console.status(f"Making a source of {rows:,} rows") as status:
            run.load()
            measured = list(run.measure(status.update))
    console.print(f"One changed row over {rows:,} rows; medians of {repeat} refreshes.")
    console.print(report(measured))
    if wrong := [m for m in measured if not m.equal]:
        console.print(f"{wrong[0].case} does not equal its query after: {wrong[0].change}.", style="red")
        sys.exit(1)


def report(measured: Iterable[Measured]) -> Table:
    """rebuild: how many times faster than a full rebuild; of a MERGE: how many bare one-row MERGEs a refresh takes."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("model", "changed", "technique"):
        table.add_column(heading, no_wrap=True)
    for heading in ("statements", "refresh", "bare MERGE", "of a MERGE", "rebuild", "faster", "equal"):
        table.add_column(heading, justify="right", no_wrap=True)
    for i, m in enumerate(measured):
        # A refresh with nothing changed is set beside no MERGE.
        bare = (f"{m.bare:.2f}s", f"{m.seconds / m.bare:.1f}") if m.bare else ("", "")
        speed = f"{m.rebuild / m.seconds:.1f}x"
        table.add_row(
            m.case, m.change, m.technique, str(m.statements), f"{m.seconds:.2f}s", *bare, f"{m.rebuild:.2f}s", speed,
            "yes" if m.equal else "[red]no", end_section=(i + 1) % (1 + len(CHANGES)) == 0,
        )  # fmt: skip
    return table


if __name__ == "__main__":
    benchmark()
