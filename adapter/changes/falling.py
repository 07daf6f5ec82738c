"""Which groups a change and the table's own row cannot settle, so that they are computed again (falling groups).

Names in their conditions: key_i and those of an accumulator for a group's change, own_key_i and own_i for the table's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from ..algebra.expressions import Expr, column, integer
from ..algebra.nodes import Filter, Join, Named, Node, Project
from ..names import PREFIX
from .accumulators import Accumulator, reference, zero
from .derivation import KEY, passed

ROWS_NET = "rows_net"
"""How many rows a group won or lost."""

Case = tuple[exp.Expression, exp.Expression]
"""A condition over a group's change, under which it may fall, and one over change and own row, under which it does."""


def counting_rows(keys: Sequence[str], parts: Sequence[Accumulator]) -> Accumulator | None:
    """What counts the rows of each group, if anything does."""
    return next((p for p in parts if p.counts_rows and keys), None)


def tells_rows(keys: Sequence[str], parts: Sequence[Accumulator]) -> bool:
    """Whether it is known without ROWS_NET if a group has rows left: a COUNT(*) says it, and a single group stays."""
    return not keys or counting_rows(keys, parts) is not None


@dataclass(frozen=True)
class Falls:
    """When a changed group is computed again, told beside its row in the table. rows: what is added, and what the
    condition reads of the group's change; condition: over the columns of these, and of the table, which have other
    names in it; own: those names, each with the column; easily: whether it takes no more than the row of an extremum
    that leaves, and not that all values of a sum do."""

    rows: Node
    condition: Expr
    own: tuple[tuple[str, str], ...]
    easily: bool


@dataclass(frozen=True)
class BesideOwn:
    """Groups' changes beside the table's own rows. keys: their columns in the changes; parts: all aggregates; shown:
    the table's columns, of the groups and of the aggregates."""

    keys: tuple[str, ...]
    parts: tuple[Accumulator, ...]
    shown: tuple[str, ...]

    @property
    def own(self) -> tuple[tuple[str, str], ...]:
        """The table's columns under the names of the conditions."""
        names = (*(f"own_{key}" for key in self.keys), *(f"own_{p.i}" for p in self.parts))
        return tuple(zip(names, self.shown, strict=True))

    @cached_property
    def cases(self) -> list[Case]:
        """Empty if no group ever falls."""
        found = [(m, f) for p in self.parts if (m := p.may_fall()) is not None and (f := p.falls()) is not None]
        if not tells_rows(self.keys, self.parts):
            fewer = exp.LT(this=reference(ROWS_NET), expression=zero())
            found.append((fewer, exp.not_(exp.paren(exp.or_(*(exp.paren(p.shows_rows()) for p in self.parts))))))
        return found

    def falling(self, changes: Named, own: Node) -> Node:
        """The groups that fall: of those that may by their change, those that do. own: the table's rows.

        A group that lost rows is in the table, so that an inner join finds it."""
        candidates = Filter(changes, Expr.of(exp.or_(*(exp.paren(m) for m, _ in self.cases))))
        equalities = tuple((column(key), column(f"own_{key}"), True) for key in self.keys)
        falls = Filter(Join(candidates, own, equalities, None), self._condition)
        return Project(falls, passed(self.keys) or ((KEY.format(0), integer(1)),))

    def falls(self, changes: Named, rows: Node) -> Falls:
        """The same for whoever comes to the table's rows with those that are added. rows: these."""
        condition = self._condition
        # Under names that no column of the model has.
        told = {name: f"{PREFIX}{name}" for name in changes.columns if name in condition.columns}
        assert isinstance(rows, Project)
        shown = (*rows.outputs, *((new, column(name)) for name, new in told.items()))
        own = tuple((name, c) for name, c in self.own if name in condition.columns)
        return Falls(Project(changes, shown), condition.rename(told), own, any(p.is_extreme for p in self.parts))

    @property
    def _condition(self) -> Expr:
        met = exp.or_(*(exp.paren(exp.and_(m, exp.paren(f))) for m, f in self.cases))
        if (counting := counting_rows(self.keys, self.parts)) is not None:
            # A group that has no rows left goes, whatever its other aggregates were.
            met = exp.and_(exp.paren(met), counting.shows_rows())
        return Expr.of(met)
