"""Values that are equal to GROUP BY and not the same to those who print them, as 0.0 and -0.0 or one map in two orders,
and those that it does not compare at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from sqlglot import exp

from ..dialect import DIALECT, parse_expression, print_sql
from .nested import rebuilt

SEVERAL = re.compile(r"\b(float|double|map|collate|variant)\b", re.IGNORECASE)
"""In the name of a type, also of one that is nested in another: equal values need not be the same."""

VARIANT = re.compile(r"\bvariant\b", re.IGNORECASE)

NUMBER = re.compile(r"float|double", re.IGNORECASE)


def are_the_same(data_type: str) -> bool:
    """Whether equal values of a type are one value, whatever is asked of it."""
    return SEVERAL.search(data_type) is None


def of_several(columns: Iterable[str], types: Mapping[str, str]) -> dict[str, str]:
    """Column -> its type, of those with values that are equal and not the same. types: by names in lower case."""
    found = ((c, types.get(c.lower(), "")) for c in columns)
    return {c: t for c, t in found if not are_the_same(t)}


def ungrouped(types: Mapping[str, str]) -> Mapping[str, str]:
    """Of columns with their types, those that GROUP BY does not take, in lower case."""
    return {c.lower(): t for c, t in types.items() if VARIANT.search(t)}


def told_by(value: exp.Expression, data_type: str) -> tuple[exp.Expression, ...]:
    """What values of such a type are to be grouped by, so that those of a group are the same. Which they are, ANY_VALUE
    says: what it groups by, Spark shows as one of the values that are equal to it."""
    text = exp.cast(value.copy(), "string")
    if VARIANT.search(data_type):
        told = rebuilt(print_sql(value), exp.DataType.build(data_type, dialect=DIALECT), ("variant",), said_of)
        by = parse_expression(told)
        return (by, text) if SEVERAL.search(VARIANT.sub("", data_type)) else (by,)
    if not NUMBER.fullmatch(data_type):
        # Of a map that it groups by, Spark sorts the entries, wherever that very expression stands.
        return exp.Coalesce(this=value.copy(), expressions=[]), text
    # Only zeros are printed, which takes long.
    zero = exp.EQ(this=value.copy(), expression=exp.Literal.number(0))
    return value.copy(), exp.and_(zero, exp.EQ(this=text, expression=exp.Literal.string("-0.0")), copy=False)


def said_of(variant: str, *_: object) -> str:
    """What a VARIANT says, and of which types: 1 and '1' are written alike, as are a date and its text."""
    return f"STRUCT(TO_JSON({variant}), SCHEMA_OF_VARIANT({variant}))"
