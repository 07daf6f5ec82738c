"""Aggregates whose value SQL leaves open, said so that it is one value.

first() and any_value() may take any row, collect_list() any order, max_by() any row of equal rank. A table that is
maintained needs a value that does not move with the order in which rows happen to be read, so one that SQL allows is
taken: the greatest, or the sorted array. Calls that pick a row take one row for all columns picked by the same rule.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from ..algebra.expressions import Expr
from ..algebra.nodes import Node, Project
from .aggregates import is_windowed, whole
from .refuse import refuse
from .relations import Typer

PICKED = (exp.AnyValue, exp.First, exp.FirstValue, exp.Last, exp.LastValue)
RANKED = (exp.ArgMax, exp.ArgMin)
LISTED = (exp.ArrayAgg, exp.ArrayUniqueAgg)

BY_ARRIVAL = (exp.First, exp.FirstValue, exp.Last, exp.LastValue, exp.ArrayAgg, exp.GroupConcat)
"""Functions that, over rows which a subquery has ordered, are meant to follow that order."""


def closed(trees: list[exp.Expression], rows: Node, types: Typer, *, ordered_input: bool) -> list[exp.Expression]:
    """The expressions with every open value settled. rows: what the aggregates read; ordered_input: whether a subquery
    orders them. Raises Refusal where no value can be told from the others, or where that order was meant."""
    every = exp.Tuple(expressions=[t.copy() for t in trees])
    calls = [c for c in every.find_all(*PICKED, *RANKED, *LISTED, exp.GroupConcat, exp.Mode) if not _has_order(c)]
    if not calls:
        return trees
    if ordered_input and (meant := next((c for c in calls if isinstance(c, BY_ARRIVAL) and not _within(c)), None)):
        raise refuse(
            "an order that only a subquery gives", "is not kept by the rows that are grouped", meant,
            "order in the function: sort_array(collect_list(struct(…))), listagg() WITHIN GROUP (ORDER BY …), min_by()",
        )  # fmt: skip
    _require_order([a for c in calls for a in _compared(c)], rows, types)
    picked = _together(calls)
    for call in reversed(calls):  # the innermost first
        _site(call).replace(_value(call, picked.get(id(call), [])))
    return every.expressions


def _has_order(call: exp.Expression) -> bool:
    """Whether a window says which row comes first."""
    if not is_windowed(call) or isinstance(call, (*RANKED, exp.AnyValue, exp.Mode, exp.ArrayUniqueAgg)):
        return False
    return bool(_site(call).args.get("order"))


def _within(call: exp.Expression) -> bool:
    return isinstance(call.this, exp.Order)


def _site(call: exp.Expression) -> exp.Expression:
    """The call with all that belongs to it, OVER included."""
    return whole(call).parent if is_windowed(call) else whole(call)


def _compared(call: exp.Expression) -> list[exp.Expression]:
    """What has to have an order for the value to be told from others."""
    if isinstance(call, exp.GroupConcat | exp.Mode):
        return []
    if isinstance(call, RANKED):
        if call.args.get("count"):
            raise refuse(f"{call.sql_name().lower()}() of several rows", "has no law of change here yet", call)
        return [call.this, call.expression]
    return list(call.this.expressions) if isinstance(call.this, exp.Distinct) else [call.this]


def _require_order(compared: list[exp.Expression], rows: Node, types: Typer) -> None:
    # What is computed from groups has no type yet, and of a type without an order there is no aggregate.
    known = [e for e in compared if Expr.of(e).columns <= set(rows.columns) and not e.find(exp.AggFunc)]
    if not known:
        return
    asked = Project(rows, tuple((f"of_{i}", Expr.of(e)) for i, e in enumerate(known)))
    for tree, kind in zip(known, types(asked), strict=True):
        if "map<" in kind or "variant" in kind:
            raise refuse("a value of a type without an order", "cannot be told from the others of its group", tree)


def _together(calls: list[exp.Expression]) -> dict[int, list[exp.Expression]]:
    """For each call that picks a row, all that is picked by its rule."""
    rules: dict[tuple[str, str], list[exp.Expression]] = {}
    found = {}
    for call in calls:
        if isinstance(call, RANKED) or (isinstance(call, PICKED) and not _ignores_nulls(call)):
            values = rules.setdefault(_rule(call), [])
            if call.this not in values:
                values.append(call.this.copy())
            found[id(call)] = values
    return found


def _rule(call: exp.Expression) -> tuple[str, str]:
    """The same for calls that pick the same row: by the same rank, with the same FILTER, in the same window."""
    kind = type(call).__name__ if isinstance(call, RANKED) else ""
    site = _site(call).copy()
    own = next(n for n in site.walk() if type(n) is type(call))
    return kind, Expr.of(exp.Tuple(expressions=[_with(site, own, own.args.get("expression") or exp.Null())])).text


def _with(site: exp.Expression, call: exp.Expression, new: exp.Expression) -> exp.Expression:
    """The site with another function in the place of its call; changed in place."""
    if site is call:
        return new.copy()
    call.replace(new.copy())
    return site


def _ignores_nulls(call: exp.Expression) -> bool:
    return whole(call).find(exp.IgnoreNulls) is not None


def _value(call: exp.Expression, picked: list[exp.Expression]) -> exp.Expression:
    """What stands for the call, its site included."""
    if isinstance(call, LISTED):
        return exp.ArraySort(this=_site(call).copy(), nulls_first=exp.true())
    if isinstance(call, exp.GroupConcat):
        return _settled_in_place(call, _listed_in_order)
    if isinstance(call, exp.Mode):
        return _settled_in_place(call, _lowest_mode)
    rank = call.expression if isinstance(call, RANKED) else None
    best = exp.Min if isinstance(call, exp.ArgMin) else exp.Max
    if rank is None and len(picked) < 2:
        return _over(call, best(this=call.this.copy()), None)
    fields = [*([rank] if rank is not None else []), *picked]
    struct = exp.Struct(
        expressions=[exp.PropertyEQ(this=exp.to_identifier(f"v{i}"), expression=f.copy()) for i, f in enumerate(fields)]
    )
    at = picked.index(call.this) + (rank is not None)
    return exp.Dot(this=_over(call, best(this=struct), rank), expression=exp.to_identifier(f"v{at}"))


def _over(call: exp.Expression, function: exp.Expression, known: exp.Expression | None) -> exp.Expression:
    """The function in the place of the call. known: what must not be NULL in a row that counts."""
    behind = whole(call).find(exp.Filter)
    conditions = [behind.expression.this.copy()] if behind is not None else []
    if known is not None:
        conditions.append(exp.Not(this=exp.Is(this=exp.paren(known), expression=exp.Null())))
    if conditions:
        function = exp.Filter(this=function, expression=exp.Where(this=exp.and_(*conditions)))
    if not is_windowed(call):
        return function
    window = _site(call).copy()
    window.set("this", function)
    return window


def _settled_in_place(call: exp.Expression, settle: Callable[[exp.Expression], None]) -> exp.Expression:
    holder = exp.Tuple(expressions=[_site(call).copy()])
    settle(next(n for n in holder.walk() if type(n) is type(call)))
    return holder.expressions[0]


def _listed_in_order(call: exp.Expression) -> None:
    """Ties of the order are broken by what is listed."""
    ordered = call.this if isinstance(call.this, exp.Order) else exp.Order(this=call.this, expressions=[])
    distinct = isinstance(ordered.this, exp.Distinct)
    of = ordered.this.expressions[0] if distinct else ordered.this
    if not (distinct and ordered.expressions):
        ordered.append("expressions", exp.Ordered(this=of.copy(), nulls_first=True))
    call.set("this", ordered)


def _lowest_mode(call: exp.Expression) -> None:
    if call.this is not None:
        call.set("deterministic", exp.true())
