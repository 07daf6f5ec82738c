"""Which columns of a relation are unique in it, NULLs counted as equal, by its shape alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch

from sqlglot import exp

from .expressions import conjuncts
from .nodes import Aggregate, Filter, Generate, Join, JoinKind, Named, Node, Project, Scan, Semi, UnionAll, Unit, Window

SourceKeys = Mapping[str, tuple[str, ...]]
"""Source -> columns known to be unique in it (the key by which we maintain it ourselves)."""


def in_source(node: Node, shown: tuple[str, ...]) -> tuple[str, tuple[str, ...]] | None:
    """The table whose columns these are, and what it calls them, where rows of one table are only chosen and named."""
    names = [next((n for n in node.columns if n.lower() == name.lower()), None) for name in shown]
    while isinstance(node, Project | Filter | Semi | Window):
        if isinstance(node, Project):
            outputs = dict(node.outputs)
            names = [outputs[n].column if n is not None else None for n in names]
        node = node.child
    if not isinstance(node, Scan):
        return None
    columns = dict(node.outputs)
    found = tuple(columns[n] for n in names if n in columns)
    return (node.source, found) if len(found) == len(shown) else None


@singledispatch
def unique_key(node: Node, sources: SourceKeys) -> tuple[str, ...] | None:
    """Columns no two rows agree on; () where there is at most one row; None where no such columns are known."""
    raise NotImplementedError(f"no key rule for {type(node).__name__}")


@unique_key.register
def _(node: Scan, sources: SourceKeys) -> tuple[str, ...] | None:
    names = {column.lower(): name for name, column in node.outputs}
    key = [c.lower() for c in sources.get(node.source, ())]
    return tuple(names[c] for c in key) if key and all(c in names for c in key) else None


@unique_key.register
def _(node: Named | Generate, sources: SourceKeys) -> tuple[str, ...] | None:
    return None


@unique_key.register
def _(node: Unit, sources: SourceKeys) -> tuple[str, ...] | None:
    return ()


@unique_key.register
def _(node: Filter, sources: SourceKeys) -> tuple[str, ...] | None:
    """Of rows that are each the first of their partition, the partition is a key."""
    for part in conjuncts(node.predicate):
        first = first_of(part.tree)
        found = _partition(node.child, first) if first is not None else None
        if found is not None:
            return found
    return unique_key(node.child, sources)


def row_number_of(node: Filter) -> tuple[Window, str] | None:
    """The window, and its column, of which the filter keeps the rows that ROW_NUMBER() counts as the first."""
    for part in conjuncts(node.predicate):
        name, below = first_of(part.tree), node.child
        while name is not None and isinstance(below, Project):
            name, below = dict(below.outputs)[name].column, below.child
        if name is not None and isinstance(below, Window):
            call = dict(below.calls).get(name)
            if call is not None and isinstance(call.tree.this, exp.RowNumber):
                return below, name
    return None


def first_of(tree: exp.Expression) -> str | None:
    """The column that the condition says is 1."""
    while isinstance(tree, exp.Paren):
        tree = tree.this
    if isinstance(tree, exp.EQ):
        for a, b in ((tree.this, tree.expression), (tree.expression, tree.this)):
            if isinstance(a, exp.Column) and isinstance(b, exp.Literal) and b.name == "1":
                return a.name
    return None


def _partition(node: Node, name: str) -> tuple[str, ...] | None:
    """The columns by which ROW_NUMBER() counts in the column of that name, if it is one and shows them."""
    if isinstance(node, Project):
        outputs = dict(node.outputs)
        below = outputs[name].column
        found = _partition(node.child, below) if below is not None else None
        shown = {e.column: outer for outer, e in reversed(node.outputs) if e.column is not None}
        return tuple(shown[k] for k in found) if found is not None and all(k in shown for k in found) else None
    if not isinstance(node, Window):
        return None
    call = dict(node.calls).get(name)
    if call is None:
        return _partition(node.child, name) if isinstance(node.child, Window) else None
    columns = tuple(e.column for e in node.partition)
    if not isinstance(call.tree.this, exp.RowNumber) or None in columns:
        return None
    return tuple(c for c in columns if c is not None)


@unique_key.register
def _(node: Window, sources: SourceKeys) -> tuple[str, ...] | None:
    return unique_key(node.child, sources)


@unique_key.register
def _(node: Semi, sources: SourceKeys) -> tuple[str, ...] | None:
    return unique_key(node.child, sources)


@unique_key.register
def _(node: Project, sources: SourceKeys) -> tuple[str, ...] | None:
    below = unique_key(node.child, sources)
    shown = {e.column: name for name, e in reversed(node.outputs) if e.column is not None}
    return tuple(shown[k] for k in below) if below is not None and all(k in shown for k in below) else None


@unique_key.register
def _(node: UnionAll, sources: SourceKeys) -> tuple[str, ...] | None:
    return unique_key(node.inputs[0], sources) if len(node.inputs) == 1 else None


@unique_key.register
def _(node: Join, sources: SourceKeys) -> tuple[str, ...] | None:
    left = unique_key(node.left, sources)
    if left is None or not node.kind.shows_right:
        return left
    if node.as_of is not None and node.as_of.single:
        return left
    right = unique_key(node.right, sources)
    if right is None:
        return None
    if set(right) <= {r.column for _, r, _ in node.equalities}:
        return left
    if node.kind is JoinKind.INNER and set(left) <= {l.column for l, _, _ in node.equalities}:
        return right
    return left + right


@unique_key.register
def _(node: Aggregate, sources: SourceKeys) -> tuple[str, ...] | None:
    return tuple(name for name, _ in node.groups)
