"""A query without its WITH: what it names stands where it is read."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import SqlglotError

from ..dialect import DeltaSpark, parse, print_sql

MOST = 200_000
"""Characters up to which a query is written out: what is read in several places stands there several times."""


def inlined(sql: str) -> str:
    """The same rows from a query in which nothing is named by a WITH at its head; as it was, where that is too long.

    Spark tells by the plan whether a view is cached, and numbers the WITHs of a plan from its outermost one: a view
    that has one is not found again in a query that has another."""
    try:
        query = parse(sql)
    except SqlglotError:
        # A change feed, of which nothing is named.
        return sql
    if not isinstance(query, exp.Query) or not query.ctes:
        return sql
    named = {cte.alias: cte.this for cte in query.ctes}
    if _length(query, named) > MOST:
        return sql
    query.set("with_", None)
    return print_sql(exp.expand(query, named, dialect=DeltaSpark))


def _length(query: exp.Query, named: dict[str, exp.Expression]) -> int:
    """Characters of the query written out, about: each name stands for those before it."""
    lengths: dict[str, int] = {}
    for name, part in [*named.items(), ("", query)]:
        read = (table.name for table in part.find_all(exp.Table) if not table.db)
        # The query itself holds its WITH: a part is then counted once more than it stands there.
        lengths[name] = len(print_sql(part)) + sum(lengths.get(table, 0) for table in read)
    return lengths[""]
