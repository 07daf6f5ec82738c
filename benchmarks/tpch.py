"""`python -m benchmarks.tpch`: the 22 queries of TPC-H as dynamic tables, refreshed beside being built."""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from dbt_spark_dynamic.commit.classic import FEEDS, ROWS_MET
from integration_tests.coverage.queries import generated, settled, texts
from integration_tests.maintained import Maintained

from .refresh_functions import Change
from .report import Refreshed, mean, page
from .session import benchmark_session, console_of
from .time_spent import TimedEngine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dbt_spark_dynamic.commit.engine import Engine

SHARES = (0.00001, 0.0001, 0.001, 0.01, 0.1)
"""Of the orders, those that come, and with deletes as many that go."""

KINDS = {Change(0, mixed, recent, 0).kind: (mixed, recent) for recent in (False, True) for mixed in (False, True)}

FIRST = tuple(Change(SHARES[0], mixed=True, recent=False, number=number) for number in range(2))
"""What comes before all that counts: of averages and the like, the ledger begins to keep what they are made of, and of
what is slow to maintain, a state table is begun or found to be of no use."""

EACH, LAST, NEVER = "each", "last", "never"

ROOT = Path(__file__).parents[1]

MEASURED = ROOT / "benchmarks/measured"
"""What is measured of each change at each scale, until it is measured again: docs/benchmarks.md is printed from all of
it."""

PAGE = ROOT / "docs/benchmarks.md"

BUILD = "CREATE OR REPLACE TABLE built USING delta AS {}"


class TpcH:
    """scale: of the generator, 1 is 6 M lines; numbers: of the queries; alone: whether each is refreshed as if no other
    model of the process read what it reads."""

    def __init__(
        self,
        spark: SparkSession,
        scale: str,
        numbers: Sequence[int],
        say: Callable[[str], None],
        *,
        alone: bool = False,
    ) -> None:
        self._folder = generated("tpch", scale)
        self.models = {n: sql for n, sql in texts(self._folder).items() if not numbers or n in numbers}
        self._tables = Maintained(spark, "tpch", wrap=self._timing)
        self._spark, self._say, self._alone = spark, say, alone
        self._build: dict[int, float] = {}
        self._engine: TimedEngine | None = None

    def _timing(self, engine: Engine) -> Engine:
        self._engine = TimedEngine(engine)
        return cast("Engine", self._engine)

    def load(self) -> None:
        self._tables.sql("CREATE SCHEMA tpch")
        self._tables.sql("USE tpch")
        for file in sorted(self._folder.glob("*.parquet")):
            self._say(f"loading {file.stem}")
            self._tables.sql(
                f"CREATE TABLE {file.stem} USING delta TBLPROPERTIES ('delta.enableChangeDataFeed'='true',"
                f" 'delta.enableDeletionVectors'='true') AS SELECT * FROM parquet.`{file}`"
            )

    def create(self) -> None:
        for n, sql in self.models.items():
            self._say(f"creating query {n}")
            self._tables.refresh(f"q{n}", sql=sql)

    def build(self) -> None:
        """What building each table takes, by CREATE TABLE AS. Of sources that rows have left, as they have before each
        refresh that counts: where rows are marked as gone, Spark takes up to half as long again for a scan."""
        for n, sql in self.models.items():
            self._say(f"building query {n}")
            self._build[n] = self._timed(BUILD.format(sql))

    def change(self, change: Change, compare: bool, again: bool = False) -> Iterable[Refreshed]:
        """One change of the sources, and a refresh of every table. again: whether it is another one of its size."""
        self._say(f"changing {change.share:.3%}, {change.kind}")
        orders = self._spark.table("orders").count()
        for statement in change.statements(orders):
            self._tables.sql(statement)
        for n, sql in self.models.items():
            self._say(f"{change.share:.3%}, {change.kind}: query {n}")
            if self._alone:
                self._read_for_nobody()
            started = time.perf_counter()
            outcome = self._tables.refresh(f"q{n}", sql=sql)
            seconds = time.perf_counter() - started
            assert self._engine is not None
            spent = {what: round(took, 2) for what, took in self._engine.spent.items()}
            yield Refreshed(
                n, change.share, change.kind, outcome.technique or outcome.code.value, seconds, self._build.get(n, 0.0),
                len(self._tables.statements), self._equal(n) if compare else None, spent, again,
            )  # fmt: skip

    def built_then(self, these: Sequence[Refreshed]) -> list[Refreshed]:
        """These refreshes of one change; those that took longer than a build, with what one takes now, of the sources
        as they read them."""
        found = []
        for r in these:
            if r.ratio < 1:
                self._say(f"building query {r.query} beside its refresh")
                r = replace(r, then=self._timed(BUILD.format(self.models[r.query])))
            found.append(r)
        return found

    def _read_for_nobody(self) -> None:
        """Forgets what was read for all models, and what they have asked for so far."""
        for shared in (FEEDS, ROWS_MET):
            shared.pop(self._spark.sparkContext, None)
        self._spark.catalog.clearCache()

    def _equal(self, n: int) -> bool:
        held = Counter(map(tuple, self._tables.sql(f"SELECT * FROM q{n}")))
        if held == Counter(map(tuple, self._tables.sql(self.models[n]))):
            return True
        return held == Counter(map(tuple, self._tables.sql(settled(self._spark, self.models[n]))))

    def _timed(self, statement: str) -> float:
        started = time.perf_counter()
        self._tables.sql(statement)
        return time.perf_counter() - started


@click.command()
@click.option("--scale", default="1", show_default=True, help="Of the generator: 1 is 6 M lines.")
@click.option("--query", "numbers", multiple=True, type=int, help="Only this one (may be given several times).")
@click.option("--share", "shares", multiple=True, type=float, help="Only this share of the orders.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(list(KINDS)), help="Only changes of this kind.")
@click.option(
    "--compare",
    default=EACH,
    show_default=True,
    type=click.Choice([EACH, LAST, NEVER]),
    help="After which change each table is compared with its query.",
)
@click.option("--again", is_flag=True, help="After each change another one of its size.")
@click.option("--alone", is_flag=True, help="Each as if no other model read its sources; not kept.")
def tpch(
    scale: str,
    numbers: tuple[int, ...],
    shares: tuple[float, ...],
    kinds: tuple[str, ...],
    compare: str,
    again: bool,
    alone: bool,
) -> None:
    """Each query as a dynamic table: what a refresh takes beside CREATE TABLE AS, by how much changed and where."""
    console = console_of(140)
    found: list[Refreshed] = []
    with benchmark_session(console) as (spark, _), console.status("") as status:
        run = TpcH(spark, scale, numbers, status.update, alone=alone)
        run.load()
        run.create()
        for first in FIRST:
            for refreshed in run.change(first, compare=False):
                console.print(f"query {refreshed.query}: {refreshed.technique} in {refreshed.seconds:.2f} s")
        console.print("Those were the first refreshes of each, which do not count.")
        run.build()
        times = (False, True) if again else (False,)
        each = itertools.product(shares or SHARES, kinds or KINDS, times)
        cases = [(share, *KINDS[kind], once_more) for share, kind, once_more in each]
        for number, (share, mixed, recent, once_more) in enumerate(cases, len(FIRST)):
            these, compared = [], compare == EACH or (compare == LAST and number == len(cases) + len(FIRST) - 1)
            for refreshed in run.change(Change(share, mixed, recent, number), compared, once_more):
                these.append(refreshed)
                console.print(line(refreshed))
            these = run.built_then(these)
            found += these
            if not numbers and not alone:
                # What takes so long is not lost if it ends before its time.
                keep(found, scale)
            for r in these:
                if r.then:
                    console.print(f"query {r.query}: {r.seconds:.2f} s, and built of the same sources {r.then:.2f} s")
            least = min(r.ratio for r in these)
            console.print(f"{share:.3%} {these[0].case[1]}: mean {mean(these):.2f}x, least {least:.2f}x")
    if wrong := [r for r in found if r.equal is False]:
        console.print(f"query {wrong[0].query} does not equal its query after {wrong[0].kind}", style="red")
        sys.exit(1)


def measured() -> dict[str, list[Refreshed]]:
    """What was measured, by scale, the smallest first."""
    scales = {file.stem.removeprefix("tpch-"): file for file in MEASURED.glob("tpch-*.json")}
    return {s: [Refreshed(**r) for r in json.loads(scales[s].read_text())] for s in sorted(scales, key=float)}


def keep(found: Sequence[Refreshed], scale: str) -> None:
    """Writes what was measured, and the page of it and of what was measured before: other changes, other scales."""
    anew = {r.case for r in found}
    others = [r for r in measured().get(scale, []) if r.case not in anew]
    all_of_it = sorted([*others, *found], key=lambda r: (r.share, list(KINDS).index(r.kind), r.again))
    lines = ",\n".join(json.dumps(asdict(r)) for r in all_of_it)
    MEASURED.mkdir(parents=True, exist_ok=True)
    (MEASURED / f"tpch-{scale}.json").write_text(f"[\n{lines}\n]\n")
    PAGE.write_text(page(measured()))


def line(refreshed: Refreshed) -> str:
    r = refreshed
    said = f"{r.share:.3%} {r.case[1]:25} q{r.query:<3} {r.technique:12} {r.seconds:6.2f} s, built in {r.build:6.2f} s"
    return f"{said} {r.ratio:5.2f}x {r.statements:3} statements{'' if r.equal is not False else ', NOT EQUAL'}"


if __name__ == "__main__":
    tpch()
