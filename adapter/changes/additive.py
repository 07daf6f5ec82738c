"""γ(R⁺) = γ(R⁻) ⊕ γ(ΔR): what came and left is added to the table's own rows, and nothing of R is read.

COUNT and SUM add up; MIN and MAX take a new extremum. Only where the change itself cannot tell is a group computed
again from R (a falling group): its last row may have left and no COUNT(*) says so, its last value that is not NULL may
have left a SUM, or its extremum has left and nothing at least as good has come. Sums over floating point are never
added: in another order they are another number.

Relations of a plan by this law name their columns by position, so that no name of the user's can be in the way:
key_i for the groups; for the i-th aggregate of_i what it reads, if_i its FILTER, add_i what is added, known_i how many
values that are not NULL it won or lost, lost_i the best value it lost.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from ..algebra.expressions import Expr, cast, column, columns, integer
from ..algebra.nodes import Aggregate, Filter, Named, Node, Project, Scan, Semi, Time, UnionAll, Unit
from ..names import WEIGHT
from .derivation import KEY, Derivation, at, net, passed
from .differentiate import change
from .restrict import restrict
from .simplify import simplify

EXACT_SUMS = re.compile(r"bigint|decimal\((\d|1\d|2[0-8]),\d+\)")
"""Types of a SUM that is the same in any order. Beyond decimal(28) a value times its copies could lose digits."""

ORDERED = re.compile(r"(tiny|small|big)?int|decimal\(\d+,\d+\)|string|date|timestamp(_ntz)?|boolean")
"""Types whose least and greatest value are one value."""

ROWS_NET = "rows_net"
"""How many rows a group won or lost."""


@dataclass(frozen=True)
class Own:
    """The table that is maintained, as a relation. name: in Spark SQL; types: column -> Spark type."""

    name: str
    types: Mapping[str, str]


@dataclass(frozen=True)
class Added:
    """rows: what the groups in `touched` have now, as columns of the model; key: the columns of the groups, in the
    order of the columns of `touched`; falling: the relation of groups that are computed again, None if none ever is."""

    rows: Node
    touched: Named
    key: tuple[str, ...]
    falling: str | None


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
        known = [exp.Not(this=exp.Is(this=of, expression=exp.Null()))] if self.of is not None else []
        if self.call is exp.Count:
            return [(self.add, _summed(self._if(weight, *known)))]
        if self.call is exp.Sum:
            # A decimal keeps its digits next to an INT; an integer needs the BIGINT that a weight is.
            copies = exp.cast(weight, "int") if self.type.startswith("decimal") else weight
            value = self._if(exp.Mul(this=of, expression=copies))
            total = Expr.of(exp.Sum(this=value))
            return [(self.add, total), (f"known_{self.i}", _summed(self._if(weight, *known)))]
        zero = exp.Literal.number(0)
        gained = self._if(of, exp.GT(this=weight, expression=zero))
        lost = self._if(of, exp.LT(this=weight, expression=zero))
        return [(self.add, Expr.of(self.call(this=gained))), (f"lost_{self.i}", Expr.of(self.call(this=lost)))]

    def falls(self) -> exp.Expression | None:
        """When the change of a group does not tell what its aggregate is now."""
        if self.call is exp.Count:
            return None
        if self.call is exp.Sum:
            return exp.LT(this=_column(f"known_{self.i}"), expression=exp.Literal.number(0))
        gained, lost = _column(self.add), _column(f"lost_{self.i}")
        worse = (exp.GT if self.call is exp.Min else exp.LT)(this=gained, expression=lost.copy())
        nothing_came = exp.Is(this=gained.copy(), expression=exp.Null())
        not_as_good = exp.paren(exp.or_(nothing_came, worse))
        return exp.and_(exp.Not(this=exp.Is(this=lost, expression=exp.Null())), not_as_good)

    def merged(self) -> Expr:
        """The table's value and what is added."""
        return Expr.of((exp.Sum if self.call is exp.Count else self.call)(this=_column(self.add)))

    def value(self) -> Expr:
        return cast(column(self.add), self.type) if self.call is exp.Sum else column(self.add)

    def _if(self, value: exp.Expression, *conditions: exp.Expression) -> exp.Expression:
        """The value where its FILTER and the conditions hold, else NULL."""
        met = [*([_column(f"if_{self.i}")] if self.only is not None else []), *(exp.paren(c) for c in conditions)]
        return exp.Case(ifs=[exp.If(this=exp.and_(*met), true=value.copy())]) if met else value.copy()


def added(model: Node, own: Own, d: Derivation) -> Added | None:
    """The changed groups by this law; None where the model is not aggregates that the table shows as they are."""
    found = _shown(model)
    parts = _parts(*found, own) if found else None
    if not found or not parts:
        return None
    node, shown = found
    keys = tuple(KEY.format(i) for i in range(len(node.groups)))
    names = {name: column(key) for (name, _), key in zip(node.groups, keys, strict=True)}
    if not names.keys() <= set(shown.values()):
        return None
    changes = d.keys(_changes(node, keys, parts, d), "what each group won and lost", "group_changes")
    group_columns = {inner: outer for outer, inner in reversed(shown.items())}
    key = tuple(group_columns[name] for name, _ in node.groups)
    falls = _falls(keys, parts)
    staying, rows = changes, []
    falling = None
    if falls is not None:
        falling = d.keys(_keys(Filter(changes, falls), keys), "groups that are computed again", "falling_groups")
        rows.append(restrict(at(model, Time.AFTER), columns(key) or (integer(1),), falling))
        staying = Filter(changes, Expr.of(exp.Not(this=exp.paren(falls.tree.copy()))))
    merged = _merged(node, keys, parts, staying, own, group_columns, d)
    values = names | {name: p.value() for (name, _), p in zip(node.aggregates, parts, strict=True)}
    rows.append(Project(merged, tuple((outer, values[inner]) for outer, inner in shown.items())))
    touched = d.keys(_keys(changes, keys) if keys else Unit(), "groups of the changed rows", "changed_groups")
    return Added(UnionAll(tuple(rows)), touched, key, falling.name if falling else None)


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


def _falls(keys: tuple[str, ...], parts: list[Part]) -> Expr | None:
    conditions = [exp.paren(f) for f in (p.falls() for p in parts) if f is not None]
    if not _tells_rows(keys, parts):
        conditions.append(exp.LT(this=_column(ROWS_NET), expression=exp.Literal.number(0)))
    return Expr.of(exp.or_(*conditions)) if conditions else None


def _keys(changes: Node, keys: tuple[str, ...]) -> Node:
    """The groups in a relation; of a single group without columns, one row or none."""
    return Project(changes, passed(keys) or ((KEY.format(0), integer(1)),))


def _merged(
    node: Aggregate,
    keys: tuple[str, ...],
    parts: list[Part],
    staying: Node,
    own: Own,
    shown: Mapping[str, str],
    d: Derivation,
) -> Node:
    """The table's own rows of these groups and what is added to them, put together."""
    names = (*keys, *(p.add for p in parts))
    outputs = tuple(zip(names, (shown[n] for n in node.columns), strict=True))
    groups = d.keys(_keys(staying, keys), "groups whose change is enough", "staying_groups")
    pairs = tuple(zip(columns(keys) or (integer(1),), groups.columns, strict=True))
    now = Semi(Scan(own.name, "own", outputs, Time.BEFORE), groups, pairs)
    both = UnionAll((now, Project(staying, passed(names))))
    merged: Node = Aggregate(both, passed(keys), tuple((p.add, p.merged()) for p in parts))
    if not keys:
        # Without groups there is a row over no rows too: it is not wanted where the whole is computed again.
        return Semi(merged, groups, pairs)
    counted = next((p for p in parts if p.counts_rows), None)
    if counted is None:
        return merged
    return Filter(merged, Expr.of(exp.GT(this=_column(counted.add), expression=exp.Literal.number(0))))


def _summed(value: exp.Expression) -> Expr:
    """SUM, and 0 over no rows."""
    return Expr.of(exp.Coalesce(this=exp.Sum(this=value), expressions=[exp.Literal.number(0)]))


def _column(name: str) -> exp.Expression:
    return column(name).tree.copy()
