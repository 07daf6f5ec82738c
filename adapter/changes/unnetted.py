"""γ(ΔR) is the same of all changes as of the net change, where γ adds up and nothing else.

Putting equal rows of a change feed together takes longer than adding up what they are, and is no use to sums: a row
that came and left again adds and takes as much. What it leaves behind is a group in which nothing changed, as if it had
had rows; such groups are left out. Extrema and DISTINCT do see rows that were there and have gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlglot import exp

from ..algebra.expressions import Expr
from ..algebra.nodes import Aggregate, Filter, Named, Node, Project, UnionAll, walk
from ..names import WEIGHT
from .accumulators import reference, zero
from .change_plan import ChangePlan


def adding_up(plan: ChangePlan) -> frozenset[str]:
    """The feeds that a plan reads to add up their rows, and for nothing else."""
    if plan.additions is None and plan.partials is None:
        return frozenset()
    feeds = frozenset(feed.name for feed in plan.feeds)
    readers = [(relation, read) for relation in plan.relations if (read := _named(relation) & feeds)]
    if len(readers) != 1 or not _adds_up(*readers[0]):
        return frozenset()
    return readers[0][1]


def of_all_changes(plan: ChangePlan, feeds: frozenset[str]) -> ChangePlan:
    """The same plan over feeds that are not net. feeds: of those that it adds up."""
    bindings = (replace(b, node=_with_changes(b.node)) if _named(b.node) & feeds else b for b in plan.bindings)
    return replace(plan, bindings=tuple(bindings))


def _with_changes(groups: Node) -> Node:
    """Those of the groups in which something changed."""
    assert isinstance(groups, Aggregate)
    if not groups.groups:
        return groups
    sums = (exp.Coalesce(this=reference(name), expressions=[zero()]) for name, _ in groups.aggregates)
    changed = (exp.NEQ(this=e, expression=zero()) for e in sums)
    return Filter(groups, Expr.of(exp.or_(*changed)))


def _named(relation: Node) -> frozenset[str]:
    return frozenset(node.name for node in walk(relation) if isinstance(node, Named))


def _adds_up(relation: Node, feeds: frozenset[str]) -> bool:
    """Whether it is sums over the rows of these feeds, each row by itself."""
    if not isinstance(relation, Aggregate) or relation.over is not None or not relation.aggregates:
        return False
    rows = walk(relation.child)
    leaves = {node.name for node in rows if isinstance(node, Named)}
    by_row = leaves == feeds and all(map(_keeps_weights, rows)) and _knows_none(e for _, e in relation.groups)
    return by_row and all(_is_sum(e.tree) for _, e in relation.aggregates)


def _keeps_weights(node: Node) -> bool:
    """Whether each row of it is one row below, of the same weight, whatever that is."""
    match node:
        case Filter():
            return _knows_none([node.predicate])
        case Project():
            others = _knows_none(e for name, e in node.outputs if name != WEIGHT)
            return others and any(name == e.column == WEIGHT for name, e in node.outputs)
    return isinstance(node, Named | UnionAll)


def _knows_none(exprs: Iterable[Expr]) -> bool:
    """Whether no weight is read."""
    return all(WEIGHT not in e.columns for e in exprs)


def _is_sum(tree: exp.Expression) -> bool:
    """Whether it is SUM(e), or 0 without one, and e as many times as much of a row with as many times the weight."""
    if isinstance(tree, exp.Coalesce) and tree.expressions == [zero()]:
        tree = tree.this
    return type(tree) is exp.Sum and _is_linear(tree.this)


def _is_linear(tree: exp.Expression) -> bool:
    match tree:
        case exp.Column():
            return tree.name == WEIGHT
        case exp.Cast():
            return isinstance(tree.this, exp.Column) and _is_linear(tree.this)
        case exp.Paren():
            return _is_linear(tree.this)
        case exp.Mul():
            return _knows_none([Expr.of(tree.this)]) and _is_linear(tree.expression)
        case exp.Case():
            (*others, only) = tree.args["ifs"]
            plain = not others and tree.this is None and tree.args.get("default") is None
            return plain and _knows_none([Expr.of(only.this)]) and _is_linear(only.args["true"])
    return False
