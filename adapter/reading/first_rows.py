"""LIMIT and OFFSET of a subquery as places in an order of the rows of one value outside."""

from __future__ import annotations

from sqlglot import exp

from .refuse import refuse


def by_places(select: exp.Select, partition: list[exp.Expression]) -> None:
    """Changes the SELECT in place."""
    limit, offset, order = (select.args.get(a) for a in ("limit", "offset", "order"))
    select.set("order", None)
    if limit is None and offset is None:
        return
    if order is None:
        raise refuse("LIMIT without ORDER BY", "keeps whichever rows come first", limit or offset)
    if select.args.get("distinct") or select.args.get("qualify"):
        why = "has a LIMIT beside QUALIFY, or beside DISTINCT of groups"
        raise refuse("a correlated subquery", why, limit or offset, "write it as a join")
    by = [_ordered(o, select) for o in order.expressions]
    place = exp.Window(this=exp.RowNumber(), partition_by=partition, order=exp.Order(expressions=by), over="OVER")
    skipped = offset.expression.copy() if offset is not None else exp.Literal.number(0)
    conditions = [exp.GT(this=place.copy(), expression=skipped)] if offset is not None else []
    if limit is not None:
        last = limit.expression.copy()
        last = exp.Add(this=last, expression=skipped.copy()) if offset is not None else last
        conditions.append(exp.LTE(this=place, expression=last))
    select.set("limit", None)
    select.set("offset", None)
    select.set("qualify", exp.Qualify(this=exp.and_(*conditions)))


def _ordered(ordered: exp.Ordered, select: exp.Select) -> exp.Ordered:
    """With a place or a name of the SELECT list written out, which a window does not know."""
    named = {e.alias.lower(): e.unalias() for e in select.expressions if isinstance(e, exp.Alias)}
    by = ordered.this
    if isinstance(by, exp.Literal) and not by.is_string:
        by = select.expressions[int(by.name) - 1].unalias()
    elif isinstance(by, exp.Column) and len(by.parts) == 1:
        by = named.get(by.name.lower(), by)
    new = ordered.copy()
    new.set("this", by.copy())
    return new
