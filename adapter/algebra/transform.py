"""Making a plan from a plan: the one place that knows which fields of a node hold its inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import singledispatch

from .nodes import Aggregate, Filter, Generate, Join, Named, Node, Project, Scan, Semi, UnionAll, Unit, Window


def rebuild(node: Node, change: Callable[[Node], Node]) -> Node:
    """The plan with `change` applied to every node, inputs first."""
    return change(with_children(node, tuple(rebuild(c, change) for c in node.children)))


def with_children(node: Node, children: tuple[Node, ...]) -> Node:
    """The node over other inputs; the node itself if they are the ones it has."""
    if all(a is b for a, b in zip(children, node.children, strict=True)):
        return node
    return _with_children(node, children)


@singledispatch
def _with_children(node: Node, children: tuple[Node, ...]) -> Node:
    raise NotImplementedError(f"no inputs known for {type(node).__name__}")


@_with_children.register
def _(node: Scan | Named | Unit, children: tuple[Node, ...]) -> Node:
    return node


@_with_children.register
def _(node: Filter | Project | Aggregate | Window | Generate, children: tuple[Node, ...]) -> Node:
    return replace(node, child=children[0])


@_with_children.register
def _(node: Semi, children: tuple[Node, ...]) -> Node:
    return replace(node, child=children[0], keys=children[1])


@_with_children.register
def _(node: UnionAll, children: tuple[Node, ...]) -> Node:
    return replace(node, inputs=children)


@_with_children.register
def _(node: Join, children: tuple[Node, ...]) -> Node:
    return replace(node, left=children[0], right=children[1])
