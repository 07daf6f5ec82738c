"""γ(R⁺) = γ(R⁻) ⊕ γ(ΔR): what came and left is added to the table's own rows, and nothing of R is read.

COUNT and SUM add up; MIN and MAX take a new extremum. Only where change and table together cannot tell is a group
computed again from R (a falling group): a SUM that lost values and is now 0 may have none left, an extremum has left
and nothing at least as good has come, or rows have left and nothing that the table shows says that others stay. Sums
over floating point are never added: in another order they are another number.

Relations of a plan by this law name their columns by position, so that no name of the user's can be in the way:
key_i for the groups; for the i-th aggregate of_i what it reads, if_i its FILTER, add_i what is added, known_i how many
values that are not NULL it won or lost, lost_i the best value it lost, own_i what the table holds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from sqlglot import exp

from ..algebra.expressions import Expr, cast, column, columns, integer
from ..algebra.nodes import Aggregate, Filter, Join, Named, Node, Project, Scan, Time
from ..names import WEIGHT
from .derivation import KEY, Derivation, at, net, passed
from .differentiate import change
from .restrict import restrict
from .simplify import simplify

EXACT_SUMS = re.compile(r"bigint|decimal\((\d|1\d|2[0-8]),\d+\)|decimal\(\d+,[0-6]\)")
"""Types of a SUM that is the same in any order. Of a value times its copies Spark keeps 38 digits, and of those behind
the point at least 6: only a longer and finer decimal could lose some."""

ORDERED = re.compile(r"(tiny|small|big)?int|decimal\(\d+,\d+\)|string|date|timestamp(_ntz)?|boolean")
"""Types whose least and greatest value are one value."""

ROWS_NET = "rows_net"
"""How many rows a group won or lost."""


@dataclass(frozen=True)
class Own:
    """The table that is maintained, as a relation. name: in Spark SQL; types: column -> Spark type."""

    name: str
    types: Mapping[str, str]


class Combine(Enum):
    """How a column of the table and what is added to it make its new value. NULL adds nothing."""

    GROUP = "group"
    ADD = "add"
    LEAST = "least"
    GREATEST = "greatest"


@dataclass(frozen=True)
class Additions:
    """rows: for each changed group, what is added to the table's row, under the columns of the model; changes: the
    relation that this is read from; key: the columns of the groups; combine: in the order of the columns; counted: a
    column that is 0 exactly where a group has no rows, None if none says so."""

    rows: Node
    changes: str
    key: tuple[str, ...]
    combine: tuple[Combine, ...]
    counted: str | None


@dataclass(frozen=True)
class Added:
    """falling: the groups computed again instead, and again: their rows now; None if no group ever falls."""

    additions: Additions
    falling: Named | None
    again: Node | None


@dataclass(frozen=True)
class Part:
    """The i-th aggregate. call: COUNT, SUM, MIN or MAX; of: what it reads, None for COUNT(*); only: its FILTER;
    type: of its result."""

    i: int
    call: type[exp.AggFunc]
    of: exp.Expression | None
    only: exp.Expression | None
    type: str

    @property
    def add(self) -> str:
        return f"add_{self.i}"

    @property
    def counts_rows(self) -> bool:
        return self.call is exp.Count and self.of is None and self.only is None

    def read(self) -> list[tuple[str, Expr]]:
        """What it needs of a row."""
        needed = ((f"of_{self.i}", self.of), (f"if_{self.i}", self.only))
        return [(name, Expr.of(e)) for name, e in needed if e is not None]

    def contributions(self) -> list[tuple[str, Expr]]:
        """What a group's change adds, and what says whether that is enough; over rows with `read` and WEIGHT."""
        of, weight = _column(f"of_{self.i}"), _column(WEIGHT)
        known = [_is_known(of)] if self.of is not None else []
        if self.call is exp.Count:
            return [(self.add, _summed(self._if(weight, *known)))]
        if self.call is exp.Sum:
            # A decimal keeps its digits next to an INT; an integer needs the BIGINT that a weight is.
            copies = exp.cast(weight, "int") if self.type.startswith("decimal") else weight
            value = self._if(exp.Mul(this=of, expression=copies))
            total = Expr.of(exp.Sum(this=value))
            return [(self.add, total), (f"known_{self.i}", _summed(self._if(weight, *known)))]
        gained = self._if(of, exp.GT(this=weight, expression=_zero()))
        lost = self._if(of, exp.LT(this=weight, expression=_zero()))
        return [(self.add, Expr.of(self.call(this=gained))), (f"lost_{self.i}", Expr.of(self.call(this=lost)))]

    def may_fall(self) -> exp.Expression | None:
        """When the change of a group may not tell what its aggregate is now; over `contributions`."""
        if self.call is exp.Count:
            return None
        if self.call is exp.Sum:
            return exp.LT(this=_column(f"known_{self.i}"), expression=_zero())
        gained, lost = _column(self.add), _column(f"lost_{self.i}")
        worse = (exp.GT if self.call is exp.Min else exp.LT)(this=gained, expression=lost)
        return exp.and_(_is_known(lost), exp.paren(exp.or_(_is_null(gained), worse)))

    def falls(self) -> exp.Expression | None:
        """When change and table together do not tell it; over `contributions` and own_i, where it may fall."""
        if self.call is exp.Count:
            return None
        if self.call is exp.Sum:
            return exp.EQ(this=self._total(), expression=_zero())
        best = exp.LTE if self.call is exp.Min else exp.GTE
        return best(this=_column(f"lost_{self.i}"), expression=self._own())

    def shows_rows(self) -> exp.Expression:
        """What says that the group has rows left."""
        if self.call is exp.Count:
            return exp.GT(this=self._total(), expression=_zero())
        if self.call is exp.Sum:
            return exp.NEQ(this=self._total(), expression=_zero())
        lost = _column(f"lost_{self.i}")
        worse = (exp.GT if self.call is exp.Min else exp.LT)(this=lost, expression=self._own())
        stays = exp.and_(_is_known(self._own()), exp.paren(exp.or_(_is_null(lost), worse)))
        return exp.or_(_is_known(_column(self.add)), exp.paren(stays))

    @property
    def combine(self) -> Combine:
        return {exp.Min: Combine.LEAST, exp.Max: Combine.GREATEST}.get(self.call, Combine.ADD)

    def value(self) -> Expr:
        """What is added, in the type of the result."""
        return cast(column(self.add), self.type) if self.call is exp.Sum else column(self.add)

    def _own(self) -> exp.Expression:
        return _column(f"own_{self.i}")

    def _total(self) -> exp.Expression:
        return exp.Add(this=_or_zero(self._own()), expression=_or_zero(_column(self.add)))

    def _if(self, value: exp.Expression, *conditions: exp.Expression) -> exp.Expression:
        """The value where its FILTER and the conditions hold, else NULL."""
        met = [*([_column(f"if_{self.i}")] if self.only is not None else []), *(exp.paren(c) for c in conditions)]
        return exp.Case(ifs=[exp.If(this=exp.and_(*met), true=value.copy())]) if met else value.copy()


def added(model: Node, own: Own, d: Derivation) -> Added | None:
    """What this law makes of the change; None where the model is not aggregates that the table shows as they are."""
    found = _shown(model)
    parts = _parts(*found, own) if found else None
    if not found or not parts:
        return None
    node, shown = found
    keys = tuple(KEY.format(i) for i in range(len(node.groups)))
    groups = {name: column(key) for (name, _), key in zip(node.groups, keys, strict=True)}
    if not groups.keys() <= set(shown.values()):
        return None
    changes = d.keys(_changes(node, keys, parts, d), "what each group won and lost", "group_changes")
    shows = {inner: outer for outer, inner in reversed(shown.items())}
    values = groups | {name: p.value() for (name, _), p in zip(node.aggregates, parts, strict=True)}
    combine = {name: p.combine for (name, _), p in zip(node.aggregates, parts, strict=True)}
    rows = [(name, p) for (name, _), p in zip(node.aggregates, parts, strict=True) if p.counts_rows and keys]
    additions = Additions(
        Project(changes, tuple((outer, values[inner]) for outer, inner in shown.items())),
        changes.name,
        tuple(shows[name] for name, _ in node.groups),
        tuple(combine.get(inner, Combine.GROUP) for inner in shown.values()),
        shows[rows[0][0]] if rows else None,
    )
    falls = _falling(node, keys, parts, changes, own, shows)
    if falls is None:
        return Added(additions, None, None)
    falling = d.keys(falls, "groups that are computed again", "falling_groups")
    return Added(additions, falling, restrict(at(model, Time.AFTER), columns(additions.key) or (integer(1),), falling))


def _shown(model: Node) -> tuple[Aggregate, dict[str, str]] | None:
    """The aggregation below projections that only rename, and each column of the model -> that of the aggregation."""
    shown = {name: name for name in model.columns}
    node = model
    while isinstance(node, Project):
        outputs = dict(node.outputs)
        below = {outer: outputs[inner].column for outer, inner in shown.items()}
        if None in below.values():
            return None
        shown = {outer: inner for outer, inner in below.items() if inner is not None}
        node = node.child
    return (node, shown) if isinstance(node, Aggregate) and node.aggregates else None


def _parts(node: Aggregate, shown: Mapping[str, str], own: Own) -> list[Part] | None:
    """All aggregates, or None if one of them does not add up or is not shown."""
    types = {inner: own.types.get(outer, "") for outer, inner in shown.items()}
    parts = [_part(i, e.tree, types.get(name)) for i, (name, e) in enumerate(node.aggregates)]
    known = [p for p in parts if p is not None]
    return known if len(known) == len(parts) else None


def _part(i: int, tree: exp.Expression, data_type: str | None) -> Part | None:
    only = None
    if isinstance(tree, exp.Filter):
        tree, only = tree.this, tree.expression.this
    if data_type is None or isinstance(tree.this, exp.Distinct) or tree.expressions:
        return None
    if type(tree) is exp.Count:
        every_row = isinstance(tree.this, exp.Star | exp.Literal)
        return Part(i, exp.Count, None if every_row else tree.this, only, data_type)
    exact = EXACT_SUMS if type(tree) is exp.Sum else ORDERED if type(tree) in (exp.Min, exp.Max) else None
    if exact is None or not exact.fullmatch(data_type):
        return None
    return Part(i, type(tree), tree.this, only, data_type)


def _changes(node: Aggregate, keys: tuple[str, ...], parts: list[Part], d: Derivation) -> Node:
    """γ(ΔR), with ΔR netted over what is grouped by and aggregated: a row that came and left again says nothing."""
    read = [(key, e) for key, (_, e) in zip(keys, node.groups, strict=True)]
    read += [needed for part in parts for needed in part.read()]
    changed = Project(simplify(change(node.child, d)), (*read, (WEIGHT, column(WEIGHT))))
    sums = [c for part in parts for c in part.contributions()]
    rows = [] if _tells_rows(keys, parts) else [(ROWS_NET, _summed(_column(WEIGHT)))]
    return Aggregate(net(changed), passed(keys), (*sums, *rows))


def _tells_rows(keys: tuple[str, ...], parts: list[Part]) -> bool:
    """Whether it is known without ROWS_NET if a group has rows left: a COUNT(*) says it, and a single group stays."""
    return not keys or any(p.counts_rows for p in parts)


def _falling(
    node: Aggregate, keys: tuple[str, ...], parts: list[Part], changes: Named, own: Own, shows: Mapping[str, str]
) -> Node | None:
    """The groups that are computed again: of those that may fall by their change, those that do beside the table's row.

    A group that lost rows is in the table, so that an inner join finds it.
    """
    may = [(m, f) for p in parts if (m := p.may_fall()) is not None and (f := p.falls()) is not None]
    if not _tells_rows(keys, parts):
        fewer = exp.LT(this=_column(ROWS_NET), expression=_zero())
        may.append((fewer, exp.not_(exp.paren(exp.or_(*(exp.paren(p.shows_rows()) for p in parts))))))
    if not may:
        return None
    outputs = [(f"own_{key}", shows[name]) for key, (name, _) in zip(keys, node.groups, strict=True)]
    outputs += [(f"own_{p.i}", shows[name]) for p, (name, _) in zip(parts, node.aggregates, strict=True)]
    candidates = Filter(changes, Expr.of(exp.or_(*(exp.paren(m) for m, _ in may))))
    equalities = tuple((column(key), column(f"own_{key}"), True) for key in keys)
    both = Join(candidates, Scan(own.name, "own", tuple(outputs), Time.BEFORE), equalities, None)
    falls = Filter(both, Expr.of(exp.or_(*(exp.paren(exp.and_(m, exp.paren(f))) for m, f in may))))
    return Project(falls, passed(keys) or ((KEY.format(0), integer(1)),))


def _summed(value: exp.Expression) -> Expr:
    """SUM, and 0 over no rows."""
    return Expr.of(_or_zero(exp.Sum(this=value)))


def _column(name: str) -> exp.Expression:
    return column(name).tree.copy()


def _zero() -> exp.Expression:
    return exp.Literal.number(0)


def _or_zero(value: exp.Expression) -> exp.Expression:
    return exp.Coalesce(this=value, expressions=[_zero()])


def _is_null(value: exp.Expression) -> exp.Expression:
    return exp.Is(this=value.copy(), expression=exp.Null())


def _is_known(value: exp.Expression) -> exp.Expression:
    return exp.Not(this=_is_null(value))
