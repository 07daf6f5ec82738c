"""Which columns of a relation are unique in it, NULLs counted as equal, by its shape alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch

from .nodes import Aggregate, Filter, Join, Named, Node, Project, Scan, Semi, UnionAll, Unit

SourceKeys = Mapping[str, tuple[str, ...]]
"""Source -> columns known to be unique in it (the key by which we maintain it ourselves)."""


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
def _(node: Named, sources: SourceKeys) -> tuple[str, ...] | None:
    return None


@unique_key.register
def _(node: Unit, sources: SourceKeys) -> tuple[str, ...] | None:
    return ()


@unique_key.register
def _(node: Filter, sources: SourceKeys) -> tuple[str, ...] | None:
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
    left, right = unique_key(node.left, sources), unique_key(node.right, sources)
    if left is None or right is None:
        return None
    if set(right) <= {r.column for _, r, _ in node.equalities}:
        return left
    if set(left) <= {l.column for l, _, _ in node.equalities}:
        return right
    return left + right


@unique_key.register
def _(node: Aggregate, sources: SourceKeys) -> tuple[str, ...] | None:
    return tuple(name for name, _ in node.groups)
