"""The tests of dynamic tables again, on every way to reach Spark that the other tests do not use.

Each way in a process of its own: how Spark is reached is decided once in a process.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from integration_tests.conftest import DbtProject
from integration_tests.connections import CONNECTIONS

HERE = Path(__file__).parent
FILES = (
    "test_dynamic_table.py",
    "test_model_configuration.py",
    "test_versioned_table.py",
    "test_temporal_join.py",
    "test_changelog.py",
    "test_seeds.py",
    "test_watch.py",
    "test_connections.py",
)
MINUTES = 30


@pytest.mark.parametrize("other", [name for name in CONNECTIONS if name != "session"])
def test_the_same_tests_over(other: str, request: pytest.FixtureRequest, spark: object) -> None:
    """spark: fetches Delta's jars where that was never done."""
    if request.config.getoption("--connection") != "session":
        pytest.skip("these tests are run over one connection already")
    quiet = ["-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "every_connection"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *quiet, "--connection", other, *(str(HERE / file) for file in FILES)],
        cwd=HERE.parent, capture_output=True, text=True, timeout=MINUTES * 60, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-8000:] + ran.stderr[-2000:]


@pytest.mark.every_connection
def test_a_connection_is_found_to_be_fit(dbt_project: DbtProject, capfd: pytest.CaptureFixture[str]) -> None:
    dbt_project.dbt("debug")
    assert "delta tables: understood [OK]" in capfd.readouterr().out
