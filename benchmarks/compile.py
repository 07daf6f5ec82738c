"""`python -m benchmarks.compile`: what it costs to read a SELECT, to derive its change plan, and to print that as SQL.

The queries are those of TPC-H and TPC-DS, without Spark: DuckDB says the types that Spark would. Its seconds do not
count, and a refresh of a table that exists pays for reading and deriving once more each time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import click
from rich.box import SIMPLE_HEAD
from rich.table import Table

from dbt_spark_dynamic.pipeline import compile_model
from dbt_spark_dynamic.reading.relations import Columns
from integration_tests.coverage.report import NAMES
from integration_tests.coverage.without_spark import change_plan_of, printed, read_by_duck
from tests.generated.duck import Duck

from .session import console_of

T = TypeVar("T")


@dataclass(frozen=True)
class Compiled:
    """One query. read, derived, printed: milliseconds; asked: questions about types to the engine."""

    suite: str
    number: int
    read: float
    derived: float
    printed: float
    asked: int


class Types:
    """The engine's answers, each paid for once."""

    def __init__(self, duck: Duck) -> None:
        self._duck, self._known = duck, dict[str, Columns]()
        self.asked = 0

    def __call__(self, sql: str) -> Columns:
        self.asked += 1
        if sql not in self._known:
            self._known[sql] = self._duck.columns(sql)
        return self._known[sql]


@click.command()
@click.option("--suite", "suites", multiple=True, type=click.Choice(list(NAMES)), help="Only this one.")
@click.option("--slowest", default=5, show_default=True, help="How many queries are shown one by one.")
def benchmark(suites: Sequence[str], slowest: int) -> None:
    """SQL to change plan, in milliseconds of one core; the best of three."""
    console = console_of(110)
    with console.status("Compiling"):
        measured = [m for suite in suites or NAMES for m in compiled(suite)]
    console.print(report(measured))
    for m in sorted(measured, key=lambda m: -(m.read + m.derived))[:slowest]:
        steps = f"read {m.read:.0f}, derived {m.derived:.0f}, printed {m.printed:.0f}"
        console.print(f"{NAMES[m.suite]} {m.number}: {steps}")


def compiled(suite: str) -> Iterator[Compiled]:
    duck, queries = read_by_duck(suite)
    types = Types(duck)
    for number, sql in sorted(queries.items()):
        result = types(sql)
        compile_model(sql, result, duck, types)
        before = types.asked
        # A model of its own each time: what is once known of a plan is kept with it.
        models = [_timed(lambda sql=sql, result=result: compile_model(sql, result, duck, types)) for _ in range(3)]
        asked = (types.asked - before) // 3
        plans = [_timed(lambda model=model: change_plan_of(model)) for _, model in models]
        texts = [_timed(lambda p=p, m=m: printed(p, m)) for (_, p), (_, m) in zip(plans, models, strict=True)]
        best = (min(seconds for seconds, _ in step) * 1000 for step in (models, plans, texts))
        yield Compiled(suite, number, *best, asked)


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    started = time.process_time()
    done = work()
    return time.process_time() - started, done


def report(measured: Sequence[Compiled]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("", "queries", "step", "p50", "p95", "max"):
        table.add_column(heading, justify="left" if heading in ("", "step") else "right")
    steps: Mapping[str, Callable[[Compiled], float]] = {
        "read": lambda m: m.read,
        "read and derived": lambda m: m.read + m.derived,
        "printed": lambda m: m.printed,
        "types asked": lambda m: m.asked,
    }
    for suite in dict.fromkeys(m.suite for m in measured):
        of = [m for m in measured if m.suite == suite]
        for step, told in steps.items():
            values = sorted(map(told, of))
            shown = (values[len(values) // 2], values[len(values) * 95 // 100], values[-1])
            unit = "" if step == "types asked" else " ms"
            table.add_row(NAMES[suite], str(len(of)), step, *(f"{v:.0f}{unit}" for v in shown))
    return table


if __name__ == "__main__":
    benchmark()
