"""DuckDB in Spark's place: the SQL that a refresh sends is translated, and every version of the sources is a table.

`VERSION AS OF n` of a table becomes the table of that name in the schema that holds the script's n-th state.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

import duckdb
from sqlglot import ErrorLevel, exp

from dbt_spark_dynamic.commit.engine import SqlError, Table, Written
from dbt_spark_dynamic.dialect import parse
from dbt_spark_dynamic.reading.relations import Columns, Kind, Relation, Versioning, View

from .tables import TABLES, VIEWS

SPARK_TYPES = {"INTEGER": "int", "VARCHAR": "string", "HUGEINT": "decimal(38,0)"}
"""Where Spark's name of a type is another than DuckDB's; a HUGEINT is what DuckDB makes of a sum of integers."""

SPARK_SUMS = {"decimal(38,0)": "bigint", "decimal(38,1)": "decimal(28,1)", "decimal(38,2)": "decimal(28,2)"}
"""What Spark would call the type of a sum, where DuckDB makes every one as wide as can be."""

TARGET = "memory.main.maintained"
"""The table that a refresh maintains."""

OF_NO_ROWS: dict[type[exp.Expr], exp.Expr] = {
    exp.ArrayAgg: exp.Array(),
    exp.ArrayUniqueAgg: exp.Array(),
    exp.CountIf: exp.Literal.number(0),
}
"""What Spark makes of no rows, where DuckDB makes NULL."""

AGO = "states_ago_"
"""Stands in a translated statement for the schema of the states so many refreshes ago."""


@lru_cache(maxsize=2048)
def translated(sql: str) -> str:
    """Spark SQL as DuckDB's. `t VERSION AS OF n` becomes the table t in the schema AGO followed by n."""
    tree = parse(sql)
    for table in tree.find_all(exp.Table):
        version = table.args.get("version")
        if version is not None:
            table.set("version", None)
        # The maintained table is written after it is read: it has one version.
        if version is not None and table.name != TARGET.split(".")[-1]:
            table.set("db", exp.to_identifier(f"{AGO}{version.expression.name}_"))
    for typeof in list(tree.find_all(exp.Typeof)):
        typeof.replace(exp.Anonymous(this="spark_type", expressions=[typeof.this]))
    for call in list(tree.find_all(*OF_NO_ROWS)):
        whole = call.parent if isinstance(call.parent, exp.Filter | exp.Window) else call
        whole.replace(exp.Coalesce(this=whole.copy(), expressions=[OF_NO_ROWS[type(call)].copy()]))
    for grouping in tree.find_all(exp.Rollup, exp.Cube, exp.GroupingSets):
        # Of no rows Spark makes no grand total, where there are other sets beside it.
        select = grouping.find_ancestor(exp.Select)
        select.having(exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(0)), copy=False)
    for when in tree.find_all(exp.When):
        # Spark's `UPDATE SET t.a = s.a` is `UPDATE SET a = s.a` here.
        if isinstance(update := when.args["then"], exp.Update):
            for assignment in update.expressions:
                assignment.this.set("table", None)
    return tree.sql(dialect="duckdb", unsupported_level=ErrorLevel.RAISE, copy=False)


class Duck:
    """An engine of refreshes, as far as computing and applying a change plan asks for one.

    tables, views: as in `tables`; versioned: what is declared of the versions that some of them hold."""

    def __init__(self, tables=TABLES, views=VIEWS, versioned: Mapping[str, Versioning] | None = None) -> None:
        self._tables, self._views, self._versioned = tables, views, versioned or {}
        self._connection = duckdb.connect(config={"threads": 1})
        self._filled: set[str] = set()
        self._states, self._now = "", 0
        # The tables are tiny, and DuckDB 2.0's optimizer drops rows of a RIGHT JOIN to a ROLLUP under a UNION ALL.
        self._run("PRAGMA disable_optimizer")
        self._run("CREATE MACRO array_repeat(x, n) AS repeat([x], n)")
        self._run("CREATE MACRO timestamp_micros(x) AS make_timestamp(x)")
        self._run("CREATE MACRO unix_micros(x) AS epoch_us(x)")
        self._run("CREATE MACRO raise_error(x) AS error(x)")
        self._run("CREATE MACRO pmod(x, n) AS ((x % n) + n) % n")
        renamed = " ".join(f"WHEN '{duck}' THEN '{spark}'" for duck, spark in SPARK_TYPES.items())
        self._run(f"CREATE MACRO spark_type(x) AS CASE typeof(x) {renamed} ELSE lower(typeof(x)) END")

    def enter(self, script: str, rounds: Sequence[Sequence[str]]) -> None:
        """Makes the states between the rounds of a script the versions of the sources, once."""
        self._states = f"script_{script}_v"
        if self._states in self._filled:
            return
        self._filled.add(self._states)
        for name, columns in self._tables.items():
            listed = ", ".join(f"{c} {kind}" for c, kind in columns)
            self._run(f"CREATE OR REPLACE TABLE main.{name} ({listed})")
        self._run("USE main")
        for n, statements in enumerate(rounds):
            for statement in statements:
                self._run(statement)
            self._run(f"CREATE SCHEMA {self._states}{n}")
            for name in self._tables:
                self._run(f"CREATE TABLE {self._states}{n}.{name} AS FROM main.{name}")
            self._run(f"USE {self._states}{n}")
            for name, (_, query) in self._views.items():
                self._run(f"CREATE VIEW {name} AS {translated(query)}")
            self._run("USE main")
        for name in self._tables:
            self._run(f"DROP TABLE main.{name}")

    def at(self, version: int) -> None:
        """Bare names of tables now mean their state at this version."""
        self._now = version
        self._run(f"USE {self._states}{version}")

    def forget(self, name: str) -> None:
        self._run(f"DROP TABLE IF EXISTS {name}")

    def _translated(self, sql: str) -> str:
        """The statement in the states of the current script.

        Versions are counted back from now, so that one statement in every refresh is translated once.
        """
        ago = re.sub(r"VERSION AS OF (\d+)", lambda m: f"VERSION AS OF {self._now - int(m[1])}", sql)
        return re.sub(rf"{AGO}(\d+)_", lambda m: f"{self._states}{self._now - int(m[1])}", translated(ago))

    def _run(self, sql: str) -> duckdb.DuckDBPyConnection:
        return self._connection.execute(sql)

    # --- what a refresh asks of its engine

    def columns(self, sql: str) -> Columns:
        described = self._run(f"DESCRIBE {self._translated(sql)}").fetchall()
        return tuple((name, SPARK_TYPES.get(kind, kind.lower())) for name, kind, *_ in described)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self._run(self._translated(sql)).fetchall()

    def reading(self, size: int | None, moved: int | None = None) -> AbstractContextManager[None]:
        return nullcontext()

    def pin(self, name: str, sql: str, *, few: bool) -> int:
        query = self._translated(sql)
        self._run(f"CREATE OR REPLACE TEMP TABLE {name} AS {query}")
        return self._run(f"SELECT COUNT(*) FROM {name}").fetchall()[0][0]

    def unpin(self, name: str) -> None:
        self._run(f"DROP TABLE IF EXISTS {name}")

    def write(self, sql: str, settings: Mapping[str, str]) -> Written:
        try:
            self._run(self._translated(sql))
        except duckdb.InvalidInputException as error:
            raise SqlError(str(error)) from error
        return Written()

    def table(self, name: str) -> Table | None:
        raise NotImplementedError("a refresh asks the catalog")

    # --- what reading a model asks of its catalog

    def relation(self, parts: tuple[str, ...]) -> Relation:
        name = parts[-1].lower()
        versioning = self._versioned.get(name)
        if name in self._views:
            columns, query = self._views[name]
            view = View(query, ("main",), tuple(c for c, _ in columns))
            return Relation(name, Kind.VIEW, tuple((c, k.lower()) for c, k in columns), view, versioning=versioning)
        columns = tuple((c, kind.lower()) for c, kind in self._tables[name])
        return Relation(name, Kind.DELTA, columns, versioning=versioning)
