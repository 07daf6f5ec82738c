"""Where the keys of a change are, as literals: a join alone does not keep Spark from reading every file of a table,
literals do, by the files' own statistics.

bounds_of, between     the least and the greatest key, a condition on the table that a MERGE writes to
values_of, values_in   a few keys one by one, for what a change plan joins with them
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from ..algebra.expressions import Expr, cast
from ..reading.relations import Columns
from .statements import literal, quoted

PLAIN = re.compile(r"(tiny|small|big)?int|decimal\(\d+,\d+\)|string|date")
"""Types whose values Spark prints so that CAST reads the same value again."""

LONGEST = 200
"""Characters of a string up to which it is worth its place in a statement."""


def bounds_of(relation: str, columns: Columns) -> str | None:
    """The query whose only row `between` reads; None if no column has bounds that a literal can say."""
    asked = [
        f"{_printed(f'MIN({quoted(n)})', t)}, {_printed(f'MAX({quoted(n)})', t)}, COUNT(*) > COUNT({quoted(n)})"
        for n, t in bounded(columns)
    ]
    return f"SELECT {', '.join(asked)} FROM {relation}" if asked else None


def between(columns: Columns, row: Sequence[Any]) -> str:
    """The condition on the target `t` that every row with a key of the relation meets."""
    parts = []
    for i, (name, data_type) in enumerate(bounded(columns)):
        least, greatest, has_null = row[3 * i : 3 * i + 3]
        if data_type == "string" and least is not None and len(least) + len(greatest) > LONGEST:
            continue
        column, met = f"t.{quoted(name)}", []
        if least is not None:
            met.append(f"{column} BETWEEN {_literal(least, data_type)} AND {_literal(greatest, data_type)}")
        if has_null or least is None:
            met.append(f"{column} IS NULL")
        parts.append(met[0] if len(met) == 1 else f"({' OR '.join(met)})")
    return " AND ".join(parts)


def bounded(columns: Columns) -> Columns:
    """The columns whose bounds a literal can say exactly."""
    return tuple((n, t) for n, t in columns if t == "timestamp" or PLAIN.fullmatch(t))


def values_of(relation: str, columns: Sequence[str]) -> str:
    """The query whose rows `values_in` reads."""
    asked = [f"TYPEOF({quoted(n)}), CAST({quoted(n)} AS STRING)" for n in columns]
    return f"SELECT {', '.join(asked)} FROM {relation}"


def values_in(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Mapping[str, Sequence[Expr | None]]:
    """Column -> its distinct values, None for NULL. Left out are columns with values that no short literal can say."""
    found = {}
    for i, name in enumerate(columns):
        values = dict.fromkeys((row[2 * i], row[2 * i + 1]) for row in rows)
        if all(PLAIN.fullmatch(t) and len(text or "") <= LONGEST for t, text in values):
            found[name] = tuple(None if text is None else _value(text, t) for t, text in values)
    return found


def _value(text: str, data_type: str) -> Expr:
    said = Expr.of(exp.Literal.string(text))
    return said if data_type == "string" else cast(said, data_type)


def _printed(value: str, data_type: str) -> str:
    # Not as text: an hour that a clock repeats has two times of one name.
    return f"UNIX_MICROS({value})" if data_type == "timestamp" else f"CAST({value} AS STRING)"


def _literal(value: Any, data_type: str) -> str:
    if data_type == "timestamp":
        return f"TIMESTAMP_MICROS({value})"
    return literal(value) if data_type == "string" else f"CAST({literal(value)} AS {data_type})"
