"""Whether no two rows have one key, told by bits: one for each value that there may be.

Grouped by its key, each row of such a table is a group: all of them are shuffled, and sorted when they fill the memory.
Where the key is of integers that lie close together, as those that are counted up do, all of its values have a place in
bitmaps of a few megabytes, which are what is shuffled. Measured on two cores with 30 M rows of two integers, grouping
takes 31 s, a window 15 s and the bitmaps 4 s.

Of a query, to ask for the least and the greatest would compute it once more. Its keys are grouped by all but the last
bits of an integer, and how many of these there are in a group is counted in one word.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..changes.column_types import INTEGERS
from ..reading.relations import Columns
from .key_bits import WORD
from .statements import quoted

PLACES = 64
"""For each row, at the most: of ever fewer bits that are set, the bitmaps take more than the keys themselves."""


def spans_of(table: str, columns: Columns) -> str | None:
    """The query for how many rows a table has, and for each column how many of them have a value, the least of these
    and the greatest; None where a column is of no integers."""
    if not all(t in INTEGERS for _, t in columns):
        return None
    told = (f"COUNT({c}), MIN({c}), MAX({c})" for c in (quoted(n) for n, _ in columns))
    return f"SELECT COUNT(*), {', '.join(told)} FROM {table}"


def distinct_keys(table: str, columns: Columns, found: Sequence[Any]) -> str | None:
    """The query for how many keys the rows have, of `found`, the row of `spans_of`; None where that is not sooner told
    by bits, or a row has a NULL in its key, which has no place."""
    rows, values = int(found[0]), found[1:]
    known = zip(values[::3], values[1::3], values[2::3], strict=True)
    spans = [(int(least), int(most) - int(least) + 1) for n, least, most in known if n == rows > 0]
    if len(spans) < len(columns) or prod(width for _, width in spans) > PLACES * rows:
        return None
    place = "0L"
    for (name, _), (least, width) in zip(columns, spans, strict=True):
        place = f"({place}) * {width}L + (CAST({quoted(name)} AS BIGINT) - ({least}L))"
    return (
        "SELECT SUM(BITMAP_COUNT(bits)) FROM (\n"
        "  SELECT BITMAP_CONSTRUCT_AGG(BITMAP_BIT_POSITION(place)) AS bits\n"
        f"  FROM (SELECT {place} AS place FROM {table}) GROUP BY BITMAP_BUCKET_NUMBER(place)\n"
        ")"
    )


def in_words(query: str, columns: Columns) -> str | None:
    """The query for how many rows a query has, and how many keys, not counting any with a NULL in its first integer;
    None where no column is of integers. Where these lie far apart, it takes as long as to group by the key: of 3.6 M
    rows of a join 3.0 s on two cores, 1.2 s where they do not, and a window 2.9 s."""
    whole = next((quoted(n) for n, t in columns if t in INTEGERS), None)
    if whole is None:
        return None
    value = f"CAST({whole} AS BIGINT)"
    others = (quoted(n) for n, _ in columns if quoted(n) != whole)
    word = ", ".join((f"SHIFTRIGHT({value}, {WORD.bit_length() - 1})", *others))
    return (
        "SELECT SUM(copies), SUM(BIT_COUNT(bits)) FROM (\n"
        f"  SELECT COUNT(*) AS copies, BIT_OR(SHIFTLEFT(1L, CAST(PMOD({value}, {WORD}L) AS INT))) AS bits FROM (\n"
        f"{query}\n) GROUP BY {word}\n)"
    )
