"""The fixtures of dbt-tests-adapter, on the one Spark of these tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sqlparse
from dbt.tests.fixtures import project as fixtures
from dbt.tests.fixtures.project import *  # noqa: F403 - fixtures are found by name

from integration_tests.conformance.excluded import FAILING
from integration_tests.conformance.suite import TARGET

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
OF_POSTGRES = (
    (re.compile(r"\btimestamp with(out)? time zone\b", re.IGNORECASE), "timestamp"),
    (re.compile(r"\btext\b", re.IGNORECASE), "string"),
    (re.compile(r"`?\bNone`?\."), ""),
    (re.compile(r'"(\w+)"'), r"`\1`"),
    (re.compile(r"\bdefault null\b", re.IGNORECASE), ""),
    (
        re.compile(r"(alter table (\S+)\s+add column (\w+) \S+) default ('[^']*')", re.IGNORECASE),
        r"\1; update \2 set \3 = \4",
    ),
)
"""In SQL that dbt's tests run by themselves: types that Spark has other words for, a database, which it lacks, names in
its quotes, and defaults, which Delta has none of for new columns."""

DATABASE = re.compile(r"\{\{\s*target\.database\s*\}\}\.")
TEXT = re.compile(r"(?<=data_type: )text\b")
"""In the files of their projects."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE not in item.path.parents:
            continue
        if reason := FAILING.get(name_of(item)):
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


def name_of(item: pytest.Item) -> str:
    """`Class::test[case]`, by the class of this folder."""
    kind = getattr(item, "cls", None)
    return f"{kind.__name__}::{item.name}" if kind is not None else item.name


@pytest.fixture(scope="class")
def dbt_profile_target(spark: SparkSession) -> dict[str, Any]:
    return dict(TARGET)


@pytest.fixture(scope="class", autouse=True)
def files_without_a_database() -> Iterator[None]:
    as_written = fixtures.write_file

    def write_file(contents: str, *paths: Any) -> None:
        if str(paths[-1]).endswith(".sql"):
            contents = DATABASE.sub("", contents)
        contents = TEXT.sub("string", contents)
        as_written(contents, *paths)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fixtures, "write_file", write_file)
        yield


@pytest.fixture(scope="class")
def project(project_setup: Any, project_files: Any) -> Iterator[Any]:
    """As dbt-tests-adapter has it, but for the SQL that a test runs by itself: in Spark's words, statement by
    statement."""
    # Every invocation of dbt makes another adapter, so it is done to the class.
    adapter = type(project_setup.adapter)
    as_written = adapter.run_sql_for_tests

    def run_sql_for_tests(self: Any, sql: str, fetch: str | None, connection: Any) -> Any:
        for names, ours in OF_POSTGRES:
            sql = names.sub(ours, sql)
        statements = [s for s in (part.strip().removesuffix(";") for part in sqlparse.split(sql)) if s]
        return [as_written(self, statement, fetch, connection) for statement in statements][-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adapter, "run_sql_for_tests", run_sql_for_tests)
        yield project_setup


@pytest.fixture(scope="class")
def logs_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Not in the folder that the tests are started from."""
    folder = str(tmp_path_factory.mktemp("logs"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DBT_LOG_PATH", folder)
        yield folder
