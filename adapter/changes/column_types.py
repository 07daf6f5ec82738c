"""Spark's type of a column of a plan, where the column is one of a table."""

from __future__ import annotations

from collections.abc import Mapping

from ..algebra.expressions import Expr, column
from ..algebra.nodes import Aggregate, Filter, Join, Named, Node, Project, Scan, Semi, UnionAll, Window
from .values import Values, below, parts

Types = Mapping[str, Mapping[str, str]]
"""Source, or computed relation, -> its columns in lower case -> their types, as far as they are known."""

INTEGERS = ("tinyint", "smallint", "int", "bigint")


def of_one_type(one: Values, other: Values, types: Types) -> bool:
    """Whether equal values of the two are one value: '01' and 1 are equal, and so are 1 and '1'."""
    found = type_of(*one, types)
    return found is not None and found == type_of(*other, types)


def types_of(node: Node, types: Types) -> Mapping[str, str]:
    """Column in lower case -> its type, of those that are known."""
    found = {c.lower(): type_of(node, column(c), types) for c in node.columns}
    return {c: t for c, t in found.items() if t is not None}


def type_of(node: Node, e: Expr, types: Types) -> str | None:
    """The type of a column that is one of a table; None of any other expression."""
    while e.column is not None:
        if isinstance(node, Scan):
            return types.get(node.source, {}).get(dict(node.outputs)[e.column].lower())
        if isinstance(node, Named):
            return types.get(node.name, {}).get(e.column.lower())
        if isinstance(node, UnionAll):
            found = {type_of(*part, types) for part in parts(node, e)}
            return found.pop() if len(found) == 1 else None
        if isinstance(node, Project | Aggregate):
            of = below(node, e)
            if of is None:
                return None
            node, e = node.child, of
        elif isinstance(node, Join):
            node = node.left if e.column in node.left.column_set else node.right
        elif isinstance(node, Filter | Semi | Window) and e.column in node.child.column_set:
            node = node.child
        else:
            return None
    return None
