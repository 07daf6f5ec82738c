"""γ(L ⟕ R) = γ((L ⋈ R) ∪ (L ⟕ ∅)) where γ does not see a row without a partner beside rows that have one.

Which rows of L have a partner is no matter then: both parts are linear in L and in R, and the change of R meets L, with
no look at the partners that its rows had and have. So it is of groups over L, as of all orders of each customer, whose
aggregates take nothing from NULL, or the same from a row of L however often it comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeGuard

from sqlglot import exp

from ..algebra.expressions import Expr, column
from ..algebra.inner import inner_where_kept
from ..algebra.nodes import Aggregate, Filter, Join, JoinKind, Node, Project, UnionAll
from ..algebra.nulls import is_never_true, is_null, is_zero
from ..algebra.shown import Shown
from ..algebra.transform import with_children
from ..names import PREFIX
from .accumulators import Taken, taken
from .derivation import is_nothing, nothing

TAKING = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)
"""Aggregates that take nothing from NULL."""

ABSENT = f"{PREFIX}absent"
"""Any column of rows that are not there."""


def padded_apart(node: Aggregate) -> Aggregate:
    """The same groups and aggregates, of rows among which those without a partner stand beside those with one."""
    found = _left_joins(node)
    if not found:
        return node
    # Where a row must have a partner in one join, it must have had one in those before whose columns that one asks for.
    met = [inner_where_kept(_with_join(rows, replace(f.join, kind=JoinKind.INNER))) for f, rows in found]
    last, rows = found[-1]
    return replace(node, child=UnionAll((*met, last.without_partners(rows))))


def joins_apart(node: Aggregate) -> tuple[Join, ...]:
    """The left joins below that are taken apart so."""
    return tuple(found.join for found, _ in _left_joins(node))


def _left_joins(node: Aggregate) -> list[tuple[_LeftJoin, Node]]:
    """One after the other, from above, each with the rows of the groups that have no partner in those before."""
    parts = [p for _, e in node.aggregates if (p := taken(e.tree)) is not None and p.call in TAKING]
    if len(parts) < len(node.aggregates) or not parts or node.over is not None:
        return []
    made: list[tuple[_LeftJoin, Node]] = []
    rows = node.child
    while (found := _LeftJoin.below(rows)) is not None:
        groups = (e.substitute(found.shown) for _, e in node.groups)
        if not all(e.columns <= found.join.left.column_set for e in groups) or not all(map(found.is_unseen, parts)):
            break
        made.append((found, rows))
        rows = found.without_partners(rows)
    return made


@dataclass(frozen=True)
class _LeftJoin:
    """The first below projections and conditions of its left side alone. shown: what is shown of it, and of its rows
    without a partner; absent: the columns that these have no value of."""

    join: Join
    shown: Mapping[str, Expr]
    absent: frozenset[str]

    @classmethod
    def below(cls, node: Node) -> _LeftJoin | None:
        shown = Shown.by(node)
        while _is_padded(shown.node):
            # Others below may have their names.
            absent = dict.fromkeys(shown.node.right.columns, column(ABSENT))
            shown = shown.over(shown.node.left, absent).below()
        join = shown.node
        if not isinstance(join, Join) or join.kind is not JoinKind.LEFT or join.as_of is not None:
            return None
        kept = all(e.columns <= join.left.column_set for e in shown.asked)
        return cls(join, shown.of, join.right.column_set | {ABSENT}) if kept else None

    def without_partners(self, rows: Node) -> Node:
        """rows: those above it. No condition of it is left to be met."""
        return _with_join(rows, Join(self.join.left, nothing(self.join.right), kind=JoinKind.LEFT))

    def is_unseen(self, part: Taken) -> bool:
        """Whether an aggregate is the same of rows with partners and of one more without any."""
        only = self._over(part.only) if part.only is not None else None
        if only is not None and is_never_true(only, self.absent):
            return True
        values = [self._over(tree) for tree in (part.once or ((part.of,) if part.of is not None else ()))]
        if any(is_null(e, self.absent) for e in values):
            return True
        if part.once or part.call in (exp.Min, exp.Max):
            # Of the left side's row as often as it comes.
            return all(not e.columns & self.absent for e in (*values, *([only] if only is not None else [])))
        return part.call is exp.Sum and only is None and is_zero(values[0], self.absent)

    def _over(self, tree: exp.Expression) -> Expr:
        return Expr.of(tree).substitute(self.shown)


def _is_padded(node: Node) -> TypeGuard[Join]:
    return isinstance(node, Join) and node.kind is JoinKind.LEFT and is_nothing(node.right)


def _with_join(node: Node, join: Join) -> Node:
    """With another one in the place of the first left join below."""
    if not isinstance(node, Filter | Project) and not _is_padded(node):
        return join
    return with_children(node, (_with_join(node.children[0], join), *node.children[1:]))
