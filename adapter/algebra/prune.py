"""Columns nobody reads are not carried: a change feed and a scan cost what their columns cost."""

from __future__ import annotations

from functools import singledispatch

from .expressions import column
from .nodes import Aggregate, Filter, Generate, Join, Named, Node, Project, Scan, Semi, UnionAll, Unit, Window
from .transform import remembered


def prune(node: Node) -> Node:
    """The same relation, every node below it cut to the columns that are needed above."""
    return narrow(node, frozenset(node.columns))


@remembered
@singledispatch
def narrow(node: Node, needed: frozenset[str]) -> Node:
    """`node` with at least the needed columns. One column is kept where none is needed: rows still count."""
    raise NotImplementedError(f"no pruning rule for {type(node).__name__}")


def _kept(pairs: tuple[tuple, ...], needed: frozenset[str]) -> tuple[tuple, ...]:
    return tuple(p for p in pairs if p[0] in needed) or pairs[:1]


def _reads(*groups: object) -> frozenset[str]:
    return frozenset().union(*(e.columns for g in groups for e in g))  # type: ignore[attr-defined]


@narrow.register
def _(node: Scan, needed: frozenset[str]) -> Node:
    return Scan(node.source, node.alias, _kept(node.outputs, needed), node.time)


@narrow.register
def _(node: Named | Unit | Semi, needed: frozenset[str]) -> Node:
    return node


@narrow.register
def _(node: Filter, needed: frozenset[str]) -> Node:
    return Filter(narrow(node.child, needed | node.predicate.columns), node.predicate)


@narrow.register
def _(node: Project, needed: frozenset[str]) -> Node:
    outputs = _kept(node.outputs, needed)
    return Project(narrow(node.child, _reads([e for _, e in outputs])), outputs)


@narrow.register
def _(node: UnionAll, needed: frozenset[str]) -> Node:
    """Inputs may come back with more columns than asked for, so each is cut to the same positions."""
    places = [i for i, name in enumerate(node.columns) if name in needed] or [0]

    def cut(child: Node) -> Node:
        names = tuple(child.columns[i] for i in places)
        narrowed = narrow(child, frozenset(names))
        if narrowed.columns == names:
            return narrowed
        return Project(narrowed, tuple((n, column(n)) for n in names))

    return UnionAll(tuple(cut(c) for c in node.inputs))


@narrow.register
def _(node: Join, needed: frozenset[str]) -> Node:
    read = needed | node.asked
    return Join(
        narrow(node.left, read & set(node.left.columns)),
        narrow(node.right, read & set(node.right.columns)),
        node.equalities,
        node.residual,
        node.kind,
        node.as_of,
    )


@narrow.register
def _(node: Generate, needed: frozenset[str]) -> Node:
    read = (needed & set(node.child.columns)) | node.call.columns
    return Generate(narrow(node.child, read), node.call, node.made, node.outer)


@narrow.register
def _(node: Window, needed: frozenset[str]) -> Node:
    calls = tuple(c for c in node.calls if c[0] in needed)
    if not calls:
        return narrow(node.child, needed)
    read = _reads(node.partition, [e for _, e in calls])
    return Window(narrow(node.child, (needed & set(node.child.columns)) | read), node.partition, calls)


@narrow.register
def _(node: Aggregate, needed: frozenset[str]) -> Node:
    aggregates = tuple(a for a in node.aggregates if a[0] in needed)
    if not aggregates and not node.groups:
        aggregates = node.aggregates[:1]
    read = _reads([e for _, e in node.groups], [e for _, e in aggregates], [node.over.at] if node.over else [])
    return Aggregate(narrow(node.child, read), node.groups, aggregates, node.over)
