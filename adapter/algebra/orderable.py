"""Values of any type as values that can be compared. Spark groups by maps but compares none, in whatever they are
nested: in their place stand their entries, sorted. VARIANTs it does not even group by: there stands what they say."""

from __future__ import annotations

import re

from sqlglot import exp

from ..dialect import DIALECT, parse_expression, print_sql
from .equal_values import said_of
from .nested import rebuilt

KINDS = ("map", "variant")

UNCOMPARED = re.compile(rf"\b({'|'.join(KINDS)})\b", re.IGNORECASE)
"""In the name of a type, also of one that is nested in another."""


def orderable(value: str, data_type: str) -> str:
    """An expression that is equal for equal values, and for no others. value: an expression of that type."""
    if UNCOMPARED.search(data_type) is None:
        return value
    return rebuilt(value, exp.DataType.build(data_type, dialect=DIALECT), KINDS, _compared)


def ranked(value: exp.Expression, data_type: str) -> exp.Expression:
    """The same of an expression that is parsed: what it is compared and ordered by."""
    if UNCOMPARED.search(data_type) is None:
        return value.copy()
    return parse_expression(orderable(print_sql(value), data_type))


def _compared(value: str, data_type: exp.DataType, depth: int) -> str:
    if data_type.is_type("variant"):
        return said_of(value)
    each = f"x{depth}"
    pairs = zip(("key", "value"), data_type.expressions, strict=True)
    entry = ", ".join(rebuilt(f"{each}.{part}", t, KINDS, _compared, depth + 1) for part, t in pairs)
    return f"ARRAY_SORT(TRANSFORM(MAP_ENTRIES({value}), {each} -> STRUCT({entry})))"
