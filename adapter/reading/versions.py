"""The versions that a relation holds: which of its rows are one key's, and from when until when each is valid.

A relation is versioned (FLIP-132: it has a key and an event time) if it
  holds intervals        columns valid_from and valid_to, as a versioned_table or a dbt snapshot has them
  keeps the latest row   ROW_NUMBER() OVER (PARTITION BY key ORDER BY time DESC) = 1: the rows that it passes over are
                         its older versions
  is declared            with unique_key and event_time, and only ever appended to
In each case a version is valid until the next one of its key, and a deletion ends the last.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from ..algebra.expressions import Expr, column, columns, conjunction, conjuncts, integer
from ..algebra.keys import first_of
from ..algebra.nodes import Filter, Node, Project, Window
from ..dialect import parse_expression
from ..names import free_name
from .relations import Versioning


@dataclass(frozen=True)
class Intervals:
    """node: the versions; valid_from, valid_to: columns of it; key: columns of it, () if it is not known."""

    node: Node
    valid_from: str
    valid_to: str
    key: tuple[str, ...] = ()


def intervals(node: Node, declared: Versioning | None) -> Intervals | None:
    """The versions of a relation: its rows, or for one that keeps the latest row of each key all rows it was chosen
    from. None if it is not versioned. Columns that it does not have itself stand behind its own."""
    how = declared or Versioning()
    names = {n.lower(): n for n in node.columns}
    if how.valid_from.lower() in names and how.valid_to.lower() in names:
        valid_from, valid_to = names[how.valid_from.lower()], names[how.valid_to.lower()]
        return Intervals(_present(node, how, names), valid_from, valid_to, _known(how.key, names))
    if how.event_time.lower() in names and how.key and all(k.lower() in names for k in how.key):
        return _appended(node, names[how.event_time.lower()], _known(how.key, names))
    return _of_latest(node)


def latest(node: Node, declared: Versioning | None) -> tuple[Node, tuple[str, ...]]:
    """The rows that are valid now, of a relation of any kind, and its key, () if it is not known."""
    how = declared or Versioning()
    names = {n.lower(): n for n in node.columns}
    if how.valid_from.lower() in names and how.valid_to.lower() in names:
        until = column(names[how.valid_to.lower()]).tree
        is_open: exp.Expression = exp.Is(this=until.copy(), expression=exp.Null())
        if how.open_until:
            is_open = exp.or_(is_open, exp.EQ(this=until.copy(), expression=parse_expression(how.open_until)))
        return Filter(_present(node, how, names), Expr.of(is_open)), _known(how.key, names)
    if how.event_time.lower() in names and how.key and all(k.lower() in names for k in how.key):
        found = _appended(node, names[how.event_time.lower()], _known(how.key, names))
        newest = Filter(found.node, Expr.of(exp.Is(this=column(found.valid_to).tree.copy(), expression=exp.Null())))
        return _shown(newest, node.columns), found.key
    found = _of_latest(node)
    return node, found.key if found is not None else _known(how.key, names)


def _known(key: tuple[str, ...], names: dict[str, str]) -> tuple[str, ...]:
    """A key that the relation does not show whole cannot be asked for."""
    return tuple(names[k.lower()] for k in key) if all(k.lower() in names for k in key) else ()


def _present(node: Node, how: Versioning, names: dict[str, str]) -> Node:
    """Without the rows that say that there is nothing. dbt writes 'True' and 'False' as text."""
    deleted = names.get(how.is_deleted.lower())
    if deleted is None:
        return node
    is_deleted = exp.Cast(this=column(deleted).tree.copy(), to=exp.DataType.build("boolean"))
    known = exp.Coalesce(this=is_deleted, expressions=[exp.false()])
    return Filter(node, Expr.of(exp.Not(this=known)))


def _appended(node: Node, time: str, key: tuple[str, ...]) -> Intervals:
    newest_first = exp.Ordered(this=column(time).tree.copy(), desc=True, nulls_first=False)
    call = exp.Window(
        this=exp.RowNumber(),
        partition_by=[column(k).tree.copy() for k in key],
        order=exp.Order(expressions=[newest_first]),
        over="OVER",
    )
    rank = free_name("place", {c.lower() for c in node.columns})
    found = _windowed(Window(node, columns(key), ((rank, Expr.of(call)),)), rank)
    assert found is not None
    inner = found.node
    kept = (*node.columns, found.valid_from, found.valid_to)
    return Intervals(_shown(inner, kept), found.valid_from, found.valid_to, key)


def _shown(node: Node, names: tuple[str, ...]) -> Node:
    return Project(node, tuple(zip(names, columns(names), strict=True)))


def _of_latest(node: Node) -> Intervals | None:
    """For a relation that keeps the latest row of each key, all that it chose from, each with its interval."""
    if isinstance(node, Project):
        found = _of_latest(node.child)
        return _carried(node, found) if found is not None else None
    if not isinstance(node, Filter):
        return None
    parts = conjuncts(node.predicate)
    for i, part in enumerate(parts):
        rank = first_of(part.tree)
        found = _ranked(node.child, rank) if rank is not None else None
        if found is not None:
            rest = conjunction(parts[:i] + parts[i + 1 :])
            kept = Filter(found.node, rest) if rest is not None else found.node
            return Intervals(kept, found.valid_from, found.valid_to, found.key)
    return None


def _ranked(node: Node, rank: str) -> Intervals | None:
    """The rows below a `rank = 1`, if the column of that name counts from the latest."""
    if isinstance(node, Project):
        below = dict(node.outputs)[rank].column
        found = _ranked(node.child, below) if below is not None else None
        return _carried(node, found) if found is not None else None
    return _windowed(node, rank) if isinstance(node, Window) else None


def _carried(node: Project, found: Intervals) -> Intervals:
    """The projection over the versions, with their interval behind its own columns."""
    taken = {c.lower() for c in node.columns}
    valid_from, valid_to = (free_name(n, taken) for n in (found.valid_from, found.valid_to))
    hidden = ((valid_from, column(found.valid_from)), (valid_to, column(found.valid_to)))
    shown = {e.column: name for name, e in reversed(node.outputs) if e.column is not None}
    key = tuple(shown[k] for k in found.key) if all(k in shown for k in found.key) else ()
    return Intervals(Project(found.node, (*node.outputs, *hidden)), valid_from, valid_to, key)


def _windowed(node: Window, rank: str) -> Intervals | None:
    """Every row is valid from its time until that of the row before it in the order that counts it: of several rows
    at one time, all but the one that this order puts first are valid for no time at all."""
    call = dict(node.calls).get(rank)
    key = tuple(e.column for e in node.partition)
    if call is None or len(node.calls) != 1 or not isinstance(call.tree.this, exp.RowNumber) or not key or None in key:
        return None
    order = call.tree.args.get("order")
    if order is None or not order.expressions[0].args.get("desc"):
        return None
    time = order.expressions[0].this
    taken = {c.lower() for c in node.columns}
    valid_from, valid_to = (free_name(n, taken) for n in ("valid_from", "valid_to"))
    next_ = exp.Window(
        this=exp.Lag(this=time.copy()),
        partition_by=[e.tree.copy() for e in node.partition],
        order=order.copy(),
        over="OVER",
    )
    # A row without a time is at none; elsewhere in the order it would end the version before it.
    timed = Filter(node.child, Expr.of(exp.Not(this=exp.Is(this=time.copy(), expression=exp.Null()))))
    versions = Window(timed, node.partition, ((valid_to, Expr.of(next_)),))
    shown: Callable[[str], Expr] = lambda name: integer(1) if name == rank else column(name)  # noqa: E731
    outputs = [(name, shown(name)) for name in node.columns]
    hidden = ((valid_from, Expr.of(time.copy())), (valid_to, column(valid_to)))
    return Intervals(Project(versions, (*outputs, *hidden)), valid_from, valid_to, tuple(k for k in key if k))
