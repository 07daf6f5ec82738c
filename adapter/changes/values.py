"""Of which other values those of a column are some, by how its relation is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..algebra.expressions import Expr, column
from ..algebra.nodes import Aggregate, Filter, Generate, Join, JoinKind, Named, Node, Project, Semi, UnionAll, Window

Values = tuple[Node, Expr]
"""Those that an expression has in the rows of a relation."""

PAIRING = (JoinKind.INNER, JoinKind.SEMI)
"""Of which each row has met one of the other side."""


def among(values: Values, relations: Mapping[str, Node]) -> Iterator[tuple[Values, bool]]:
    """Values that all of these are among, one step down; with True those that each of these was found equal to, and
    need not be of its type. relations: those that are computed, by their names."""
    node, e = values
    if isinstance(node, Named) and node.name in relations:
        yield (relations[node.name], e), False
    elif isinstance(node, Semi):
        yield from (((node.keys, column(k)), True) for own, k in node.pairs if own == e)
        yield (node.child, e), False
    elif isinstance(node, Filter | Window | Generate) and e.column in node.child.column_set:
        yield (node.child, e), False
    elif isinstance(node, Project | Aggregate) and (of := below(node, e)) is not None:
        yield (node.child, of), False
    elif isinstance(node, Join):
        here = 0 if e.column in node.left.column_set else 1
        # Where a row had no partner, the partner's columns are NULL.
        if not here or node.kind is JoinKind.INNER:
            yield (node.children[here], e), False
            partners = ((node.children[1 - here], q[1 - here]) for q in node.equalities if q[here] == e)
            yield from ((partner, True) for partner in partners if node.kind in PAIRING)


def below(node: Project | Aggregate, e: Expr) -> Expr | None:
    """What a column is made of; None of one that an aggregate computes."""
    outputs = node.outputs if isinstance(node, Project) else node.groups
    return next((of for name, of in outputs if name == e.column), None)


def parts(union: UnionAll, e: Expr) -> list[Values]:
    """Those of each input."""
    assert e.column is not None
    place = union.columns.index(e.column)
    return [(child, column(child.columns[place])) for child in union.inputs]
