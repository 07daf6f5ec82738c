"""Keys whose values are known, said as literals where other rows have to meet them.

A join alone reads all of what it joins. A condition on literals goes down into the scan: files without such a value are
skipped by their statistics, pages by their index, rows without one are dropped while they are decoded. Keys are said
one by one while they are few, and else by the least and the greatest of them, for what changed lately often lies close
together. Each condition follows from the semi-join or the inner join beside it, which stays: no row is lost by it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from ..algebra.expressions import Expr, cast, one_of, operand
from ..algebra.nodes import (
    Filter,
    Generate,
    Join,
    JoinKind,
    Named,
    Node,
    Project,
    Scan,
    Semi,
    Time,
    UnionAll,
    scans,
)
from ..algebra.transform import rebuild, remembered, with_children
from .column_types import Types, of_one_type, type_of
from .restrict import push

SHORT = 200_000
"""Rows of a computed relation up to which it is handed to all who read a table, as a semi-join before other joins:
Spark takes 10 MB for short enough, and keys have a few dozen bytes."""

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


def with_literal_keys(
    node: Node, known: Known, small: Collection[str], types: Types, short: Callable[[str], bool] = lambda _: False
) -> Node:
    """The same rows, with fewer of them read. small: tables that are sooner read whole than their files looked at;
    types: of the tables' columns; short: whether a computed relation is handed to all who read a table sooner than they
    sort it."""

    def is_large(n: Node) -> bool:
        return any(s.source not in small for s in scans(n))

    def narrowed(n: Node) -> Node:
        if isinstance(n, Semi) and is_large(n.child):
            asked = ((e, known(n.keys, k)) for e, k in n.pairs)
            return with_children(n, (_among(n.child, asked, types), n.keys))
        if isinstance(n, Join) and n.kind is JoinKind.INNER:
            sides = list(n.children)
            for here, there in ((0, 1), (1, 0)):
                if is_large(n.children[here]):
                    asked_of = [(e[here], computed_as(n.children[there], e[there], types)) for e in n.equalities]
                    sides[here] = side_of(n.children[here], n.children[there], asked_of)
            return with_children(n, tuple(sides))
        return n

    def side_of(side: Node, other: Node, asked_of: list[tuple[Expr, tuple[Named, str] | None]]) -> Node:
        """The side of a join, less rows that meet nothing on the other one."""
        pairs = [(e, *found) for e, found in asked_of if found is not None and e.columns]
        values = [(e, known(relation, c)) for e, relation, c in pairs]
        listed = any(v is not None and v.listed is not None for _, v in values)
        if not (listed or _is_short_itself(other) or is_led_by_change(side)):
            most = Counter(relation for _, relation, _ in pairs if short(relation.name)).most_common(1)
            for relation, _ in most:
                side = push(side, tuple((e, c) for e, r, c in pairs if r == relation), relation)
        return _among(side, values, types)

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
    if not node.leaves_read:
        return frozenset()
    if isinstance(node, Scan):
        return frozenset(node.leaves)
    if isinstance(node, Semi) and any(e.column is not None for e, _ in node.pairs):
        return frozenset()
    sides = list(node.children)
    if isinstance(node, Join) and node.kind is JoinKind.INNER:
        for here, there in ((0, 1), (1, 0)):
            other = node.children[there]
            if any(e[here].column is not None and computed_as(other, e[there], {}) for e in node.equalities):
                sides.remove(node.children[here])
    return frozenset().union(*map(read_whole, sides))


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


def computed_as(node: Node, e: Expr, types: Types) -> tuple[Named, str] | None:
    """The computed relation, and the column of it, of which every value of a column is one; None if there is none."""
    if e.column is None:
        return None
    match node:
        case Named():
            return node, e.column
        case Filter() | Semi():
            return computed_as(node.child, e, types)
        case Project():
            return computed_as(node.child, dict(node.outputs)[e.column], types)
        case Join(kind=JoinKind.INNER):
            here = 0 if e.column in node.left.columns else 1
            if (found := computed_as(node.children[here], e, types)) is not None:
                return found
            # What it is equal to has the same values, as far as rows are left.
            sides = (((node.left, l), (node.right, r)) for l, r, _ in node.equalities)
            equals = (s for s in sides if s[here][1] == e and of_one_type(*s, types))
            others = (computed_as(*s[1 - here], types) for s in equals)
            return next((f for f in others if f is not None), None)
        case _:
            return None


def _is_short_itself(node: Node) -> bool:
    """Whether an engine sees that it has few rows: it is computed, but for what is chosen of it."""
    while isinstance(node, Filter | Project):
        node = node.child
    return isinstance(node, Named)


@remembered
def is_led_by_change(node: Node) -> bool:
    """Whether its rows are told from computed ones, so that it has few where those are few."""
    match node:
        case Named():
            return True
        case Filter() | Project() | Generate() | Semi():
            return is_led_by_change(node.child)
        case UnionAll():
            return all(map(is_led_by_change, node.inputs))
        case Join(kind=JoinKind.INNER):
            return any(map(is_led_by_change, node.children))
        case Join():
            return is_led_by_change(node.left)
        case _:
            return False
