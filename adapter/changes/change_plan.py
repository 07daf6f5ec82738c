"""What a change plan is: the relations to compute, in order, and how the last one applies to the table.

Three shapes reach the table:
  upsert    one row for each key that may have changed: its row now, or that it has none any more (PRESENT)
  additive  one row for each group that changed: what is added to its own; and upserts of the groups that must be
            computed again
  signed    rows with a weight: so many copies came, so many left (WEIGHT)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ..algebra.nodes import Named, Node
from .additive import Additions
from .derivation import Binding, Feed, is_nothing
from .newcomers import Newcomers
from .partials import Partials
from .simplify import without
from .slices import Slice


class Shape(Enum):
    UPSERT = "upsert"
    ADDITIVE = "additive"
    SIGNED = "signed"


@dataclass(frozen=True)
class ChangePlan:
    """feeds: net changes of the sources; bindings: relations in order of use; result: the last of them.

    For Shape.UPSERT `result` holds the rows that the keys in `affected` have now; `key` names the columns, in the order
    of the columns of `affected`. For Shape.ADDITIVE that is so for the groups in `affected` (no rows and None if there
    never are any), and every other group has its row in `additions`. For Shape.SIGNED `result` holds the net change of
    the query with WEIGHT. falling: the keys for which the sources are read although the table's own rows might have
    told enough; None where they always are. falls_easily: whether it takes no more for that, or for a group to be in
    `affected` of Shape.ADDITIVE, than one row that leaves, and not that all values of a sum do. moved: of what is made
    of all rows below it, as a top is, what changed of those. too_late: a relation of one row, the number of changed
    rows that no result is made of any more; None if there are none. newcomers: what the MERGE may set beside the
    table's own rows, in the place of all that is computed from `affected` on. partials: what the ledger keeps the rows
    of, PARTIALS among the bindings; a plan that adds to those of the refresh before reads them as HELD. slices:
    bindings that stand for rows which need not be computed under a name, and may be read instead.
    """

    feeds: tuple[Feed, ...]
    bindings: tuple[Binding, ...]
    result: Binding
    shape: Shape
    key: tuple[str, ...] | None
    affected: Named | None
    additions: Additions | None = None
    falling: Named | None = None
    falls_easily: bool = True
    moved: Named | None = None
    too_late: Named | None = None
    newcomers: Newcomers | None = None
    partials: Partials | None = None
    touched: Named | None = None
    slices: tuple[Slice, ...] = ()

    @property
    def settling(self) -> frozenset[str]:
        """The relations of which any one without rows says that the table stays as it is."""
        named = [self.moved, self.affected if self.shape is Shape.UPSERT else None]
        added = {self.additions.changes} if self.additions is not None else set()
        return frozenset({n.name for n in named if n is not None} | added)

    @property
    def relations(self) -> tuple[Node, ...]:
        """All that it may compute from tables, in order."""
        added = (self.additions.rows,) if self.additions is not None else ()
        return (*(b.node for b in self.bindings), self.result.node, *added)

    @property
    def expected(self) -> tuple[Node, ...]:
        """The same, without what is read for keys that fall where they do not easily."""
        falling = self.affected if self.shape is Shape.ADDITIVE else self.falling
        if falling is None or self.falls_easily:
            return self.relations
        empty, found = {falling.name}, []
        for b in self.bindings:
            node = without(b.node, empty)
            if is_nothing(node):
                empty.add(b.name)
            found.append(node)
        found += (without(node, empty) for node in self.relations[len(self.bindings) :])
        return tuple(node for node in found if not is_nothing(node))
