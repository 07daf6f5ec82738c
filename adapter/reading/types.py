"""The Spark types of a plan's columns, with as little asked of the engine as can be.

A column of a table that is passed on keeps its type, and nothing is asked. Where something is computed, the engine is
asked once for the whole relation, in which one row of NULLs stands for every relation below whose types are known: the
question is as short as what is new in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from ..algebra.expressions import null
from ..algebra.nodes import Aggregate, Filter, Join, Node, Project, Scan, Semi, UnionAll, Unit
from ..algebra.prune import prune
from ..algebra.transform import with_children
from .relations import Relation, Typer

PLAIN = re.compile(
    r"(array<)*((tiny|small|big)?int|float|double|decimal\(\d+,\d+\)|string|date|timestamp(_ntz)?|boolean|binary)>*"
)
"""Types of which a NULL can be written."""


def fields(data_type: str) -> tuple[str, ...]:
    """The names of the fields of a struct, or of the structs in an array."""
    tree = exp.DataType.build(data_type, dialect="spark")
    struct = tree if tree.is_type("struct") else tree.expressions[0]
    return tuple(field.name for field in struct.expressions)


@dataclass
class Types:
    """ask: the engine's answer; sources: the tables by their names."""

    ask: Typer
    sources: Mapping[str, Relation]
    _known: dict[int, tuple[Node, tuple[str, ...] | None]] = field(default_factory=dict)

    def __call__(self, node: Node) -> tuple[str, ...]:
        """The types of its columns, in their order."""
        types = self._passed_on(node)
        if types is None:
            types = self.ask(prune(with_children(node, tuple(map(self._short, node.children)))))
            self._known[id(node)] = node, types
        return types

    def _passed_on(self, node: Node) -> tuple[str, ...] | None:
        """Where nothing has to be asked for it."""
        if id(node) not in self._known:
            # With the node, so that no other can come to be at its address.
            self._known[id(node)] = node, self._told(node)
        return self._known[id(node)][1]

    def _told(self, node: Node) -> tuple[str, ...] | None:
        if isinstance(node, Scan):
            declared = dict(self.sources[node.source].columns)
            types = tuple(declared[c] for _, c in node.outputs)
            return types if all(map(PLAIN.fullmatch, types)) else None
        if isinstance(node, UnionAll):
            first, *others = map(self._passed_on, node.inputs)
            return first if all(types == first for types in others) else None
        if isinstance(node, Aggregate) and node.aggregates:
            return None
        if isinstance(node, Filter | Semi | Join | Project | Aggregate):
            return self._of_columns(node)
        return None

    def _of_columns(self, node: Filter | Semi | Join | Project | Aggregate) -> tuple[str, ...] | None:
        """For what shows columns of its inputs."""
        shown: Mapping[str, str | None] = {name: name for name in node.columns}
        if isinstance(node, Project | Aggregate):
            shown = {name: e.column for name, e in (node.outputs if isinstance(node, Project) else node.groups)}
        below: dict[str | None, str] = {}
        for child in node.children:
            if (types := self._passed_on(child)) is not None:
                below |= zip(child.columns, types, strict=True)
        types = tuple(below[c] for c in shown.values() if c in below)
        return types if len(types) == len(shown) else None

    def _short(self, node: Node) -> Node:
        """The same relation, as far as types go."""
        types = self._passed_on(node)
        if types is None or isinstance(node, Unit):
            return with_children(node, tuple(map(self._short, node.children)))
        if not all(map(PLAIN.fullmatch, types)):
            return node
        row = Project(Unit(), tuple((name, null(t)) for name, t in zip(node.columns, types, strict=True)))
        # As the only input of a union it is a relation of its own: its columns are no constants above it.
        return UnionAll((row,))
