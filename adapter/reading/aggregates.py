"""Finding the aggregate calls of an expression, and saying the expression over what they gave."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from .refuse import refuse


def aggregate_calls(tree: exp.Expression) -> list[exp.Expression]:
    """The aggregate calls of an expression, each with its FILTER. The function of a window is none."""
    found = []
    for call in tree.find_all(exp.AggFunc):
        if is_windowed(call):
            continue
        if _inside_another(call):
            raise refuse("an aggregate of an aggregate", "is not one SELECT's work", call, "use a subquery")
        found.append(call.parent if isinstance(call.parent, exp.Filter) else call)
    return found


def is_windowed(call: exp.Expression) -> bool:
    """Whether the function is what a window is computed by."""
    node = call
    while isinstance(node.parent, exp.Filter | exp.IgnoreNulls | exp.RespectNulls) and node.arg_key == "this":
        node = node.parent
    return isinstance(node.parent, exp.Window) and node.arg_key == "this"


def _inside_another(call: exp.Expression) -> bool:
    above = call.find_ancestor(exp.AggFunc)
    while above is not None and is_windowed(above):
        above = above.find_ancestor(exp.AggFunc)
    return above is not None


def over(tree: exp.Expression, columns: Mapping[exp.Expression, exp.Expression]) -> exp.Expression:
    """A copy with each sub-expression that has a column replaced by it."""

    def put(node: exp.Expression) -> exp.Expression:
        return columns[node].copy() if node in columns else node

    return tree.copy().transform(put, copy=False)
