"""Times as microseconds since 1970 and back. Between two times of TIMESTAMP a number says how long it is; an INTERVAL
of a day is longer or shorter where the clock is put back or forward."""

from __future__ import annotations

import re

from sqlglot import exp

from .expressions import integer, operand

MICROS = {
    "microsecond": 1, "millisecond": 1_000, "second": 1_000_000, "minute": 60_000_000, "hour": 3_600_000_000,
    "day": 86_400_000_000, "week": 604_800_000_000,
}  # fmt: skip
"""Of the units of fixed length."""


def length(text: str) -> int | None:
    """'1 hour 30 minutes' in microseconds; None for what is not of fixed length, or no interval."""
    words = text.lower().removeprefix("interval ").split()
    if not words or len(words) % 2:
        return None
    total = 0
    for amount, unit in zip(words[::2], words[1::2], strict=True):
        if not re.fullmatch(r"[+-]?\d+", amount) or unit.removesuffix("s") not in MICROS:
            return None
        total += int(amount) * MICROS[unit.removesuffix("s")]
    return total


def micros_of(time: exp.Expression) -> exp.Expression:
    return exp.Anonymous(this="UNIX_MICROS", expressions=[time.copy()])


def time_at(micros: exp.Expression) -> exp.Expression:
    return exp.Anonymous(this="TIMESTAMP_MICROS", expressions=[micros])


def number(value: int) -> exp.Expression:
    """As an operand."""
    return operand(integer(value).tree)
