"""Derived tables of a subquery that read the row outside, made plain: their conditions on it move to the query around.

    (SELECT COUNT(*) FROM (SELECT DISTINCT b FROM s WHERE s.a = t.a) d)
    (SELECT COUNT(*) FROM (SELECT DISTINCT b, s.a AS k FROM s) d WHERE d.k = t.a)

What a condition reads of the derived table is shown by it for that. Where it groups its rows, or keeps the first of
them, the condition must be an equality: then the rows of one value outside are those of one more group, or partition.
Of a set operation, every side must have the same ones: then its rows are those of one value outside by one more column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import TYPE_CHECKING

from sqlglot import exp

from ..algebra.nodes import Node
from ..errors import Refusal
from ..names import PREFIX
from .first_rows import by_places
from .joins import parts
from .one_row import is_one_row
from .refuse import refuse
from .scope import PLACED, Scope, settled_names

if TYPE_CHECKING:
    from .lower import Lowering

GATHERING = ("group", "having", "distinct", "limit", "offset", "qualify", "windows")
"""Clauses by which a derived table is more than rows that meet conditions."""


def pull_up(select: exp.Select, outer: Scope, lowering: Lowering, ctes: Mapping[str, Node]) -> None:
    """Changes the SELECT in place."""
    _Pulling(outer, lowering, ctes, (f"{PREFIX}pulled_{i}" for i in count())).out_of(select)


class _Pulling:
    def __init__(self, outer: Scope, lowering: Lowering, ctes: Mapping[str, Node], names: Iterator[str]) -> None:
        self.outer, self.lowering, self.ctes, self.names = outer, lowering, ctes, names

    def out_of(self, select: exp.Select) -> None:
        clause = select.args.get("from_")
        if clause is None:
            return
        for item, join in [(clause.this, None), *((j.this, j) for j in select.args.get("joins") or [])]:
            derived = _derived(item)
            if derived is not None:
                self.out_of(derived)
                for condition, outside in self._on_outside(derived):
                    self._pull(condition, outside, derived, item, join, select)
            elif sides := _sides(item):
                for side in sides:
                    self.out_of(side)
                self._pull_from_all(sides, item, join, select)

    def _on_outside(self, derived: exp.Select) -> list[tuple[exp.Expression, list[exp.Column]]]:
        """The conditions on the row outside, each with what it reads of it, by the plan's names from here on."""
        where = derived.args.get("where")
        if where is None:
            return []
        inside, found = Scope(), []
        self.lowering.source(derived, inside, self.ctes)
        for condition in parts(where.this):
            outside = []
            for c in list(condition.find_all(exp.Column)):
                if c.meta.get(PLACED):
                    outside.append(c)
                elif inside.lookup(c) is None and (read := self.outer.lookup(c) or self.outer.outer(c)) is not None:
                    if c.find_ancestor(exp.Query) is not derived:
                        raise refuse("a subquery", "reads columns of a SELECT further out", c, "write it as a join")
                    c.replace(new := settled_names(read))
                    outside += list(new.find_all(exp.Column))
            if outside:
                found.append((condition, outside))
        return found

    def _pull(
        self,
        condition: exp.Expression,
        outside: list[exp.Column],
        derived: exp.Select,
        item: exp.Subquery,
        join: exp.Join | None,
        select: exp.Select,
    ) -> None:
        _refuse_one_row(derived)
        shown = _shown(condition, outside, derived)
        alias = _alias(item, self.names)
        _without(derived, condition)
        for e in shown:
            key = next(self.names)
            _apart(derived, e)
            derived.append("expressions", exp.alias_(e.copy(), key))
            _show_too(key, alias, select)
            e.replace(exp.column(key, table=alias.this.copy()))
        _add(condition, join, select)

    def _pull_from_all(
        self, sides: list[exp.Select], item: exp.Subquery, join: exp.Join | None, select: exp.Select
    ) -> None:
        """The equalities that all sides of a set operation have with the row outside."""
        conditions = [self._on_outside(side) for side in sides]
        if not any(conditions):
            return
        for side in sides:
            _refuse_one_row(side)
        found = [_equalities(of_side) for of_side in conditions]
        alias = _alias(item, self.names)
        if any(len(f) < len(c) or f.keys() != found[0].keys() for f, c in zip(found, conditions, strict=True)):
            raise _not_alike(item)
        for outside in found[0]:
            key, own = next(self.names), [f[outside] for f in found]
            if len({self._type(e, side) for e, side in zip(own, sides, strict=True)}) > 1:
                raise _not_alike(item)
            for e, side in zip(own, sides, strict=True):
                _without(side, e.parent)
                _apart(side, e)
                side.append("expressions", exp.alias_(e.copy(), key))
            _show_too(key, alias, select)
            condition = own[0].parent
            own[0].replace(exp.column(key, table=alias.this.copy()))
            _add(condition, join, select)

    def _type(self, e: exp.Expression, side: exp.Select) -> tuple[str, ...]:
        """Of one side's expression: values of two types may be equal to one outside and not to each other."""
        alone = exp.Select(expressions=[exp.alias_(e.copy(), "key")])
        for clause in ("from_", "joins", "laterals"):
            alone.set(clause, side.copy().args.get(clause))
        return self.lowering.typer(self.lowering.query(alone, self.ctes))


def _sides(item: exp.Expression) -> list[exp.Select]:
    """The SELECTs of a set operation in FROM, none where it has clauses of its own."""
    query = item.this if isinstance(item, exp.Subquery) and not item.args.get("with_") else None
    return _selects(query) if isinstance(query, exp.SetOperation) else []


def _selects(query: exp.Expression) -> list[exp.Select]:
    if isinstance(query, exp.SetOperation):
        more = any(query.args.get(c) for c in ("with_", "limit", "offset"))
        left, right = _selects(query.this), _selects(query.expression)
        return [*left, *right] if left and right and not more else []
    query = _opened(query)
    if isinstance(query, exp.SetOperation):
        return _selects(query)
    return [query] if isinstance(query, exp.Select) and not query.args.get("with_") else []


def _equalities(
    conditions: list[tuple[exp.Expression, list[exp.Column]]],
) -> dict[exp.Expression, exp.Expression]:
    """What is compared outside, and how, with what it is equal to; without conditions of other kinds."""
    found: dict[exp.Expression, exp.Expression] = {}
    for condition, outside in conditions:
        own = _own(condition, outside)
        if own is not None:
            other = condition.expression if own is condition.this else condition.this
            found[type(condition)(this=other.copy(), expression=other.copy())] = own
    return found


def _refuse_one_row(derived: exp.Select) -> None:
    if is_one_row(derived):
        why = "reads the row outside in a derived table that is an aggregate without groups"
        raise refuse("a correlated subquery", why, derived, "write it as a join")


def _not_alike(item: exp.Expression) -> Refusal:
    why = "reads the row outside in a set operation, and not by the same equalities on all of its sides"
    return refuse("a correlated subquery", why, item, "write it as a join")


def _own(condition: exp.Expression, outside: list[exp.Column]) -> exp.Expression | None:
    """The one side of an equality that reads nothing outside."""
    apart = {id(c) for c in outside}
    sides = (condition.this, condition.expression) if isinstance(condition, exp.EQ | exp.NullSafeEQ) else ()
    own = [s for s in sides if not any(id(c) in apart for c in s.find_all(exp.Column))]
    return own[0] if len(own) == 1 else None


def _show_too(key: str, alias: exp.TableAlias, select: exp.Select) -> None:
    """One more column of a derived table, of which the SELECT shows nothing."""
    if alias.columns:
        alias.append("columns", exp.to_identifier(key))
    for star in _stars(select):
        star.set("except_", [*(star.args.get("except_") or []), exp.to_identifier(key)])


def _derived(item: exp.Expression) -> exp.Select | None:
    query = _opened(item.this) if isinstance(item, exp.Subquery) and not item.args.get("with_") else None
    return query if isinstance(query, exp.Select) and not query.args.get("with_") else None


def _opened(query: exp.Expression) -> exp.Expression:
    """The query in parentheses that say nothing more."""
    while isinstance(query, exp.Subquery) and not (query.alias or query.args.get("joins") or query.args.get("with_")):
        query = query.this
    return query


def _shown(condition: exp.Expression, outside: list[exp.Column], derived: exp.Select) -> list[exp.Expression]:
    """What the derived table has to show for the condition."""
    apart = {id(c) for c in outside}
    if not any(derived.args.get(clause) for clause in GATHERING) and not _windows(derived):
        return [c for c in condition.find_all(exp.Column) if id(c) not in apart]
    own = _own(condition, outside)
    if own is None or derived.args.get("windows"):
        why = "reads the row outside in a derived table that gathers rows, by more than an equality"
        raise refuse("a correlated subquery", why, condition, "write it as a join")
    return [own]


def _apart(derived: exp.Select, e: exp.Expression) -> None:
    """Keeps the rows of each value apart: in groups, in the partitions of windows, and for a LIMIT."""
    for window in _windows(derived):
        window.set("partition_by", [*(window.args.get("partition_by") or []), e.copy()])
    by_places(derived, [e.copy()])
    group = derived.args.get("group")
    if group is None or group.args.get("all"):
        return
    if any(group.args.get(c) for c in ("rollup", "cube", "grouping_sets")):
        raise refuse("a correlated subquery", "has GROUPING SETS", group, "write it as a join")
    group.append("expressions", e.copy())


def _windows(derived: exp.Select) -> list[exp.Window]:
    shown = [*derived.expressions, derived.args.get("qualify")]
    return [w for e in shown if e is not None for w in e.find_all(exp.Window)]


def _alias(item: exp.Subquery, names: Iterator[str]) -> exp.TableAlias:
    alias = item.args.get("alias")
    if alias is None or alias.this is None:
        alias = exp.TableAlias(this=exp.to_identifier(next(names)))
        item.set("alias", alias)
    return alias


def _without(derived: exp.Select, condition: exp.Expression) -> None:
    others = [p for p in parts(derived.args["where"].this) if p is not condition]
    derived.set("where", exp.Where(this=exp.and_(*others, copy=False)) if others else None)


def _stars(select: exp.Select) -> list[exp.Star]:
    listed = (e.this if isinstance(e, exp.Column) else e for e in select.expressions)
    return [e for e in listed if isinstance(e, exp.Star)]


def _add(condition: exp.Expression, join: exp.Join | None, select: exp.Select) -> None:
    """The condition to where the derived table is joined, or to the WHERE."""
    sides = [j.side for j in select.args.get("joins") or []]
    if any(side in ("RIGHT", "FULL") for side in sides) or (join is not None and join.args.get("using")):
        raise refuse(
            "a correlated subquery", "reads the row outside below an outer join", condition, "write it as a join"
        )
    if join is None or (not join.side and join.kind in ("", "INNER", "CROSS")):
        select.where(condition, copy=False)
    else:
        join.set("on", exp.and_(join.args.get("on"), condition) if join.args.get("on") else condition)
