"""The tests of dynamic tables again, on a cluster; and what is asked of every way to reach Spark."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from integration_tests.conftest import DbtProject

HERE = Path(__file__).parent
OF_A_CLUSTER = (
    ("test_seeds.py",),
    pytest.param(("test_connections.py", "test_dynamic_table.py", "test_temporal_join.py"), marks=pytest.mark.thorough),
)
"""A cluster is reached as the Spark in this process is; only its tasks are somewhere else."""

MINUTES = 30


@pytest.mark.parametrize("files", OF_A_CLUSTER, ids=" ".join)
def test_the_same_tests_on_a_cluster(request: pytest.FixtureRequest, spark: object, files: tuple[str, ...]) -> None:
    """In a process of its own: which Spark it is is decided once in a process. spark: fetches Delta's jars where that
    was never done."""
    if request.config.getoption("--connection") != "session":
        pytest.skip("these tests are run on a cluster already")
    quiet = ["-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist"]
    those = ["--connection", "cluster", "-m", "every_connection", *(str(HERE / name) for name in files)]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *quiet, *those],
        cwd=HERE.parent, capture_output=True, text=True, timeout=MINUTES * 60, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-8000:] + ran.stderr[-2000:]


@pytest.mark.every_connection
def test_a_connection_is_found_to_be_fit(dbt_project: DbtProject, capfd: pytest.CaptureFixture[str]) -> None:
    dbt_project.dbt("debug")
    assert "delta tables: understood [OK]" in capfd.readouterr().out


EXPECTED = """
version: 2
models:
  - name: keyed
    columns:
      - name: id
        data_tests: [unique]
"""


@pytest.mark.every_connection(pytest.mark.thorough)
def test_many_rows_are_merged_by_a_key_that_is_expected(dbt_project: DbtProject, large_tables: None) -> None:
    queries = {
        "keyed": f"select id, amount from {dbt_project.schema}.raw where part < 6",
        "whole": f"select part, amount from {dbt_project.schema}.raw where amount > 5",
    }
    dbt_project.sql("create table raw using delta as select id, id % 7 as part, id * 10 as amount from range(200)")
    dbt_project.write("models/schema.yml", EXPECTED)
    for name, query in queries.items():
        dbt_project.model(name, query, materialized="dynamic_table")

    def ran(*statements: str) -> dict[str, str]:
        """How each of them was refreshed. Both are what their queries are."""
        for statement in statements:
            dbt_project.sql(statement)
        dbt_project.dbt("run")
        for name, query in queries.items():
            found, expected = (sorted(map(tuple, dbt_project.sql(q))) for q in (f"select * from {name}", query))
            assert found == expected
        return {name: response["technique"] for name, response in dbt_project.responses().items()}

    ran()
    change = ("update raw set amount = amount + 1 where id % 4 = 0", "delete from raw where id % 10 = 3")
    assert ran(*change, "insert into raw values (200, 1, 7), (201, 1, 7)") == {"keyed": "merge", "whole": "retract"}
    for file in dbt_project.folder.glob("target/run/**/*.sql"):
        assert "GETBIT" in file.read_text()
    again = ran("insert into raw values (1, 2, 5)", "update raw set amount = 7 where id = 2")
    assert again["keyed"] == "retract"
    assert any("(id) is not unique" in line for line in dbt_project.lines)
