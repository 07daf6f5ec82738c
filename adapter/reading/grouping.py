"""The SELECT list, GROUP BY and HAVING of one SELECT over what its FROM and WHERE give."""

from __future__ import annotations

from sqlglot import exp

from ..algebra.expressions import Expr, column
from ..algebra.nodes import Aggregate, Filter, Node, Project
from ..names import free_name
from .refuse import refuse
from .scalars import scalar
from .scope import Scope, resolve

Output = tuple[str, exp.Expression]
"""(name, expression over the plan's columns)"""


def lower_select_list(tree: exp.Select, source: Node, scope: Scope) -> Node:
    """The relation the SELECT gives, before DISTINCT."""
    outputs = _outputs(tree, scope)
    having = tree.args.get("having")
    groups = _groups(tree, outputs, scope)
    predicate = None
    if having is not None:
        aliases = {name.lower(): e for name, e in outputs}
        predicate = scalar(resolve(having.this, scope, aliases, aliases_first=True), "HAVING", aggregates=True)
    checked = [(name, scalar(e, "the SELECT list", aggregates=True)) for name, e in outputs]
    plain = groups is None and not any(e.find(exp.AggFunc) for _, e in checked)
    if plain and predicate is None:
        return Project(source, tuple((n, Expr.of(e)) for n, e in _unique(checked)))
    if plain:
        assert having is not None
        raise refuse("HAVING", "stands without GROUP BY and without an aggregate", having, "use WHERE")
    return _grouped(source, groups or [], checked, predicate)


def _outputs(tree: exp.Select, scope: Scope) -> list[Output]:
    """The SELECT list, stars expanded, each expression over the plan's columns; earlier aliases count in later ones."""
    outputs: list[Output] = []
    for selected in tree.expressions:
        if selected.is_star and not isinstance(selected, exp.Alias | exp.Count):
            outputs += [(user, column(name).tree.copy()) for user, name in scope.star(selected)]
            continue
        if isinstance(selected, exp.Aliases):
            raise refuse("several names for one column", "belong to a generator, which is not maintained", selected)
        aliases = {name.lower(): e for name, e in reversed(outputs)}
        body = selected.this if isinstance(selected, exp.Alias) else selected
        named = isinstance(selected, exp.Alias | exp.Column | exp.Dot)
        name = selected.alias_or_name if named else f"column_{len(outputs) + 1}"
        outputs.append((name, resolve(body, scope, aliases)))
    return outputs


def _unique(outputs: list[Output]) -> list[Output]:
    """Names made unique: the plan needs it, and what the user sees is named at the end from Spark's own analysis."""
    seen: set[str] = set()
    named = []
    for name, e in outputs:
        free = free_name(name, seen)
        seen.add(free.lower())
        named.append((free, e))
    return named


def _groups(tree: exp.Select, outputs: list[Output], scope: Scope) -> list[exp.Expression] | None:
    """The grouping expressions, or None where there is no GROUP BY."""
    clause = tree.args.get("group")
    if clause is None:
        return None
    for special in ("rollup", "cube", "grouping_sets", "totals"):
        if clause.args.get(special):
            raise refuse(f"GROUP BY {special.replace('_', ' ').upper()}", "has no law of change here yet", clause)
    if clause.args.get("all"):
        return [e for _, e in outputs if not e.find(exp.AggFunc)]
    aliases = {name.lower(): e for name, e in reversed(outputs)}
    groups = []
    for e in clause.expressions:
        if isinstance(e, exp.Literal) and not e.is_string:
            groups.append(outputs[int(e.name) - 1][1].copy())
        else:
            groups.append(scalar(resolve(e, scope, aliases), "GROUP BY"))
    return groups


def _grouped(source: Node, groups: list[exp.Expression], outputs: list[Output], having: exp.Expression | None) -> Node:
    """Aggregate, then what is computed from its groups and aggregates, each group and aggregate once."""
    taken = {c.lower() for c in source.columns}
    wanted = {e: n for n, e in reversed(outputs)}
    names: dict[exp.Expression, str] = {}
    group_columns, aggregate_columns = [], []
    for e in groups:
        if e not in names:
            own = e.name if isinstance(e, exp.Column) else free_name(wanted.get(e, f"group_{len(names) + 1}"), taken)
            names[e] = own
            taken.add(own.lower())
            group_columns.append((own, Expr.of(e)))
    trees = [e for _, e in outputs] + ([having] if having is not None else [])
    for call in (c for t in trees for c in _aggregate_calls(t)):
        if call not in names:
            names[call] = free_name(wanted.get(call, f"aggregate_{len(aggregate_columns) + 1}"), taken)
            taken.add(names[call].lower())
            aggregate_columns.append((names[call], Expr.of(call)))
    if not group_columns and not aggregate_columns:
        raise refuse("GROUP BY without columns", "groups nothing", outputs[0][1])
    node: Node = Aggregate(source, tuple(group_columns), tuple(aggregate_columns))
    if having is not None:
        node = Filter(node, Expr.of(_over_groups(having, names)))
    return Project(node, tuple((n, Expr.of(_over_groups(e, names))) for n, e in _unique(outputs)))


def _aggregate_calls(tree: exp.Expression) -> list[exp.Expression]:
    """The aggregate calls of an expression, each with its FILTER."""
    found = []
    for call in tree.find_all(exp.AggFunc):
        if call.find_ancestor(exp.AggFunc):
            raise refuse("an aggregate of an aggregate", "is not one SELECT's work", call, "use a subquery")
        found.append(call.parent if isinstance(call.parent, exp.Filter) else call)
    return found


def _over_groups(tree: exp.Expression, names: dict[exp.Expression, str]) -> exp.Expression:
    """The expression over the columns of the Aggregate."""

    def put(node: exp.Expression) -> exp.Expression:
        return column(names[node]).tree.copy() if node in names else node

    return tree.copy().transform(put, copy=False)
