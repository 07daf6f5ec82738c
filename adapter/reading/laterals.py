"""A subquery of any shape that reads the row outside, made a plain one: it is computed once for every value outside.

The distinct values that it reads of the rows outside (its domain) are joined to its FROM, its groups, partitions and
LIMITs become those of one such value each, and its result is joined back by them. Of a set operation that goes for each
side, and the values are of its rows. (Neumann and Kemper, "Unnesting
Arbitrary Queries", BTW 2015.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from ..algebra.expressions import Expr, column
from ..algebra.nodes import Aggregate, Node, Project
from ..dialect import BEHIND
from ..names import PREFIX
from .first_rows import by_places
from .one_row import is_one_row
from .pulled_up import pull_up
from .refuse import refuse
from .scope import PLACED, Scope
from .windows import named_windows

if TYPE_CHECKING:
    from .lower import Lowering

DOMAIN = f"{PREFIX}rows_outside"
"""What the values outside are called inside the subquery."""


@dataclass(frozen=True)
class Lateral:
    """tree: the subquery over DOMAIN, with the domain's columns in its result; read: plan's column outside -> its name
    in the domain and in the result; ctes: what the subquery may name."""

    tree: exp.Query
    read: Mapping[str, str]
    ctes: Mapping[str, Node]

    def over(self, node: Node, lowering: Lowering) -> tuple[Node, list[str]]:
        """(the result for each value of the rows, the names in it that the user gave)"""
        domain = Aggregate(node, tuple((name, column(plan)) for plan, name in self.read.items()))
        result = lowering.query(self.tree, {**self.ctes, DOMAIN: domain})
        return result, [name for name in result.columns if name not in self.read.values()]


def unwrapped(tree: exp.Expression) -> exp.Expression:
    """The query in parentheses that say nothing more than what it is called."""
    while isinstance(tree, exp.Subquery | exp.Paren) and not any(tree.args[a] for a in tree.args.keys() - _PLAIN):
        tree = tree.this
    return tree


_PLAIN = {"this", "alias"}


def lateral(tree: exp.Expression, outer: Scope, lowering: Lowering, ctes: Mapping[str, Node]) -> Lateral | None:
    """The subquery made plain; None if it reads nothing of the rows outside, or is no query.

    Raises Refusal for one that has exactly one row whatever it finds: it is an aggregate, and no relation."""
    query = unwrapped(tree)
    if not isinstance(query, exp.Select | exp.SetOperation):
        return None
    ctes = lowering.with_ctes(query, ctes)
    whole = exp.Subquery(this=query.copy())
    whole.this.set("with_", None)
    selects, read = _selects(whole), {}
    for select in selects:
        pull_up(select, outer, lowering, ctes)
        _read_outside(select, read, outer, lowering, ctes)
    if not read:
        return None
    for select in selects:
        if is_one_row(select):
            why = "is an aggregate without groups, with LIMIT 0, an OFFSET, DISTINCT or QUALIFY"
            why = why if len(selects) == 1 else "is a set operation over an aggregate without groups"
            raise refuse("a correlated subquery", why, tree, "write it as a join")
        _by_domain(select, list(read.values()))
    _limited(whole.this, list(read.values()))
    return Lateral(whole, read, ctes)


def _selects(query: exp.Expression) -> list[exp.Select]:
    """The SELECTs whose rows a query is made of, changed in place to have their windows written out."""
    query = unwrapped(query)
    if isinstance(query, exp.SetOperation):
        return [*_selects(query.this), *_selects(query.expression)]
    select = named_windows(query)
    return [query.replace(select) if select is not query else query]


def _read_outside(
    select: exp.Select, read: dict[str, str], outer: Scope, lowering: Lowering, ctes: Mapping[str, Node]
) -> None:
    """Replaces what the SELECT reads of the rows outside by columns of the domain, which are added to `read`."""
    inside = Scope()
    lowering.source(select, inside, ctes)
    below = {a.this.name.lower() for a in select.find_all(exp.TableAlias) if a.this}
    below |= {t.name.lower() for t in select.find_all(exp.Table)}
    shown = {e.alias.lower() for e in select.expressions if isinstance(e, exp.Alias)}

    def in_domain(node: exp.Expression) -> exp.Expression:
        if not isinstance(node, exp.Column):
            return node
        return _of_domain(read.setdefault(node.name, f"{PREFIX}outside_{len(read)}"))

    for reference in list(select.find_all(exp.Column)):
        if reference.meta.get(PLACED):
            reference.replace(in_domain(reference))
            continue
        if isinstance(reference.this, exp.Star) or inside.lookup(reference) is not None:
            continue
        nested = reference.find_ancestor(exp.Query) is not select
        bare = len(reference.parts) == 1
        if (nested and (bare or reference.parts[0].name.lower() in below)) or (
            bare and reference.name.lower() in shown
        ):
            continue
        found = outer.lookup(reference)
        if found is None:
            continue
        reference.replace(found.transform(in_domain))


def _by_domain(select: exp.Select, keys: list[str]) -> None:
    """One result for each row of the domain."""
    _distinct(select)
    stars = [s for s in select.expressions if isinstance(s, exp.Star)]
    for window in [w for e in select.expressions for w in e.find_all(exp.Window)] + _windows_of(select, "qualify"):
        if window.find_ancestor(exp.Query) is select:
            window.set("partition_by", [*(window.args.get("partition_by") or []), *map(_of_domain, keys)])
    group = select.args.get("group")
    if group is not None and not group.args.get("all"):
        if not group.expressions or any(group.args.get(a) for a in ("rollup", "cube", "grouping_sets")):
            raise refuse("a correlated subquery", "has GROUPING SETS", group, "write it as a join")
        group.set("expressions", [*group.expressions, *map(_of_domain, keys)])
    by_places(select, list(map(_of_domain, keys)))
    domain = exp.Join(this=exp.Table(this=exp.to_identifier(DOMAIN)), kind="CROSS")
    if select.args.get("from_") is None:
        select.set("from_", exp.From(this=domain.this))
    else:
        select.append("joins", domain)
    if not stars:
        for key in keys:
            select.append("expressions", exp.alias_(_of_domain(key), key))


def _limited(query: exp.Expression, keys: list[str]) -> None:
    """The LIMITs of set operations, over SELECTs that have one result for each row of the domain already."""
    query = unwrapped(query)
    if not isinstance(query, exp.SetOperation):
        return
    for side in (query.this, query.expression):
        _limited(side, keys)
    clauses = {clause: query.args.get(clause) for clause in BEHIND}
    if not (clauses["limit"] or clauses["offset"]):
        return
    for clause in clauses:
        query.set(clause, None)
    first = query
    while isinstance(first, exp.SetOperation):
        first = unwrapped(first.this)
    names = [e.alias_or_name for e in first.expressions]
    if not all(names) or any(isinstance(e, exp.Star) for e in first.expressions):
        why = "is a set operation with LIMIT that does not name its columns"
        raise refuse("a correlated subquery", why, clauses["limit"] or clauses["offset"], "name them one by one")
    select = exp.Select(expressions=[exp.column(name, quoted=True) for name in names])
    query.replace(select)
    select.from_(exp.Subquery(this=query), copy=False)
    for clause, tree in clauses.items():
        select.set(clause, tree)
    by_places(select, [exp.column(key) for key in keys])


def _distinct(select: exp.Select) -> None:
    """A DISTINCT whose first rows are asked for, as groups: their places are counted after it, not before."""
    more = select.args.get("group") or any(isinstance(e, exp.Star) or e.find(exp.Window) for e in select.expressions)
    if select.args.get("limit") and select.args.get("distinct") and not more:
        select.set("distinct", None)
        select.set("group", exp.Group(expressions=[e.unalias().copy() for e in select.expressions]))


def _windows_of(select: exp.Select, clause: str) -> list[exp.Window]:
    tree = select.args.get(clause)
    return list(tree.find_all(exp.Window)) if tree is not None else []


def _of_domain(name: str) -> exp.Column:
    return exp.column(name, table=DOMAIN)


def one_by_one(select: exp.Select) -> list[tuple[str, exp.Subquery]]:
    """The values of an aggregate without groups, each as a subquery of its own under its name."""
    found = []
    for i, e in enumerate(select.expressions):
        alone = select.copy()
        alone.set("expressions", [e.unalias().copy()])
        found.append((e.alias_or_name or f"col{i + 1}", exp.Subquery(this=alone)))
    return found


def equal_outside(read: Mapping[str, str], inside: Mapping[str, str]) -> tuple[tuple[Expr, Expr, bool], ...]:
    """The equalities by which a result is joined back. inside: name in the result -> the plan's name."""
    return tuple((column(plan), column(inside[name]), True) for plan, name in read.items())


def named_apart(result: Node, names: list[str], scope: Scope) -> tuple[Node, dict[str, str]]:
    """The result under names that are free in the scope, and those names. names: which columns, in which order."""
    free = {name: scope.reserve(name) for name in names}
    return Project(result, tuple((free[n], column(n)) for n in names)), free
