"""The state of one derivation: which sources changed, and the relations that the plan computes once and names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from ..algebra.clock import at_time, reads
from ..algebra.equal_values import of_several, told_by
from ..algebra.expressions import FALSE, Expr, column, columns, integer
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
    scans,
    walk,
    weighted,
)
from ..algebra.transform import remembered, with_children
from ..names import WEIGHT, free_name
from .column_types import Types

ONE, MINUS_ONE = integer(1), integer(-1)

CHANGE, ROWS = "result_change", "result_rows"
"""What a plan's result is called; a source called `result` gets another name for its own change."""

KEY = "key_{}"
"""The columns of a key set: key_0, key_1, … in the order of the expressions it was made for."""


@dataclass(frozen=True)
class Binding:
    """A relation computed before what reads it. why: one clause, shown beside the generated SQL; types: of its columns
    in lower case, where somebody asks what they say of other tables'."""

    name: str
    node: Node
    why: str
    types: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Feed:
    """The net change of one source: its rows (the columns any scan needs), and `WEIGHT`."""

    name: str
    source: str
    columns: tuple[str, ...]

    @property
    def named(self) -> Named:
        return Named(self.name, weighted(self.columns))

    @property
    def why(self) -> str:
        return f"rows that came to {self.source} (+) and left it (-), equal ones put together"


@dataclass
class Derivation:
    """changed: the sources that have a change between before and after, `CLOCK` among them if it moved; large: sources
    of which what is asked for at both times is read once; types: of their columns; grown: of the changed ones, those
    that no row left; few: whether so few rows changed that joins begin at them. A model is derived with one of
    these."""

    model: Node
    changed: frozenset[str]
    large: frozenset[str] = frozenset()
    types: Types = field(default_factory=dict)
    grown: frozenset[str] = frozenset()
    few: bool = False
    feeds: dict[str, Feed] = field(default_factory=dict)
    bindings: list[Binding] = field(default_factory=list)

    def __post_init__(self) -> None:
        # Every source has its name, changed or not: a feed is called the same whatever else changed with it.
        read: dict[str, set[str]] = {}
        for scan in scans(self.model):
            read.setdefault(scan.source, set()).update(c for _, c in scan.outputs)
        for source, needed in sorted(read.items()):
            self.feeds[source] = Feed(self.free_name(f"{short_name(source)}_change"), source, tuple(sorted(needed)))

    def free_name(self, name: str) -> str:
        """The name, or with a number behind it where a relation of this plan has it already."""
        return free_name(name, {CHANGE, ROWS, *(r.name.lower() for r in (*self.feeds.values(), *self.bindings))})

    def keys(self, affected: Node, why: str, name: str = "changed_keys") -> Named:
        """A small relation that the plan reads more than once, most often a set of keys, under a name."""
        known = next((b for b in self.bindings if b.node == affected), None) or self.bound(name, affected, why)
        return Named(known.name, affected.columns)

    def bound(self, name: str, node: Node, why: str) -> Binding:
        """One more relation of the plan, under that name or, where it is taken, one like it."""
        self.bindings.append(Binding(self.free_name(name), node, why))
        return self.bindings[-1]

    def reads_large(self, node: Node) -> bool:
        """Whether a relation is made of a large source."""
        return any(source in self.large for source, _ in node.leaves)

    def only_grows(self, node: Node) -> bool:
        """Whether no row left a relation: none left a source, and it keeps rows, and joins them, and no more."""
        return self.changed <= self.grown and all(keeps_rows(n) or _pairs_rows(n) for n in walk(node))

    def feed(self, scan: Scan) -> Node:
        """The change of a scan; of a source that did not change, no rows."""
        if scan.source not in self.changed:
            return nothing(with_weight(at(scan, Time.AFTER), ONE))
        outputs = (*((name, column(c)) for name, c in scan.outputs), (WEIGHT, column(WEIGHT)))
        return Project(self.feeds[scan.source].named, outputs)


def types_of_feeds(feeds: Iterable[Feed], types: Types) -> Mapping[str, Mapping[str, str]]:
    """Of the columns of each, those of its source."""
    return {f.name: types.get(f.source, {}) for f in feeds}


def keeps_rows(node: Node) -> bool:
    """Whether each row of it is made of one row below it, and goes only with that."""
    if isinstance(node, Filter) and reads(node.predicate):
        return False
    return isinstance(node, Scan | Filter | Project | UnionAll | Generate)


def _pairs_rows(node: Node) -> bool:
    if not isinstance(node, Join) or node.as_of is not None:
        return False
    return node.kind in (JoinKind.INNER, JoinKind.SEMI) or (node.kind is JoinKind.LEFT and not node.right.leaves_read)


def short_name(source: str) -> str:
    """What relations made of a source are called after."""
    return "".join(c if c.isalnum() else "_" for c in source.split(".")[-1]).lower()


@remembered
def at(node: Node, time: Time) -> Node:
    """The relation with all its scans, and the clock, at one time: before(T) or after(T)."""
    if isinstance(node, Scan):
        return replace(node, time=time)
    dated = with_children(node, tuple(at(child, time) for child in node.children))
    return replace(dated, predicate=at_time(node.predicate, time)) if isinstance(node, Filter) else dated


def with_weight(node: Node, weight: Expr) -> Node:
    """The rows of a relation as a change, each with the same weight."""
    return Project(node, (*passed(node.columns), (WEIGHT, weight)))


def nothing(node: Node) -> Node:
    """No rows, but the columns and types of `node`."""
    return Filter(node, FALSE)


def is_nothing(node: Node) -> bool:
    return isinstance(node, Filter) and node.predicate == FALSE


def passed(names: tuple[str, ...]) -> tuple[tuple[str, Expr], ...]:
    return tuple(zip(names, columns(names), strict=True))


def net(signed: Node, types: Mapping[str, str] | None = None) -> Node:
    """The same rows with their weights summed; those that cancel are gone.

    types: of the columns, as far as they are known, in lower case. Of others, equal rows count as the same."""
    weight = column(WEIGHT).tree
    names = tuple(c for c in signed.columns if c != WEIGHT)
    summed = together(signed, names, ((WEIGHT, Expr.of(exp.Sum(this=weight.copy()))),), types or {})
    return Filter(summed, Expr.of(exp.NEQ(this=weight.copy(), expression=exp.Literal.number(0))))


def together(
    rows: Node, names: tuple[str, ...], values: tuple[tuple[str, Expr], ...], types: Mapping[str, str]
) -> Node:
    """One row for those that are the same in some columns, with aggregates of them. types: as in `net`."""
    several = of_several(names, types)
    groups, shown = list(passed(tuple(c for c in names if c not in several))), []
    for c, data_type in several.items():
        value = column(c).tree
        for by in told_by(value, data_type):
            taken = {n.lower() for n in (*rows.columns, *dict(groups))}
            groups.append((free_name(KEY.format(len(groups)), taken), Expr.of(by)))
        shown.append((c, Expr.of(exp.AnyValue(this=value.copy()))))
    grouped = Aggregate(rows, tuple(groups), (*shown, *values))
    return Project(grouped, passed((*names, *dict(values)))) if several else grouped


def distinct(node: Node) -> Node:
    return Aggregate(node, passed(node.columns))
