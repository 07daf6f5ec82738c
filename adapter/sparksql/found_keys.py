"""A key that nobody declared, found in the rows of a change: the first few columns by which no two of them agree.

It is a guess, and no more is made of it than of what a test expects: it is verified in the whole table before rows are
merged by it, and at every refresh after that (`commit/apply.py`). Where it is wrong, a look through the table was lost.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from ..names import PREFIX, WEIGHT
from ..reading.relations import Columns
from .statements import listed, quoted

KEYS = re.compile(r"(tiny|small|big)?int|string|date|timestamp")
"""Types that keys are of."""

CAME = f"{PREFIX}came"

TRIED = {1: 8, 2: 6, 3: 4}
"""How many columns a key may have -> of how many, the first ones of such types, they may be: keys stand first."""

ENOUGH_ROWS, MOST_ROWS = 100, 10_000
"""Rows of a change from which on they say something of the table's, and up to which they are looked at."""


def candidates(columns: Columns) -> list[tuple[str, ...]]:
    """What may be a key, the likeliest first."""
    names = [n for n, t in columns if KEYS.fullmatch(t)]
    return [key for width, most in TRIED.items() for key in combinations(names[:most], width)]


def counted(change: str, keys: Sequence[tuple[str, ...]]) -> str:
    """The query whose only row `first_of` reads."""
    # Rows that came and rows that left are of two states of the table. COUNT leaves out those that have a NULL.
    of_each = ", ".join(f"COUNT(DISTINCT {quoted(CAME)}, {listed(key)})" for key in keys)
    rows = f"SELECT *, {quoted(WEIGHT)} > 0 AS {quoted(CAME)} FROM {change} LIMIT {MOST_ROWS}"
    return f"SELECT MAX(ABS({quoted(WEIGHT)})), COUNT(*), {of_each} FROM ({rows})"


def first_of(keys: Sequence[tuple[str, ...]], row: Sequence[Any]) -> tuple[str, ...] | None:
    """The first by which all rows can be told apart."""
    copies, rows, *found = row
    return next((key for key, n in zip(keys, found, strict=True) if n == rows), None) if copies == 1 else None
