"""Saying where in the SQL a construct stands that is not maintained."""

from __future__ import annotations

from sqlglot import exp

from ..dialect import SqlglotError, print_sql
from ..errors import Refusal, Volatility

LONGEST_FRAGMENT = 80


def refuse(
    construct: str,
    why: str,
    at: exp.Expression,
    remedy: str = "",
    volatility: Volatility = Volatility.STABLE,
) -> Refusal:
    """The refusal, with the fragment of SQL and its line; to be raised by the caller."""
    return Refusal(construct, why, remedy, printed(at), line_of(at), volatility)


def line_of(tree: exp.Expression) -> int | None:
    """The first line, counted from 1, on which a name or literal of the tree stands."""
    lines = [n.meta["line"] for n in tree.walk() if "line" in n.meta]
    return min(lines) if lines else None


def printed(tree: exp.Expression) -> str:
    """The fragment as SQL, shortened; empty if it cannot be printed."""
    try:
        text = print_sql(tree)
    except SqlglotError:
        return ""
    return text if len(text) <= LONGEST_FRAGMENT else text[: LONGEST_FRAGMENT - 1] + "…"
