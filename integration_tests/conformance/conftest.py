"""The fixtures of dbt-tests-adapter, on the one Spark of these tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from dbt.tests.fixtures.project import *  # noqa: F403 - fixtures are found by name

from integration_tests.conformance.excluded import FAILING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
ALWAYS = ("test_every_class.py", "test_materialized_view.py")
"""Part of every run of tests; the others are those of `make conformance`."""

POSTGRES_TYPES = (
    (re.compile(r"\btimestamp with(out)? time zone\b", re.IGNORECASE), "timestamp"),
    (re.compile(r"\btext\b", re.IGNORECASE), "string"),
)
"""Names of types in the tables that dbt's tests create by hand; Spark has no other words for them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE not in item.path.parents:
            continue
        if item.path.name not in ALWAYS:
            item.add_marker(pytest.mark.conformance)
        if reason := FAILING.get(name_of(item)):
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


def name_of(item: pytest.Item) -> str:
    """`Class::test[case]`, by the class of this folder."""
    kind = getattr(item, "cls", None)
    return f"{kind.__name__}::{item.name}" if kind is not None else item.name


@pytest.fixture(scope="class")
def dbt_profile_target(spark: SparkSession) -> dict[str, Any]:
    return {
        "type": "spark_dynamic",
        "threads": 2,
        "user": "dbt",
        # For tests that create a table by hand, without saying in which format.
        "server_side_parameters": {"spark.sql.sources.default": "delta"},
    }


@pytest.fixture(scope="class")
def project(project_setup: Any, project_files: Any) -> Any:
    """As dbt-tests-adapter has it, but for the types in SQL that a test runs by itself."""
    as_written = project_setup.run_sql

    def run_sql(sql: str, fetch: str | None = None) -> Any:
        for names, ours in POSTGRES_TYPES:
            sql = names.sub(ours, sql)
        return as_written(sql, fetch)

    project_setup.run_sql = run_sql
    return project_setup


@pytest.fixture(scope="class")
def logs_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Not in the folder that the tests are started from."""
    folder = str(tmp_path_factory.mktemp("logs"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DBT_LOG_PATH", folder)
        yield folder
