"""PIVOT and UNPIVOT as the SELECT they stand for, over a relation that has a name."""

from __future__ import annotations

from sqlglot import exp

from .aggregates import aggregate_calls, over
from .refuse import refuse

COUNTS = (exp.Count, exp.CountIf, exp.ApproxDistinct, exp.RegrCount)
"""Aggregates that Spark shows as NULL, not as 0, where a pivoted value has no rows."""


def as_select(pivot: exp.Pivot, relation: str, columns: tuple[str, ...]) -> exp.Query:
    """columns: of the relation, as the user names them."""
    return _unpivot(pivot, relation, columns) if pivot.args.get("unpivot") else _pivot(pivot, relation, columns)


def _select(outputs: list[exp.Expression], relation: str) -> exp.Select:
    table = exp.Table(this=exp.to_identifier(relation, quoted=True))
    return exp.Select(expressions=outputs, from_=exp.From(this=table))


def _pivot(pivot: exp.Pivot, relation: str, columns: tuple[str, ...]) -> exp.Query:
    """Groups by every column that is neither pivoted nor aggregated; each value is a FILTER of each aggregate."""
    if len(pivot.args["fields"]) != 1:
        raise refuse("PIVOT by several lists", "is not maintained", pivot, "list tuples: FOR (a, b) IN ((…), (…))")
    field = pivot.args["fields"][0]
    by = list(field.this.expressions) if isinstance(field.this, exp.Tuple) else [field.this]
    aggregates = [e.unalias() for e in pivot.expressions]
    read = {c.name.lower() for e in (*by, *aggregates) for c in e.find_all(exp.Column)}
    groups = [c for c in columns if c.lower() not in read]
    names = iter(_names(pivot, field))
    outputs: list[exp.Expression] = [_column(c) for c in groups]
    for value in field.expressions:
        wanted = _members(value.this if isinstance(value, exp.PivotAlias) else value)
        met = exp.and_(*(exp.NullSafeEQ(this=b.copy(), expression=v.copy()) for b, v in zip(by, wanted, strict=True)))
        for aggregate in aggregates:
            outputs.append(exp.alias_(_only_where(met, aggregate), next(names), quoted=True))
    select = _select(outputs, relation)
    if groups:
        select.set("group", exp.Group(expressions=[_column(c) for c in groups]))
    return select


def _names(pivot: exp.Pivot, field: exp.In) -> list[str]:
    """As Spark calls the columns: after the value, and the aggregate where there are several."""
    several = len(pivot.expressions) > 1
    named = []
    for value in field.expressions:
        aliased = isinstance(value, exp.PivotAlias)
        members = _members(value)
        if not aliased and len(members) > 1:
            first = "_".join(m.name for m in members)
        else:
            first = value.alias if aliased else value.name
        for e in pivot.expressions:
            named.append(f"{first}_{e.alias or e.sql('spark').lower()}" if several else first)
    return named


def _members(tree: exp.Expression) -> list[exp.Expression]:
    return list(tree.expressions) if isinstance(tree, exp.Tuple) else [tree]


def _only_where(met: exp.Expression, aggregate: exp.Expression) -> exp.Expression:
    instead = {}
    for call in aggregate_calls(aggregate):
        function, condition = (call.this, call.expression.this) if isinstance(call, exp.Filter) else (call, None)
        conditions = [c.copy() for c in (met, condition) if c is not None]
        filtered = exp.Filter(this=function.copy(), expression=exp.Where(this=exp.and_(*conditions)))
        if isinstance(function, COUNTS):
            rows = exp.Filter(this=exp.Count(this=exp.Star()), expression=exp.Where(this=met.copy()))
            some = exp.GT(this=rows, expression=exp.Literal.number(0))
            filtered = exp.Case(ifs=[exp.If(this=some, true=filtered)])
        instead[call] = filtered
    return over(aggregate, instead)


def _unpivot(pivot: exp.Pivot, relation: str, columns: tuple[str, ...]) -> exp.Query:
    """One SELECT for each of the listed columns, or tuples of columns."""
    field = pivot.args["fields"][0]
    shown = pivot.expressions[0]
    values = [e.name for e in _members(shown)]
    turned = [(v, _members(v.this if isinstance(v, exp.PivotAlias) else v)) for v in field.expressions]
    gone = {c.name.lower() for _, members in turned for c in members}
    kept = [c for c in columns if c.lower() not in gone]
    selects = []
    for value, members in turned:
        label = value.alias if isinstance(value, exp.PivotAlias) else "_".join(c.name for c in members)
        outputs: list[exp.Expression] = [_column(c) for c in kept]
        outputs.append(exp.alias_(exp.Literal.string(label), field.this.name, quoted=True))
        outputs += [exp.alias_(_column(c.name), name, quoted=True) for c, name in zip(members, values, strict=True)]
        select = _select(outputs, relation)
        if not pivot.args.get("include_nulls"):
            known = [exp.Not(this=exp.Is(this=_column(c.name), expression=exp.Null())) for c in members]
            select = select.where(exp.or_(*known), copy=False)
        selects.append(select)
    tree: exp.Query = selects[0]
    for other in selects[1:]:
        tree = exp.Union(this=tree, expression=other, distinct=False)
    return tree


def _column(name: str) -> exp.Column:
    return exp.Column(this=exp.to_identifier(name, quoted=True))
