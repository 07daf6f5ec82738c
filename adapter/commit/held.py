"""The rows of γ′ (changes/partials.py) that the ledger keeps: when it does, and what it holds of them.

They are part of the commit that they are true of, so that there is no moment at which table and rows disagree. They are
the state of one refresh: one that makes the table in another way keeps none.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..algebra.nodes import Node
from ..changes.partials import Partials, partials
from ..errors import Refusal
from ..pipeline import columns_of, digest
from ..sparksql.literal_rows import Value, can_all_be_said, can_be_said
from .engine import Engine
from .ledger import HeldRows

MOST_GROUPS = 1_000
"""Rows up to which they are kept. Measured on two cores over 20 M rows, a thousand that changed, in all of 900 groups,
are added to what is kept of them in 1.9 s, and the groups are computed again in 4.5 to 5 s."""

MOST_CHARACTERS = 64 * 1024
"""That they may take: the ledger is read at every refresh, and each commit has its own copy of them."""


class NotKept(Exception):
    """The rows cannot be kept, or what is made of them would not be right; says why. Nothing was written."""


class SoonerKept(Exception):
    """The rows that the table's are the first of are sooner computed whole and kept than searched again for the first
    of them. Nothing was written."""

    def __init__(self, partials: Partials) -> None:
        super().__init__("the first rows have to be found again")
        self.partials = partials


def worth_keeping(model: Node, engine: Engine, rows: int | None) -> Partials | None:
    """What is to be kept of a model whose table has so many rows; None for nothing."""
    if rows is None or rows > MOST_GROUPS:
        return None
    try:
        found = partials(model, lambda node: tuple(t for _, t in columns_of(node, engine.columns)))
    except Refusal:
        return None
    return found if found is not None and can_be_said(tuple(found.types.items())) else None


def name_of(p: Partials) -> str:
    """By which the ledger knows what it holds rows of: of groups that have rows, not of those that had some, which were
    held too once."""
    return digest(f"groups that have rows: {p.text}")


def held(p: Partials, rows: Sequence[Sequence[Value]]) -> HeldRows:
    """Raises NotKept."""
    names = list(p.types)
    if len(rows) > MOST_GROUPS or sum(len(str(v)) for row in rows for v in row) > MOST_CHARACTERS:
        raise NotKept("what its aggregates are made of is too much to be kept in the ledger")
    for column, limit in p.below.items():
        if any(int(row[names.index(column)] or 0) >= limit for row in rows):
            raise NotKept("an average is of too many or too large values to be told from what the ledger keeps")
    if not can_all_be_said(rows):
        raise NotKept("groups have values that no short literal can say")
    return HeldRows(name_of(p), tuple(map(tuple, rows)))
