"""Joins whose results are kept: a row is joined once, and what it met then it keeps.

At processing time that is when the row comes. At an event time (`late_versions='ignore'`, as Flink has it) it is when
the watermark has passed the row: from then on its version is known, but for those that come late.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlglot import exp

from ..dialect import Clock
from .clock import WATERMARK
from .expressions import Expr, column, columns, conjunction, operand
from .nodes import Filter, Generate, Join, JoinKind, Node, Project, Window, walk
from .prune import narrow
from .transform import rebuild, with_children


def is_kept(node: Node) -> bool:
    """Whether a plan has a join whose results are kept anywhere."""
    return any(_keeps(n) for n in walk(node))


def joined_once(model: Node) -> Node | None:
    """The relation whose rows are joined once: what is below all joins of a plan whose results are kept.

    None where anything but projections, filters and further such joins is above them: what they met can then not be
    told from the rows that the plan gives.
    """
    path = _path(model)
    return path[-1] if path and not is_kept(path[-1]) and not any(map(is_kept, _right_sides(path))) else None


def key_of_joined(model: Node, key: tuple[str, ...]) -> tuple[Expr, ...] | None:
    """A key of the plan's rows as expressions over the relation that is joined; None if it is not of its columns."""
    return _below(_path(model), columns(key))


def ripening(model: Node) -> Node:
    """The plan with the results of its joins at event times kept, and of the rows that are joined those alone that the
    watermark has passed. A row without a time has nothing to wait for.

    Where the results cannot be kept, `joined_once` or `key_of_joined` of the plan says so.
    """
    kept = rebuild(model, _keeping)
    rows = joined_once(kept)
    if rows is None:
        return kept
    times = [t for t in event_times(kept) if t is not None]
    ripe = conjunction([Expr.of(_has_passed(t.tree)) for t in dict.fromkeys(times)])
    if ripe is None:
        return kept
    new: Node = Filter(rows, ripe)
    for node in reversed(_path(kept)[:-1]):
        new = with_children(node, (new, *node.children[1:]))
    return new


def event_times(model: Node) -> list[Expr | None]:
    """The times of the joins at event times, from the last to the first, over the relation that is joined; None for one
    that is not of its columns."""
    path = _path(model)
    found: list[Expr | None] = []
    for i, node in enumerate(path):
        if isinstance(node, Join) and node.as_of is not None and node.as_of.time is not None:
            below = _below(path[i + 1 :], (node.as_of.time,))
            found.append(below[0] if below else None)
    return found


def beside(model: Node) -> list[Node]:
    """All of a plan but the relation that is joined: what is not asked again about a row once it is joined."""
    path = _path(model)
    return path[:-1] + [n for side in _right_sides(path) for n in walk(side)]


def sides(model: Node) -> tuple[Project, ...]:
    """What the watermark is the least of: of each join at an event time, the times of its rows, and those from which
    its versions are valid. Each is a relation with the one column `at`, over all rows of the table that has the times.
    """
    found: list[tuple[Node, Expr]] = []
    for node in _path(model):
        if isinstance(node, Join) and node.as_of is not None and node.as_of.time is not None:
            found.append(origin(node.left, node.as_of.time))
            found.append(origin(node.right, column(node.as_of.valid_from)))
    return tuple(dict.fromkeys(side(rows, time) for rows, time in found))


AT = "at"
"""The column of a side."""


def side(rows: Node, time: Expr) -> Project:
    """The times of a relation."""
    return Project(narrow(rows, time.columns), ((AT, time),))


def origin(node: Node, e: Expr) -> tuple[Node, Expr]:
    """Where the values of an expression come from. Rows that a filter or a join leaves out tell the time as well."""
    while True:
        if isinstance(node, Project):
            node, e = node.child, e.substitute(dict(node.outputs))
        elif isinstance(node, Filter) or (isinstance(node, Window | Generate) and e.columns <= set(node.child.columns)):
            node = node.child
        elif isinstance(node, Join) and e.columns <= set(node.left.columns):
            node = node.left
        elif isinstance(node, Join) and node.kind is JoinKind.INNER and e.columns <= set(node.right.columns):
            node = node.right
        else:
            return node, e


def _below(path: Iterable[Node], exprs: tuple[Expr, ...]) -> tuple[Expr, ...] | None:
    """Expressions over the first of a path as those over its last; None if they read what joins on the way add."""
    *above, last = path
    for node in above:
        if isinstance(node, Project):
            exprs = tuple(e.substitute(dict(node.outputs)) for e in exprs)
    return exprs if all(e.columns <= set(last.columns) for e in exprs) else None


def _keeping(node: Node) -> Node:
    if isinstance(node, Join) and node.as_of is not None:
        return replace(node, as_of=replace(node.as_of, kept=True))
    return node


def _has_passed(time: exp.Expression) -> exp.Expression:
    at = operand(time)
    none = exp.Is(this=at, expression=exp.Null())
    return exp.paren(exp.or_(none, exp.LTE(this=at.copy(), expression=Clock(this=WATERMARK)), copy=False))


def _path(model: Node) -> list[Node]:
    """From the root to the relation that is joined, both included."""
    path = [model]
    while is_kept(node := path[-1]):
        if isinstance(node, Filter | Project):
            path.append(node.child)
        elif _keeps(node):
            path.append(node.children[0])
        else:
            break
    return path


def _right_sides(path: list[Node]) -> list[Node]:
    return [n.right for n in path if isinstance(n, Join) and _keeps(n)]


def _keeps(node: Node) -> bool:
    return isinstance(node, Join) and node.as_of is not None and node.as_of.kept
