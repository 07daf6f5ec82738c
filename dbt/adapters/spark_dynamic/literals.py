"""Python values as Spark SQL literals, without losing a digit or a quote."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

# Spark's decimals end here; a longer number is passed as text, which CAST reads exactly.
LONGEST_DECIMAL = 38


def sql_literal(value: Any) -> str:
    """The literal for a value of a seed or a binding. Raises TypeError for a type that SQL has no literal for."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, Decimal)):
        return number(Decimal(value))
    if isinstance(value, float):
        return f"{value!r}D" if math.isfinite(value) else f"CAST('{value}' AS DOUBLE)"
    if isinstance(value, datetime.datetime):
        return text(value.isoformat(sep=" ", timespec="microseconds"))
    if isinstance(value, (datetime.date, datetime.time)):
        return text(value.isoformat())
    if isinstance(value, (str, datetime.timedelta)):
        return text(str(value))
    if isinstance(value, (bytes, bytearray)):
        return f"X'{value.hex()}'"
    raise TypeError(f"no SQL literal for a value of type {type(value).__name__}: {value!r}")


def number(value: Decimal) -> str:
    """Digits as they are, never in exponent notation: that would make it a double."""
    if not value.is_finite():
        return text(str(value))
    digits = format(value, "f")
    return digits if sum(map(str.isdigit, digits)) <= LONGEST_DECIMAL else text(digits)


def text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
