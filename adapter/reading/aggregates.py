"""Finding the aggregate calls of an expression, and saying the expression over what they gave."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from .refuse import refuse

BEHIND_A_CALL = exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls


def aggregate_calls(tree: exp.Expression) -> list[exp.Expression]:
    """The aggregate calls of an expression, each with its FILTER. The function of a window is none."""
    found = []
    for call in tree.find_all(exp.AggFunc):
        if is_windowed(call):
            continue
        if _inside_another(call):
            raise refuse("an aggregate of an aggregate", "is not one SELECT's work", call, "use a subquery")
        found.append(whole(call))
    return found


def whole(call: exp.Expression) -> exp.Expression:
    """The call with what is written behind it: FILTER, WITHIN GROUP, IGNORE NULLS; not OVER."""
    while isinstance(call.parent, BEHIND_A_CALL) and call.arg_key == "this":
        call = call.parent
    return call


def is_windowed(call: exp.Expression) -> bool:
    """Whether the function is what a window is computed by."""
    call = whole(call)
    return isinstance(call.parent, exp.Window) and call.arg_key == "this"


def _inside_another(call: exp.Expression) -> bool:
    above = call.find_ancestor(exp.AggFunc, exp.Query)
    while above is not None and is_windowed(above):
        above = above.find_ancestor(exp.AggFunc, exp.Query)
    return isinstance(above, exp.AggFunc)


def over(tree: exp.Expression, columns: Mapping[exp.Expression, exp.Expression]) -> exp.Expression:
    """A copy with each sub-expression that has a column replaced by it. Its own parentheses make no difference to which
    it is: the tree says what they do."""
    if tree.find(exp.Paren) is None:
        return tree.copy().transform(lambda node: columns[node].copy() if node in columns else node, copy=False)
    plain = {_bare(e): c for e, c in columns.items()}

    def put(node: exp.Expression) -> exp.Expression:
        found = plain.get(_bare(node))
        return node if found is None else found.copy()

    return tree.copy().transform(put, copy=False)


def _bare(tree: exp.Expression) -> exp.Expression:
    """Without its parentheses."""
    if tree.find(exp.Paren) is None:
        return tree
    return tree.copy().transform(lambda node: node.unnest() if isinstance(node, exp.Paren) else node, copy=False)
