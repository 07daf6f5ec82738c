"""The tables of the examples, in the place of Spark: described, never read. Types of queries are sqlglot's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlglot import exp
from sqlglot.optimizer import annotate_types, qualify

from dbt_spark_dynamic.commit.clock import MOMENT
from dbt_spark_dynamic.commit.engine import DESCRIBE, SqlError, Table, Written
from dbt_spark_dynamic.dialect import DeltaSpark, parse
from dbt_spark_dynamic.reading.relations import Columns, Kind

TABLES: dict[str, Columns] = {
    "orders": (("id", "int"), ("customer", "int"), ("amount", "int"), ("day", "date"), ("items", "array<string>")),
    "returns": (("id", "int"), ("customer", "int"), ("amount", "int"), ("day", "date")),
    "customers": (("id", "int"), ("name", "string"), ("city", "string")),
    "visits": (("customer", "int"), ("page", "string"), ("at", "timestamp")),
    "rates": (("currency", "string"), ("rate", "int"), ("valid_from", "timestamp"), ("valid_to", "timestamp")),
    "payments": (("id", "int"), ("currency", "string"), ("amount", "int"), ("at", "timestamp")),
}
"""Table -> its columns. All are Delta tables with a change feed, at version 4."""

VERSION = 4

NOON = (1767787200000000, "2026-01-07", "2026-01-07 12:00:00", 1767787200)
"""What the clock says; the newest event time is the first of it."""


class Shop:
    """An engine that knows three tables and runs nothing."""

    def table(self, name: str) -> Table | None:
        bare = name.replace("`", "").split(".")[-1].lower()
        if bare not in TABLES:
            return None
        feed = {"delta.enableChangeDataFeed": "true"}
        return Table(bare, Kind.DELTA, TABLES[bare], bare, VERSION, f"/{bare}", feed, provider="delta")

    def columns(self, sql: str) -> Columns:
        tree = parse(sql.removeprefix(DESCRIBE))
        for table in tree.find_all(exp.Table):
            table.set("version", None)
        schema = {name: dict(columns) for name, columns in TABLES.items()}
        qualified = qualify.qualify(tree, schema=schema, dialect=DeltaSpark, validate_qualify_columns=False)
        typed = annotate_types.annotate_types(qualified, schema=schema, dialect=DeltaSpark)
        return tuple((s.alias_or_name, s.type.sql(dialect=DeltaSpark).lower()) for s in typed.selects)

    def setting(self, name: str) -> str:
        return ""

    def version(self, table: Table) -> int:
        return table.version

    def log(self, table: Table, version: int) -> list[dict[str, Any]]:
        return []

    def read_ahead(self, table: Table) -> None:
        pass

    def clean_log(self, table: Table) -> None:
        pass

    def committed_at(self, table: Table, version: int) -> int:
        return 0

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        if sql == MOMENT:
            return [NOON]
        if "AS `newest`" in sql:
            return [NOON[:1]]
        raise SqlError(f"the tables of the examples have no rows to answer: {sql}")

    def pin(self, name: str, sql: str, *, few: bool) -> int:
        raise SqlError("nothing is computed here")

    def unpin(self, name: str) -> None:
        raise SqlError("nothing is computed here")

    def write(self, sql: str, settings: Mapping[str, str]) -> Written:
        raise SqlError("nothing is written here")
