"""Window functions: each taken out of its expression into a Window node, one node for each partition."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from ..algebra.expressions import Expr, column, columns
from ..algebra.nodes import Filter, Node, Project, Window
from ..algebra.orderable import ranked
from ..algebra.transform import rebuild, with_children
from .aggregates import over
from .refuse import refuse

BY_PLACE = (exp.RowNumber, exp.Ntile, exp.Lag, exp.Lead, exp.FirstValue, exp.First)
"""Functions whose value depends on which of two rows of equal rank comes first."""

Types = Callable[[Node], tuple[str, ...]]


def named_windows(select: exp.Select) -> exp.Select:
    """The SELECT with `OVER w` written out."""
    defined = {w.name.lower(): w for w in select.args.get("windows") or []}
    if not defined:
        return select
    copy = select.copy()
    copy.set("windows", None)
    for window in list(copy.find_all(exp.Window)):
        known = defined.get(window.alias.lower()) if window.alias else None
        if known is None:
            continue
        for part in ("partition_by", "order", "spec"):
            if not window.args.get(part) and known.args.get(part):
                value = known.args[part]
                window.set(part, [v.copy() for v in value] if isinstance(value, list) else value.copy())
        window.set("alias", None)
    return copy


def take_windows(
    node: Node, trees: list[exp.Expression], reserve: Callable[[str], str]
) -> tuple[Node, list[exp.Expression]]:
    """The rows with a column for each window function in the expressions, and the expressions over those columns."""
    calls = list(dict.fromkeys(w for tree in trees for w in tree.find_all(exp.Window)))
    if not calls:
        return node, trees
    names: dict[exp.Expression, exp.Expression] = {}
    partitions: dict[tuple[Expr, ...], list[tuple[str, Expr]]] = {}
    for call in calls:
        if call.this.find(exp.Window):
            raise refuse("a window function of a window function", "is not one SELECT's work", call, "use a subquery")
        name = reserve("window")
        names[call] = column(name).tree
        by = tuple(dict.fromkeys(Expr.of(e) for e in call.args.get("partition_by") or []))
        partitions.setdefault(by, []).append((name, Expr.of(call)))
    for by, of in partitions.items():
        node = Window(node, by, tuple(of))
    return node, [over(tree, names) for tree in trees]


def settled(model: Node, types: Types, shown: Mapping[str, str]) -> Node:
    """The plan with ties broken: where a window depends on the order of equal ranks, all columns are ordered by.

    SQL leaves that order open; a maintained table needs one that does not move. Rows that are equal in all columns
    are one another's equals. shown: column -> its type, as far as it is known.
    """
    if not isinstance(model, Project | Filter | Window):
        return rebuild(model, lambda node: _settle(node, types, {}))
    if isinstance(model, Project):
        shown = {e.column: shown[name] for name, e in model.outputs if e.column is not None and name in shown}
    return _settle(with_children(model, (settled(model.child, types, shown),)), types, shown)


def _settle(node: Node, types: Types, known: Mapping[str, str]) -> Node:
    """known: the types of some columns below it."""
    if not isinstance(node, Window) or not any(_by_place(e.tree) for _, e in node.calls):
        return node
    ordered = [_ordered_by(e.tree) for _, e in node.calls if _by_place(e.tree)]
    wanted = [n for n in node.child.columns if not all(n in by for by in ordered)]
    asked = tuple(n for n in wanted if n not in known)
    if asked:
        found = types(Project(node.child, tuple(zip(asked, columns(asked), strict=True))))
        known = {**known, **dict(zip(asked, found, strict=True))}
    ranks = {n: ranked(column(n).tree, known[n]) for n in wanted if _has_order(known[n])}
    calls = tuple((n, _ordered(e, ranks) if _by_place(e.tree) else e) for n, e in node.calls)
    return Window(node.child, node.partition, calls)


def _by_place(call: exp.Expression) -> bool:
    function = call.this
    while isinstance(function, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        function = function.this
    if isinstance(function, exp.Rank | exp.DenseRank | exp.PercentRank | exp.CumeDist):
        return False
    spec = call.args.get("spec")
    whole = spec is not None and {spec.args.get("start"), spec.args.get("end")} == {"UNBOUNDED"}
    return isinstance(function, BY_PLACE) or (spec is not None and (_by_rows(spec) or whole))


def _by_rows(spec: exp.Expression) -> bool:
    return (spec.args.get("kind") or "").upper() == "ROWS"


def _ordered(call: Expr, ranks: Mapping[str, exp.Expression]) -> Expr:
    tree = call.tree.copy()
    order = tree.args.get("order") or exp.Order(expressions=[])
    known, by = _ordered_by(tree), [o.this for o in order.expressions]
    missing = (rank for n, rank in ranks.items() if n not in known and rank not in by)
    more = [exp.Ordered(this=rank.copy(), nulls_first=True) for rank in missing]
    tree.set("order", exp.Order(expressions=[*order.expressions, *more]))
    return Expr.of(tree)


def _ordered_by(call: exp.Expression) -> set[str]:
    """The columns in which rows side by side differ only as far as the order says."""
    order = call.args.get("order")
    by = [o.this for o in order.expressions] if order is not None else []
    return {e.name for e in (*by, *(call.args.get("partition_by") or [])) if isinstance(e, exp.Column)}


def _has_order(data_type: str) -> bool:
    return not any(part in data_type for part in ("void", "interval"))
