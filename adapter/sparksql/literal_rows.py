"""A few rows of a relation as values that a client can keep, and as literals of which Spark makes the same rows."""

from __future__ import annotations

from collections.abc import Sequence

from ..reading.relations import Columns
from .bounds import bounded, is_sayable, printed, said
from .statements import quoted

Value = str | int | None
"""As `printed`."""


def can_be_said(columns: Columns) -> bool:
    return len(bounded(columns)) == len(columns)


def can_all_be_said(rows: Sequence[Sequence[Value]]) -> bool:
    return all(is_sayable(v) for row in rows for v in row if isinstance(v, str))


def printed_rows(relation: str, columns: Columns) -> str:
    """The query whose rows are those that `literal_rows` reads."""
    return f"SELECT {', '.join(printed(quoted(n), t) for n, t in columns)} FROM {relation}"


def literal_rows(columns: Columns, rows: Sequence[Sequence[Value]]) -> str:
    """A query with these rows, of these types."""
    listed = ",\n".join(_row(columns, row) for row in rows or [[None] * len(columns)])
    names = ", ".join(quoted(n) for n, _ in columns)
    return f"SELECT * FROM VALUES\n{listed}\nAS r ({names}){'' if rows else ' WHERE FALSE'}"


def _row(columns: Columns, values: Sequence[Value]) -> str:
    return f"({', '.join(_literal(v, t) for v, (_, t) in zip(values, columns, strict=True))})"


def _literal(value: Value, data_type: str) -> str:
    return f"CAST(NULL AS {data_type})" if value is None else said(value, data_type)
