"""Stream, tables and sinks in one project whose run is killed, with its Java process, between two of its steps.

Each killed run had something new to do at every step. The run after all of them ends: nothing is lost, nothing is there
twice, and no table was built anew.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from integration_tests.own_process import SHORT_LIVED, shop_project
from integration_tests.test_kafka import model
from integration_tests.test_streams import drop_in

SECONDS = 180

WAREHOUSE = "store/warehouse/shop.db"
# What a run does next when a new path like that appears.
OF_STREAMS = {
    "a batch is committed, and its checkpoint is not": f"{WAREHOUSE}/clicks/_delta_log/*.json",
    "a batch is merged, and its checkpoint is not": f"{WAREHOUSE}/prices/_delta_log/*.json",
}
OF_TABLES = {
    "a table is written, and its sink is not": f"{WAREHOUSE}/per_user/_delta_log/*.json",
    "messages are being written": "out/_aside_*",
    "messages are committed to a table of them": f"{WAREHOUSE}/messages/_delta_log/*.json",
}

PER_USER = "SELECT c.user, COUNT(*) AS n, SUM(p.price) AS total FROM {clicks} c JOIN {prices} p ON c.item = p.item \
GROUP BY c.user"
LATEST = "SELECT user, MAX(n) AS latest, COUNT(*) AS clicks FROM {clicks} GROUP BY user"
UPSERTS = {"format": "delta", "mode": "upsert", "table": "messages"}


class Shop:
    """A project with two streams, two tables and two sinks, each run of it a process with a new Spark."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._rng, self._n = folder, random.Random(5), 0
        self.clicks: list[tuple[int, str, int]] = []
        self.prices: dict[int, tuple[int, int]] = {}
        for name in ("in_clicks", "in_prices"):
            (folder / name).mkdir()
        clicks, prices = "{{ source('shop', 'clicks') }}", "{{ source('shop', 'prices') }}"
        by_user, latest = PER_USER.format(clicks=clicks, prices=prices), LATEST.format(clicks=clicks)
        retractions = {"format": "json", "mode": "retract", "path": str(folder / "out")}
        files = {
            "profiles.yml": "shop: {target: dev, outputs: {dev: {type: spark_dynamic, schema: shop}}}",
            "models/sources.yml": f"sources: [{{name: shop, schema: shop, tables: [{', '.join(self._streams())}]}}]",
            "models/per_user.sql": model(by_user, sink=repr(retractions)),
            "models/latest.sql": model(latest, sink=repr(UPSERTS)),
        }
        self._environment = shop_project(folder, files) | SHORT_LIVED

    def _streams(self) -> Iterator[str]:
        for name, said, columns in (
            ("clicks", "", ("n", "user", "item")),
            ("prices", ", key: item, sequence_by: at", ("item", "price", "at")),
        ):
            stream = f"{{format: json, options: {{path: '{self.folder}/in_{name}', mode: FAILFAST}}{said}}}"
            listed = ", ".join(f"{{name: {c}, data_type: {'string' if c == 'user' else 'int'}}}" for c in columns)
            yield f"{{name: {name}, meta: {{stream: {stream}}}, columns: [{listed}]}}"

    def arrive(self) -> None:
        """New clicks of every user, and a new price of every item."""
        self._n += 1
        clicks = [(self._n * 10 + i, user, self._rng.randrange(3)) for i, user in enumerate(("mary", "bob", "liz"))]
        prices = {item: (self._rng.randrange(100), self._n) for item in range(3)}
        drop_in(self.folder / "in_clicks", f"{self._n}.json", *(dict(n=n, user=u, item=i) for n, u, i in clicks))
        drop_in(
            self.folder / "in_prices", f"{self._n}.json",
            *(dict(item=item, price=price, at=at) for item, (price, at) in prices.items()),
        )  # fmt: skip
        self.clicks += clicks
        self.prices |= prices

    @contextmanager
    def started(self) -> Iterator[subprocess.Popen[bytes]]:
        """A run, which does not outlive the block, nor does its Spark."""
        command = [str(Path(sys.executable).with_name("dbt")), "run", "--profiles-dir", ".", "--threads", "1"]
        with (self.folder / "said").open("w") as said:
            process = subprocess.Popen(
                command, cwd=self.folder, env=self._environment, stdout=said, stderr=said, start_new_session=True
            )
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(30)

    def run(self) -> dict[str, str]:
        """To its end. Model -> code."""
        with self.started() as process:
            assert process.wait(SECONDS) == 0, (self.folder / "said").read_text()
        results = json.loads((self.folder / "target/run_results.json").read_text())["results"]
        return {r["unique_id"].split(".")[-1]: r["adapter_response"]["code"] for r in results}

    def killed(self, appears: str) -> None:
        """A run that is killed as soon as a new path like that appears."""
        before, deadline = set(self.folder.glob(appears)), time.monotonic() + SECONDS
        with self.started() as process:
            while not set(self.folder.glob(appears)) - before:
                said = (self.folder / "said").read_text
                assert process.poll() is None and time.monotonic() < deadline, f"no {appears}: {said()}"
                time.sleep(0.001)
        assert process.returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    # Batches that are committed without their checkpoint are what a test of streams dies with, too.
    "steps",
    [pytest.param(OF_STREAMS, id="streams", marks=pytest.mark.thorough), pytest.param(OF_TABLES, id="tables")],
)
def test_killed_between_two_steps(spark: SparkSession, tmp_path: Path, steps: dict[str, str]) -> None:
    shop = Shop(tmp_path)
    shop.arrive()
    assert set(shop.run().values()) == {"CREATED"}
    for appears in steps.values():
        shop.arrive()
        shop.killed(appears)
    assert set(shop.run().values()) <= {"INCREMENTAL", "NO CHANGE"}

    def rows(sql: str) -> Counter[tuple[Any, ...]]:
        return Counter(tuple(r) for r in spark.sql(sql).collect())

    names = ("clicks", "prices", "per_user", "latest", "messages")
    table = {name: f"delta.`{tmp_path / WAREHOUSE / name}`" for name in names}
    assert rows(f"SELECT n, user, item FROM {table['clicks']}") == Counter(shop.clicks)
    assert rows(f"SELECT item, price, at FROM {table['prices']}") == Counter((i, *p) for i, p in shop.prices.items())
    assert rows(f"TABLE {table['per_user']}") == rows(PER_USER.format(**table))
    assert rows(f"TABLE {table['latest']}") == rows(LATEST.format(**table))

    schema = "_flag BOOLEAN, user STRING, n BIGINT, total BIGINT"
    spark.read.schema(schema).json(str(tmp_path / "out")).createOrReplaceTempView("retractions")
    replayed = "SELECT user, n, total FROM retractions GROUP BY ALL HAVING SUM(IF(_flag, 1, -1)) = 1"
    assert rows(replayed) == rows(f"TABLE {table['per_user']}")
    assert rows("SELECT 1 FROM retractions GROUP BY user, n, total HAVING SUM(IF(_flag, 1, -1)) NOT IN (0, 1)") == {}
    last = f"SELECT user, MAX_BY(latest, _version), MAX_BY(clicks, _version) FROM {table['messages']} GROUP BY user"
    assert rows(last) == rows(f"TABLE {table['latest']}")
    once = f"SELECT 1 FROM {table['messages']} GROUP BY user, _version HAVING COUNT(*) > 1"
    assert rows(once) == {}
