"""γ(R⁺) = γ(R⁻) ⊕ γ(ΔR): what came and left is added to the table's own rows, and nothing of R is read.

To COUNT(DISTINCT e) is added what Δδ(R) says, δ over group and e: of R, the rows that are equal to a changed one in
both tell whether a value came to its group, or left it.

Only where change and table together cannot tell is a group computed again from R (a falling group): a SUM that lost
values and is now 0 may have none left, an extremum has left and nothing at least as good has come, or rows have left
and nothing that the table shows says that others stay. Where rows only came, no group falls, and nobody looks for one.

Relations of a plan by this law name their columns by position (key_i for the groups, and those of an accumulator), so
that no name of the user's can be in the way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..algebra.expressions import Expr, column, columns, integer
from ..algebra.nodes import (
    Aggregate,
    Named,
    Node,
    Project,
    Scan,
    Time,
    UnionAll,
    walk,
)
from ..algebra.shown import Shown
from ..names import WEIGHT
from .accumulators import Accumulator, Combine, accumulator, reference, summed
from .derivation import KEY, Derivation, at, keeps_rows, net, passed
from .differentiate import change
from .falling import ROWS_NET, BesideOwn, Falls, counting_rows, tells_rows
from .padded import padded_apart
from .restrict import restrict
from .simplify import simplify

FALLING = "falling_groups"
"""What the relation of the groups that are computed again is called."""


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
class Additions:
    """rows: for each changed group, what is added to the table's row, under the columns of the model; changes: the
    relation that this is read from; key: the columns of the groups; combine: in the order of the columns; counted: a
    column that is 0 exactly where a group has no rows, None if none says so; falls: when a group falls, which whoever
    adds to the table may find out; None where none ever does."""

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

    @property
    def falls_easily(self) -> bool:
        return self.additions.falls is not None and self.additions.falls.easily


def adds_up(model: Node, own: Own) -> bool:
    """Whether this law is for the model: it is aggregates that the table shows as they are."""
    return _shown(model, own) is not None


def added(model: Node, own: Own, d: Derivation) -> Added | None:
    """What this law makes of the change; None where it is not for the model."""
    found = _shown(model, own)
    if found is None:
        return None
    node, shown, parts = found
    rows = padded_apart(node).child
    keys = tuple(KEY.format(i) for i in range(len(node.groups)))
    groups = {name: column(key) for (name, _), key in zip(node.groups, keys, strict=True)}
    changes = d.keys(_changes(node, rows, keys, parts, d), "what each group won and lost", "group_changes")
    shows = {inner: outer for outer, inner in reversed(shown.items())}
    values = groups | {name: p.value() for (name, _), p in zip(node.aggregates, parts, strict=True)}
    combine = {name: p.combine for (name, _), p in zip(node.aggregates, parts, strict=True)}
    counting = counting_rows(keys, parts)
    additions = Additions(
        Project(changes, tuple((outer, values[inner]) for outer, inner in shown.items())),
        changes.name,
        tuple(shows[name] for name, _ in node.groups),
        tuple(combine.get(inner, Combine.GROUP) for inner in shown.values()),
        shows[node.aggregates[counting.i][0]] if counting is not None else None,
    )
    beside = BesideOwn(keys, tuple(parts), tuple(shows[name] for name in node.columns))
    if not beside.cases or d.only_grows(rows):
        return Added(additions, None, None)
    falling = d.keys(beside.falling(changes, own.read(beside.own)), "groups that are computed again", FALLING)
    additions = replace(additions, falls=beside.falls(changes, additions.rows))
    return Added(additions, falling, restrict(at(model, Time.AFTER), columns(additions.key) or (integer(1),), falling))


def projected(model: Node) -> tuple[Aggregate, tuple[tuple[str, Expr], ...]] | None:
    """The aggregation below projections, and the model's columns over those of it; None if that is not what it is."""
    shown = Shown.by(model)
    if shown.asked or not isinstance(shown.node, Aggregate) or not shown.node.aggregates:
        return None
    return shown.node, tuple(shown.of.items())


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


def _changes(node: Aggregate, rows: Node, keys: tuple[str, ...], parts: list[Accumulator], d: Derivation) -> Node:
    """γ(ΔR). rows: R, or what has the same groups. Of joined rows, ΔR is netted over what is grouped by and aggregated:
    a row that came by one side and left by the other was never there, and says nothing of a group or of its extrema.
    Values that are counted once are rows of their own."""
    groups = tuple((key, e) for key, (_, e) in zip(keys, node.groups, strict=True))
    read = [needed for part in parts for needed in part.read()]
    changed = Project(simplify(change(rows, d)), (*groups, *read, (WEIGHT, column(WEIGHT))))
    told: list[Node] = [changed if _row_by_row(rows) else net(changed)]
    told += [_values(part, parts, groups, node.child, d) for part in parts if part.once]
    sums = [c for part in parts for c in part.contributions()]
    rows = [] if tells_rows(keys, parts) else [(ROWS_NET, summed(reference(WEIGHT)))]
    return Aggregate(UnionAll(tuple(told)) if len(told) > 1 else told[0], passed(keys), (*sums, *rows))


def _values(
    part: Accumulator, parts: list[Accumulator], groups: tuple[tuple[str, Expr], ...], rows: Node, d: Derivation
) -> Node:
    """What COUNT(DISTINCT …) wins and loses, Δδ(R), as rows of what all the parts read."""
    values = simplify(change(part.values(groups, rows), d))
    read = ((name, part.value_for(p)) for p in parts for name, _ in p.read())
    return Project(values, (*passed(tuple(key for key, _ in groups)), *read, (WEIGHT, integer(0))))


def _row_by_row(node: Node) -> bool:
    """Whether every change of it is that of one row of a source, which is netted already: what left was there."""
    return all(map(keeps_rows, walk(node)))
