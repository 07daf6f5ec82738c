"""UNION, INTERSECT and EXCEPT of two relations with the same columns."""

from __future__ import annotations

from sqlglot import exp

from ..algebra.expressions import column, columns
from ..algebra.nodes import Aggregate, Join, JoinKind, Node, Project, UnionAll
from ..names import free_name
from .refuse import refuse


def combined(tree: exp.SetOperation, left: Node, right: Node) -> Node:
    """Without ALL, INTERSECT keeps the distinct rows of the left side that are on the right, EXCEPT those that are not:
    rows are equal where all their columns are, NULLs counted as equal."""
    every = not tree.args.get("distinct")
    if isinstance(tree, exp.Union):
        union = UnionAll((left, right))
        return union if every else distinct(union)
    if every:
        raise refuse(f"{tree.key.upper()} ALL", "has no law of change here yet", tree, "count the rows in a GROUP BY")
    taken = {c.lower() for c in left.columns}
    names = []
    for name in right.columns:
        names.append(free_name(name, taken))
        taken.add(names[-1].lower())
    other = Project(right, tuple(zip(names, columns(right.columns), strict=True)))
    equal = tuple((column(l), column(r), True) for l, r in zip(left.columns, names, strict=True))
    kind = JoinKind.SEMI if isinstance(tree, exp.Intersect) else JoinKind.ANTI
    return Join(distinct(left), other, equal, kind=kind)


def distinct(node: Node) -> Node:
    return Aggregate(node, tuple(zip(node.columns, columns(node.columns), strict=True)))
