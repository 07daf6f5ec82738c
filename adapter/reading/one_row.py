"""Subqueries that are aggregates of all their rows, tests of them said as what they are: of a value.

They have exactly one row, or with a HAVING at most one, whatever they find:
    (SELECT v … HAVING h)         the value of v where h holds, else NULL
    EXISTS (SELECT v … HAVING h)  whether h holds; without HAVING always
    e IN (SELECT v … HAVING h)    whether h holds and e = v
"""

from __future__ import annotations

from sqlglot import exp

from ..algebra.expressions import operand
from .aggregates import aggregate_calls

MORE = ("group", "distinct", "qualify", "windows", "with_", "offset")
"""Clauses that make more of a SELECT, or less, than its aggregates."""


def is_one_row(select: exp.Expression) -> bool:
    """Whether it is aggregates of all its rows."""
    if select.args.get("group"):
        return False
    having = [select.args["having"].this] if select.args.get("having") else []
    return any(aggregate_calls(e) for e in (*select.expressions, *having))


def as_values(tree: exp.Expression) -> exp.Expression:
    """The expression, changed in place, with such subqueries and tests as values. What is inside of subqueries is left
    to whoever reads those."""
    new = _as_value(tree)
    if new is not tree:
        return new
    for child in list(tree.iter_expressions()):
        value = child if isinstance(child, exp.Query) and not isinstance(child, exp.Subquery) else as_values(child)
        if value is not child:
            child.replace(value)
    return tree


def _as_value(tree: exp.Expression) -> exp.Expression:
    if isinstance(tree, exp.Exists) and (select := _select(tree.this)) is not None:
        return holds(select)
    if isinstance(tree, exp.In) and (query := tree.args.get("query")) is not None:
        select = _select(query)
        return _among(tree.this, select) if select is not None and len(select.expressions) == 1 else tree
    if isinstance(tree, exp.Not) and isinstance(tree.this, exp.In) and (query := tree.this.args.get("query")):
        select = _select(query)
        return _not_among(tree.this.this, select) if select is not None and len(select.expressions) == 1 else tree
    if isinstance(tree, exp.Subquery) and (select := _select(tree)) is not None and select.args.get("having"):
        return _value(select)
    return tree


def holds(select: exp.Select) -> exp.Expression:
    """Whether its HAVING leaves the one row."""
    met = _having(select)
    return _is_true(_of(select, met)) if met is not None else exp.true()


def where_it_holds(select: exp.Select) -> exp.Select:
    """The SELECT without its HAVING, and NULL for its values where that does not hold."""
    met = _having(select)
    shown = select.copy()
    shown.set("having", None)
    if met is not None:
        for e in shown.expressions:
            value = exp.Case(ifs=[exp.If(this=met.copy(), true=e.unalias().copy())])
            e.replace(exp.alias_(value, e.alias_or_name, quoted=True) if e.alias_or_name else value)
    return shown


def _select(tree: exp.Expression) -> exp.Select | None:
    while isinstance(tree, exp.Subquery | exp.Paren) and not tree.args.get("with_"):
        tree = tree.this
    if not isinstance(tree, exp.Select) or any(tree.args.get(a) for a in MORE) or not is_one_row(tree):
        return None
    limit = tree.args.get("limit")
    none = limit is not None and (not isinstance(limit.expression, exp.Literal) or limit.expression.name == "0")
    return None if none else tree


def _among(own: exp.Expression, select: exp.Select) -> exp.Expression:
    return _is_true(exp.EQ(this=operand(own), expression=_value(select)))


def _not_among(own: exp.Expression, select: exp.Select) -> exp.Expression:
    other = _is_true(exp.not_(exp.paren(exp.EQ(this=operand(own), expression=_value(select)))))
    return other if select.args.get("having") is None else exp.paren(exp.or_(exp.not_(holds(select)), other))


def _value(select: exp.Select) -> exp.Expression:
    shown = where_it_holds(select)
    return _of(shown, shown.expressions[0].unalias())


def _of(select: exp.Select, value: exp.Expression) -> exp.Expression:
    """The one row's value, of an order or a LIMIT of which nothing is left."""
    alone = select.copy()
    for clause in ("having", "order", "limit"):
        alone.set(clause, None)
    alone.set("expressions", [value.copy()])
    return exp.Subquery(this=alone)


def _having(select: exp.Select) -> exp.Expression | None:
    """Its condition, names of the SELECT list written out."""
    if select.args.get("having") is None:
        return None
    shown = {e.alias.lower(): e.unalias() for e in select.expressions if isinstance(e, exp.Alias)}

    def written(node: exp.Expression) -> exp.Expression:
        named = isinstance(node, exp.Column) and len(node.parts) == 1 and not node.find_ancestor(exp.AggFunc)
        return operand(shown[node.name.lower()]) if named and node.name.lower() in shown else node

    return select.args["having"].this.copy().transform(written, copy=False)


def _is_true(tree: exp.Expression) -> exp.Expression:
    return exp.Coalesce(this=tree, expressions=[exp.false()])
