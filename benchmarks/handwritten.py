"""`python -m benchmarks.handwritten`: dynamic tables beside the `incremental` models one would write by hand."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
from rich.box import SIMPLE_HEAD
from rich.table import Table

from integration_tests.maintained import Maintained

from .session import benchmark_session, console_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CUSTOMERS = 100_000
CUSTOMER, AMOUNT = f"CAST(id * 7919 % {CUSTOMERS} AS INT)", "CAST(id * 7919 % 10007 / 100 AS DECIMAL(12, 2))"
END = "TIMESTAMP '2026-01-01 00:00:00'"
NEWER = "loaded_at > (SELECT COALESCE(MAX(loaded_at), TIMESTAMP '1900-01-01 00:00:00') FROM {this})"


@dataclass(frozen=True)
class Shape:
    """sql: the model; increment: what the hand-written one selects when it is incremental, `{this}` being its table;
    key: its unique_key."""

    name: str
    sql: str
    increment: str
    key: str


TOTALS = "SELECT {by}, COUNT(*) AS n, SUM(amount) AS total, MAX(loaded_at) AS loaded_at FROM events"
ENRICHED = "SELECT e.id, e.amount, e.loaded_at, c.nation FROM events e LEFT JOIN customers c ON e.customer = c.customer"
LATEST = (
    "SELECT customer, id, amount, at, loaded_at FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY customer "
    "ORDER BY at DESC, id DESC) AS place FROM events{where}) WHERE place = 1"
)
OF_DAY = TOTALS.format(by="CAST(at AS DATE) AS day")

SHAPES = (
    Shape(
        "filtered events",
        "SELECT id, customer, amount, loaded_at FROM events WHERE amount > 50",
        f"SELECT id, customer, amount, loaded_at FROM events WHERE amount > 50 AND {NEWER}",
        "id",
    ),
    Shape("latest event of each customer", LATEST.format(where=""), LATEST.format(where=f" WHERE {NEWER}"), "customer"),
    Shape(
        "totals of each day, three days back",
        f"{OF_DAY} GROUP BY CAST(at AS DATE)",
        f"{OF_DAY} WHERE at >= (SELECT DATE_SUB(MAX(day), 3) FROM {{this}}) GROUP BY CAST(at AS DATE)",
        "day",
    ),
    Shape("events with their customer's nation", ENRICHED, f"{ENRICHED} WHERE e.{NEWER}", "id"),
    Shape(
        "totals of the customers that have new events",
        TOTALS.format(by="customer") + " GROUP BY customer",
        TOTALS.format(by="customer")
        + f" WHERE customer IN (SELECT customer FROM events WHERE {NEWER}) GROUP BY customer",
        "customer",
    ),
)
"""The five that most incremental models are of."""


def batch(kind: str, n: int, rows: int) -> list[str]:
    """The n-th batch. A day: 1 % more events, in order. Late: a tenth of that, of days long gone, as many corrected,
    as many deleted, and customers that move."""
    first, now, many, old = rows * n, f"{END} + INTERVAL {n} DAYS", rows // 100, f"id % 1000 = {{}} AND id < {rows}"
    if kind == "a day":
        at = f"{now} + MAKE_DT_INTERVAL(0, 0, 0, id * 80000 / {many})"
    else:
        many //= 10
        at = f"{now} - MAKE_DT_INTERVAL(10 + CAST(id * 900 / {many} AS INT), 0, 0, 0)"
    came = (
        f"INSERT INTO events SELECT id + {first}, {CUSTOMER}, {AMOUNT}, {at}, {now} + INTERVAL 1 DAY FROM RANGE({many})"
    )
    if kind == "a day":
        return [came]
    return [
        came,
        f"UPDATE events SET amount = amount + 1, loaded_at = {now} + INTERVAL 1 DAY WHERE {old.format(7)}",
        f"DELETE FROM events WHERE {old.format(11)}",
        f"UPDATE customers SET nation = nation + 1 WHERE customer % 100 = {n}",
    ]


@dataclass(frozen=True)
class Measured:
    """seconds, by_hand: of wall time; technique: of the dynamic table; wrong, wrong_by_hand: rows that table and query
    do not have in common, both ways."""

    shape: str
    batch: str
    technique: str
    seconds: float
    by_hand: float
    wrong: int
    wrong_by_hand: int


class Comparison:
    """rows: of the events there are at first. Each model has two tables: m0 … and h0 …"""

    def __init__(self, spark: SparkSession, rows: int) -> None:
        self._tables, self._rows = Maintained(spark, "hand"), rows

    def load(self) -> None:
        sql = self._tables.sql
        sql("CREATE SCHEMA hand")
        sql("USE hand")
        at = f"{END} - MAKE_DT_INTERVAL(CAST((1 - id / {self._rows}) * 1000 AS INT), 0, 0, 0)"
        sql(
            f"CREATE TABLE events USING delta AS SELECT *, at AS loaded_at FROM (SELECT id, {CUSTOMER} AS customer, "
            f"{AMOUNT} AS amount, {at} AS at FROM RANGE({self._rows}))"
        )
        sql(
            f"CREATE TABLE customers USING delta AS SELECT CAST(id AS INT) AS customer, CAST(id % 25 AS INT) AS nation "
            f"FROM RANGE({CUSTOMERS})"
        )
        for i, shape in enumerate(SHAPES):
            self._refresh(i)
            sql(f"CREATE TABLE h{i} USING delta AS {shape.sql}")

    def after(self, kind: str, n: int) -> Iterator[Measured]:
        for statement in batch(kind, n, self._rows):
            self._tables.sql(statement)
        for i, shape in enumerate(SHAPES):
            # Whoever is second finds files in the system's cache: they take turns.
            if (i + n) % 2:
                (technique, seconds), by_hand = self._refresh(i), self._merge(i)
            else:
                by_hand, (technique, seconds) = self._merge(i), self._refresh(i)
            wrong, wrong_by_hand = self._tables.difference(f"m{i}"), self._wrong(i)
            yield Measured(shape.name, kind, technique, seconds, by_hand, wrong, wrong_by_hand)

    def _refresh(self, i: int) -> tuple[str, float]:
        started = time.perf_counter()
        outcome = self._tables.refresh(f"m{i}", sql=SHAPES[i].sql, unique_key=(SHAPES[i].key,))
        return outcome.technique, time.perf_counter() - started

    def _merge(self, i: int) -> float:
        """As dbt-spark runs an incremental model of the strategy `merge`."""
        shape, started = SHAPES[i], time.perf_counter()
        increment = shape.increment.format(this=f"h{i}")
        self._tables.sql(f"CREATE OR REPLACE TEMPORARY VIEW increment AS {increment}")
        self._tables.sql(
            f"MERGE INTO h{i} AS t USING increment AS s ON t.{shape.key} = s.{shape.key} "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
        return time.perf_counter() - started

    def _wrong(self, i: int) -> int:
        self._tables.models[f"h{i}"] = SHAPES[i].sql
        return self._tables.difference(f"h{i}")


@click.command()
@click.option("--rows", default=5_000_000, show_default=True, help="Events that there are at first.")
def handwritten(rows: int) -> None:
    """A day of new events, and one of late, corrected and deleted ones: seconds, and rows that are wrong."""
    console = console_of(140)
    with benchmark_session(console) as (spark, _):
        run = Comparison(spark, rows)
        run.load()
        # The first compiles what the others find compiled.
        list(run.after("a day", 1))
        measured = [m for n, kind in enumerate(("a day", "late"), 2) for m in run.after(kind, n)]
    console.print(f"{rows:,} events; a day brings {rows // 100:,}.")
    console.print(report(measured))
    if any(m.wrong for m in measured):
        console.print("a dynamic table does not equal its query", style="red")
        sys.exit(1)


def report(measured: list[Measured]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("batch", "model", "technique"):
        table.add_column(heading, no_wrap=True)
    for heading in ("dynamic table", "by hand", "of it", "rows wrong", "by hand"):
        table.add_column(heading, justify="right", no_wrap=True)
    for m in measured:
        table.add_row(
            m.batch, m.shape, m.technique, f"{m.seconds:.2f}s", f"{m.by_hand:.2f}s", f"{m.seconds / m.by_hand:.1f}",
            str(m.wrong), f"{m.wrong_by_hand:,}",
        )  # fmt: skip
    return table


if __name__ == "__main__":
    handwritten()
