"""How much a refresh reads at the most, as far as tables and their logs say it.

In bytes of files, but a row is counted for ROW of them at the least: of few different values, few bytes hold many.

An engine runs what reads little in another way (`Engine.reading`). Of a table that is asked for a few keys all files
are counted: how many of them will be left out is not known before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..algebra.nodes import Node
from .engine import Table

ROW = 20
"""Bytes in a file of a row of three or four columns."""


@dataclass(frozen=True)
class BytesRead:
    """tables: by the names that plans and statements have for them; rows: of each relation that has been computed."""

    tables: Mapping[str, Table] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)

    def by(self, *relations: Node) -> int | None:
        """By whoever computes these; None if one of the tables does not say it."""
        leaves = {leaf for relation in relations for leaf in relation.leaves_read}
        return added(*(self.of(name) for name, _ in leaves))

    def of(self, name: str) -> int | None:
        """Of one table, or of a relation that has been computed."""
        if name in self.rows:
            return counted(0, self.rows[name])
        return of_table(self.tables[name]) if name in self.tables else None


def of_table(table: Table) -> int | None:
    return counted(table.size, table.rows) if table.rows is not None else None


def counted(size: int, rows: int) -> int:
    """size: bytes of the files that have these rows."""
    return max(size, rows * ROW)


def added(*sizes: int | None) -> int | None:
    """None if one of them is not known."""
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None
