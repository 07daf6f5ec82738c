"""Which groups on one side of a join the other side can meet at all.

Law: if π_l(L) ⊆ π_p(P) before and after, groups of R whose key is not in π_p(P) meet no row of L on l = g, so that
their change changes nothing: K may be less by them. P is a table of which L keeps some rows, by a filter: parts of one
brand beside the average of every part, of which a change of lines touches most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..algebra.clock import reads
from ..algebra.expressions import Expr, columns
from ..algebra.nodes import Aggregate, Filter, Join, JoinKind, Node, Project, Scan
from .derivation import Derivation


@dataclass(frozen=True)
class Partner:
    """group: the column of the groups that they are met by; rows: P; shown: the same over P; null_safe: whether NULLs
    meet."""

    group: str
    rows: Node
    shown: Expr
    null_safe: bool


def partners(join: Join, side: Node, d: Derivation) -> tuple[Partner, ...]:
    """Of a side of groups over large tables; none where every group may be met."""
    inner = join.kind is JoinKind.INNER
    if join.as_of is not None or not (side is join.right or inner):
        return ()
    found = groups_below(side)
    if found is None or d.large.isdisjoint(source for source, _ in found[0].leaves):
        return ()
    here, there = (1, 0) if side is join.right else (0, 1)
    other = join.left if side is join.right else join.right
    met: dict[str, Partner] = {}
    for e in join.equalities:
        if (group := group_of(e[here], *found)) is not None:
            for rows, shown in _kept(other, e[there]):
                met.setdefault(group, Partner(group, rows, shown, e[2]))
    return tuple(met.values())


def groups_below(node: Node) -> tuple[Aggregate, Mapping[str, Expr]] | None:
    """The groups below projections and conditions, and what is shown of them; None if that is not what it is."""
    shown = dict(zip(node.columns, columns(node.columns), strict=True))
    while isinstance(node, Filter | Project):
        if isinstance(node, Project):
            below = dict(node.outputs)
            shown = {name: e.substitute(below) for name, e in shown.items()}
        elif reads(node.predicate):
            return None
        node = node.child
    return (node, shown) if isinstance(node, Aggregate) and node.groups else None


def group_of(e: Expr, groups: Aggregate, shown: Mapping[str, Expr]) -> str | None:
    """The column of the groups that a column of what is shown of them is; None if it is none."""
    name = shown[e.column].column if e.column is not None else None
    return name if name in dict(groups.groups) else None


def _kept(node: Node, e: Expr) -> Iterator[tuple[Node, Expr]]:
    """Relations with a filter, one table each, that show every value that a column of the node can have."""
    if e.column is None:
        return
    if _is_filtered(node):
        yield node, e
        return
    match node:
        case Filter():
            yield from _kept(node.child, e)
        case Project():
            yield from _kept(node.child, dict(node.outputs)[e.column])
        case Join(as_of=None):
            here = 0 if e.column in node.left.columns else 1
            if here == 0 or node.kind is JoinKind.INNER:
                yield from _kept(node.children[here], e)
            if node.kind is JoinKind.INNER or (node.kind is JoinKind.SEMI and here == 0):
                for q in node.equalities:
                    if q[here] == e and not q[2]:
                        yield from _kept(node.children[1 - here], q[1 - here])


def _is_filtered(node: Node) -> bool:
    """Whether it is some rows of one table."""
    chosen = False
    while isinstance(node, Filter | Project):
        if isinstance(node, Filter) and reads(node.predicate):
            return False
        chosen = chosen or isinstance(node, Filter)
        node = node.child
    return chosen and isinstance(node, Scan)
