"""γ(R⁺) = γ(R⁻) ⊕ γ(ΔR): what came and left is added to the table's own rows, and nothing of R is read.

Only where change and table together cannot tell is a group computed again from R (a falling group): a SUM that lost
values and is now 0 may have none left, an extremum has left and nothing at least as good has come, or rows have left
and nothing that the table shows says that others stay. Where rows only came, no group falls, and nobody looks for one.

Relations of a plan by this law name their columns by position (key_i for the groups, and those of an accumulator), so
that no name of the user's can be in the way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from ..algebra.clock import reads
from ..algebra.expressions import Expr, column, columns, integer
from ..algebra.nodes import (
    Aggregate,
    Filter,
    Generate,
    Join,
    JoinKind,
    Named,
    Node,
    Project,
    Scan,
    Time,
    UnionAll,
    walk,
)
from ..names import PREFIX, WEIGHT
from .accumulators import Accumulator, Combine, accumulator, reference, summed, zero
from .derivation import KEY, Derivation, at, net, passed
from .differentiate import change
from .restrict import restrict
from .simplify import simplify

FALLING = "falling_groups"
"""What the relation of the groups that are computed again is called."""

ROWS_NET = "rows_net"
"""How many rows a group won or lost."""


@dataclass(frozen=True)
class Own:
    """What is added to, as a relation: the table that is maintained or, computed, one that the plan has a name for.
    name: in Spark SQL, or of the plan; types: column -> Spark type."""

    name: str
    types: Mapping[str, str]
    computed: bool = False

    def read(self, outputs: tuple[tuple[str, str], ...]) -> Node:
        """As it is before the refresh. outputs: (name in the plan, column)."""
        if self.computed:
            return Project(Named(self.name, tuple(self.types)), tuple((name, column(c)) for name, c in outputs))
        return Scan(self.name, "own", outputs, Time.BEFORE)


@dataclass(frozen=True)
class Falls:
    """When a changed group is computed again, told beside its row in the table. rows: what is added, and what the
    condition reads of the group's change; condition: over the columns of these, and of the table, which have other
    names in it; own: those names, each with the column."""

    rows: Node
    condition: Expr
    own: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Additions:
    """rows: for each changed group, what is added to the table's row, under the columns of the model; changes: the
    relation that this is read from; key: the columns of the groups; combine: in the order of the columns; counted: a
    column that is 0 exactly where a group has no rows, None if none says so; falls: where a group falls so seldom that
    whoever adds to the table may find out; None where some do more often, or none ever does."""

    rows: Node
    changes: str
    key: tuple[str, ...]
    combine: tuple[Combine, ...]
    counted: str | None
    falls: Falls | None = None


@dataclass(frozen=True)
class Added:
    """falling: the groups computed again instead, and again: their rows now; None if no group ever falls."""

    additions: Additions
    falling: Named | None
    again: Node | None


def adds_up(model: Node, own: Own) -> bool:
    """Whether this law is for the model: it is aggregates that the table shows as they are."""
    return _shown(model, own) is not None


def added(model: Node, own: Own, d: Derivation) -> Added | None:
    """What this law makes of the change; None where it is not for the model."""
    found = _shown(model, own)
    if found is None:
        return None
    node, shown, parts = found
    keys = tuple(KEY.format(i) for i in range(len(node.groups)))
    groups = {name: column(key) for (name, _), key in zip(node.groups, keys, strict=True)}
    changes = d.keys(_changes(node, keys, parts, d), "what each group won and lost", "group_changes")
    shows = {inner: outer for outer, inner in reversed(shown.items())}
    values = groups | {name: p.value() for (name, _), p in zip(node.aggregates, parts, strict=True)}
    combine = {name: p.combine for (name, _), p in zip(node.aggregates, parts, strict=True)}
    counting = _counting(keys, parts)
    additions = Additions(
        Project(changes, tuple((outer, values[inner]) for outer, inner in shown.items())),
        changes.name,
        tuple(shows[name] for name, _ in node.groups),
        tuple(combine.get(inner, Combine.GROUP) for inner in shown.values()),
        shows[node.aggregates[counting.i][0]] if counting is not None else None,
    )
    grows = d.changed <= d.grown and _only_grows(node.child)
    may = [] if grows else _may_fall(keys, parts)
    if not may:
        return Added(additions, None, None)
    outputs = [(f"own_{key}", shows[name]) for key, (name, _) in zip(keys, node.groups, strict=True)]
    outputs += [(f"own_{p.i}", shows[name]) for p, (name, _) in zip(parts, node.aggregates, strict=True)]
    falling = d.keys(_falling(keys, parts, may, changes, own, outputs), "groups that are computed again", FALLING)
    if not any(p.is_extreme for p in parts):
        additions = replace(additions, falls=_falls(keys, parts, may, changes, additions.rows, outputs))
    return Added(additions, falling, restrict(at(model, Time.AFTER), columns(additions.key) or (integer(1),), falling))


def projected(model: Node) -> tuple[Aggregate, tuple[tuple[str, Expr], ...]] | None:
    """The aggregation below projections, and the model's columns over those of it; None if that is not what it is."""
    shown = passed(model.columns)
    node = model
    while isinstance(node, Project):
        below = dict(node.outputs)
        shown = tuple((name, e.substitute(below)) for name, e in shown)
        node = node.child
    return (node, shown) if isinstance(node, Aggregate) and node.aggregates else None


def _shown(model: Node, own: Own) -> tuple[Aggregate, dict[str, str], list[Accumulator]] | None:
    """The aggregation, each column of the model -> that of the aggregation, and all aggregates."""
    found = projected(model)
    if found is None:
        return None
    node, outputs = found
    shown = {name: e.column for name, e in outputs if e.column is not None}
    parts = _parts(node, shown, own)
    if len(shown) < len(outputs) or not parts or not {name for name, _ in node.groups} <= set(shown.values()):
        return None
    return node, shown, parts


def _parts(node: Aggregate, shown: Mapping[str, str], own: Own) -> list[Accumulator] | None:
    """All aggregates, or None if one of them does not add up or is not shown."""
    types = {inner: own.types.get(outer, "") for outer, inner in shown.items()}
    parts = [accumulator(i, e.tree, types.get(name)) for i, (name, e) in enumerate(node.aggregates)]
    known = [p for p in parts if p is not None]
    return known if len(known) == len(parts) else None


def _counting(keys: tuple[str, ...], parts: list[Accumulator]) -> Accumulator | None:
    """What counts the rows of each group, if anything does."""
    return next((p for p in parts if p.counts_rows and keys), None)


def _changes(node: Aggregate, keys: tuple[str, ...], parts: list[Accumulator], d: Derivation) -> Node:
    """γ(ΔR). Of joined rows, ΔR is netted over what is grouped by and aggregated: a row that came by one side and left
    by the other was never there, and says nothing of a group or of its extrema."""
    read = [(key, e) for key, (_, e) in zip(keys, node.groups, strict=True)]
    read += [needed for part in parts for needed in part.read()]
    changed = Project(simplify(change(node.child, d)), (*read, (WEIGHT, column(WEIGHT))))
    sums = [c for part in parts for c in part.contributions()]
    rows = [] if _tells_rows(keys, parts) else [(ROWS_NET, summed(reference(WEIGHT)))]
    return Aggregate(changed if _row_by_row(node.child) else net(changed), passed(keys), (*sums, *rows))


def _row_by_row(node: Node) -> bool:
    """Whether every change of it is that of one row of a source, which is netted already: what left was there."""
    return all(map(_keeps_rows, walk(node)))


def _only_grows(node: Node) -> bool:
    """Whether no row leaves a relation unless one leaves a source: it keeps rows, and joins them, and no more."""
    return all(_keeps_rows(n) or _pairs_rows(n) for n in walk(node))


def _keeps_rows(node: Node) -> bool:
    if isinstance(node, Filter) and reads(node.predicate):
        return False
    return isinstance(node, Scan | Filter | Project | UnionAll | Generate)


def _pairs_rows(node: Node) -> bool:
    return isinstance(node, Join) and node.kind in (JoinKind.INNER, JoinKind.SEMI) and node.as_of is None


def _tells_rows(keys: tuple[str, ...], parts: list[Accumulator]) -> bool:
    """Whether it is known without ROWS_NET if a group has rows left: a COUNT(*) says it, and a single group stays."""
    return not keys or _counting(keys, parts) is not None


Case = tuple[exp.Expression, exp.Expression]
"""A condition over a group's change, under which it may fall, and one over change and own row, under which it does."""


def _may_fall(keys: tuple[str, ...], parts: list[Accumulator]) -> list[Case]:
    may = [(m, f) for p in parts if (m := p.may_fall()) is not None and (f := p.falls()) is not None]
    if not _tells_rows(keys, parts):
        fewer = exp.LT(this=reference(ROWS_NET), expression=zero())
        may.append((fewer, exp.not_(exp.paren(exp.or_(*(exp.paren(p.shows_rows()) for p in parts))))))
    return may


def _falling(
    keys: tuple[str, ...],
    parts: list[Accumulator],
    may: list[Case],
    changes: Named,
    own: Own,
    outputs: list[tuple[str, str]],
) -> Node:
    """The groups that are computed again: of those that may fall by their change, those that do beside the table's row.

    A group that lost rows is in the table, so that an inner join finds it.
    """
    candidates = Filter(changes, Expr.of(exp.or_(*(exp.paren(m) for m, _ in may))))
    equalities = tuple((column(key), column(f"own_{key}"), True) for key in keys)
    both = Join(candidates, own.read(tuple(outputs)), equalities, None)
    falls = Filter(both, _fallen(keys, parts, may))
    return Project(falls, passed(keys) or ((KEY.format(0), integer(1)),))


def _fallen(keys: tuple[str, ...], parts: list[Accumulator], may: list[Case]) -> Expr:
    met = exp.or_(*(exp.paren(exp.and_(m, exp.paren(f))) for m, f in may))
    if (counting := _counting(keys, parts)) is not None:
        # A group that has no rows left goes, whatever its other aggregates were.
        met = exp.and_(exp.paren(met), counting.shows_rows())
    return Expr.of(met)


def _falls(
    keys: tuple[str, ...],
    parts: list[Accumulator],
    may: list[Case],
    changes: Named,
    rows: Node,
    outputs: list[tuple[str, str]],
) -> Falls:
    condition = _fallen(keys, parts, may)
    assert isinstance(rows, Project)
    # Under names that no column of the model has.
    told = {name: f"{PREFIX}{name}" for name in changes.columns if name in condition.columns}
    shown = (*rows.outputs, *((new, column(name)) for name, new in told.items()))
    return Falls(
        Project(changes, shown), condition.rename(told), tuple((n, c) for n, c in outputs if n in condition.columns)
    )
