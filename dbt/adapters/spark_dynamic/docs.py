"""persist_docs: the descriptions of a model as comments in the catalog, written where they are not there yet.

Each ALTER is a commit of its own to a Delta table, and a dynamic table is refreshed often: what is there stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dbt.adapters.spark_dynamic.literals import sql_literal
from dbt_spark_dynamic.sparksql.statements import quoted


def documenting(
    table: str, described: Iterable[tuple[Any, ...]], description: str | None, columns: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """The statements that make the comments those of the model.

    described: rows of DESCRIBE TABLE EXTENDED; description: of the table, None to leave it; columns: name -> a column
    of dbt's manifest; names that the table does not have are passed over.
    """
    comments: dict[str, tuple[str, str]] = {}
    of_table, in_columns = "", True
    for name, value, comment, *_ in described:
        in_columns = in_columns and bool(name) and not name.startswith("#")
        if in_columns:
            comments[name.lower()] = (name, comment or "")
        elif name == "Comment":
            of_table = value or ""
    statements = []
    if description is not None and description != of_table:
        statements.append(f"COMMENT ON TABLE {table} IS {sql_literal(description)}")
    for name, column in columns.items():
        there, comment = comments.get(name.lower(), (None, ""))
        wanted = column.get("description") or ""
        if there is not None and wanted != comment:
            statements.append(f"ALTER TABLE {table} ALTER COLUMN {quoted(there)} COMMENT {sql_literal(wanted)}")
    return statements
