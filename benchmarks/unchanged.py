"""`python -m benchmarks.unchanged`: a project of many dynamic tables of which no source changed."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import click

from dbt_spark_dynamic.embedded.session import open_session
from dbt_spark_dynamic.embedded.settings import STORE_VARIABLE, EmbeddedSettings
from integration_tests.demo.project import Project

from .session import CONF, console_of

SOURCES = 10
"""Tables, each read by as many models as every other one."""

NOTHING = """{% materialization nothing, default %}
  {{ run_hooks(pre_hooks) }}
  {% call noop_statement('main', 'OK', 'OK', 0) %}select 1{% endcall %}
  {{ run_hooks(post_hooks) }}
  {{ return({'relations': []}) }}
{% endmaterialization %}
"""
"""What dbt itself takes: a model that asks the database nothing."""

PROJECT = """name: unchanged
version: "1.0.0"
profile: unchanged
config-version: 2
models:
  +materialized: "{{ var('kind') }}"
"""

PROFILE = "unchanged: {target: dev, outputs: {dev: {type: spark_dynamic, schema: unchanged, threads: 1}}}\n"


def write(folder: Path, models: int) -> None:
    """A project in that folder: totals per group of one table, joined with another."""
    for name, text in {
        "dbt_project.yml": PROJECT,
        "profiles.yml": PROFILE,
        "macros/nothing.sql": NOTHING,
        "models/sources.yml": "sources: [{name: raw, tables: ["
        + ", ".join(f"{{name: t{i}}}" for i in range(SOURCES))
        + "]}]\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for i in range(models):
        one, other = (f"{{{{ source('raw', 't{n % SOURCES}') }}}}" for n in (i, i + 1))
        (folder / f"models/m{i}.sql").write_text(
            f"select a.g, count(*) as n, sum(a.v) as v{i}\n"
            f"from {one} a left join {other} b on a.id = b.id group by a.g\n"
        )


@click.command()
@click.option("--models", default=200, show_default=True)
@click.option("--repeat", default=3, show_default=True, help="Runs of which the median counts.")
def unchanged(models: int, repeat: int) -> None:
    """Milliseconds that a dynamic table costs `dbt run` when there is nothing to do, beyond what dbt itself takes."""
    console = console_of(120)
    with tempfile.TemporaryDirectory(prefix="dbt-spark-dynamic-", ignore_cleanup_errors=True) as folder:
        os.environ[STORE_VARIABLE] = str(Path(folder) / "tables")
        spark = open_session(EmbeddedSettings(store=Path(folder) / "tables", conf=CONF))
        spark.sql("CREATE SCHEMA raw")
        for i in range(SOURCES):
            spark.sql(f"CREATE TABLE raw.t{i} USING delta AS SELECT id, id % 7 AS g, id * {i} AS v FROM RANGE(1000)")
        write(Path(folder) / "project", models)
        tables, nothing = (
            Project(Path(folder) / "project", Path(folder) / kind, {"kind": kind})
            for kind in ("dynamic_table", "nothing")
        )
        refreshed = tables.run()
        # dbt reads a project whole the first time, and Java runs slowly what it has not run before.
        nothing.invoke("run")
        tables.run()
        took = {"dynamic_table": [], "nothing": []}
        for _ in range(repeat):
            for kind, project in (("dynamic_table", tables), ("nothing", nothing)):
                started = time.perf_counter()
                ran = project.invoke("run")
                took[kind].append(time.perf_counter() - started)
                if kind == "dynamic_table" and any(
                    r.adapter_response["code"] != "NO CHANGE" for r in ran.result.results
                ):
                    console.print("a table was refreshed although nothing changed", style="red")
                    sys.exit(1)
        with_us, without = (statistics.median(took[kind]) for kind in took)
        console.print(
            f"{len(refreshed)} unchanged dynamic tables: {with_us:.1f} s; as many models that do nothing: "
            f"{without:.1f} s; {(with_us - without) / len(refreshed) * 1000:.0f} ms for each"
        )


if __name__ == "__main__":
    unchanged()
