"""Where the keys of a change are, as literals: a join alone does not keep Spark from reading every file of a table,
literals do, by the files' own statistics.

bounds_of, between     the least and the greatest key, a condition on the table that a MERGE writes to
values_of, values_in   the keys one by one or, where they are many, their bounds, for what a change plan joins with them
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..changes.literal_keys import MOST_KEYS, Values
from ..reading.relations import Columns
from .statements import literal, quoted

PLAIN = re.compile(r"(tiny|small|big)?int|decimal\(\d+,\d+\)|string|date")
"""Types whose values Spark prints so that CAST reads the same value again."""

LONGEST = 200
"""Characters of a string up to which it is worth its place in a statement."""

VARIABLE = "${"
"""With what Spark puts a setting's value into a statement, wherever in it that stands."""

UNREADABLE = "\ufffd"
"""What bytes that are no text have become on their way here: no literal says them."""


def bounds_of(relation: str, columns: Columns) -> str | None:
    """The query whose only row `between` reads; None if no column has bounds that a literal can say."""
    asked = [
        f"{printed(f'MIN({quoted(n)})', t)}, {printed(f'MAX({quoted(n)})', t)}, COUNT(*) > COUNT({quoted(n)})"
        for n, t in bounded(columns)
    ]
    return f"SELECT {', '.join(asked)} FROM {relation}" if asked else None


def between(columns: Columns, row: Sequence[Any]) -> str:
    """The condition on the target `t` that every row with a key of the relation meets."""
    parts = []
    for i, (name, data_type) in enumerate(bounded(columns)):
        least, greatest, has_null = row[3 * i : 3 * i + 3]
        if data_type == "string" and least is not None and not is_sayable(least + greatest):
            continue
        column, met = f"t.{quoted(name)}", []
        if least is not None:
            met.append(f"{column} BETWEEN {said(least, data_type)} AND {said(greatest, data_type)}")
        if has_null or least is None:
            met.append(f"{column} IS NULL")
        parts.append(met[0] if len(met) == 1 else f"({' OR '.join(met)})")
    return " AND ".join(parts)


def bounded(columns: Columns) -> Columns:
    """The columns whose bounds a literal can say exactly."""
    return tuple((n, t) for n, t in columns if t == "timestamp" or PLAIN.fullmatch(t))


def values_of(relation: str, columns: Sequence[str], *, one_by_one: bool) -> str:
    """The query whose only row `values_in` reads. one_by_one: whether they are listed, beside their bounds."""
    listed = "TO_JSON(COLLECT_SET(CAST({0} AS STRING)))" if one_by_one else "CAST(NULL AS STRING)"
    asked = (
        f"TYPEOF(MIN({{0}})), CAST(MIN({{0}}) AS STRING), CAST(MAX({{0}}) AS STRING), COUNT(*) > COUNT({{0}}), {listed}"
    )
    return f"SELECT {', '.join(asked.format(quoted(n)) for n in columns)} FROM {relation}"


def values_in(columns: Sequence[str], row: Sequence[Any]) -> Mapping[str, Values]:
    """Column -> what is in it. Left out are columns with values that no short literal can say."""
    found = {}
    for i, name in enumerate(columns):
        data_type, least, greatest, has_null, listed = row[5 * i : 5 * i + 5]
        values = sorted(json.loads(listed)) if listed is not None else None
        shown = (*(v for v in (least, greatest) if v is not None), *(values or ()))
        if PLAIN.fullmatch(data_type) and all(map(is_sayable, shown)):
            few = tuple(values) if values is not None and len(values) <= MOST_KEYS else None
            found[name] = Values(data_type, few, least, greatest, bool(has_null))
    return found


def is_sayable(text: str) -> bool:
    return len(text) <= LONGEST and UNREADABLE not in text and VARIABLE not in text


def printed(value: str, data_type: str) -> str:
    """A value as `said` reads it."""
    # Not as text: an hour that a clock repeats has two times of one name.
    return f"UNIX_MICROS({value})" if data_type == "timestamp" else f"CAST({value} AS STRING)"


def said(value: Any, data_type: str) -> str:
    """A literal for a printed value."""
    if data_type == "timestamp":
        return f"TIMESTAMP_MICROS({value})"
    return literal(value) if data_type == "string" else f"CAST({literal(value)} AS {data_type})"
