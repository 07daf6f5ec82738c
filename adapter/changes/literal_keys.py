"""Keys whose values are known, said as literals where other rows have to meet them.

A join alone reads all of what it joins. A condition on literals goes down into the scan: files without such a value are
skipped by their statistics, pages by their index, rows without one are dropped while they are decoded. Keys are said
one by one while they are few, and else by the least and the greatest of them, for what changed lately often lies close
together. Each condition follows from the semi-join or the inner join beside it, which stays: no row is lost by it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from ..algebra.expressions import Expr, cast, one_of, operand
from ..algebra.nodes import Filter, Join, JoinKind, Named, Node, Project, Scan, Semi, Time, scans
from ..algebra.transform import rebuild, remembered, with_children
from .column_types import Types, type_of

FEW_KEYS = 16
"""Keys up to which each is compared with `=`, whatever the types of the two sides."""

MOST_KEYS = 500
"""Keys up to which they are said one by one. Measured on two cores with 60 M rows: 500 of them, here and there, are
found in 1.3 s, 1,000 in the 2.7 s that reading all rows takes."""

PUSHED_VALUES = "spark.sql.parquet.pushdown.inFilterThreshold"
"""Up to so many values of an IN, Spark has each of them looked up in the index of a file's pages; of more, the least
and the greatest. By default 10."""

WHOLE = frozenset(("int", "bigint"))
"""Types whose values are numbers without a cast: of a shorter integer, Spark would convert the column instead."""


@dataclass(frozen=True)
class Values:
    """What a column of a computed relation holds. type: Spark's; listed: its distinct values, as CAST(… AS STRING)
    prints them, None where they are too many; least, greatest: likewise, None if there are none; has_null: whether
    NULL is one of them."""

    type: str
    listed: tuple[str, ...] | None
    least: str | None
    greatest: str | None
    has_null: bool


Known = Callable[[Named, str], Values | None]
"""The values in a column of a relation that is computed already; None if they are not known."""


def with_literal_keys(node: Node, known: Known, small: Collection[str], types: Types) -> Node:
    """The same rows, with fewer of them read. small: tables that are sooner read whole than their files looked at;
    types: of the tables' columns."""

    def is_large(n: Node) -> bool:
        return any(s.source not in small for s in scans(n))

    def narrowed(n: Node) -> Node:
        if isinstance(n, Semi) and is_large(n.child):
            asked = ((e, known(n.keys, k)) for e, k in n.pairs)
            return with_children(n, (_among(n.child, asked, types), n.keys))
        if isinstance(n, Join) and n.kind is JoinKind.INNER:
            left, right = n.left, n.right
            if is_large(left):
                left = _among(left, ((l, _values(n.right, r, known)) for l, r, _ in n.equalities), types)
            if is_large(right):
                right = _among(right, ((r, _values(n.left, l, known)) for l, r, _ in n.equalities), types)
            return with_children(n, (left, right))
        return n

    return rebuild(node, narrowed)


def asked_for(node: Node, small: Collection[str]) -> Mapping[str, Collection[str]]:
    """Computed relation -> its columns of which literal keys would be made."""
    found: dict[str, dict[str, None]] = {}

    def note(relation: Named, name: str) -> None:
        found.setdefault(relation.name, {})[name] = None

    with_literal_keys(node, note, small, {})
    return found


@remembered
def read_whole(node: Node) -> frozenset[tuple[str, Time | None]]:
    """The leaves of a relation of which other rows are read than those with keys that are computed already."""
    if isinstance(node, Scan):
        return frozenset(node.leaves)
    if isinstance(node, Semi) and any(e.column is not None for e, _ in node.pairs):
        return frozenset()
    sides = list(node.children)
    if isinstance(node, Join) and node.kind is JoinKind.INNER:
        for here, there in ((0, 1), (1, 0)):
            met = (e[here].column is not None and _is_computed(node.children[there], e[there]) for e in node.equalities)
            if any(met):
                sides.remove(node.children[here])
    return frozenset().union(*map(read_whole, sides))


def _is_computed(node: Node, e: Expr) -> bool:
    """Whether the values that a column of the node can have are known once a relation is computed."""
    found: list[str] = []
    _values(node, e, lambda relation, _: found.append(relation.name))
    return bool(found)


def _among(node: Node, pairs: Iterable[tuple[Expr, Values | None]], types: Types) -> Node:
    """The rows whose expressions have one of their values each."""
    for e, values in pairs:
        if values is not None and e.columns and (met := _met(e, values, type_of(node, e, types))) is not None:
            node = Filter(node, met)
    return node


def _met(e: Expr, values: Values, data_type: str | None) -> Expr | None:
    """What is true of an expression that is equal to one of the values. data_type: its own, None if it is not known.

    IN and BETWEEN may convert both sides to another type than `=` does, so that they are for one type on both."""
    listed, nulls = values.listed, (None,) if values.has_null else ()
    if listed is not None and len(listed) <= FEW_KEYS:
        return one_of(e, (*(Expr.of(_literal(v, values.type)) for v in listed), *nulls)) if listed or nulls else None
    if data_type != values.type:
        return None
    if listed is not None:
        met: exp.Expression = exp.In(this=operand(e.tree), expressions=[_literal(v, values.type) for v in listed])
    elif values.least is not None and values.greatest is not None:
        low, high = (_literal(v, values.type) for v in (values.least, values.greatest))
        met = exp.Between(this=operand(e.tree), low=low, high=high)
    else:
        return None
    return Expr.of(exp.or_(met, exp.Is(this=operand(e.tree), expression=exp.Null())) if values.has_null else met)


def _literal(text: str, data_type: str) -> exp.Expression:
    if data_type in WHOLE:
        return exp.Neg(this=exp.Literal.number(text[1:])) if text.startswith("-") else exp.Literal.number(text)
    said = exp.Literal.string(text)
    return said if data_type == "string" else cast(Expr.of(said), data_type).tree


def _values(node: Node, e: Expr, known: Known) -> Values | None:
    """The values that a column of the node can have at the most."""
    if e.column is None:
        return None
    match node:
        case Named():
            return known(node, e.column)
        case Filter() | Semi():
            return _values(node.child, e, known)
        case Project():
            return _values(node.child, dict(node.outputs)[e.column], known)
        case Join(kind=JoinKind.INNER):
            return _values(node.left if e.column in node.left.columns else node.right, e, known)
        case _:
            return None
