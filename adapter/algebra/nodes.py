"""What a model means: relational algebra over bags, as frozen nodes that cannot be built wrongly.

A change plan is made of the same nodes; only its scans carry a time. Column names are unique within a node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from enum import Enum
from functools import cached_property
from itertools import chain

from ..errors import Bug
from ..names import WEIGHT
from .expressions import FALSE, Expr


class Time(Enum):
    """Which state of a source a scan reads. A model's own plan has no time; a change plan has nothing else."""

    UNDATED = "undated"
    BEFORE = "before"
    AFTER = "after"


class JoinKind(Enum):
    """What a join keeps. Of the last two, only columns of the left side."""

    INNER = "inner"
    LEFT = "left"
    SEMI = "left semi"
    ANTI = "left anti"

    @property
    def shows_right(self) -> bool:
        return self in (JoinKind.INNER, JoinKind.LEFT)


class Node:
    """A relation. `columns` are the names of its columns in order; `children` the relations it is made of."""

    @property
    def columns(self) -> tuple[str, ...]:
        raise NotImplementedError

    @property
    def children(self) -> tuple[Node, ...]:
        return ()

    @cached_property
    def column_set(self) -> frozenset[str]:
        """The same columns, to look one up."""
        return frozenset(self.columns)

    @cached_property
    def has_groups(self) -> bool:
        """Whether a row of it may take more than one row of an input: only then does asking for some keys save more
        than a join does."""
        return is_keyed(self) or any(child.has_groups for child in self.children)

    @cached_property
    def leaves(self) -> tuple[tuple[str, Time | None], ...]:
        """The relations it reads, each once: tables with the time at which they are read, others without."""
        return tuple(dict.fromkeys(chain.from_iterable(child.leaves for child in self.children)))

    @cached_property
    def leaves_read(self) -> tuple[tuple[str, Time | None], ...]:
        """Those that rows of are read: of the others it has but their columns' types."""
        return tuple(dict.fromkeys(chain.from_iterable(child.leaves_read for child in self.children)))

    @cached_property
    def scan_count(self) -> int:
        """How many scans it is made of, one that stands in it twice counted twice."""
        return sum(child.scan_count for child in self.children)

    def _require(self, needed: frozenset[str], existing: frozenset[str], what: str) -> None:
        if missing := needed - existing:
            raise Bug(
                f"{type(self).__name__}: {what} reads {sorted(missing)}, which its input does not have.",
                why=f"existing columns: {', '.join(sorted(existing)) or 'none'}",
            )

    def _require_unique(self) -> None:
        if len(self.column_set) != len(self.columns):
            raise Bug(f"{type(self).__name__}: column names are not unique: {', '.join(self.columns)}")


@dataclass(frozen=True)
class Scan(Node):
    """A base table. outputs: (name in the plan, column of the table); alias: the name the model's author gave it."""

    source: str
    alias: str
    outputs: tuple[tuple[str, str], ...]
    time: Time = Time.UNDATED

    def __post_init__(self) -> None:
        self._require_unique()

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.outputs)

    @property
    def leaves(self) -> tuple[tuple[str, Time | None], ...]:
        return ((self.source, self.time),)

    @property
    def leaves_read(self) -> tuple[tuple[str, Time | None], ...]:
        return self.leaves

    @property
    def scan_count(self) -> int:
        return 1


@dataclass(frozen=True)
class Named(Node):
    """A relation that an earlier step of the change plan has computed and named."""

    name: str
    names: tuple[str, ...]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.names

    @property
    def leaves(self) -> tuple[tuple[str, Time | None], ...]:
        return ((self.name, None),)

    @property
    def leaves_read(self) -> tuple[tuple[str, Time | None], ...]:
        return self.leaves


@dataclass(frozen=True)
class Unit(Node):
    """One row without columns: the input of a SELECT that has no FROM."""

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True)
class Filter(Node):
    """Rows for which the predicate is true. Linear."""

    child: Node
    predicate: Expr

    def __post_init__(self) -> None:
        self._require(self.predicate.columns, self.child.column_set, "the predicate")

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.child.columns

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.child,)

    @cached_property
    def leaves_read(self) -> tuple[tuple[str, Time | None], ...]:
        return () if self.predicate == FALSE else self.child.leaves_read


@dataclass(frozen=True)
class Project(Node):
    """Computed columns, one row for each row. Linear."""

    child: Node
    outputs: tuple[tuple[str, Expr], ...]

    def __post_init__(self) -> None:
        for name, e in self.outputs:
            self._require(e.columns, self.child.column_set, f"column {name}")
        self._require_unique()

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.outputs)

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.child,)


@dataclass(frozen=True)
class UnionAll(Node):
    """All rows of all inputs, by position; the first input names the columns. Linear."""

    inputs: tuple[Node, ...]

    def __post_init__(self) -> None:
        if any(len(i.columns) != len(self.columns) for i in self.inputs):
            raise Bug("UnionAll: its inputs do not have the same number of columns.")

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.inputs[0].columns

    @property
    def children(self) -> tuple[Node, ...]:
        return self.inputs


@dataclass(frozen=True)
class AsOf:
    """What makes a join a temporal one: the right side holds versions, of which those of one key never overlap.

    time: of a row of the left side, over its columns; None for the time at which it is processed. valid_from, valid_to:
    columns of the right side, between which, half-open, a version is valid; the join's condition says so too. single:
    whether a row meets one version at most. kept: a row keeps what it met when it was joined, whatever versions come
    later; always so at processing time. of_change: the right side is a change of versions, of which more than one of a
    key may be valid at a time.
    """

    time: Expr | None
    valid_from: str = ""
    valid_to: str = ""
    single: bool = True
    kept: bool = False
    of_change: bool = False

    def changed(self) -> AsOf:
        """The same join with a change of the versions in their place."""
        return replace(self, single=False, of_change=True)


@dataclass(frozen=True)
class Join(Node):
    """Pairs of rows that satisfy every condition; no condition is a cross join. Bilinear if INNER.

    The other kinds, linear in their left side alone: LEFT keeps rows of the left side that have no partner, with NULLs;
    SEMI keeps the rows of the left side that have a partner, ANTI those that have none.
    equalities: (left expression, right expression, null-safe?); residual: any further condition; as_of: set on a
    temporal join, whose meaning is that of its conditions.
    """

    left: Node
    right: Node
    equalities: tuple[tuple[Expr, Expr, bool], ...] = ()
    residual: Expr | None = None
    kind: JoinKind = JoinKind.INNER
    as_of: AsOf | None = None

    def __post_init__(self) -> None:
        for l, r, _ in self.equalities:
            self._require(l.columns, self.left.column_set, "the left side of an equality")
            self._require(r.columns, self.right.column_set, "the right side of an equality")
        if self.residual is not None:
            self._require(self.residual.columns, self.left.column_set | self.right.column_set, "the join condition")
        if len(set(self.met)) != len(self.met):
            raise Bug(f"Join: column names are not unique: {', '.join(self.met)}")

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.met if self.kind.shows_right else self.left.columns

    @cached_property
    def met(self) -> tuple[str, ...]:
        """The columns that its conditions can read."""
        return self.left.columns + self.right.columns

    @cached_property
    def asked(self) -> frozenset[str]:
        """The columns that its conditions do read."""
        conditions = [e for l, r, _ in self.equalities for e in (l, r)]
        conditions += [self.residual] if self.residual is not None else []
        return frozenset().union(*(e.columns for e in conditions))

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.left, self.right)


@dataclass(frozen=True)
class Semi(Node):
    """Rows of `child` whose key is in `keys`, NULLs equal. Pairs: (expression over child, column of keys)."""

    child: Node
    keys: Named
    pairs: tuple[tuple[Expr, str], ...]

    def __post_init__(self) -> None:
        for e, key in self.pairs:
            self._require(e.columns, self.child.column_set, "the key")
            self._require(frozenset({key}), self.keys.column_set, "the key set")

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.child.columns

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.child, self.keys)


@dataclass(frozen=True)
class TimeWindow:
    """What makes the groups of an aggregate windows of event time. Lengths are in microseconds.

    at: the time of a row, over the aggregate's input; size: of a window, of a session its gap; end: over its groups,
    and past: by how much the window ends later than that; session: whether rows make windows, of which `start` says
    where they begin; else a window is there whatever rows it has.
    """

    at: Expr
    size: int
    end: Expr
    past: int
    session: bool = False
    start: Expr | None = None


@dataclass(frozen=True)
class Aggregate(Node):
    """One row for each group; without groups exactly one row; without aggregates the distinct groups. Keyed.

    over: set where the groups are windows of event time, whose meaning is that of its groups.
    """

    child: Node
    groups: tuple[tuple[str, Expr], ...]
    aggregates: tuple[tuple[str, Expr], ...] = ()
    over: TimeWindow | None = None

    def __post_init__(self) -> None:
        for name, e in self.groups + self.aggregates:
            self._require(e.columns, self.child.column_set, f"column {name}")
        self._require_unique()
        if not self.columns:
            raise Bug("Aggregate: it has neither groups nor aggregates.")

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.groups + self.aggregates)

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.child,)


@dataclass(frozen=True)
class Window(Node):
    """Every row with further columns, each computed over the rows that agree on all of `partition`. Keyed.

    calls: (name, window expression, complete with its partition, order and frame).
    """

    child: Node
    partition: tuple[Expr, ...]
    calls: tuple[tuple[str, Expr], ...]

    def __post_init__(self) -> None:
        for name, e in (*(("the partition", e) for e in self.partition), *self.calls):
            self._require(e.columns, self.child.column_set, name)
        self._require_unique()

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return (*self.child.columns, *(name for name, _ in self.calls))

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.child,)


@dataclass(frozen=True)
class Generate(Node):
    """Each row once for every row that a generator makes of it, which shows as the columns `made`. Linear.

    call: explode, posexplode, inline and their like; outer: a row of which nothing is made is kept, with NULLs.
    """

    child: Node
    call: Expr
    made: tuple[str, ...]
    outer: bool = False

    def __post_init__(self) -> None:
        self._require(self.call.columns, self.child.column_set, "the generator")
        self._require_unique()

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return (*self.child.columns, *self.made)

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.child,)


def weighted(names: tuple[str, ...]) -> tuple[str, ...]:
    """The columns of a change of a relation that has these columns."""
    return (*names, WEIGHT)


def walk(node: Node) -> list[Node]:
    """The node and everything below it, each before its children."""
    found, waiting = [], [node]
    while waiting:
        found.append(waiting.pop())
        waiting.extend(reversed(found[-1].children))
    return found


def expressions(node: Node) -> Iterator[Expr]:
    """Those that stand in a node itself."""
    return _within(getattr(node, f.name) for f in fields(node))  # type: ignore[arg-type]


def _within(values: Iterable[object]) -> Iterator[Expr]:
    for value in values:
        if isinstance(value, Expr):
            yield value
        elif isinstance(value, tuple):
            yield from _within(value)


def is_keyed(node: Node) -> bool:
    """Whether its own law of change is that of independent results, one for each key."""
    return isinstance(node, Aggregate | Window) or (isinstance(node, Join) and node.kind is not JoinKind.INNER)


def scans(node: Node) -> list[Scan]:
    return [n for n in walk(node) if isinstance(n, Scan)]
