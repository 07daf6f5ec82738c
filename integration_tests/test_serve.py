"""`dbt-dynamic serve`: dbt in processes of its own uses its Spark, and does without when it is gone."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from dbt_spark_dynamic.embedded.served import Served, find, is_held
from dbt_spark_dynamic.embedded.store import Store
from integration_tests.conftest import TEST_CONF
from integration_tests.own_process import CLI, SHORT_LIVED, running_javas, shop_project

DBT = [sys.executable, "-c", "from dbt.cli.main import cli; cli()", "--no-use-colors"]
SECONDS = 120

FILES = {
    "seeds/names.csv": "id,name\n1,Ann\n2,Bob\n",
    "models/visits.sql": "{{ config(materialized='incremental') }}\n"
    "select id from explode(array({{ var('ids', '1') }})) as t(id)",
    "models/totals.sql": "{{ config(materialized='dynamic_table') }}\n"
    "select name, count(*) as n from {{ ref('visits') }} join {{ ref('names') }} using (id) group by name",
    "tests/equal.sql": "with query as (\n"
    "  select name, count(*) as n from {{ ref('visits') }} join {{ ref('names') }} using (id) group by name)\n"
    "(select * from query except all select * from {{ ref('totals') }})\n"
    "union all (select * from {{ ref('totals') }} except all select * from query)",
}

PROFILE = {"type": "spark_dynamic", "schema": "shop", "server_side_parameters": TEST_CONF}
TARGETS = {"dev": PROFILE, "large": {**PROFILE, "driver_memory": "2g"}}

VISIT = """
import json, sys
from pathlib import Path
from dbt_spark_dynamic.embedded.attach import attach, gone, visited
from dbt_spark_dynamic.embedded.settings import EmbeddedSettings
from dbt.adapters.spark_dynamic.credentials import SparkDynamicCredentials
given = json.loads(sys.argv[2])
conf = SparkDynamicCredentials(schema="shop", database=None, server_side_parameters=given).embedded_settings().conf
spark = attach(EmbeddedSettings(Path(sys.argv[1]), conf=conf))
"""
"""How a guest begins."""


@dataclass
class Shop:
    folder: Path
    environment: dict[str, str]

    @property
    def store(self) -> Store:
        return Store(self.folder / "store")

    def run(self, command: list[str], *arguments: str, fails: bool = False) -> str:
        ran = subprocess.run(
            [*command, *arguments], cwd=self.folder, env=self.environment, timeout=SECONDS,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        assert (ran.returncode != 0) is fails, ran.stdout
        return ran.stdout

    def build(self, *ids: int, selected: str = "*") -> str:
        """Seed, models, and the test that the dynamic table is its query, after these visits; how it was refreshed."""
        said = self.run(DBT, "build", "--vars", json.dumps({"ids": ", ".join(map(str, ids))}), "--select", selected)
        (line,) = (line for line in said.splitlines() if "OK created sql dynamic_table" in line)
        assert " PASS equal " in said
        return line

    def serve(self, said: Path, *options: str) -> tuple[subprocess.Popen[bytes], Served]:
        with said.open("w") as out:
            server = subprocess.Popen(
                [*CLI, "serve", *options], cwd=self.folder, env=self.environment, stdout=out, stderr=out
            )
        try:
            while not is_held(self.store):
                assert server.poll() is None, said.read_text()
                time.sleep(0.1)
            served = find(self.store, SECONDS)
            assert served is not None and served.pid == server.pid, said.read_text()
        except BaseException:
            server.kill()
            raise
        return server, served

    @contextmanager
    def guest(self, code: str) -> Iterator[subprocess.Popen[str]]:
        """A process that uses the store's Spark as `spark`."""
        guest = subprocess.Popen(
            [sys.executable, "-c", VISIT + code, str(self.store.folder), json.dumps(TEST_CONF)],
            cwd=self.folder, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            yield guest
        finally:
            if guest.poll() is None:
                guest.kill()
            guest.wait(30)

    def starts(self) -> tuple[int, bool]:
        """What changes when a Spark is started on the store."""
        return self.store.log.stat().st_ino, self.store.log.with_suffix(".log.1").exists()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    folder = tmp_path_factory.mktemp("served")
    profiles = yaml.safe_dump({"shop": {"target": "dev", "outputs": TARGETS}}, default_flow_style=False)
    return Shop(folder, shop_project(folder, {**FILES, "profiles.yml": profiles}) | SHORT_LIVED)


@pytest.fixture(scope="module")
def server(shop: Shop) -> Iterator[tuple[subprocess.Popen[bytes], Served]]:
    process, served = shop.serve(shop.folder / "said")
    yield process, served
    if process.poll() is None:
        process.kill()
    process.wait(30)


def test_dbt_uses_it_with_the_profile_as_it_is(shop: Shop, server: tuple[subprocess.Popen[bytes], Served]) -> None:
    before = shop.starts()
    assert "CREATED" in shop.build(1)
    assert "INCREMENTAL" in shop.build(1, 2)
    assert f"served by {server[1].place}" in shop.run(DBT, "debug")
    assert "additive" in shop.run(CLI, "explain", "totals")
    assert shop.starts() == before


def test_a_second_one_and_a_profile_of_other_settings_are_refused(
    shop: Shop, server: tuple[subprocess.Popen[bytes], Served]
) -> None:
    place = server[1].place
    assert f"served already, by {place}: use that one, or end it first: kill {server[1].pid}." in shop.run(
        CLI, "serve", fails=True
    )
    said = shop.run(DBT, "run", "--target", "large", fails=True)
    assert f"served by {place}, whose Spark was started with other values of driver_memory" in said
    assert "Traceback" not in said


CUT_OFF = """
from dbt_spark_dynamic.commit.classic import ClassicEngine
from dbt_spark_dynamic.commit.engine import SqlError
engine = ClassicEngine(spark.newSession())
try:
    with engine.steady(), engine.reading(0):
        engine.pin("few", "SELECT 1", few=True)
        print("in the middle of it", flush=True)
        sys.stdin.readline()
        try:
            engine.write("SELECT 1", {"spark.sql.shuffle.partitions": "3"})
        finally:
            engine.unpin("few")
except SqlError:
    print(gone(), flush=True)
"""
"""Of a guest, what is not a refresh and goes on in the same way."""


def test_killed_it_is_not_missed(shop: Shop, server: tuple[subprocess.Popen[bytes], Served]) -> None:
    process, served = server
    before = shop.starts()
    with shop.guest(CUT_OFF) as guest:
        assert guest.stdout is not None
        assert guest.stdout.readline() == "in the middle of it\n"
        process.kill()
        process.wait(30)
        while running_javas(shop.store):
            time.sleep(0.1)
        assert "has ended: run this again" in guest.communicate("\n", timeout=SECONDS)[0]
    assert str(served.pid) in shop.store.server.read_text()
    assert "INCREMENTAL" in shop.build(1, selected="visits+")
    assert shop.starts() != before


COUNTS = """
print(visited().pid, flush=True)
sys.stdin.readline()
print(spark.table("shop.totals").count(), flush=True)
"""


@pytest.mark.thorough
def test_sigterm_ends_it_after_its_guests(shop: Shop) -> None:
    process, _ = shop.serve(shop.folder / "said")
    try:
        with shop.guest(COUNTS) as guest:
            assert guest.stdout is not None
            assert guest.stdout.readline() == f"{process.pid}\n"
            process.send_signal(signal.SIGTERM)
            time.sleep(2)
            assert process.poll() is None
            assert guest.communicate("\n", timeout=SECONDS)[0] == "2\n"
            assert process.wait(60) == 0, (shop.folder / "said").read_text()
    finally:
        if process.poll() is None:
            process.kill()
    said = (shop.folder / "said").read_text()
    assert "It ends when the dbt processes that are using it have" in said
    assert said.endswith("Ended, because it was told to.\n")
    assert not is_held(shop.store) and not shop.store.server.read_text()
    with shop.store.claim():
        assert not running_javas(shop.store)
