"""Projects as teams write them, as tables and as dynamic tables side by side, through days of changes.

projects/<name>/days/*.sql are the days of its sources, the first of which makes them.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from integration_tests.conftest import DbtProject

PROJECTS = Path(__file__).parent / "projects"
NAMES = sorted(p.name for p in PROJECTS.iterdir() if (p / "dbt_project.yml").exists())


@pytest.fixture
def raw(spark: object) -> Iterator[str]:
    """The schema of the sources, which both ways of the project read."""
    name = f"raw_{uuid.uuid4().hex[:8]}"
    spark.sql(f"CREATE SCHEMA {name}")  # type: ignore[attr-defined]
    yield name
    spark.sql(f"DROP SCHEMA {name} CASCADE")  # type: ignore[attr-defined]


def played(project: DbtProject, raw: str, day: Path) -> None:
    session = project.session.newSession()
    session.sql(f"USE {raw}")
    for statement in day.read_text().split(";"):
        if statement.strip():
            session.sql(statement)


def laid_out(project: DbtProject, name: str) -> DbtProject:
    shutil.copytree(PROJECTS / name, project.folder, dirs_exist_ok=True)
    profiles = project.folder / "profiles.yml"
    profiles.write_text(profiles.read_text().replace("tests:", f"{name}:", 1))
    return project


def different(tables: DbtProject, dynamic: DbtProject, model: str) -> list[tuple[object, ...]]:
    """Rows of a mart that only one of the two has, with the side that has them."""
    one, other = (f"SELECT * FROM {p.schema}_marts.{model}" for p in (tables, dynamic))
    return [
        ("table", *row) for row in tables.sql(f"({one}) EXCEPT ALL ({other})")
    ] + [("dynamic_table", *row) for row in tables.sql(f"({other}) EXCEPT ALL ({one})")]  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "store" else pytest.mark.thorough) for name in NAMES]
)
def test_a_project_as_tables_and_as_dynamic_tables(new_project: Callable[..., DbtProject], raw: str, name: str) -> None:
    marts = sorted(p.stem for p in (PROJECTS / name / "models/marts").rglob("*.sql"))
    first_day, *days = sorted((PROJECTS / name / "days").glob("*.sql"))
    tables, dynamic = (laid_out(new_project(threads=2), name) for _ in range(2))
    played(tables, raw, first_day)
    as_tables = ("--vars", f"{{raw_schema: {raw}}}")
    as_dynamic = ("--vars", f"{{raw_schema: {raw}, marts_as: dynamic_table, facts_as: dynamic_table}}")
    tables.dbt("build", "--exclude", "test_type:unit", *as_tables)
    dynamic.dbt("build", *as_dynamic)
    assert {m: dynamic.responses()[m]["code"] for m in marts} == dict.fromkeys(marts, "CREATED")
    for model in marts:
        assert different(tables, dynamic, model) == [], model
    for day in days:
        played(tables, raw, day)
        for project, variables in ((tables, as_tables), (dynamic, as_dynamic)):
            project.dbt("snapshot", *variables)
            project.dbt("run", "--exclude", "path:models/staging", *variables)
        responses = dynamic.responses()
        assert {m: responses[m]["code"] for m in marts} == dict.fromkeys(marts, "INCREMENTAL"), responses
        for model in marts:
            assert different(tables, dynamic, model) == [], f"{model} after {day.stem}"
    dynamic.dbt("test", "--exclude", "test_type:unit", *as_dynamic)
    dynamic.dbt("source", "freshness", *as_dynamic)
    for project in (tables, dynamic):
        for schema in project.sql(f"SHOW SCHEMAS LIKE '{project.schema}_*'"):
            project.sql(f"DROP SCHEMA {schema[0]} CASCADE")
