"""Passes that make a change plan smaller and never change its meaning: what cannot have rows is cut away."""

from __future__ import annotations

from collections.abc import Collection
from functools import singledispatch

from ..algebra.expressions import columns
from ..algebra.nodes import Aggregate, Filter, Generate, Join, JoinKind, Named, Node, Project, Semi, UnionAll, Window
from ..algebra.transform import rebuild, remembered, with_children
from .derivation import is_nothing, nothing


@remembered
def simplify(node: Node) -> Node:
    """The same relation; where it has no rows whatever the data, a single node that says so."""
    return _cut(with_children(node, tuple(map(simplify, node.children))))


def without(node: Node, empty: Collection[str]) -> Node:
    """The same relation, where named ones have turned out to have no rows."""
    return rebuild(node, lambda n: nothing(n) if isinstance(n, Named) and n.name in empty else _cut(n))


@singledispatch
def _cut(node: Node) -> Node:
    return node


@_cut.register
def _(node: Filter) -> Node:
    if is_nothing(node) or not is_nothing(node.child):
        return node
    # The condition stays below the false one: what stands above may be wrong of rows that it does not meet, and an
    # engine may look at them before it finds that none are asked for.
    return nothing(Filter(node.child.children[0], node.predicate))


@_cut.register
def _(node: Project) -> Node:
    if is_nothing(node.child):
        return nothing(Project(node.child.children[0], node.outputs))
    return node


@_cut.register
def _(node: Semi) -> Node:
    if is_nothing(node.keys):
        return nothing(node.child)
    return node.child if is_nothing(node.child) else node


@_cut.register
def _(node: Join) -> Node:
    if not (is_nothing(node.left) or is_nothing(node.right)):
        return node
    if is_nothing(node.right) and not is_nothing(node.left) and node.kind in (JoinKind.LEFT, JoinKind.ANTI):
        return node.left if node.kind is JoinKind.ANTI else node
    # Keeping the join below the false condition keeps the types without keeping any work.
    sides = tuple(s.children[0] if is_nothing(s) else s for s in node.children)
    return nothing(Join(*sides, node.equalities, node.residual, node.kind))


@_cut.register
def _(node: UnionAll) -> Node:
    """R ∪ ∅ = R, under the names of the first input."""
    kept = [i for i in node.inputs if not is_nothing(i)]
    if len(kept) == len(node.inputs) and len(kept) > 1:
        return node
    if not kept:
        return nothing(_named(node.inputs[0].children[0], node.columns))
    first = _named(kept[0], node.columns)
    return UnionAll((first, *kept[1:])) if len(kept) > 1 else first


def _named(node: Node, names: tuple[str, ...]) -> Node:
    if node.columns == names:
        return node
    return Project(node, tuple(zip(names, columns(node.columns), strict=True)))


@_cut.register
def _(node: Aggregate) -> Node:
    """No groups over no rows. (Without GROUP BY there is one row even then.)"""
    if node.groups and is_nothing(node.child):
        return nothing(Aggregate(node.child.children[0], node.groups, node.aggregates))
    return node


@_cut.register
def _(node: Generate) -> Node:
    if is_nothing(node.child):
        return nothing(Generate(node.child.children[0], node.call, node.made, node.outer))
    return node


@_cut.register
def _(node: Window) -> Node:
    if is_nothing(node.child):
        return nothing(Window(node.child.children[0], node.partition, node.calls))
    return node
