"""K: the keys under which a relation may have changed. A superset is right, only dearer; a missing key is wrong.

Law: whatever row came to or left R, its `exprs` are in affected(R, exprs). Where the key is that of a group, the
group's own old and new result need not be computed to know that it may have changed.
"""

from __future__ import annotations

from functools import singledispatch

from ..algebra.expressions import Expr, column, columns
from ..algebra.nodes import Aggregate, Filter, Join, JoinKind, Node, Project, Time, UnionAll, Window
from .derivation import KEY, Derivation, distinct, is_nothing, passed
from .matches import met_by, older_side, rows_met
from .simplify import simplify


def affected(node: Node, exprs: tuple[Expr, ...], d: Derivation) -> Node:
    """Distinct rows with columns key_0 … key_n, one for each expression over `node`."""
    return distinct(_rows(node, exprs, d))


def _rows(node: Node, exprs: tuple[Expr, ...], d: Derivation) -> Node:
    if not node.has_groups:
        return _exact(node, exprs, d)
    return _grouped(node, exprs, d)


def _exact(node: Node, exprs: tuple[Expr, ...], d: Derivation) -> Node:
    from .differentiate import change  # changes need keys and keys need changes

    return _keyed(change(node, d), exprs)


def _keyed(node: Node, exprs: tuple[Expr, ...]) -> Node:
    return Project(node, tuple((KEY.format(i), e) for i, e in enumerate(exprs)))


@singledispatch
def _grouped(node: Node, exprs: tuple[Expr, ...], d: Derivation) -> Node:
    return _exact(node, exprs, d)


@_grouped.register
def _(node: Filter, exprs: tuple[Expr, ...], d: Derivation) -> Node:
    from .differentiate import moved, moves

    # A HAVING is left out: it would need the groups' old and new values.
    rows = _rows(node.child, exprs, d)
    if not moves(node, d):
        return rows
    return UnionAll((rows, *(_keyed(part, exprs) for part in moved(node, d))))


@_grouped.register
def _(node: Project, exprs: tuple[Expr, ...], d: Derivation) -> Node:
    below = dict(node.outputs)
    return _rows(node.child, tuple(e.substitute(below) for e in exprs), d)


@_grouped.register
def _(node: UnionAll, exprs: tuple[Expr, ...], d: Derivation) -> Node:
    def of(child: Node) -> Node:
        to = dict(zip(node.columns, columns(child.columns), strict=True))
        return _rows(child, tuple(e.substitute(to) for e in exprs), d)

    return UnionAll(tuple(of(c) for c in node.inputs))


@_grouped.register
def _(node: Aggregate, exprs: tuple[Expr, ...], d: Derivation) -> Node:
    groups = dict(node.groups)
    if node.groups and all(e.columns <= groups.keys() for e in exprs):
        return _rows(node.child, tuple(e.substitute(groups) for e in exprs), d)
    return _exact(node, exprs, d)


@_grouped.register
def _(node: Window, exprs: tuple[Expr, ...], d: Derivation) -> Node:
    plain = {e.column for e in node.partition}
    if all(e in node.partition or e.columns <= plain for e in exprs):
        return _rows(node.child, exprs, d)
    return _exact(node, exprs, d)


@_grouped.register
def _(node: Join, exprs: tuple[Expr, ...], d: Derivation) -> Node:
    """ΔL ⋈ R and L ⋈ ΔR, of the changed side only the columns that the key and the conditions need."""
    if node.kind is not JoinKind.INNER:
        return _one_sided(node, exprs, d)
    left, right = (_changed_side(node, side, exprs, d) for side in node.children)
    terms = (_met(left, node, node.right, right, exprs, d), _met(right, node, node.left, left, exprs, d))
    if all(is_nothing(t) for t in terms):
        return _exact(node, exprs, d)
    return UnionAll(tuple(t for t in terms if not is_nothing(t)))


def _one_sided(node: Join, exprs: tuple[Expr, ...], d: Derivation) -> Node:
    """Of the left side, ΔL and the rows of L⁺ that meet ΔR: what they met and meet need not be known."""
    if not frozenset().union(*(e.columns for e in exprs)) <= node.left.column_set:
        return _exact(node, exprs, d)
    left, right = _rows(node.left, exprs, d), _changed_side(node, node.right, (), d)
    if is_nothing(right):
        return left
    return UnionAll((left, _keyed(rows_met(right, node, d), exprs)))


def _met(changed: Node, node: Join, side: Node, change_of_side: Node, exprs: tuple[Expr, ...], d: Derivation) -> Node:
    """One term: what changed on one side joined to the other side, as it is now or as it was before."""
    if is_nothing(changed):
        return changed
    old = side is older_side(node) and not is_nothing(change_of_side)
    met = met_by(changed, node, side, Time.BEFORE if old and side.has_groups else Time.AFTER, d)
    if old and not side.has_groups:
        # Keys need no weights: what was there before is there now or among the changed rows.
        met = UnionAll((Project(met, passed(change_of_side.columns)), change_of_side))
    left, right = (changed, met) if side is node.right else (met, changed)
    return _keyed(Join(left, right, node.equalities, node.residual), exprs)


def _changed_side(node: Join, side: Node, exprs: tuple[Expr, ...], d: Derivation) -> Node:
    needed = frozenset().union(*(e.columns for e in exprs))
    needed |= frozenset().union(*(l.columns | r.columns for l, r, _ in node.equalities))
    needed |= node.residual.columns if node.residual is not None else frozenset()
    names = tuple(c for c in side.columns if c in needed)
    rows = simplify(_rows(side, columns(names), d))
    if is_nothing(rows):
        return rows
    return Project(rows, tuple((name, column(KEY.format(i))) for i, name in enumerate(names)))
