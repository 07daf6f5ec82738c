"""GROUP BY and HAVING: one aggregation, or one for each grouping set."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from sqlglot import exp

from ..algebra.expressions import Expr, column, null
from ..algebra.nodes import Aggregate, Filter, Node, Project, UnionAll
from ..names import free_name
from .aggregates import aggregate_calls, over
from .refuse import refuse
from .scalars import scalar
from .scope import Scope, resolve

if TYPE_CHECKING:
    from .subqueries import Subqueries
    from .time_windows import Timed

Output = tuple[str, exp.Expression]
"""(name, expression over the plan's columns)"""

SETS = exp.Rollup | exp.Cube | exp.GroupingSets

Sets = tuple[tuple[exp.Expression, ...], ...]


@dataclass(frozen=True)
class Grouping:
    """groups: what is grouped by, each once; sets: which of them each grouping set has, None for a plain GROUP BY."""

    groups: tuple[exp.Expression, ...]
    sets: Sets | None = None


def grouping_of(tree: exp.Select, outputs: list[Output], scope: Scope) -> Grouping | None:
    """What the SELECT groups by, or None where there is no GROUP BY."""
    clause = tree.args.get("group")
    if clause is None:
        return None
    if clause.args.get("totals"):
        raise refuse("GROUP BY WITH TOTALS", "is not maintained", clause)
    if clause.args.get("all"):
        return Grouping(tuple(e for _, e in outputs if not aggregate_calls(e) and not e.find(exp.Window)))
    return _Reader(outputs, scope).clause(clause)


@dataclass(frozen=True)
class _Reader:
    """Reads what stands behind GROUP BY: expressions, aliases and places of the SELECT list, and sets of them."""

    outputs: list[Output]
    scope: Scope

    def clause(self, clause: exp.Group) -> Grouping:
        special = [e for e in clause.expressions if isinstance(e, SETS)]
        behind = [e for name in ("rollup", "cube", "grouping_sets") for e in clause.args.get(name) or []]
        if not special and not behind:
            return Grouping(tuple(dict.fromkeys(self.group(e) for e in clause.expressions)))
        if behind and behind[0].expressions:
            # `GROUP BY a, b GROUPING SETS (…)`: the list before only names what the sets are made of.
            sets = tuple(s for e in behind for s in self.sets(e))
        elif behind:
            sets = self.sets(type(behind[0])(expressions=[e.copy() for e in clause.expressions]))
        else:
            chosen = product(*(self.sets(e) for e in clause.expressions))
            sets = tuple(tuple(g for s in one for g in s) for one in chosen)
        return Grouping(tuple(dict.fromkeys(g for s in sets for g in s)), sets)

    def group(self, e: exp.Expression) -> exp.Expression:
        while isinstance(e, exp.Paren):
            e = e.this
        if isinstance(e, exp.Literal) and not e.is_string:
            return self.outputs[int(e.name) - 1][1].copy()
        aliases = {name.lower(): tree for name, tree in reversed(self.outputs)}
        return scalar(resolve(e, self.scope, aliases), "GROUP BY").unnest()

    def sets(self, e: exp.Expression) -> Sets:
        """The grouping sets that one element stands for."""
        if isinstance(e, exp.GroupingSets):
            return tuple(s for part in e.expressions for s in self.sets(part))
        if not isinstance(e, exp.Rollup | exp.Cube):
            return (tuple(self._members(e)),)
        parts = [self._members(part) for part in e.expressions]
        taken = (
            [[i < n for i in range(len(parts))] for n in range(len(parts), -1, -1)]
            if isinstance(e, exp.Rollup)
            else product((True, False), repeat=len(parts))
        )
        return tuple(tuple(g for part, t in zip(parts, which, strict=True) if t for g in part) for which in taken)

    def _members(self, e: exp.Expression) -> list[exp.Expression]:
        return [self.group(m) for m in e.expressions] if isinstance(e, exp.Tuple) else [self.group(e)]


def grouped(
    source: Node,
    by: Grouping | None,
    wanted: list[str],
    trees: list[exp.Expression],
    having: exp.Expression | None,
    subqueries: Subqueries,
    types,
    timed: Timed | None = None,
) -> tuple[Node, list[exp.Expression]]:
    """The groups that HAVING leaves, and the expressions over the columns of that relation.

    wanted: names for the first of the expressions, taken for a group or an aggregate that is shown as it is; timed: the
    windows of time that the rows have.
    """
    groups = by.groups if by is not None else ()
    every = [*trees, *([having] if having is not None else [])]
    calls = list(dict.fromkeys(c for t in every for c in aggregate_calls(t)))
    marks = _marks(every) if by is not None and by.sets is not None else []
    calls = [c for c in calls if not isinstance(c, exp.Grouping | exp.GroupingId)]
    inside = frozenset().union(*(Expr.of(e).columns for e in (*calls, *groups)))
    source = subqueries.attached(source, inside)
    taken = {c.lower() for c in (*source.columns, *subqueries.scope.taken)}
    shown = {e: n for n, e in reversed(list(zip(wanted, trees, strict=False)))}
    names: dict[exp.Expression, str] = {}
    for i, e in enumerate((*groups, *calls, *marks)):
        own = e.name if isinstance(e, exp.Column) else free_name(shown.get(e, f"group_{i + 1}"), taken)
        names[e] = own
        taken.add(own.lower())
    if not names:
        raise refuse("GROUP BY without columns", "groups nothing", trees[0])
    keyed = tuple((names[g], Expr.of(g)) for g in groups)
    computed = tuple((names[c], Expr.of(c)) for c in calls)
    if by is None or by.sets is None:
        node: Node = Aggregate(source, keyed, computed, timed.over(keyed) if timed is not None else None)
    else:
        node = _sets(source, by, keyed, computed, [(names[m], m) for m in marks], types)
    node = subqueries.attached(node)
    columns = {e: column(n).tree for e, n in names.items()}
    if having is not None:
        node = Filter(node, Expr.of(over(having, columns)))
    return node, [over(t, columns) for t in trees]


def _marks(trees: list[exp.Expression]) -> list[exp.Expression]:
    return list(dict.fromkeys(m for t in trees for m in t.find_all(exp.Grouping, exp.GroupingId)))


def _sets(source: Node, by: Grouping, keyed, computed, marks, types) -> Node:
    """One aggregation for each set, the groups that it lacks as NULL."""
    assert by.sets is not None
    nulls = dict(zip((n for n, _ in keyed), types(Project(source, keyed)), strict=True)) if keyed else {}
    rows = free_name("rows", {n.lower() for n, _ in (*keyed, *computed)})
    some = (rows, Expr.of(exp.Count(this=exp.Star())))
    inputs = []
    for members in by.sets:
        own = tuple(p for p, g in zip(keyed, by.groups, strict=True) if g in members)
        # The whole table is one group even where nothing is computed of it; among other sets, if it has any rows.
        aggregates = computed if own else (*computed, some)
        present = {n for n, _ in own}
        outputs = [(n, column(n) if n in present else null(nulls[n])) for n, _ in keyed]
        outputs += [(n, column(n)) for n, _ in computed]
        outputs += [(n, Expr.of(_marked(m, by.groups, members))) for n, m in marks]
        groups: Node = Aggregate(source, own, aggregates)
        if not own and len(by.sets) > 1:
            groups = Filter(groups, Expr.of(exp.GT(this=column(rows).tree.copy(), expression=exp.Literal.number(0))))
        inputs.append(Project(groups, tuple(outputs)))
    return UnionAll(tuple(inputs)) if len(inputs) > 1 else inputs[0]


def _marked(mark: exp.Expression, groups, members) -> exp.Expression:
    """GROUPING(e) and GROUPING_ID(…): 1 for each group that the set lacks."""
    asked = mark.expressions or list(groups)
    bits = 0
    for e in asked:
        bits = bits * 2 + (e.unnest() not in members)
    return exp.cast(exp.Literal.number(bits), "bigint" if isinstance(mark, exp.GroupingId) else "tinyint")
