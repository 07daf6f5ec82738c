"""The view that keeps the last row of each key, taken for what it is made of: the changelog of a versioned table.

`… WHERE rn = 1` over `ROW_NUMBER() OVER (PARTITION BY key ORDER BY time DESC) AS rn` names a key and an event time
(FLIP-132, "versioned view"). Every row below it was the last one once, so all of them are versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from ..algebra.expressions import Expr, column, columns
from ..algebra.keys import row_number_of
from ..algebra.nodes import Filter, Node, Project, Window
from ..dialect import print_sql
from ..names import OPERATION, PREFIX
from ..sparksql.reads import undated
from ..sparksql.render import Renderer
from ..sparksql.statements import listed, quoted

SHOWN = f"{PREFIX}shown"
TIME, TIE = "dbt_event_time", "dbt_tie_{}"


@dataclass(frozen=True)
class Unwrapped:
    """sql: every row that ever was the last of its key; key: columns of it; hidden: those it adds; time, sequence:
    columns of it, hidden or not; operation: says that a row does not pass what the view asks of the last one."""

    sql: str
    key: tuple[str, ...]
    time: str
    sequence: tuple[str, ...]
    operation: str
    hidden: tuple[str, ...]


def changelog_of(view: Node) -> Unwrapped | None:
    """The changelog of a deduplication view; None if the plan is none."""
    below = _below(view)
    if below is None:
        return None
    shown = {c: name for name in view.columns if (c := _origin(view, name)) is not None}
    if not all(k in shown for k in below.keys):
        return None
    query = print_sql(Renderer(undated).query(below.node))
    sequence, time = below.hidden[2:], shown.get(below.time, TIME)
    sql = (
        f"SELECT {listed((*view.columns, TIME, *sequence))}, "
        f"CASE WHEN {quoted(SHOWN)} THEN 'upsert' ELSE 'delete' END AS {quoted(OPERATION)}\nFROM (\n{query}\n)"
    )
    return Unwrapped(sql, tuple(shown[k] for k in below.keys), time, sequence, OPERATION, (OPERATION, TIME, *sequence))


@dataclass(frozen=True)
class _Below:
    """node: the plan without its deduplication, with the columns `hidden`: SHOWN, TIME and one for each tie;
    keys, time: columns of the rows that are counted."""

    node: Node
    keys: tuple[str, ...]
    time: str
    hidden: tuple[str, ...]


def _below(node: Node) -> _Below | None:
    if isinstance(node, Filter):
        counted = row_number_of(node)
        if counted is not None:
            return _counted(node, *counted)
        below = _below(node.child)
        return replace(below, node=_asking(below.node, node.predicate)) if below is not None else None
    if isinstance(node, Project):
        below = _below(node.child)
        if below is None:
            return None
        return replace(below, node=Project(below.node, (*node.outputs, *_same(below.hidden))))
    return None


def _counted(node: Filter, window: Window, name: str) -> _Below | None:
    call = dict(window.calls)[name].tree
    order = [(o.this, bool(o.args.get("desc"))) for o in (call.args.get("order") or exp.Order()).expressions]
    keys = tuple(e.column for e in window.partition if e.column is not None)
    latest_first = bool(order) and order[0][1] and isinstance(order[0][0], exp.Column)
    if len(window.calls) != 1 or len(keys) != len(window.partition) or not latest_first:
        return None
    # Ascending ones break ties that the view itself leaves open.
    ties = [tree for tree, descending in order[1:] if descending]
    added = [(SHOWN, exp.true()), (TIME, order[0][0]), *((TIE.format(i), t) for i, t in enumerate(ties))]
    hidden = tuple(n for n, _ in added)
    first = (name, Expr.of(exp.Literal.number(1)))
    every = Project(window.child, (*_same(window.child.columns), first, *((n, Expr.of(t)) for n, t in added)))
    rows = _replaced(node.child, window, every, hidden)
    return _Below(_asking(rows, node.predicate), keys, order[0][0].name, hidden)


def _asking(node: Node, predicate: Expr) -> Node:
    """The rows that do not meet the condition stay, and are not shown. NULL is not true."""
    both = exp.and_(column(SHOWN).tree.copy(), exp.paren(predicate.tree.copy()))
    passes = Expr.of(exp.Coalesce(this=both, expressions=[exp.false()]))
    return Project(node, (*_same([c for c in node.columns if c != SHOWN]), (SHOWN, passes)))


def _replaced(node: Node, window: Window, base: Node, names: Sequence[str]) -> Node:
    """The plan above the window over `base` instead, with its further columns passed on."""
    if node is window:
        return base
    assert isinstance(node, Project)
    return Project(_replaced(node.child, window, base, names), (*node.outputs, *_same(names)))


def _origin(node: Node, name: str) -> str | None:
    """The column, where rows are counted, that a column of the view is."""
    if isinstance(node, Project):
        below = dict(node.outputs)[name].column
        return _origin(node.child, below) if below is not None else None
    return _origin(node.child, name) if isinstance(node, Filter) else name


def _same(names: Sequence[str]) -> tuple[tuple[str, Expr], ...]:
    return tuple(zip(names, columns(tuple(names)), strict=True))
