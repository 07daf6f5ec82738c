"""What a part of a query is called, and the sentence above it: generated SQL is read more often than written."""

from __future__ import annotations

from functools import singledispatch
from typing import NamedTuple

from sqlglot import exp

from ..algebra.nodes import Aggregate, Generate, Node, Project, Time, UnionAll, Window
from ..names import OLDER, WEIGHT

SIGNS = {"1": "rows to add", "-1": "rows to take away"}
"""A constant weight of a term -> what its rows are."""


class Title(NamedTuple):
    """name: of a CTE, still without a number where there are several; says: the comment above it, if its parts do not
    have their own."""

    name: str
    says: str


def title(node: Node) -> Title:
    """Of the relation as one part of a larger query."""
    name, says = _said(node)
    if {WEIGHT, OLDER} & set(node.columns):
        return Title(name, says)
    times = {time for _, time in node.leaves if time is not None}
    if times in ({Time.BEFORE}, {Time.AFTER}):
        name = f"{name}_{times.pop().value}"
    return Title(name, f"{says}: {read(node)}" if says and read(node) else says)


def read(node: Node) -> str:
    """The relations it reads, tables with their time."""
    return ", ".join(dict.fromkeys(_leaf(*leaf) for leaf in node.leaves))


def term(node: Node) -> str:
    """One input of a UNION ALL."""
    weight = dict(node.outputs).get(WEIGHT) if isinstance(node, Project) else None
    sign = SIGNS.get(weight.text) if weight is not None else None
    return f"{sign}: {read(node)}" if sign else read(node)


def _leaf(name: str, time: Time | None) -> str:
    if time is None:
        return name
    name = name.split(".")[-1]
    return name if time is Time.UNDATED else f"{name} {time.value}"


@singledispatch
def _said(node: Node) -> Title:
    tables = {name.split(".")[-1] for name, time in node.leaves if time is not None}
    return Title(tables.pop() if len(tables) == 1 else "rows", "changed rows" if WEIGHT in node.columns else "rows")


@_said.register
def _(node: UnionAll) -> Title:
    if OLDER in node.columns:
        return Title("older_state", "rows as they were before: those that are there now, less what came since")
    if WEIGHT in node.columns:
        return Title("terms", "")
    return Title("all_rows", "")


@_said.register
def _(node: Generate) -> Title:
    return Title("made", f"one row for each {', '.join(node.made)}")


@_said.register
def _(node: Window) -> Title:
    functions = dict.fromkeys(e.tree.this.sql_name() for _, e in node.calls if isinstance(e.tree.this, exp.Func))
    by = ", ".join(e.column or e.text for e in node.partition)
    return Title("windows", f"{', '.join(functions) or 'windows'} over {f'each {by}' if by else 'all rows'}")


@_said.register
def _(node: Aggregate) -> Title:
    if [name for name, e in node.aggregates if not isinstance(e.tree, exp.AnyValue)] == [WEIGHT]:
        return Title("net_rows", "equal rows put together: copies that came, less copies that left")
    if not node.groups:
        return Title("total", "one row over all")
    if not node.aggregates:
        return Title("distinct_rows", "each row once")
    return Title("groups", f"one row for each {', '.join(name for name, _ in node.groups)}")


@_said.register
def _(node: Project) -> Title:
    # What it projects is what it is about.
    return _said(node.child)
