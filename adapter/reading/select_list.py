"""What one SELECT makes of its rows: groups, windows, QUALIFY, the SELECT list, DISTINCT, and LIMIT by an order."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from ..algebra.expressions import Expr, column, columns
from ..algebra.keys import unique_key
from ..algebra.nodes import Filter, Node, Project, Window
from ..names import free_name
from .aggregates import aggregate_calls, over
from .generators import generated, is_generator, width
from .grouping import Output, grouped, grouping_of
from .joins import place
from .open_values import closed
from .refuse import refuse
from .relations import Typer
from .scalars import scalar
from .scope import Scope, resolve, struct_of
from .set_operations import distinct
from .subqueries import Subqueries
from .time_windows import time_windows
from .types import fields
from .windows import take_windows


def lower_select_list(tree: exp.Select, source: Node, scope: Scope, subqueries: Subqueries, types: Typer) -> Node:
    """The relation the SELECT gives."""
    tree, source, timed = time_windows(tree, source, scope, types)
    made = Made(source, types)
    outputs = _outputs(tree, scope, subqueries, made)
    source = made.rows()
    aliases = {name.lower(): e for name, e in reversed(outputs)}
    by = grouping_of(tree, outputs, scope)

    def resolved(e: exp.Expression, clause: str, *, aliases_first: bool) -> exp.Expression:
        named = resolve(subqueries.replaced(e), scope, aliases, aliases_first=aliases_first)
        return scalar(named, clause, aggregates=True, windows=clause != "HAVING")

    having = resolved(tree.args["having"].this, "HAVING", aliases_first=True) if tree.args.get("having") else None
    qualify = resolved(tree.args["qualify"].this, "QUALIFY", aliases_first=False) if tree.args.get("qualify") else None
    order = _order(tree, outputs, resolved)
    checked = [(name, scalar(e, "the SELECT list", aggregates=True, windows=True)) for name, e in outputs]
    listed = _unique(checked)
    trees = [e for _, e in listed] + [o.this for o in order]
    trees += [e for e in (qualify, having) if e is not None]
    trees = closed(trees, source, types, ordered_input=_ordered_input(tree))
    having = trees.pop() if having is not None else None
    if by is not None or having is not None or any(aggregate_calls(e) for e in trees):
        if by is None and having is not None and not any(aggregate_calls(e) for e in (*trees, having)):
            raise refuse("HAVING", "stands without GROUP BY and without an aggregate", tree.args["having"], "use WHERE")
        source, trees = grouped(source, by, [n for n, _ in listed], trees, having, subqueries, types, timed)
    else:
        source = subqueries.attached(source)
    source, trees = take_windows(source, trees, scope.reserve)
    if qualify is not None:
        source = place(source, Expr.of(trees.pop()))
    shown, ordered = trees[: len(listed)], trees[len(listed) :]
    names = [n for n, _ in listed]
    result: Node = Project(source, tuple((n, Expr.of(e)) for n, e in zip(names, shown, strict=True)))
    if not ordered:
        return unordered(tree, distinct(result) if tree.args.get("distinct") else result)
    return _top(tree, result, source, shown, ordered, order)


def _ordered_input(tree: exp.Select) -> bool:
    clause = tree.args.get("from_")
    item = clause.this if clause is not None else None
    return isinstance(item, exp.Subquery) and bool(item.this.args.get("order")) and not has_limit(item.this)


def _top(tree: exp.Select, result: Project, source: Node, shown, ordered, order) -> Node:
    """The rows at certain places of the order."""
    if tree.args.get("distinct"):
        return top_of(distinct(result), _over_shown(result, shown, ordered, tree), order, tree)
    taken = {n.lower() for n in result.columns}
    hidden = [free_name(f"order_{i}", taken) for i in range(len(ordered))]
    outputs = (*result.outputs, *((h, Expr.of(e)) for h, e in zip(hidden, ordered, strict=True)))
    node = top(Project(source, outputs), hidden, order, tree)
    return Project(node, tuple(zip(result.columns, columns(result.columns), strict=True)))


def _over_shown(result: Project, shown, ordered, tree: exp.Select) -> list[exp.Expression]:
    """What a DISTINCT is ordered by, over its columns: only what is shown can be ordered by then."""
    taken = {n.lower() for n in result.child.columns}
    names = {free_name(f"shown_{i}", taken): n for i, n in enumerate(result.columns)}
    marked = [over(e, {s.unnest(): column(m).tree for m, s in zip(names, shown, strict=True)}) for e in ordered]
    if any(c.name not in names for e in marked for c in e.find_all(exp.Column)):
        raise refuse("ORDER BY of a DISTINCT", "orders by what is not selected", tree)
    return [over(e, {column(m).tree: column(n).tree for m, n in names.items()}) for e in marked]


def top_of(node: Node, by: list[exp.Expression], order: list[exp.Ordered], tree: exp.Expression) -> Node:
    """The rows that LIMIT and OFFSET leave of an order by expressions over the columns."""
    if all(isinstance(e, exp.Column) for e in by):
        return top(node, [e.name for e in by], order, tree)
    taken = {n.lower() for n in node.columns}
    hidden = [free_name(f"order_{i}", taken) for i in range(len(by))]
    same = tuple(zip(node.columns, columns(node.columns), strict=True))
    with_order = Project(node, (*same, *((h, Expr.of(e)) for h, e in zip(hidden, by, strict=True))))
    return Project(top(with_order, hidden, order, tree), same)


def top(node: Node, keys: list[str], order: list[exp.Ordered], tree: exp.Expression) -> Node:
    """The rows that LIMIT and OFFSET leave of an order by these columns."""
    limit, offset = _number(tree, "limit"), _number(tree, "offset") or 0
    place_ = free_name("place", {c.lower() for c in node.columns})
    by = [
        exp.Ordered(this=column(k).tree.copy(), desc=o.args.get("desc"), nulls_first=o.args.get("nulls_first"))
        for k, o in zip(keys, order, strict=True)
    ]
    call = Expr.of(exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=by), over="OVER"))
    at = column(place_).tree
    conditions = [exp.LTE(this=at.copy(), expression=exp.Literal.number(limit + offset))] if limit is not None else []
    conditions += [exp.GT(this=at.copy(), expression=exp.Literal.number(offset))] if offset else []
    placed = Filter(Window(node, (), ((place_, call),)), Expr.of(exp.and_(*conditions)))
    return Project(placed, tuple(zip(node.columns, columns(node.columns), strict=True)))


def unordered(tree: exp.Expression, node: Node) -> Node:
    """The relation where no order is given: a LIMIT of what has at most one row is none."""
    if has_limit(tree) and not (unique_key(node, {}) == () and _number(tree, "limit") and not _number(tree, "offset")):
        raise refuse("LIMIT without ORDER BY", "keeps whichever rows come first", tree.args.get("limit") or tree)
    return node


def has_limit(tree: exp.Expression) -> bool:
    return bool(tree.args.get("limit") or tree.args.get("offset"))


def _number(tree: exp.Expression, clause: str) -> int | None:
    given = tree.args.get(clause)
    if given is None:
        return None
    value = given.expression
    if not isinstance(value, exp.Literal) or value.is_string:
        raise refuse(clause.upper(), "is not a number", given)
    return int(value.name)


def _order(tree: exp.Select, outputs: list[Output], resolved) -> list[exp.Ordered]:
    """What a LIMIT orders by. Without a LIMIT an order has no meaning in a table."""
    if not has_limit(tree):
        return []
    clause = tree.args.get("order")
    if clause is None:
        return []
    order = []
    for o in written_out(clause, len(outputs)):
        ordinal = isinstance(o.this, exp.Literal) and not o.this.is_string
        e = outputs[int(o.this.name) - 1][1].copy() if ordinal else resolved(o.this, "ORDER BY", aliases_first=True)
        order.append(exp.Ordered(this=e, desc=o.args.get("desc"), nulls_first=o.args.get("nulls_first")))
    return order


def written_out(clause: exp.Order, columns: int) -> list[exp.Ordered]:
    """What is ordered by, with every place for ORDER BY ALL."""
    first = clause.expressions[0]
    if not (isinstance(first.this, exp.Var) and first.this.name.upper() == "ALL"):
        return list(clause.expressions)
    how = {k: first.args.get(k) for k in ("desc", "nulls_first")}
    return [exp.Ordered(this=exp.Literal.number(i + 1), **how) for i in range(columns)]


def _made(selected: exp.Expression, scope: Scope, subqueries: Subqueries, made: Made) -> list[Output]:
    """What a generator of the SELECT list shows: columns that are made once the rows are there."""
    call = resolve(
        subqueries.replaced(selected.unalias() if isinstance(selected, exp.Alias) else _bare(selected)), scope, {}
    )
    if isinstance(selected, exp.Aliases):
        users = tuple(a.name for a in selected.args["expressions"])
    else:
        users = (selected.alias,) if isinstance(selected, exp.Alias) else made.names(call)
    names = tuple(scope.reserve(name) for name in users)
    made.waiting.append((call, names))
    return [(user, column(name).tree.copy()) for user, name in zip(users, names, strict=True)]


def _bare(selected: exp.Expression) -> exp.Expression:
    return selected.this if isinstance(selected, exp.Aliases) else selected


@dataclass
class Made:
    """Generators of a SELECT list over the rows of FROM and WHERE, and the columns they make."""

    source: Node
    typer: Typer
    waiting: list[tuple[exp.Expression, tuple[str, ...]]] = field(default_factory=list)

    def names(self, call: exp.Expression) -> tuple[str, ...]:
        return width(self.source, call, self.typer)

    def fields(self, struct: exp.Expression) -> list[Output]:
        """What `c.*` shows of a struct."""
        (kind,) = self.typer(Project(self.source, (("of", Expr.of(struct)),)))
        shown = [exp.to_identifier(name, quoted=True) for name in fields(kind)]
        return [(f.name, exp.Dot(this=struct.copy(), expression=f)) for f in shown]

    def rows(self) -> Node:
        node = self.source
        for call, names in self.waiting:
            node = generated(node, call, names, outer=False)
        return node


def _outputs(tree: exp.Select, scope: Scope, subqueries: Subqueries, made: Made) -> list[Output]:
    """The SELECT list, stars expanded, each expression over the plan's columns; earlier aliases count in later ones."""
    outputs: list[Output] = []
    for selected in tree.expressions:
        if (struct := struct_of(selected, scope)) is not None:
            outputs += made.fields(struct)
            continue
        if _is_star(selected):
            outputs += [(user, column(name).tree.copy()) for user, name in scope.star(selected)]
            continue
        if is_generator(selected.this if isinstance(selected, exp.Alias | exp.Aliases) else selected):
            outputs += _made(selected, scope, subqueries, made)
            continue
        aliases = {name.lower(): e for name, e in reversed(outputs)}
        body = selected.this if isinstance(selected, exp.Alias) else selected
        named = isinstance(selected, exp.Alias | exp.Column | exp.Dot)
        name = selected.alias_or_name if named else f"column_{len(outputs) + 1}"
        outputs.append((name, resolve(subqueries.replaced(body), scope, aliases)))
    return outputs


def _is_star(selected: exp.Expression) -> bool:
    return isinstance(selected, exp.Star) or (isinstance(selected, exp.Column) and isinstance(selected.this, exp.Star))


def _unique(outputs: list[Output]) -> list[Output]:
    """Names made unique: the plan needs it, and what the user sees is named at the end from Spark's own analysis."""
    seen: set[str] = set()
    named = []
    for name, e in outputs:
        free = free_name(name, seen)
        seen.add(free.lower())
        named.append((free, e))
    return named
