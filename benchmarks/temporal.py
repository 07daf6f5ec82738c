"""`python -m benchmarks.temporal`: what a temporal join costs, beside the plain range join, with many keys and few.

2 M orders meet 200 k versions; then 0.1 % of either side changes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
from rich.box import SIMPLE_HEAD
from rich.table import Table

from dbt_spark_dynamic.reading.relations import Versioning
from integration_tests.maintained import Maintained

from .session import benchmark_session, console_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPAN = 10_000_000
"""Seconds over which both orders and versions are spread."""

ORDERS = (
    "SELECT id, CAST(id % {keys} AS INT) AS currency, CAST(id % 997 AS INT) AS amount,"
    " TIMESTAMP_SECONDS(1600000000 + id * 7919 % {span}) AS order_time FROM RANGE({first}, {last})"
)
VERSIONS = (
    "SELECT CAST(id % {keys} AS INT) AS currency, CAST(id AS INT) AS rate,"
    " TIMESTAMP_SECONDS(1600000000 + id DIV {keys} * {lasts}) AS dbt_valid_from,"
    " CASE WHEN id < {versions} - {keys} THEN TIMESTAMP_SECONDS(1600000000 + (id DIV {keys} + 1) * {lasts}) END"
    " AS dbt_valid_to FROM RANGE({versions})"
)

MODEL = (
    "SELECT o.id, o.currency, o.amount * r.rate AS paid FROM orders o"
    " LEFT JOIN rates FOR SYSTEM_TIME AS OF o.order_time AS r ON o.currency = r.currency"
)
PLAIN = (
    "SELECT o.id, o.currency, o.amount * r.rate AS paid FROM {orders} o LEFT JOIN rates r ON o.currency = r.currency"
    " AND r.dbt_valid_from <= o.order_time AND (r.dbt_valid_to IS NULL OR o.order_time < r.dbt_valid_to)"
)


@dataclass(frozen=True)
class Measured:
    """seconds: of wall time; of_rebuild: how many rebuilds that is, of a sample of the orders reckoned for all."""

    keys: int
    what: str
    technique: str
    seconds: float
    of_rebuild: float


class Orders:
    """rows, versions: of the two sides; comparisons: of an order with a version that the plain range join may take, and
    so how many of the orders it is timed with."""

    def __init__(self, spark: SparkSession, rows: int, versions: int, comparisons: int) -> None:
        self.spark, self.rows, self.versions, self.comparisons = spark, rows, versions, comparisons

    def measure(self, keys: int, say: Callable[[str], None]) -> Iterator[Measured]:
        schema = f"keys_{keys}"
        tables = Maintained(self.spark, schema)
        self.spark.sql(f"CREATE SCHEMA {schema}")
        self.spark.sql(f"USE {schema}")
        lasts = SPAN * keys // self.versions
        of = {"keys": keys, "span": SPAN, "versions": self.versions, "lasts": lasts}
        say(f"{keys} keys: making the tables")
        self.spark.sql(f"CREATE TABLE orders USING delta AS {ORDERS.format(first=0, last=self.rows, **of)}")
        self.spark.sql(f"CREATE TABLE rates USING delta AS {VERSIONS.format(**of)}")
        say(f"{keys} keys: building")
        options = {"sql": MODEL, "versionings": {f"{schema}.rates": Versioning(("currency",))}, "unique_key": ()}

        def refresh() -> str:
            outcome = tables.refresh("m", **options)
            return outcome.technique

        first, rebuild = (self._timed(lambda: tables.refresh("m", **options, full_refresh=True)) for _ in range(2))
        sample = min(self.rows, self.comparisons * keys // self.versions)
        say(f"{keys} keys: plain range join of {sample:,} orders")
        some = f"(SELECT * FROM orders WHERE id < {sample})"
        plain = self._timed(lambda: self._create(PLAIN.format(orders=some)))
        of_all = plain * self.rows / sample / rebuild
        yield Measured(keys, f"plain range join of {sample:,} orders", "", plain, of_all)
        yield Measured(keys, "build", "create", first, first / rebuild)
        yield Measured(keys, "rebuild", "create", rebuild, 1.0)
        few, every, last = self.rows // 1000, 1000, self.rows
        for what, statements in (
            ("0.1 % of orders came", [f"INSERT INTO orders {ORDERS.format(first=last, last=last + few, **of)}"]),
            ("0.1 % of orders moved in time", [
                "UPDATE orders SET order_time = order_time + INTERVAL 1 DAY WHERE id % 1000 = 3",
            ]),
            ("0.1 % of versions came late, splitting others", [
                "CREATE OR REPLACE TABLE late USING delta AS SELECT currency, rate + 1 AS rate, dbt_valid_from"
                f" + MAKE_INTERVAL(0, 0, 0, 0, 0, 0, {lasts // 2}) AS dbt_valid_from, dbt_valid_to FROM rates"
                f" WHERE rate % {every} = 7",
                f"UPDATE rates SET dbt_valid_to = dbt_valid_from + MAKE_INTERVAL(0, 0, 0, 0, 0, 0, {lasts // 2})"
                f" WHERE rate % {every} = 7",
                "INSERT INTO rates SELECT * FROM late",
            ]),
            ("0.1 % of versions corrected", [f"UPDATE rates SET rate = rate + 500000 WHERE rate % {every} = 11"]),
        ):  # fmt: skip
            say(f"{keys} keys: {what}")
            for statement in statements:
                self.spark.sql(statement)
            techniques: list[str] = []
            seconds = self._timed(lambda: techniques.append(refresh()))  # noqa: B023
            yield Measured(keys, what, techniques[0], seconds, seconds / rebuild)
        say(f"{keys} keys: comparing with a rebuild")
        kept = self._sums()
        tables.refresh("m", **options, full_refresh=True)
        if kept != self._sums():
            raise click.ClickException(f"{keys} keys: the table is not its query.")

    def _sums(self) -> list:
        return self.spark.sql("SELECT COUNT(*), COUNT(paid), SUM(paid), SUM(paid % 9973 * id) FROM m").collect()

    def _create(self, sql: str) -> None:
        self.spark.sql(f"CREATE OR REPLACE TABLE plain USING delta AS {sql}")

    def _timed(self, work: Callable[[], object]) -> float:
        started = time.perf_counter()
        work()
        return time.perf_counter() - started


@click.command()
@click.option("--rows", default=2_000_000, show_default=True, help="Orders.")
@click.option("--versions", default=200_000, show_default=True, help="Versions of rates.")
@click.option("--keys", default=(1000, 10), multiple=True, show_default=True, help="Keys that share the versions.")
@click.option("--comparisons", default=400_000_000, show_default=True, help="That the plain range join may take.")
def benchmark(rows: int, versions: int, keys: tuple[int, ...], comparisons: int) -> None:
    """A temporal join built, and refreshed by changes of either side."""
    console = console_of(120)
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("keys", "what", "technique", "seconds", "of a rebuild"):
        table.add_column(heading, justify="left" if heading in ("what", "technique") else "right", no_wrap=True)
    with benchmark_session(console) as (spark, _):
        run = Orders(spark, rows, versions, comparisons)
        with console.status("Starting") as status:
            for n in keys:
                for m in run.measure(n, status.update):
                    table.add_row(str(m.keys), m.what, m.technique, f"{m.seconds:.1f}", f"{m.of_rebuild:.1f}")
    console.print(table)


if __name__ == "__main__":
    benchmark()
