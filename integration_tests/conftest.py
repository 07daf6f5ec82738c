"""One real Spark for all tests of this folder, and dbt projects that run on it inside this process.

connection     how it is reached: `--connection cluster` and its like; a Spark in this process if nothing is said
spark          the root session: temporary store, table names in memory only
dbt_project    a small project with a schema of its own; `dbt_project.dbt("run")` runs dbt
               inside this process, on the same Spark
"""

from __future__ import annotations

import json
import os
import tempfile
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from dbt_common.tests import enable_test_caching

from dbt_spark_dynamic.embedded.conf import UNCHECKED
from dbt_spark_dynamic.embedded.settings import STORE_VARIABLE
from integration_tests.connections import CONNECTIONS, SERVED, Connection, served, without_change_feeds
from integration_tests.maintained import Maintained

if TYPE_CHECKING:
    from dbt.cli.main import dbtRunnerResult
    from pyspark.sql import Row, SparkSession

HERE = Path(__file__).parent
LONGEST = (
    "test_refresh.py", "test_shapes.py", "test_killed.py", "test_embedded.py", "test_kafka.py",
    "test_held_partials.py", "test_watch.py", "test_state_table.py", "test_emit.py", "test_projects.py",
    "test_crash.py", "test_dynamic_table.py", "test_tables.py", "test_tpch.py", "test_serve.py",
    "test_expected_key.py", "test_generated.py", "test_connections.py",
)  # fmt: skip
"""The files that take longest, which are begun with."""

SMALL = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
"""For thousands of small statements, each with a plan of its own: compiling Java for each of them, and replanning
between its stages, is two thirds of the time. So are small refreshes run everywhere (`Engine.reading`); with this, what
tests ask beside them is too."""

TEST_CONF = {
    # As dbt-spark sets it for every connection: a query in a test means what it means in a model.
    "spark.sql.ansi.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
    **SMALL,
    # As the embedded Spark has it, for the cluster that tests start.
    **UNCHECKED,
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--connection", choices=list(CONNECTIONS), default="session", help="how tests reach Spark")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.spark)
    # Of two processes none is to begin with minutes of work when the other has come to its end.
    last = len(LONGEST)
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else last)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if marker := metafunc.definition.get_closest_marker("every_connection"):
        own = metafunc.config.getoption("--connection")
        ways = [pytest.param(way, marks=marker.args) for way in SERVED] if own == "session" else []
        metafunc.parametrize("reached", [own, *ways], indirect=True)


@pytest.fixture(scope="session")
def store() -> Iterator[Path]:
    """The folder of this process's tables; every profile used in this process gets it too."""
    with tempfile.TemporaryDirectory(prefix="dbt-spark-dynamic-tests-", ignore_cleanup_errors=True) as folder:
        os.environ[STORE_VARIABLE] = folder
        os.environ["DBT_SEND_ANONYMOUS_USAGE_STATS"] = "false"
        # As in dbt's own tests: parsing the same 553 macros for each new project takes two seconds.
        enable_test_caching()
        yield Path(folder)
        del os.environ[STORE_VARIABLE]


@pytest.fixture(scope="session")
def connection(request: pytest.FixtureRequest, store: Path) -> Iterator[Connection]:
    """The one Spark of this process."""
    with CONNECTIONS[request.config.getoption("--connection")](store, TEST_CONF) as made:
        yield made


@pytest.fixture(scope="session")
def spark(connection: Connection) -> SparkSession:
    """The root session of the one Spark of this process. It stops when the process ends."""
    return connection.root


@pytest.fixture(scope="session")
def servers(spark: SparkSession) -> Iterator[dict[str, dict[str, Any]]]:
    """Of the one Spark of this process: what a profile says to reach each."""
    with served(spark) as outputs:
        yield outputs


@pytest.fixture
def reached(request: pytest.FixtureRequest, connection: Connection) -> Iterator[Connection]:
    """How the projects of a test reach Spark: as this process does, or over one of its servers."""
    way = getattr(request, "param", None)
    if way not in SERVED:
        yield connection
        return
    output = request.getfixturevalue("servers")[way]
    with without_change_feeds(connection.root):
        yield Connection(connection.root, connection.new_session, output)


@dataclass
class DbtProject:
    """A dbt project on disk with a schema of its own, and the session to look at what it made.

    lines: what dbt said at info level or above in the last invocation, without colours.
    """

    folder: Path
    schema: str
    session: SparkSession
    lines: list[str] = field(default_factory=list)

    def write(self, path: str, text: str) -> Path:
        """Write a file of the project (models/…, seeds/…); the text may be indented."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def model(self, name: str, sql: str, **config: Any) -> Path:
        """Write models/<name>.sql with these configs: model("m", "select 1", materialized="table")."""
        rendered = ", ".join(f"{key}={value!r}" for key, value in config.items())
        head = f"{{{{ config({rendered}) }}}}\n" if config else ""
        return self.write(f"models/{name}.sql", f"{head}{sql}\n")

    def invoke(self, *arguments: str) -> dbtRunnerResult:
        """Run dbt inside this process, whatever comes of it."""
        from dbt.cli.main import dbtRunner

        self.lines = []
        folders = ["--project-dir", str(self.folder), "--profiles-dir", str(self.folder)]
        quiet = ["--log-path", str(self.folder / "logs"), "--no-use-colors"]
        command, *rest = arguments
        return dbtRunner(callbacks=[self._note]).invoke([*quiet, command, *rest, *folders])

    def dbt(self, *arguments: str) -> dbtRunnerResult:
        """Run dbt and fail the test unless it succeeds."""
        result = self.invoke(*arguments)
        assert result.success, "\n".join(self.lines) or str(result.exception)
        return result

    def fails(self, *arguments: str) -> str:
        """Run dbt, fail the test if it succeeds, and return all that it said."""
        result = self.invoke(*arguments)
        assert not result.success, f"dbt {' '.join(arguments)} succeeded, but must not"
        return "\n".join([*self.lines, str(result.exception or "")])

    def sql(self, statement: str) -> list[Row]:
        """Run a statement with unqualified names meaning this project's schema."""
        return self.session.sql(statement).collect()

    def responses(self) -> dict[str, dict[str, Any]]:
        """Model -> its adapter_response in run_results.json."""
        results = json.loads((self.folder / "target/run_results.json").read_text())["results"]
        return {r["unique_id"].split(".")[-1]: r["adapter_response"] for r in results}

    def _note(self, event: Any) -> None:
        if event.info.level != "debug":
            self.lines.append(event.info.msg)


@pytest.fixture
def new_project(reached: Connection, tmp_path_factory: Any) -> Iterator[Callable[..., DbtProject]]:
    """Makes projects: new_project(threads=4, **keys of the profile's output)."""
    made = []

    def make(threads: int = 1, **profile: Any) -> DbtProject:
        schema = f"t_{uuid.uuid4().hex[:8]}"
        session = reached.new_session()
        session.sql(f"create schema {schema}")
        session.sql(f"use {schema}")
        project = DbtProject(tmp_path_factory.mktemp("project"), schema, session)
        output = {"type": "spark_dynamic", "schema": schema, "threads": threads, **reached.output, **profile}
        profiles = {"tests": {"target": "dev", "outputs": {"dev": output}}}
        project.write("profiles.yml", yaml.safe_dump(profiles))
        project.write(
            "dbt_project.yml",
            yaml.safe_dump({"name": "tests", "version": "1.0", "profile": "tests"}),
        )
        made.append(project)
        return project

    yield make
    for project in made:
        project.session.sql(f"drop schema if exists {project.schema} cascade")


@pytest.fixture
def dbt_project(new_project: Callable[..., DbtProject]) -> DbtProject:
    """A project with one thread."""
    return new_project()


@pytest.fixture
def large_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table is treated as a large one: keys and bounds are said to it as literals."""
    monkeypatch.setattr("dbt_spark_dynamic.commit.look.LARGE", 1)


@pytest.fixture
def maintained(spark: SparkSession) -> Iterator[Maintained]:
    """A schema for dynamic tables that are refreshed without dbt."""
    session, schema = spark.newSession(), f"t_{uuid.uuid4().hex[:8]}"
    session.conf.set("spark.databricks.delta.properties.defaults.enableChangeDataFeed", "true")
    session.sql(f"CREATE SCHEMA {schema}")
    session.sql(f"USE {schema}")
    yield Maintained(session, schema)
    session.sql(f"DROP SCHEMA {schema} CASCADE")
