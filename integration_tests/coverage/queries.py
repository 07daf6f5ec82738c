"""The tables and queries of TPC-H and TPC-DS, as the generators of DuckDB's wheel make them, in Spark's dialect."""

from __future__ import annotations

import json
import re
import subprocess
import venv
from pathlib import Path
from typing import Any

import sqlglot
from sqlglot import exp

from dbt_spark_dynamic.commit.catalog import SessionCatalog
from dbt_spark_dynamic.commit.classic import ClassicEngine
from dbt_spark_dynamic.dialect import print_sql
from dbt_spark_dynamic.pipeline import compile_model
from dbt_spark_dynamic.sparksql.reads import undated
from dbt_spark_dynamic.sparksql.render import Renderer

WORK = Path(__file__).parents[2] / "build/coverage"
GENERATOR = "duckdb==1.1.3"
SCALES = {"tpch": "0.005", "tpcds": "0.01"}


def generated(suite: str, scale: str) -> Path:
    """The folder of a suite's tables as Parquet and its queries, made once."""
    folder = WORK / f"{suite}-{scale}"
    if not (folder / "queries.json").is_file():
        python = WORK / "venv/bin/python"
        if not python.is_file():
            venv.create(WORK / "venv", with_pip=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", GENERATOR], check=True)
        subprocess.run([python, Path(__file__).with_name("generate.py"), suite, scale, folder], check=True)
    return folder


def texts(folder: Path) -> dict[int, str]:
    """Number -> query, in Spark's dialect."""
    found = json.loads((folder / "queries.json").read_text())
    return {int(number): in_spark(text) for number, text in found.items()}


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


def settled(session: Any, sql: str) -> str:
    """The query with its ties broken as the table breaks them."""
    engine = ClassicEngine(session, lambda _: None)
    model = compile_model(sql, engine.columns(sql), SessionCatalog(engine), engine.columns)
    return print_sql(Renderer(undated).query(model.node)) if model.node is not None else sql
