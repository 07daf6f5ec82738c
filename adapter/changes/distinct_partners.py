"""R ⋉ S = R ⋉ δ(π_c(S)), and so R ▷ S: c are the columns of S that the conditions read.

What a row is asked to have, or not to have, is there once or many times: EXISTS, IN and NOT EXISTS do not tell these
apart. With the values kept, and how many rows have each (apart.py), a row of S that comes or goes is seen to be the
first or the last of its values or none, and no other rows of S are looked for, which lie all over a large table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from ..algebra.expressions import columns
from ..algebra.keys import SourceKeys, unique_key
from ..algebra.nodes import Aggregate, Filter, Join, JoinKind, Node, Project, Scan, walk
from ..algebra.transform import rebuild


def with_distinct_partners(model: Node, keys: SourceKeys) -> Iterator[Node]:
    """The model with each value of such partners once, one relation of them at a time. keys: of the sources; where one
    tells the partners apart by what is asked of them, each is there once already."""

    def once(node: Node) -> Aggregate | None:
        if not isinstance(node, Join) or node.kind not in (JoinKind.SEMI, JoinKind.ANTI) or node.as_of is not None:
            return None
        read = tuple(c for c in node.right.columns if c in _read(node))
        key = unique_key(node.right, keys)
        if not read or not _is_of_one_table(node.right) or (key is not None and set(key) <= set(read)):
            return None
        return Aggregate(node.right, tuple(zip(read, columns(read), strict=True)), ())

    def by(values: Aggregate, node: Node) -> Node:
        return replace(node, right=values) if isinstance(node, Join) and once(node) == values else node

    for values in dict.fromkeys(map(once, walk(model))):
        if values is not None:
            yield rebuild(model, partial(by, values))


def _read(join: Join) -> frozenset[str]:
    """All columns that its conditions read."""
    residual = [join.residual.columns] if join.residual is not None else []
    return frozenset().union(*(r.columns for _, r, _ in join.equalities), *residual)


def _is_of_one_table(node: Node) -> bool:
    while isinstance(node, Filter | Project):
        node = node.child
    return isinstance(node, Scan)
