"""HAVING that asks a subquery about an aggregate, as a WHERE over the groups: a subquery is asked of rows.

SELECT a, MAX(c) AS m FROM t GROUP BY a HAVING SUM(b) IN (SELECT …)
SELECT o AS a, p AS m FROM (SELECT a AS o, MAX(c) AS p, SUM(b) AS q, a FROM t GROUP BY a) WHERE q IN (SELECT …)
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from sqlglot import exp

from ..names import PREFIX
from .aggregates import aggregate_calls

GROUPS = f"{PREFIX}groups"
"""What the groups are called."""

BEYOND = ("qualify", "windows", "sort", "distribute", "cluster")
"""Clauses that are carried out after HAVING, over more than what the SELECT shows."""

OUTSIDE = ("with_", "distinct", "order", "limit", "offset")
"""Those that are about what it shows."""


def asked_of_groups(tree: exp.Select) -> exp.Select:
    """The SELECT in that shape, if it needs it and can have it; otherwise as it is."""
    if tree.args.get("having") is None:
        return tree
    # By itself, so that whatever stands above a part of it is within it.
    having = exp.Having(this=tree.args["having"].this.copy())
    if not _asks(having, tree) or not _is_plain(tree):
        return tree
    names = (f"{PREFIX}group_{i}" for i in count())
    keys, outputs = _keys(tree), [(next(names), e.unalias().copy()) for e in tree.expressions]
    shown = [made for made, _ in outputs]
    outputs += _said_of_groups(having, tree, keys, shown, names)
    return _above(_groups(tree, keys, outputs), having, tree, shown)


def _said_of_groups(
    having: exp.Having, tree: exp.Select, keys: list[exp.Expression], shown: list[str], names: Iterator[str]
) -> list[tuple[str, exp.Expression]]:
    """Replaces in HAVING what it says of the groups by their columns. What these must have besides what is shown."""
    more = []
    for call in _of_groups(having):
        more.append((next(names), call.copy()))
        call.replace(_shown(more[-1][0]))
    for key in (k for k in keys if not isinstance(k, exp.Column)):
        more.append((next(names), key.copy()))
        for same in [e for e in having.find_all(type(key)) if e == key and e.find_ancestor(exp.Query) is None]:
            same.replace(_shown(more[-1][0]))
    columns = {k.name.lower() for k in keys if isinstance(k, exp.Column)}
    aliases = {e.alias_or_name.lower(): made for e, made in zip(tree.expressions, shown, strict=True)}
    own = {s.alias_or_name.lower() for s in _sources(tree)}
    for c in list(having.find_all(exp.Column)):
        inside = c.find_ancestor(exp.Query) is not None
        if c.table.lower() in own and c.name.lower() in columns and not (inside and c.table.lower() in _met(c)):
            c.replace(_shown(c.name))
        elif not c.table and not inside and c.name.lower() in aliases:
            c.replace(_shown(aliases[c.name.lower()]))
    return more


def _groups(tree: exp.Select, keys: list[exp.Expression], outputs: list[tuple[str, exp.Expression]]) -> exp.Select:
    """The SELECT of all groups, with those outputs and the columns that it groups by."""
    inner = tree.copy()
    for clause in ("having", *OUTSIDE):
        inner.set(clause, None)
    listed = [exp.alias_(e, name, quoted=True) for name, e in outputs]
    inner.set("expressions", [*listed, *(k.copy() for k in keys if isinstance(k, exp.Column))])
    if keys and tree.args["group"].args.get("all"):
        inner.set("group", exp.Group(expressions=[k.copy() for k in keys]))
    return inner


def _above(groups: exp.Select, having: exp.Having, tree: exp.Select, shown: list[str]) -> exp.Select:
    """What the SELECT shows of those groups that meet its HAVING."""
    alias = exp.TableAlias(this=exp.to_identifier(GROUPS, quoted=True))
    listed = zip((e.alias_or_name for e in tree.expressions), shown, strict=True)
    outer = exp.Select(
        expressions=[exp.alias_(_shown(made), name, quoted=True) if name else _shown(made) for name, made in listed]
    )
    outer.set("from_", exp.From(this=exp.Subquery(this=groups, alias=alias)))
    outer.set("where", exp.Where(this=having.this))
    for clause in OUTSIDE:
        outer.set(clause, tree.args.get(clause))
    return outer


def _asks(having: exp.Having, tree: exp.Select) -> bool:
    """Whether an aggregate of the groups is asked about by a subquery, and not compared with what one gives."""
    tested = [n.this for n in having.find_all(exp.In) if n.args.get("query") and n.find_ancestor(exp.Query) is None]
    named = {e.alias.lower() for e in tree.expressions if e.alias and e.find(exp.AggFunc)}
    read = [c for e in tested for c in e.find_all(exp.Column)]
    return (
        any(aggregate_calls(e) for e in tested)
        or any(not c.table and c.name.lower() in named for c in read)
        or any(_within(q) for q in _subqueries(having))
    )


def _of_groups(having: exp.Having) -> list[exp.Expression]:
    """The aggregates of the groups in it."""
    found = [c for c in aggregate_calls(having) if c.find_ancestor(exp.Query) is None]
    return [*found, *(c for q in _subqueries(having) for c in _within(q))]


def _subqueries(having: exp.Having) -> list[exp.Select]:
    return [q for q in having.find_all(exp.Select) if q.parent_select is None]


def _within(select: exp.Select) -> list[exp.Expression]:
    """The aggregates in its WHERE, which can only be those of the SELECT around it."""
    where = select.args.get("where")
    return [c for c in aggregate_calls(where) if c.parent_select is select] if where is not None else []


def _is_plain(tree: exp.Select) -> bool:
    """Whether its groups can be said without knowing its tables."""
    group, order = tree.args.get("group"), tree.args.get("order")
    if any(tree.args.get(clause) for clause in BEYOND):
        return False
    shown = {e.alias_or_name.lower() for e in tree.expressions}
    if order is not None and not all(_is_shown(o.this, shown) for o in order.expressions):
        return False
    if group is not None and group.args.get("totals"):
        return False
    if any(e.find(exp.Window, exp.Query) for e in tree.expressions):
        return False
    if any(not isinstance(s.parent, exp.Count) for e in tree.expressions for s in e.find_all(exp.Star)):
        return False
    keys = _keys(tree)
    if group is not None and not keys:
        return False
    named = [k.name.lower() for k in keys if isinstance(k, exp.Column)]
    if len(set(named)) < len(named):
        return False
    # A name of the SELECT list is one for the others in it, and for GROUP BY, unless it is a column's own.
    renamed = {e.alias.lower() for e in tree.expressions if e.alias and e.unalias().name.lower() != e.alias.lower()}
    read = [c for e in (*tree.expressions, *keys) for c in e.find_all(exp.Column) if not c.table]
    return not any(c.name.lower() in renamed for c in read)


def _keys(tree: exp.Select) -> list[exp.Expression]:
    """What it groups by, in any of its sets, places in the SELECT list written out."""
    group = tree.args.get("group")
    if group is None:
        return []
    if group.args.get("all"):
        return [
            e.unalias() for e in tree.expressions if not (aggregate_calls(e) or isinstance(e.unalias(), exp.Literal))
        ]
    behind = [e for clause in ("rollup", "cube", "grouping_sets") for e in group.args.get(clause) or []]
    members = [m for e in (*group.expressions, *behind) for m in _members(e)]
    return list(dict.fromkeys(_written_out(m, tree) for m in members))


def _members(e: exp.Expression) -> list[exp.Expression]:
    if isinstance(e, exp.Paren):
        return _members(e.this)
    sets = (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple)
    return [m for part in e.expressions for m in _members(part)] if isinstance(e, sets) else [e]


def _written_out(e: exp.Expression, tree: exp.Select) -> exp.Expression:
    place = isinstance(e, exp.Literal) and not e.is_string and 1 <= int(e.name) <= len(tree.expressions)
    return tree.expressions[int(e.name) - 1].unalias() if place else e


def _is_shown(e: exp.Expression, shown: set[str]) -> bool:
    return isinstance(e, exp.Literal) or (isinstance(e, exp.Column) and not e.table and e.name.lower() in shown)


def _sources(select: exp.Select) -> list[exp.Expression]:
    clause = select.args.get("from_")
    return [clause.this, *(j.this for j in select.args.get("joins") or [])] if clause is not None else []


def _met(column: exp.Column) -> set[str]:
    """The tables of the subqueries around a column."""
    found: set[str] = set()
    select = column.parent_select
    while select is not None:
        found |= {s.alias_or_name.lower() for s in _sources(select)} if isinstance(select, exp.Select) else set()
        select = select.parent_select
    return found


def _shown(name: str) -> exp.Column:
    return exp.column(name, table=GROUPS, quoted=True)
