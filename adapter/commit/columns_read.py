"""The columns of its sources that a model reads, and whether their names still mean what they meant.

A Delta table says of some commits that they changed no row, although queries give other rows after them: a column was
renamed and another took its name, was dropped and added anew, or has another type. Change feeds say nothing of that.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..algebra.nodes import scans
from ..pipeline import Model, digest
from ..reading.relations import Columns
from .history import Commit


def columns_read(model: Model, source: str, columns: Columns) -> Columns:
    """Of a source's columns, those that the model reads; all where its SQL is not understood."""
    if model.node is None:
        return columns
    read = {c.lower() for scan in scans(model.node) if scan.source == source for _, c in scan.outputs}
    return tuple((name, kind) for name, kind in columns if name.lower() in read)


def types_of(columns: Columns) -> str:
    """Names and types, as a digest: in any order, as columns may be moved."""
    return digest(sorted((name.lower(), kind.lower()) for name, kind in columns))


def renamed(commits: Sequence[Commit], read: Columns) -> str | None:
    """The first column whose name may mean other data since; None if none does."""
    if any(c.renamed is None for c in commits):
        return "a column"
    names = frozenset[str]().union(*(c.renamed or () for c in commits))
    return next((f"the column {name}" for name, _ in read if name.lower() in names), None)
