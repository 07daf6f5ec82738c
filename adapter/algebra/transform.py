"""Making a plan from a plan: the one place that knows which fields of a node hold its inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import singledispatch, wraps
from operator import is_
from typing import Any

from .nodes import Aggregate, Filter, Generate, Join, Named, Node, Project, Scan, Semi, UnionAll, Unit, Window


def remembered(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a node, and of further values that can be hashed, computed once for each node: plans share their
    parts, and the laws ask for the same of a part again for everything that stands above it."""

    @wraps(function)
    def once(node: Node, *more: Any) -> Any:
        known = vars(node).setdefault("_known", {})
        asked = (function, *more)
        if asked not in known:
            known[asked] = function(node, *more)
        return known[asked]

    return once


def rebuild(node: Node, change: Callable[[Node], Node]) -> Node:
    """The plan with `change` applied to every node, inputs first; to one that stands in several places, once."""
    made: dict[int, Node] = {}

    def of(node: Node) -> Node:
        if id(node) not in made:
            made[id(node)] = change(with_children(node, tuple(map(of, node.children))))
        return made[id(node)]

    return of(node)


def with_children(node: Node, children: tuple[Node, ...]) -> Node:
    """The node over other inputs; the node itself if they are the ones it has."""
    if all(map(is_, children, node.children)):
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
