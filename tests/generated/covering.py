"""Few queries that have all that many have: for an engine on which each of them takes seconds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from dbt_spark_dynamic.algebra.expressions import Expr
from dbt_spark_dynamic.algebra.nodes import Node, walk


def covering(
    queries: Mapping[str, str], read: Callable[[str], Node], elsewhere: Collection[str] = ()
) -> dict[str, str]:
    """Those of the queries that between them have every part of all, chosen by how much each adds.

    A part is a node of the algebra over another, or with a kind, a function or an operator in it. read: what a query
    means; elsewhere: queries that something else tries too, of which none is chosen for a single part."""
    left = {name: set(_parts_of(read(sql))) for name, sql in queries.items()}
    chosen = {}
    while left:
        name = max(left, key=lambda n: len(left[n]))
        parts = left.pop(name)
        if len(parts) <= (name in elsewhere):
            continue
        chosen[name] = queries[name]
        left = {n: others - parts for n, others in left.items()}
    return chosen


def _parts_of(model: Node) -> Iterator[Hashable]:
    for node in walk(model):
        for child in node.children:
            yield _name(node), _name(child)
        for each in fields(node):
            for part in _parts(getattr(node, each.name)):
                yield type(node).__name__, each.name, part


def _name(node: Node) -> str:
    """With its kind: a left join is another node than a full one."""
    kinds = [value.value for each in fields(node) if isinstance(value := getattr(node, each.name), Enum)]
    return " ".join([type(node).__name__, *kinds])


def _parts(value: Any) -> Iterator[Hashable]:
    """Of what a field of a node holds; names and numbers are none."""
    if isinstance(value, Expr):
        yield from (e.name.upper() if e.key == "anonymous" else e.key for e in value.tree.walk())
    elif isinstance(value, Enum | bool) or value is None:
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from _parts(each)
    elif is_dataclass(value):
        yield type(value).__name__
        if not isinstance(value, Node):
            for each in fields(value):
                yield from _parts(getattr(value, each.name))
