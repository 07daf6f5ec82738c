"""Joins at processing time: each row is joined when it is processed, and what it met then it keeps."""

from __future__ import annotations

from .expressions import Expr, columns
from .nodes import Filter, Join, Node, Project, walk


def is_processed(node: Node) -> bool:
    """Whether a plan has a join at processing time anywhere."""
    return any(_at_processing_time(n) for n in walk(node))


def processed(model: Node) -> Node | None:
    """The relation whose rows are processed: what is below all joins at processing time of a plan.

    None where anything but projections, filters and further such joins is above them: what they met can then not be
    told from the rows that the plan gives.
    """
    path = _path(model)
    return path[-1] if path and not is_processed(path[-1]) and not any(map(is_processed, _right_sides(path))) else None


def key_of_processed(model: Node, key: tuple[str, ...]) -> tuple[Expr, ...] | None:
    """A key of the plan's rows as expressions over the relation that is processed; None if it is not of its columns."""
    exprs = columns(key)
    path = _path(model)
    for node in path:
        if isinstance(node, Project):
            exprs = tuple(e.substitute(dict(node.outputs)) for e in exprs)
    return exprs if all(e.columns <= set(path[-1].columns) for e in exprs) else None


def _path(model: Node) -> list[Node]:
    """From the root to the relation that is processed, both included."""
    path = [model]
    while is_processed(node := path[-1]):
        if isinstance(node, Filter | Project):
            path.append(node.child)
        elif _at_processing_time(node):
            path.append(node.children[0])
        else:
            break
    return path


def _right_sides(path: list[Node]) -> list[Node]:
    return [n.right for n in path if isinstance(n, Join) and _at_processing_time(n)]


def _at_processing_time(node: Node) -> bool:
    return isinstance(node, Join) and node.as_of is not None and node.as_of.time is None
