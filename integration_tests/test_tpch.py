"""The TPC-H marts at scale 0.01: equal to their queries, and by change, wave after wave."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from integration_tests.demo import data, waves
from integration_tests.demo.check import compare
from integration_tests.demo.project import Project
from integration_tests.demo.report import complaints

FOLDER = Path(__file__).parent / "tpch"
MARTS = {path.stem for path in (FOLDER / "models" / "marts").glob("*.sql")}
SCALE, FRACTION = 0.01, 0.005


@dataclass(frozen=True)
class Warehouse:
    """TPC-H loaded and its marts built, in schemas of their own; rows as loaded, per table."""

    spark: SparkSession
    project: Project
    raw: str
    scratch: str
    rows: dict[str, int]

    def change(self, seed: int) -> None:
        waves.apply(self.spark, self.raw, waves.wave(self.raw, FRACTION, seed, self.rows))

    def refresh_and_complain(self) -> list[str]:
        refreshes = self.project.run()
        assert set(refreshes) == MARTS
        comparisons = {
            model: compare(self.spark, refresh.relation, refresh.query, self.scratch)
            for model, refresh in refreshes.items()
        }
        return complaints(refreshes, comparisons)


@pytest.fixture(scope="module")
def warehouse(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    folder = tmp_path_factory.mktemp("tpch")
    marts = f"tpch_{uuid4().hex[:8]}"
    raw = f"{marts}_raw"
    rows = data.load(spark, data.generate(folder, SCALE), raw)
    project = Project(FOLDER, folder, {"raw_schema": raw, "mart_schema": marts})
    created = project.run()
    assert {refresh.code for refresh in created.values()} == {"CREATED"}
    return Warehouse(spark, project, raw, f"{raw}.rebuilt", rows)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.thorough)])
def test_every_mart_equals_its_query_after_each_wave(warehouse: Warehouse, seed: int) -> None:
    warehouse.change(seed)
    assert warehouse.refresh_and_complain() == []


def test_the_project_passes_its_own_tests(warehouse: Warehouse) -> None:
    warehouse.project.invoke("test")


def test_nothing_is_refreshed_when_nothing_changed(warehouse: Warehouse) -> None:
    # Brings the marts up to date first, so that this test says the same when it runs alone.
    warehouse.project.run()
    assert {refresh.code for refresh in warehouse.project.run().values()} == {"NO CHANGE"}
