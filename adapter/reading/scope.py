"""Names in one SELECT: which column of which FROM item a name means, by Spark's rules.

Spark has accepted the query before it gets here, so an unknown or ambiguous name is not the user's error.
Names are compared without regard to case, as Spark does by default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from ..algebra.expressions import Expr, column, operand
from ..names import free_name
from .refuse import refuse

if TYPE_CHECKING:
    from .temporal import Versions

PLACED = "placed"
"""Marks a column that is the plan's already, not a name of the user's."""


def placed(name: str) -> exp.Column:
    tree = column(name).tree.copy()
    tree.meta[PLACED] = True
    return tree


def settled_names(tree: exp.Expression) -> exp.Expression:
    """A copy of an expression over the plan's columns, marked so that it is not resolved again."""
    copy = tree.copy()
    for node in copy.find_all(exp.Column):
        node.meta[PLACED] = True
    return copy


@dataclass(frozen=True)
class Item:
    """One FROM item. columns: (the user's name, the plan's name); qualifiers: the ways a column may be prefixed."""

    alias: str
    qualifiers: tuple[tuple[str, ...], ...]
    columns: tuple[tuple[str, str], ...]

    def find(self, name: str) -> str | None:
        return next((internal for user, internal in self.columns if user.lower() == name.lower()), None)


@dataclass
class Scope:
    """visible: what `*` and a bare name see, in order. A USING column is visible once; hidden: the plan's names of
    the columns of USING that only a qualified name or star sees, in Spark's order: the last join's first.

    parent: the SELECT around a subquery; correlated: conditions of a subquery that read columns of its parents;
    reserved: further names of the plan, of columns that stand for subqueries; versions: what its temporal joins meet.
    """

    items: list[Item] = field(default_factory=list)
    visible: list[tuple[str, str]] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    parent: Scope | None = None
    correlated: list[Expr] = field(default_factory=list)
    reserved: set[str] = field(default_factory=set)
    versions: list[Versions] = field(default_factory=list)

    @property
    def taken(self) -> set[str]:
        """The plan's names that a subquery of this SELECT must not use for its own columns."""
        own = {internal for item in self.items for _, internal in item.columns} | self.reserved
        return own | self.parent.taken if self.parent is not None else own

    def reserve(self, name: str) -> str:
        """A name that is free in this SELECT, and taken from now on."""
        free = free_name(name, {t.lower() for t in self.taken})
        self.reserved.add(free)
        return free

    def beside(self) -> Scope:
        """An empty scope for FROM items in parentheses, whose names are free in this one too."""
        return Scope(parent=self.parent, reserved=set(self.taken))

    @classmethod
    def of(cls, item: Item) -> Scope:
        return cls([item], list(item.columns))

    def add(self, item: Item) -> None:
        self.join(Scope.of(item))

    def join(self, other: Scope, using: tuple[str, ...] = ()) -> list[tuple[str, str]]:
        """Adds what another scope shows. using: names joined on, returned as (left, right) pairs of the plan's."""
        pairs = [(self.named(name), other.named(name)) for name in using]
        shared = {u.lower() for u in using}
        first = [v for name in using for v in self.visible if v[0].lower() == name.lower()]
        self.visible = first + [v for side in (self, other) for v in side.visible if v[0].lower() not in shared]
        self.hidden = [*(right for _, right in pairs), *self.hidden, *other.hidden]
        self.items = self.items + other.items
        self.reserved |= other.reserved
        self.versions += other.versions
        return pairs

    def named(self, name: str) -> str:
        """The plan's column that a name of USING means."""
        return next(internal for user, internal in self.visible if user.lower() == name.lower())

    def show(self, instead: Mapping[str, str]) -> None:
        """Lets bare names and `*` see other columns of the plan in the place of some."""
        self.visible = [(user, instead.get(name, name)) for user, name in self.visible]
        self.hidden = [*instead, *(name for name in self.hidden if name not in instead.values())]

    def lookup(self, reference: exp.Column) -> exp.Expression | None:
        """The plan's column (with struct fields behind it, if any) that a name means, or None."""
        parts = [p for p in reference.parts if not isinstance(p, exp.Star)]
        texts = tuple(p.name for p in parts)
        for item in self.items:
            for qualifier in item.qualifiers:
                n = len(qualifier)
                if len(texts) > n and tuple(t.lower() for t in texts[:n]) == qualifier:
                    internal = item.find(texts[n])
                    if internal is not None:
                        return _fields(internal, parts[n + 1 :])
        internal = next((i for u, i in self.visible if u.lower() == texts[0].lower()), None)
        return _fields(internal, parts[1:]) if internal is not None else None

    def outer(self, reference: exp.Column) -> exp.Expression | None:
        """The same in the SELECTs around a subquery, the nearest first."""
        if self.parent is None:
            return None
        found = self.parent.lookup(reference)
        return found if found is not None else self.parent.outer(reference)

    def star(self, star: exp.Expression) -> list[tuple[str, str]]:
        """The columns that `*` or `t.*` stands for: (user's name, plan's name)."""
        inner = star.this if isinstance(star, exp.Column) else star
        listed = list(self.visible)
        if isinstance(star, exp.Column):
            prefix = tuple(p.name.lower() for p in star.parts[:-1])
            matching = [i for i in self.items if prefix in i.qualifiers]
            if not matching:
                raise refuse("a name", "could not be resolved", star)
            order = [*self.hidden, *(internal for _, internal in self.visible)]
            listed = sorted(matching[0].columns, key=lambda c: order.index(c[1]))
        if inner.args.get("replace") or inner.args.get("rename"):
            raise refuse("`* REPLACE` or `* RENAME`", "is not expanded here", star, "name the columns")
        dropped = {e.name.lower() for e in inner.args.get("except_") or inner.args.get("except") or []}
        return [c for c in listed if c[0].lower() not in dropped]


def struct_of(star: exp.Expression, scope: Scope) -> exp.Expression | None:
    """The plan's column whose fields `c.*` stands for; None where it stands for the columns of a table."""
    if not (isinstance(star, exp.Column) and isinstance(star.this, exp.Star)):
        return None
    prefix = tuple(p.name.lower() for p in star.parts[:-1])
    return None if any(prefix in item.qualifiers for item in scope.items) else scope.lookup(star)


def _starred(tree: exp.Expression, scope: Scope) -> exp.Expression:
    """With the columns that a star stands for among the arguments of a function. COUNT(*) is of rows."""
    for star in list(tree.find_all(exp.Star)):
        listed = star.parent if isinstance(star.parent, exp.Column) else star
        above = listed.parent
        if above is None or isinstance(above, exp.Count):
            continue
        columns = [(user, placed(name)) for user, name in scope.star(listed)]
        if isinstance(above, exp.Struct):
            named = [exp.PropertyEQ(this=exp.to_identifier(user, quoted=True), expression=c) for user, c in columns]
            listed.replace(named)
        elif listed.arg_key == "expressions":
            listed.replace([c for _, c in columns])
        else:
            above.set(listed.arg_key, columns[0][1])
            above.set("expressions", [*(c for _, c in columns[1:]), *above.expressions])
    return tree


def _fields(internal: str, fields: list[exp.Expression]) -> exp.Expression:
    return _behind(column(internal).tree.copy(), fields)


def _behind(tree: exp.Expression, fields: list[exp.Expression]) -> exp.Expression:
    for f in fields:
        tree = exp.Dot(this=tree, expression=exp.to_identifier(f.name, quoted=True))
    return tree


def resolve(tree: exp.Expression, scope: Scope, aliases: Mapping[str, exp.Expression], *, aliases_first: bool = False):
    """A copy of an expression over the plan's columns.

    aliases: names defined by the SELECT list, already over the plan's columns. They count only where FROM has no
    such name; with aliases_first (HAVING) the other way round, but never inside an aggregate.
    """

    def put(node: exp.Expression) -> exp.Expression:
        if not isinstance(node, exp.Column) or node.meta.get(PLACED):
            return node
        bare = len(node.parts) == 1
        alias = aliases.get(node.name.lower()) if bare else None
        if alias is not None and aliases_first and not node.find_ancestor(exp.AggFunc):
            return operand(alias)
        found = scope.lookup(node)
        if found is not None:
            return found
        if alias is not None:
            return operand(alias)
        found = scope.outer(node)
        if found is not None:
            return found
        first = aliases.get(node.parts[0].name.lower())
        if first is not None and not bare:
            return _behind(operand(first), node.parts[1:])
        raise refuse("a name", "could not be resolved", node)

    return _starred(tree.copy(), scope).transform(put, copy=False)
