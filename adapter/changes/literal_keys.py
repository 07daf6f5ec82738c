"""A few keys whose values are known, said as literals where other rows have to meet them.

A join alone reads all of what it joins. A condition on literals goes down into the scan: files without such a value are
skipped by their statistics, rows without one are dropped while they are decoded. Each condition follows from the
semi-join or the inner join beside it, which stays: no row is lost by it, whatever the types of the two sides.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from ..algebra.expressions import Expr, one_of
from ..algebra.nodes import Filter, Join, JoinKind, Named, Node, Project, Semi, scans
from ..algebra.transform import rebuild, with_children

Values = Mapping[str, Sequence[Expr | None]]
"""Column of a relation -> the values that it has, None for NULL; columns are missing that no literal can say."""

FEW_KEYS = 16
"""Keys up to which they are said one by one: a scan compares each row with each of them."""

Known = Callable[[Named], Values]
"""The values of a relation that is computed already; nothing where they are too many."""


def with_literal_keys(node: Node, known: Known, small: Collection[str]) -> Node:
    """The same rows, with fewer of them read. small: tables that are sooner read whole than their files looked at."""

    def is_large(n: Node) -> bool:
        return any(s.source not in small for s in scans(n))

    def narrowed(n: Node) -> Node:
        if isinstance(n, Semi) and is_large(n.child):
            values = known(n.keys)
            return with_children(n, (_among(n.child, [(e, values.get(k, ())) for e, k in n.pairs]), n.keys))
        if isinstance(n, Join) and n.kind is JoinKind.INNER:
            left, right = n.left, n.right
            if is_large(left):
                left = _among(left, [(l, _values(n.right, r, known)) for l, r, _ in n.equalities])
            if is_large(right):
                right = _among(right, [(r, _values(n.left, l, known)) for l, r, _ in n.equalities])
            return with_children(n, (left, right))
        return n

    return rebuild(node, narrowed)


def _among(node: Node, pairs: Sequence[tuple[Expr, Sequence[Expr | None]]]) -> Node:
    """The rows whose expressions have one of their values each."""
    for e, values in pairs:
        if values and e.columns:
            node = Filter(node, one_of(e, values))
    return node


def _values(node: Node, e: Expr, known: Known) -> Sequence[Expr | None]:
    """The values that a column of the node can have at the most."""
    if e.column is None:
        return ()
    match node:
        case Named():
            return known(node).get(e.column, ())
        case Filter() | Semi():
            return _values(node.child, e, known)
        case Project():
            return _values(node.child, dict(node.outputs)[e.column], known)
        case Join(kind=JoinKind.INNER):
            return _values(node.left if e.column in node.left.columns else node.right, e, known)
        case _:
            return ()
