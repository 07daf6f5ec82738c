"""What a refresh asks about the relations it has computed before it writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..changes.literal_keys import Values
from ..names import WEIGHT
from ..reading.relations import Columns
from ..sparksql import found_keys, key_bits, unique_keys
from ..sparksql import statements as sql
from ..sparksql.bounds import between, bounds_of, values_in, values_of
from ..sparksql.literal_rows import printed_rows
from .engine import Engine

MOST_ROWS = 5_000
"""Rows of a relation up to which its keys may be few enough to be said one by one."""


class Measure:
    """Asked of Spark. `rehearsal.py` has the other one, which assumes instead of asking."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def came_and_left(self, change: str) -> tuple[int, int]:
        """Rows that came and rows that left in a signed relation, copies counted."""
        weight = sql.quoted(WEIGHT)
        query = f"SELECT SUM(GREATEST({weight}, 0)), SUM(GREATEST(-{weight}, 0)) FROM {change}"
        came, left = self._engine.rows(query)[0]
        return int(came or 0), int(left or 0)

    def bounds(self, relation: str, columns: Columns) -> str:
        """Where in the table the rows with the relation's values are, as a condition; empty if nothing says it."""
        query = bounds_of(relation, columns)
        return between(columns, self._engine.rows(query)[0]) if query else ""

    def told_by_bits(self, rows: int, columns: Columns) -> bool:
        """Whether the table's rows that so many others may mean are told by bits."""
        return key_bits.worth_setting(rows, columns)

    def key_of(self, change: str, columns: Columns) -> tuple[str, ...] | None:
        """The first few columns by which the rows of a signed relation can be told apart, if any can."""
        keys = found_keys.candidates(columns)
        return found_keys.first_of(keys, self._engine.rows(found_keys.counted(change, keys))[0]) if keys else None

    def values(self, relation: str, columns: Sequence[str], rows: int) -> Mapping[str, Values]:
        """What is in each column of a computed relation, where literals can say it. rows: that it has."""
        query = values_of(relation, columns, one_by_one=rows <= MOST_ROWS)
        return values_in(columns, self._engine.rows(query)[0])

    def census(self, query: str) -> tuple[int, int]:
        """Of the versions that a temporal join meets: the most of one key, and those that overlap the next."""
        ((most, overlaps),) = self._engine.rows(query)
        return int(most or 0), int(overlaps or 0)

    def spread(self, query: str) -> tuple[int, int, int, int] | None:
        """Of the same: keys, versions, and where in time they first and last change; None if none of them do."""
        ((keys, versions, first, last),) = self._engine.rows(query)
        return None if first is None or last is None else (int(keys), int(versions), int(first), int(last))

    def printed(self, relation: str, columns: Columns) -> list[tuple[Any, ...]]:
        """The few rows of a relation, as values that a client can keep."""
        return self._engine.rows(printed_rows(relation, columns))

    def number(self, query: str) -> int:
        """The one number that the query gives."""
        return int(self._engine.rows(query)[0][0] or 0)

    def is_unique(self, table: str, columns: Columns) -> bool:
        """Whether no two rows of a table agree in these columns, as far as bits tell it."""
        spans = unique_keys.spans_of(table, columns)
        if spans is None:
            return False
        found = self._engine.rows(spans)[0]
        distinct = unique_keys.distinct_keys(table, columns, found)
        return distinct is not None and self.number(distinct) == int(found[0])

    def told_apart(self, query: str, columns: Columns) -> bool:
        """Whether no two rows of a query agree in these columns, as far as words of bits tell it."""
        counted = unique_keys.in_words(query, columns)
        if counted is None:
            return False
        ((rows, keys),) = self._engine.rows(counted)
        return bool(rows == keys)

    def examples(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query that has a few of them at the most, and none if all is well."""
        return self._engine.rows(query)
