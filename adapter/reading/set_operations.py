"""UNION, INTERSECT and EXCEPT of two relations with the same columns."""

from __future__ import annotations

from sqlglot import exp

from ..algebra.expressions import Expr, column, columns
from ..algebra.nodes import Aggregate, Join, JoinKind, Node, Project, UnionAll, Window
from ..names import free_name


def combined(tree: exp.SetOperation, left: Node, right: Node) -> Node:
    """INTERSECT keeps the rows of the left side that are on the right, EXCEPT those that are not: rows are equal where
    all their columns are, NULLs counted as equal. With ALL, the n-th of equal rows is equal to the n-th alone."""
    every = not tree.args.get("distinct")
    if isinstance(tree, exp.Union):
        union = UnionAll((left, right))
        return union if every else distinct(union)
    kept = numbered(left) if every else distinct(left)
    right = numbered(right) if every else right
    taken = {c.lower() for c in kept.columns}
    names = []
    for name in right.columns:
        names.append(free_name(name, taken))
        taken.add(names[-1].lower())
    other = Project(right, tuple(zip(names, columns(right.columns), strict=True)))
    equal = tuple((column(l), column(r), True) for l, r in zip(kept.columns, names, strict=True))
    kind = JoinKind.SEMI if isinstance(tree, exp.Intersect) else JoinKind.ANTI
    found = Join(kept, other, equal, kind=kind)
    return Project(found, tuple(zip(left.columns, columns(left.columns), strict=True))) if every else found


def numbered(node: Node) -> Node:
    """Equal rows told apart by a number, in a further column."""
    number = free_name("copy", {c.lower() for c in node.columns})
    by = columns(node.columns)
    partition = [e.tree.copy() for e in by]
    call = exp.Window(
        this=exp.RowNumber(),
        partition_by=partition,
        order=exp.Order(expressions=[exp.Ordered(this=by[0].tree.copy(), nulls_first=True)]),
        over="OVER",
    )
    return Window(node, by, ((number, Expr.of(call)),))


def distinct(node: Node) -> Node:
    return Aggregate(node, tuple(zip(node.columns, columns(node.columns), strict=True)))
