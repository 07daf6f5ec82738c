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
    names = ", ".join(quoted(n) for n, _ in columns)
    none = ", ".join(_literal(None, t) for _, t in columns)
    if not rows:
        return f"SELECT * FROM VALUES ({none}) AS r ({names}) WHERE FALSE"
    listed = ",\n".join(
        f"({', '.join(_literal(v, t) for v, (_, t) in zip(row, columns, strict=True))})" for row in rows
    )
    return f"SELECT * FROM VALUES\n{listed}\nAS r ({names})"


def _literal(value: Value, data_type: str) -> str:
    return f"CAST(NULL AS {data_type})" if value is None else said(value, data_type)
