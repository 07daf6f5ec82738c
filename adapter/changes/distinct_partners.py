"""R ⋉ S = R ⋉ δ(π_c(S)), and so R ▷ S: c are the columns of S that the conditions read.

What a row is asked to have, or not to have, is there once or many times: EXISTS, IN and NOT EXISTS do not tell these
apart. With the values kept, and how many rows have each (apart.py), a row of S that comes or goes is seen to be the
first or the last of its values or none, and no other rows of S are looked for, which lie all over a large table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from ..algebra.equal_values import are_the_same
from ..algebra.expressions import column, columns
from ..algebra.keys import SourceKeys, unique_key
from ..algebra.nodes import Aggregate, Join, JoinKind, Node, Scan, walk
from ..algebra.shown import Shown
from ..algebra.transform import rebuild
from .column_types import Types, type_of


def with_distinct_partners(model: Node, keys: SourceKeys, types: Types) -> Iterator[Node]:
    """The model with each value of such partners once, one relation of them at a time. keys, types: of the sources;
    where a key tells the partners apart by what is asked of them, each is there once already."""

    def once(node: Node) -> Aggregate | None:
        if not isinstance(node, Join) or node.kind not in (JoinKind.SEMI, JoinKind.ANTI) or node.as_of is not None:
            return None
        read = tuple(c for c in node.right.columns if c in node.asked)
        key = unique_key(node.right, keys)
        if not read or (key is not None and set(key) <= set(read)):
            return None
        if not _are_told_apart(Shown.by(node.right), read, types):
            return None
        return Aggregate(node.right, tuple(zip(read, columns(read), strict=True)), ())

    def by(values: Aggregate, node: Node) -> Node:
        return replace(node, right=values) if isinstance(node, Join) and once(node) == values else node

    for values in dict.fromkeys(map(once, walk(model))):
        if values is not None:
            yield rebuild(model, partial(by, values))


def _are_told_apart(shown: Shown, read: tuple[str, ...], types: Types) -> bool:
    """Whether rows of a table that are of one group have one value, whatever is asked of it: 0.0 and -0.0 are grouped,
    and so is what a collation takes to be equal."""
    if not isinstance(shown.node, Scan):
        return False
    below = frozenset().union(*(shown.of[c].columns for c in read))
    found = [type_of(shown.node, column(c), types) for c in below]
    return all(t is not None and are_the_same(t) for t in found)
