"""K: the keys under which a relation may have changed. A superset is right, only dearer; a missing key is wrong.

Law: whatever row came to or left R, its `exprs` are in affected(R, exprs). Where the key is that of a group, the
group's own old and new result need not be computed to know that it may have changed. Where what changed on one side of
a join says the key itself (told.py), the other side is not read for it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch

from ..algebra.expressions import Expr, column, columns
from ..algebra.nodes import Aggregate, Filter, Join, JoinKind, Named, Node, Project, Scan, Time, UnionAll, Window, walk
from .derivation import KEY, Derivation, distinct, is_nothing, nothing, passed
from .matches import met_by, older_side, rows_met
from .simplify import simplify
from .told import joining, said_by, without_joins


def affected(node: Node, exprs: tuple[Expr, ...], d: Derivation) -> Node:
    """Distinct rows with columns key_0 … key_n, one for each expression over `node`."""
    return distinct(_rows(node, exprs, d))


def affected_part(node: Node, exprs: tuple[Expr, ...], d: Derivation) -> tuple[tuple[int, ...], Node]:
    """(places of some of the expressions, distinct rows of these alone). To ask a relation for a part of its key is to
    ask for too much, which the law of groups allows: as many of them as cost nothing more to tell."""
    every = simplify(affected(node, exprs, d))
    keys = joining(node, exprs, d)
    part = tuple(i for i, e in enumerate(exprs) if e in keys)
    if not part or is_nothing(every):
        return tuple(range(len(exprs))), every

    def of(places: tuple[int, ...]) -> Node:
        return simplify(affected(node, tuple(exprs[i] for i in places), d))

    found = of(part)
    if _reads(found) >= _reads(every):
        return tuple(range(len(exprs))), every
    for i in range(len(exprs)):
        if i not in part:
            wider = tuple(sorted((*part, i)))
            if _reads(more := of(wider)) == _reads(found):
                part, found = wider, more
    return part, found


def _reads(node: Node) -> int:
    return sum(isinstance(n, Scan | Named) for n in walk(node))


def _rows(node: Node, exprs: tuple[Expr, ...], d: Derivation) -> Node:
    if not node.has_groups and not joining(node, exprs, d):
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
    said = [said_by(side, node, exprs, d) for side in node.children]
    left, right = (
        _changed_side(node, side, exprs, d) if own is None else simplify(_rows(side, own, d))
        for side, own in zip(node.children, said, strict=True)
    )
    terms = tuple(
        changed if own is not None else _met(changed, node, other, nothing(other) if theirs else of_other, exprs, d)
        for changed, own, other, theirs, of_other in (
            (left, said[0], node.right, said[1], right),
            (right, said[1], node.left, said[0], left),
        )
    )
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
    if (said := said_by(node.right, node, exprs, d)) is not None:
        return UnionAll((left, _rows(node.right, said, d)))
    return UnionAll((left, _keyed(rows_met(right, node, d), exprs)))


def _met(changed: Node, node: Join, side: Node, change_of_side: Node, exprs: tuple[Expr, ...], d: Derivation) -> Node:
    """One term: what changed on one side joined to the other side, as it is now or as it was before."""
    if is_nothing(changed):
        return changed
    old = side is older_side(node) and not is_nothing(change_of_side)
    lean = without_joins(side, _needed(node, exprs), d)
    node = replace(node, right=lean) if side is node.right else replace(node, left=lean)
    met = met_by(changed, node, lean, Time.BEFORE if old and side.has_groups else Time.AFTER, d)
    if old and not side.has_groups:
        # Keys need no weights: what was there before is there now or among the changed rows.
        met = UnionAll((Project(met, passed(change_of_side.columns)), change_of_side))
    left, right = (changed, met) if lean is node.right else (met, changed)
    return _keyed(Join(left, right, node.equalities, node.residual), exprs)


def _changed_side(node: Join, side: Node, exprs: tuple[Expr, ...], d: Derivation) -> Node:
    needed = _needed(node, exprs)
    names = tuple(c for c in side.columns if c in needed)
    rows = simplify(_rows(side, columns(names), d))
    if is_nothing(rows):
        return rows
    return Project(rows, tuple((name, column(KEY.format(i))) for i, name in enumerate(names)))


def _needed(node: Join, exprs: tuple[Expr, ...]) -> frozenset[str]:
    """What the expressions and the conditions read."""
    return node.asked.union(*(e.columns for e in exprs))
