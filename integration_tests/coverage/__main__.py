"""make coverage"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
import venv
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import sqlglot
from sqlglot import exp

from dbt_spark_dynamic.commit.outcome import Code
from dbt_spark_dynamic.dialect import print_sql
from dbt_spark_dynamic.embedded.session import open_session, running_root
from dbt_spark_dynamic.embedded.settings import EmbeddedSettings
from dbt_spark_dynamic.errors import DynamicTableError
from dbt_spark_dynamic.pipeline import compile_model
from dbt_spark_dynamic.sparksql.reads import undated
from dbt_spark_dynamic.sparksql.render import Renderer
from integration_tests.conftest import TEST_CONF
from integration_tests.maintained import Maintained

from .batches import batch
from .report import NAMES, Result, page

ROOT = Path(__file__).parents[2]
WORK = ROOT / "build/coverage"
SCALES = {"tpch": "0.005", "tpcds": "0.01"}
GENERATOR = "duckdb==1.1.3"


def main() -> None:
    parser = argparse.ArgumentParser(prog="make coverage")
    parser.add_argument("--suite", choices=list(NAMES), action="append")
    parser.add_argument("--only", type=int, nargs="*", help="numbers of queries")
    parser.add_argument("--batches", type=int, default=5)
    asked = parser.parse_args()
    for suite in asked.suite or NAMES:
        run(suite, asked.only, asked.batches)
        write(asked.batches)


def run(suite: str, only: list[int] | None, batches: int) -> None:
    folder = generated(suite)
    texts = {int(n): text for n, text in json.loads((folder / "queries.json").read_text()).items()}
    models = {n: in_spark(text) for n, text in texts.items() if not only or n in only}
    with tempfile.TemporaryDirectory(prefix="coverage-", ignore_cleanup_errors=True) as store:
        open_session(EmbeddedSettings(store=Path(store), catalog="in-memory", conf=dict(TEST_CONF)))
        root = running_root()
        assert root is not None
        tables = Maintained(root.newSession(), suite)
        tables.sql(f"CREATE SCHEMA {suite}")
        tables.sql(f"USE {suite}")
        load(tables, folder)
        results = {n: Result() for n in models}
        for number in range(batches + 1):
            if number:
                change(tables, folder, number)
            for n, sql in models.items():
                if not results[n].wrong:
                    refresh(tables, f"q{n}", sql, results[n], suite, number)
                    keep(suite, {n: results[n]})


def generated(suite: str) -> Path:
    folder = WORK / f"{suite}-{SCALES[suite]}"
    if not (folder / "queries.json").is_file():
        python = WORK / "venv/bin/python"
        if not python.is_file():
            venv.create(WORK / "venv", with_pip=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", GENERATOR], check=True)
        subprocess.run([python, Path(__file__).with_name("generate.py"), suite, SCALES[suite], folder], check=True)
    return folder


def in_spark(text: str) -> str:
    """The query in Spark's dialect, each of its columns with a name of its own that a Delta table can have: letters,
    digits and underscores."""
    query = sqlglot.parse_one(text.strip().rstrip(";"), read="duckdb")
    assert isinstance(query, exp.Query)
    branch = query
    while isinstance(branch, exp.SetOperation):
        branch = branch.left
    taken: set[str] = set()
    for number, column in enumerate(branch.selects, 1):
        name = column.output_name
        if column.is_star:
            continue
        if not name or name.lower() in taken:
            column.replace(exp.alias_(column.unalias().copy(), f"column_{number}"))
        elif re.search(r"\W", name):
            rename(query, column, re.sub(r"\W+", "_", name))
        taken.add(name.lower())
    return query.sql("spark")


def rename(query: exp.Query, column: exp.Expression, name: str) -> None:
    """Gives a column of the result another name, where it is sorted by it too."""
    sorts = query.args.get("order")
    for sort in sorts.find_all(exp.Column) if sorts else ():
        if not sort.table and sort.name == column.output_name:
            sort.replace(exp.column(name))
    column.replace(exp.alias_(column.unalias().copy(), name))


def load(tables: Maintained, folder: Path) -> None:
    for file in sorted(folder.glob("*.parquet")):
        tables.sql(
            f"CREATE TABLE {file.stem} USING delta TBLPROPERTIES ('delta.enableChangeDataFeed'='true') "
            f"AS SELECT * FROM parquet.`{file}`"
        )


def change(tables: Maintained, folder: Path, number: int) -> None:
    for file in sorted(folder.glob("*.parquet")):
        schema = tables.session.table(file.stem).schema
        columns = [(f.name, f.dataType.simpleString()) for f in schema.fields]
        rows = tables.session.table(file.stem).count()
        version = tables.version(file.stem)
        for statement in batch(file.stem, columns, number, rows):
            tables.sql(statement.replace("{version}", str(version)))


def refresh(tables: Maintained, name: str, sql: str, result: Result, suite: str, number: int) -> None:
    started = time.monotonic()
    try:
        outcome = tables.refresh(name, sql=sql)
    except DynamicTableError as error:
        result.wrong.append(f"batch {number}: {str(error).splitlines()[0]}")
        return
    if number:
        result.techniques.append(outcome.technique if outcome.code is not Code.NO_CHANGE else "no change")
        if outcome.code is not Code.INCREMENTAL and outcome.reason:
            result.reasons.append(outcome.reason)
    held = bag(tables.sql(f"SELECT * FROM {name}"))
    result.rows = sum(held.values())
    if held != bag(tables.sql(sql)) and held != bag(tables.sql(settled(tables, sql))):
        result.wrong.append(f"batch {number}: the table is not its query")
    print(
        f"{NAMES[suite]} {name[1:]}, batch {number}: {outcome.line()}, {time.monotonic() - started:.0f} s", flush=True
    )


def settled(tables: Maintained, sql: str) -> str:
    """The query with its ties broken as the table breaks them."""
    from dbt_spark_dynamic.commit.catalog import SessionCatalog
    from dbt_spark_dynamic.commit.classic import ClassicEngine

    engine = ClassicEngine(tables.session, lambda _: None)
    model = compile_model(sql, engine.columns(sql), SessionCatalog(engine), engine.columns)
    return print_sql(Renderer(undated).query(model.node)) if model.node is not None else sql


def bag(rows: Iterable[Any]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(float(f"{v:.10g}") if isinstance(v, float) else v for v in row) for row in rows)


def keep(suite: str, results: dict[int, Result]) -> None:
    file = WORK / f"{suite}.json"
    known = json.loads(file.read_text()) if file.is_file() else {}
    file.write_text(json.dumps(known | {str(n): asdict(r) for n, r in results.items()}))


def write(batches: int) -> None:
    found = {}
    for suite in NAMES:
        file = WORK / f"{suite}.json"
        if file.is_file():
            found[suite] = {int(n): Result(**r) for n, r in json.loads(file.read_text()).items()}
    (ROOT / "docs/coverage.md").write_text(page(found, batches))


if __name__ == "__main__":
    sys.exit(main())
