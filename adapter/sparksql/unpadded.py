"""Rows with STRING in place of CHAR(n): the same values, which nothing pads any more."""

from __future__ import annotations

from sqlglot import exp

from ..algebra.nested import rebuilt
from ..dialect import DIALECT
from ..reading.relations import Columns
from .statements import quoted

TEXT = "string"


def has_text(columns: Columns) -> bool:
    """Whether some of them may be CHAR(n), or have some within: to SQL these are STRING."""
    return any(TEXT in data_type for _, data_type in columns)


def unpadded(query: str, columns: Columns) -> str:
    """columns: of the query."""
    shown = ", ".join(_shown(name, data_type) for name, data_type in columns)
    return f"SELECT {shown} FROM (\n{query}\n)"


def _shown(name: str, data_type: str) -> str:
    value = quoted(name)
    if TEXT not in data_type:
        return value
    # Not one CAST of all that is nested: Spark 4.2 loses it, and notices (PLAN_VALIDATION_FAILED_RULE_IN_BATCH).
    parsed = exp.DataType.build(data_type, dialect=DIALECT)
    made = rebuilt(value, parsed, ("text",), lambda v, *_: f"CAST({v} AS STRING)")
    return f"{made} AS {value}"
