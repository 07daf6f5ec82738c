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
import duckdb
from rich.box import SIMPLE_HEAD
from rich.table import Table

from dbt_spark_dynamic.algebra.keys import unique_key
from dbt_spark_dynamic.changes.additive import Own
from dbt_spark_dynamic.changes.change_plan import ChangePlan
from dbt_spark_dynamic.changes.plan import plan
from dbt_spark_dynamic.pipeline import Model, compile_model
from dbt_spark_dynamic.reading.relations import Columns
from dbt_spark_dynamic.sparksql.reads import Span, dated
from dbt_spark_dynamic.sparksql.render import Renderer
from dbt_spark_dynamic.sparksql.statements import explained
from integration_tests.coverage.__main__ import SCALES
from integration_tests.coverage.queries import generated, texts
from integration_tests.coverage.report import NAMES
from tests.generated.duck import SPARK_SUMS, SPARK_TYPES, Duck

from .session import console_of

TARGET = "models.target"

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
    folder = generated(suite, SCALES[suite])
    duck = Duck({file.stem: _columns(str(file)) for file in sorted(folder.glob("*.parquet"))}, {})
    duck.enter(suite, [[]])
    duck.at(0)
    types = Types(duck)
    for number, sql in sorted(texts(folder).items()):
        result = types(sql)
        compile_model(sql, result, duck, types)
        before = types.asked
        # A model of its own each time: what is once known of a plan is kept with it.
        models = [_timed(lambda sql=sql, result=result: compile_model(sql, result, duck, types)) for _ in range(3)]
        asked = (types.asked - before) // 3
        plans = [_timed(lambda model=model: _derived(model)) for _, model in models]
        printed = [_timed(lambda p=p, m=m: _printed(p, m)) for (_, p), (_, m) in zip(plans, models, strict=True)]
        best = (min(seconds for seconds, _ in step) * 1000 for step in (models, plans, printed))
        yield Compiled(suite, number, *best, asked)


def _columns(file: str) -> Columns:
    described = duckdb.sql(f"DESCRIBE SELECT * FROM '{file}'").fetchall()
    return tuple((name, SPARK_TYPES.get(kind, kind)) for name, kind, *_ in described)


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    started = time.process_time()
    done = work()
    return time.process_time() - started, done


def _derived(model: Model) -> ChangePlan:
    """For a change of every table."""
    assert model.node is not None, model.refusal
    own = Own(TARGET, {name: SPARK_SUMS.get(kind, kind) for name, kind in model.columns})
    by_key = unique_key(model.node, {}) is not None
    return plan(model.node, frozenset(model.sources), {}, own, by_key=by_key)


def _printed(derived: ChangePlan, model: Model) -> list[str]:
    spans: Mapping[str, Span] = dict.fromkeys((*model.sources, TARGET), Span(1, 2))
    renderer = Renderer(dated(spans))
    texts = [explained(b.why, renderer.query(b.node)) for b in (*derived.bindings, derived.result)]
    if derived.additions is not None:
        texts.append(explained("", renderer.query(derived.additions.rows)))
    return texts


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
