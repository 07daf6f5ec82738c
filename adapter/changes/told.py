"""Keys that the changed rows of one side of a join say themselves, so that the other side need not be read for them.

Law: of a row of L ⋈ R on l = r, an expression over L and l, r has the same value on its row of L; so π_e(ΔL) has the e
of every changed row of the join that ΔL is part of, whatever it meets. It has others too: keys of rows that meet
nothing. A key that more rows have than the change would cost more than the join that it saves, so this is done only for
keys by which large tables are joined: of few values, their join would be larger by far than they are.
"""

from __future__ import annotations

from collections.abc import Collection

from ..algebra.expressions import Expr, column, columns
from ..algebra.nodes import Aggregate, Filter, Join, JoinKind, Node, Project, Semi, Window
from ..algebra.transform import remembered
from .column_types import of_one_type
from .derivation import Derivation

Key = tuple[frozenset[Expr], ...]
"""What a join is by: for each equality, the expressions over a relation that have its value."""


def joining(node: Node, exprs: Collection[Expr], d: Derivation) -> frozenset[Expr]:
    """Those of the expressions by which large tables of the relation are joined, all that one join is by."""
    if not d.large:
        return frozenset()
    keys = [k for k in _joining(node, d.large) if not any(of_one.isdisjoint(exprs) for of_one in k)]
    return frozenset().union(*(of_one for k in keys for of_one in k)).intersection(exprs)


def said_by(side: Node, join: Join, exprs: tuple[Expr, ...], d: Derivation) -> tuple[Expr, ...] | None:
    """What the expressions over the join are over one side of it; None if that side does not say them all."""
    if not joining(join, exprs, d):
        return None
    here, there = (0, 1) if side is join.left else (1, 0)
    same = {e[there]: e[here] for e in join.equalities if of_one_type((join.left, e[0]), (join.right, e[1]), d.types)}
    found = tuple(e if e.columns <= side.column_set else same.get(e) for e in exprs)
    return None if None in found else tuple(e for e in found if e is not None)


def without_joins(node: Node, names: frozenset[str], d: Derivation) -> Node:
    """The relation with at least those columns and rows, of fewer tables where one side of a join says all of them."""
    if isinstance(node, Project):
        outputs = tuple((name, e) for name, e in node.outputs if name in names)
        read = frozenset().union(*(e.columns for _, e in outputs))
        child = without_joins(node.child, read, d)
        return Project(child, outputs) if child is not node.child else node
    if not isinstance(node, Join) or node.kind is not JoinKind.INNER:
        return node
    shown = tuple(name for name in node.columns if name in names)
    for side in node.children:
        said = said_by(side, node, columns(shown), d)
        if said is not None:
            return without_joins(Project(side, tuple(zip(shown, said, strict=True))), names, d)
    return node


@remembered
def _joining(node: Node, large: frozenset[str]) -> frozenset[Key]:
    """What large tables are joined by in it, as far as it shows that."""
    if isinstance(node, Filter | Semi | Window):
        return _joining(node.child, large)
    if isinstance(node, Project | Aggregate):
        shown = node.outputs if isinstance(node, Project) else node.groups
        above = (
            tuple(frozenset(column(name) for name, e in shown if e in of_one) for of_one in key)
            for key in _joining(node.child, large)
        )
        return frozenset(key for key in above if all(key))
    if not isinstance(node, Join):
        return frozenset()
    inner = node.kind is JoinKind.INNER
    found = _joining(node.left, large) | (_joining(node.right, large) if inner else frozenset())
    if node.equalities and all(any(source in large for source, _ in side.leaves) for side in node.children):
        found |= {tuple(frozenset((l, r) if inner else (l,)) for l, r, _ in node.equalities)}
    return found
