"""Random plans: every operator a model may have, nested in any order, over three small sources.

All columns are integers, because a law of change never looks at a type. Names are reused on purpose: a
projection may swap two names, and one of them looks like a name that change plans use themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from hypothesis import strategies as st
from sqlglot import exp

from dbt_spark_dynamic.algebra.expressions import Expr, column, columns, integer
from dbt_spark_dynamic.algebra.nodes import (
    Aggregate,
    AsOf,
    Filter,
    Generate,
    Join,
    JoinKind,
    Node,
    Project,
    Scan,
    UnionAll,
    Unit,
    Window,
    walk,
)
from dbt_spark_dynamic.dialect import Clock

from .states import SOURCES

NAMES = ("k", "x", "y", "z", "key_0")

Outputs = tuple[tuple[str, Expr], ...]


T = TypeVar("T")


def pick(draw: st.DrawFn, options: Sequence[T]) -> T:
    """One of them, the first being the simplest. Quicker than sampled_from, of which each call makes a new strategy."""
    return options[draw(st.integers(0, len(options) - 1))]


def one_in(draw: st.DrawFn, n: int) -> bool:
    """True once in so many times."""
    return draw(st.integers(0, n - 1)) == n - 1


@dataclass(frozen=True)
class Size:
    """nodes: operators above the scans; joins: how many of them may multiply rows."""

    nodes: int = 5
    joins: int = 2


@st.composite
def plans(draw: st.DrawFn, size: Size = Size()) -> Node:
    """Any plan of at most so many operators."""
    if size.nodes <= 0:
        return draw(_leaves())
    shapes = [_filters, _projects, _aggregates, _aggregates, _unions, _windows, _generates, _scan_only]
    if size.joins > 0:
        shapes += [_joins, _joins]
    return draw(pick(draw, shapes)(size))


@st.composite
def grouped_plans(draw: st.DrawFn) -> tuple[Node, tuple[str, ...]]:
    """Groups over a plan without groups, then any HAVING and any projection that shows all groups; and their names."""
    below = draw(plans(Size(3, 1)).filter(lambda p: not any(isinstance(n, Aggregate) for n in walk(p))))
    groups = draw(_group_exprs(below, at_least=1))
    node: Node = Aggregate(below, groups, draw(_aggregate_calls(below, tuple(n for n, _ in groups))))
    if one_in(draw, 2):
        node = Filter(node, draw(conditions(node.columns)))
    shown = dict(zip((n for n, _ in groups), ("g", "h"), strict=False))
    more = tuple((f"m{i}", draw(scalars(node.columns))) for i in range(draw(st.integers(0, 2))))
    node = Project(node, tuple((new, column(old)) for old, new in shown.items()) + more)
    return node, tuple(shown.values())


@st.composite
def grouped_joins(draw: st.DrawFn) -> Node:
    """Groups or partitions of a join of joins, by what rows are joined by and most often by more."""
    below: Node = draw(_joins(Size(5, 3)).filter(lambda join: bool(join.equalities)))
    assert isinstance(below, Join)
    joined = [e for l, r, _ in below.equalities for e in (l, r) if e.columns <= below.column_set]
    by = (pick(draw, joined), *(_operand(draw, below.columns) for _ in range(pick(draw, (1, 0, 2)))))
    if one_in(draw, 4):
        below = Filter(below, draw(predicates(below.columns)))
    if one_in(draw, 3):
        return Window(below, by, (("w", draw(_window_call(below.columns, by))),))
    groups = tuple((f"g{i}", e) for i, e in enumerate(by))
    return Aggregate(below, groups, draw(_aggregate_calls(below, tuple(n for n, _ in groups))))


@st.composite
def summed_plans(draw: st.DrawFn) -> Node:
    """COUNT (of DISTINCT values too), COUNT_IF, SUM, MIN and MAX over any plan, by groups or not, under projections
    that rename and reorder."""
    below = draw(plans(Size(3, 1)))
    groups = draw(_group_exprs(below, at_least=0))
    count = draw(st.integers(1, 3))
    calls = tuple((f"a{i}", draw(_summing_call(below.columns))) for i in range(count))
    node: Node = Aggregate(below, groups, calls)
    for prefix in ("p", "q")[: draw(st.integers(0, 2))]:
        shown = _some(draw, node.columns, len(node.columns))
        # A column may be shown twice.
        shown += (shown[0],) if one_in(draw, 3) else ()
        node = Project(node, tuple((f"{prefix}{i}", column(n)) for i, n in enumerate(shown)))
    return node


@st.composite
def filtered_left_joins(draw: st.DrawFn) -> Node:
    """Joins of any kind over left joins, with conditions above them and between."""
    node: Node = draw(plans(Size(1, 0)))
    for _ in range(pick(draw, (1, 2, 3))):
        other = _disjoint(draw(plans(Size(1, 0))), node.columns)
        sides = (other, node) if one_in(draw, 4) else (node, other)
        kind = pick(draw, (JoinKind.LEFT, JoinKind.LEFT, *JoinKind))
        by = ((_operand(draw, sides[0].columns), _operand(draw, sides[1].columns), one_in(draw, 3)),)
        node = Join(*sides, by, draw(predicates(node.columns + other.columns)) if one_in(draw, 3) else None, kind)
        if one_in(draw, 2):
            node = Filter(node, draw(predicates(node.columns)))
        if one_in(draw, 4):
            node = Project(node, tuple((name, draw(scalars(node.columns))) for name in node.columns))
    return Filter(node, draw(predicates(node.columns)))


@st.composite
def groups_of_left_joins(draw: st.DrawFn) -> Aggregate:
    """Groups of the left side of one left join or two, whose aggregates do not see rows without a partner beside rows
    that have one."""
    rows: Node = draw(plans(Size(1, 0)).filter(lambda p: not p.has_groups))
    left, before, absent = rows.columns, rows.columns, tuple[str, ...]()
    for joined in range(pick(draw, (1, 1, 2))):
        if joined and one_in(draw, 2):
            # The next one's right side may show the names that were.
            renamed = {name: f"s{i}" for i, name in enumerate(rows.columns)}
            rows = Project(rows, tuple((new, column(name)) for name, new in renamed.items()))
            left = tuple(renamed[name] for name in left)
        before = rows.columns
        right = _disjoint(draw(plans(Size(1, 0))), rows.columns)
        by = tuple(
            (_operand(draw, left), _operand(draw, right.columns), one_in(draw, 3)) for _ in range(pick(draw, (1, 2)))
        )
        residual = draw(predicates(rows.columns + right.columns)) if one_in(draw, 4) else None
        rows, absent = Join(rows, right, by, residual, JoinKind.LEFT), right.columns
    if one_in(draw, 3):
        rows = Filter(rows, draw(predicates(left)))
    if one_in(draw, 3):
        rows = Project(rows, tuple((name, column(name)) for name in rows.columns))
    groups = tuple((f"g{i}", _operand(draw, left)) for i in range(pick(draw, (1, 2, 0))))
    calls = tuple((f"a{i}", draw(_unseen_call(left, before, absent))) for i in range(pick(draw, (1, 2, 3))))
    return Aggregate(rows, groups, calls)


@st.composite
def _unseen_call(draw: st.DrawFn, left: tuple[str, ...], before: tuple[str, ...], absent: tuple[str, ...]) -> Expr:
    """left: columns of the left side of all; before: of that of the last join; absent: of its right side."""
    mine, theirs = _operand(draw, left).tree.copy(), column(pick(draw, absent)).tree.copy()
    either = draw(scalars(left + absent)).tree.copy()
    zero, met = exp.Literal.number(0), exp.EQ(this=theirs, expression=exp.Literal.number(1))
    one_or_zero = exp.Case(ifs=[exp.If(this=met, true=exp.Literal.number(1))], default=zero)
    only = exp.Where(this=exp.And(this=met, expression=exp.paren(draw(predicates(left + absent)).tree.copy())))
    calls: list[exp.Expression] = [
        exp.Count(this=theirs),
        exp.Sum(this=exp.Mul(this=theirs, expression=exp.paren(either))),
        exp.Max(this=theirs),
        exp.Min(this=mine),
        exp.Max(this=draw(scalars(before)).tree.copy()),
        exp.Count(this=exp.Distinct(expressions=[mine])),
        exp.Count(this=exp.Distinct(expressions=[theirs, mine])),
        exp.Sum(this=exp.Coalesce(this=theirs, expressions=[zero])),
        exp.Sum(this=one_or_zero),
        exp.CountIf(this=met),
        exp.Filter(this=exp.Count(this=exp.Star()), expression=only),
        exp.Filter(this=exp.Sum(this=either), expression=only),
    ]
    return Expr.of(pick(draw, calls))


@st.composite
def plans_over_groups(draw: st.DrawFn) -> Node:
    """Conditions, expressions and windows over the groups of one aggregation that adds up."""
    node = draw(summed_plans())
    for _ in range(pick(draw, (1, 2, 3))):
        kind = pick(draw, (0, 1, 2))
        if kind == 0:
            node = Filter(node, draw(predicates(node.columns)))
        elif kind == 1:
            node = Project(node, tuple((n, draw(scalars(node.columns))) for n in _some(draw, NAMES)))
        else:
            node = _windowed(draw, node)
    return node


@st.composite
def _summing_call(draw: st.DrawFn, names: tuple[str, ...]) -> Expr:
    of = _operand(draw, names).tree.copy()
    calls = [exp.Count(this=exp.Star()), exp.Sum(this=of), exp.Count(this=of), exp.Min(this=of), exp.Max(this=of)]
    call: exp.Expression = pick(draw, calls)
    if one_in(draw, 6):
        call = exp.CountIf(this=draw(predicates(names)).tree.copy())
    elif one_in(draw, 4):
        others = [_operand(draw, names).tree.copy()] if one_in(draw, 3) else []
        call = exp.Count(this=exp.Distinct(expressions=[of, *others]))
    if one_in(draw, 4):
        call = exp.Filter(this=call, expression=exp.Where(this=draw(predicates(names)).tree.copy()))
    return Expr.of(call)


@st.composite
def first_plans(draw: st.DrawFn, keyed: bool = False) -> Node:
    """The first rows of each partition, or of all rows, under projections that rename, hide and compute columns.

    Orders are complete, as `settled` makes them: those that are written, then all other columns. keyed: one row of each
    partition, whose columns and what is ordered by first are shown."""
    below = draw(_leaves() if one_in(draw, 2) else _joins(Size(1, 1)) if keyed else plans(Size(2, 1)))
    partition = columns(_some(draw, below.columns, 1)) if not one_in(draw, 4) else ()
    if not keyed and one_in(draw, 6):
        partition = (_operand(draw, below.columns),)
    rest = tuple(n for n in below.columns if column(n) not in partition) or below.columns
    written = _some(draw, rest, 1 if keyed else 0)
    by = [_ordered(draw, n) for n in written]
    by += [exp.Ordered(this=column(n).tree.copy(), nulls_first=True) for n in below.columns if n not in written]
    by = [o for o in by if Expr.of(o.this) not in partition] or by
    most = 1 if keyed else pick(draw, (1, 1, 2, 3))
    call = exp.Window(
        this=exp.RowNumber(),
        partition_by=[e.tree.copy() for e in partition] or None,
        order=exp.Order(expressions=by),
        over="OVER",
    )
    node: Node = Window(below, partition, (("place", Expr.of(call)),))
    if one_in(draw, 3):
        names = (*below.columns, "place")
        node = Project(node, (*((f"s{i}", column(n)) for i, n in enumerate(names[:-1])), ("place", column("place"))))
    first = Expr.of(exp.EQ(this=column("place").tree.copy(), expression=exp.Literal.number(1)))
    node = Filter(node, first if keyed else draw(_at_most("place", most)))
    hidden = {n for n in node.columns if one_in(draw, 2 if keyed or n == "place" else 6)}
    if keyed:
        hidden -= {n for n, below_ in _shown_as(node).items() if below_ in {written[0], *(e.column for e in partition)}}
    shown = tuple((f"r{i}", column(n)) for i, n in enumerate(node.columns) if n not in hidden)
    more = tuple((f"c{i}", draw(scalars(node.columns))) for i in range(pick(draw, (0, 0, 1))))
    return Project(node, (*shown, *more) or (("c", integer(1)),))


def _shown_as(node: Node) -> dict[str, str | None]:
    """The columns of a filter above a window, and what those of the window are called."""
    (child,) = node.children
    return {n: e.column for n, e in child.outputs} if isinstance(child, Project) else {n: n for n in node.columns}


def _ordered(draw: st.DrawFn, name: str) -> exp.Ordered:
    return exp.Ordered(this=column(name).tree.copy(), desc=one_in(draw, 2), nulls_first=one_in(draw, 2))


@st.composite
def _at_most(draw: st.DrawFn, name: str, most: int) -> Expr:
    place = column(name).tree.copy()
    said = [
        exp.LTE(this=place, expression=exp.Literal.number(most)),
        exp.LT(this=place, expression=exp.Literal.number(most + 1)),
        exp.GTE(this=exp.Literal.number(most), expression=place),
    ]
    if most == 1:
        said = [exp.EQ(this=place, expression=exp.Literal.number(1)), *said]
    return Expr.of(exp.paren(pick(draw, said)) if one_in(draw, 4) else pick(draw, said))


def _scan_only(size: Size) -> st.SearchStrategy[Node]:
    return _leaves()


@st.composite
def _leaves(draw: st.DrawFn) -> Node:
    if one_in(draw, 20):
        return Project(Unit(), (("k", integer(1)), ("x", integer(2))))
    source = pick(draw, sorted(SOURCES))
    taken = SOURCES[source] if one_in(draw, 2) else _some(draw, SOURCES[source])
    names = _some(draw, NAMES, len(taken)) if one_in(draw, 2) else taken
    return Scan(source, source, tuple(zip(names, taken, strict=True)))


@st.composite
def rows_of_a_table(draw: st.DrawFn, prefix: str, *, kept: bool) -> Node:
    """All columns of a source, with this before their names. kept: of some of its rows."""
    source = pick(draw, sorted(SOURCES))
    rows = Scan(source, prefix, tuple((f"{prefix}{c}", c) for c in SOURCES[source]))
    return Filter(rows, draw(predicates(rows.columns))) if kept else rows


def _some(draw: st.DrawFn, names: tuple[str, ...], count: int = 0) -> tuple[str, ...]:
    """So many of the names, or (0) at least one of them, in any order."""
    left, some = list(names), []
    for _ in range(count or draw(st.integers(1, len(names)))):
        some.append(left.pop(draw(st.integers(0, len(left) - 1))))
    return tuple(some)


def _smaller(size: Size) -> Size:
    return Size(size.nodes - 1, size.joins)


@st.composite
def _filters(draw: st.DrawFn, size: Size) -> Node:
    child = draw(plans(_smaller(size)))
    return Filter(child, draw(conditions(child.columns)))


@st.composite
def _projects(draw: st.DrawFn, size: Size) -> Node:
    child = draw(plans(_smaller(size)))
    names = _some(draw, NAMES)
    return Project(child, tuple((n, draw(scalars(child.columns))) for n in names))


@st.composite
def _unions(draw: st.DrawFn, size: Size) -> Node:
    half = Size((size.nodes - 1) // 2, size.joins // 2)
    first = draw(plans(half))
    # One plan twice is what a CTE that is used twice gives.
    others = [first] if one_in(draw, 2) else [draw(plans(half))]
    return UnionAll((first, *(_same_width(o, first) for o in others)))


def _same_width(node: Node, like: Node) -> Node:
    names = [node.columns[i % len(node.columns)] for i in range(len(like.columns))]
    if tuple(names) == node.columns:
        return node
    return Project(node, tuple((f"w{i}", column(n)) for i, n in enumerate(names)))


@st.composite
def _joins(draw: st.DrawFn, size: Size) -> Node:
    left = draw(plans(Size((size.nodes - 1) // 2, (size.joins - 1) // 2)))
    self_join = one_in(draw, 4)
    right = left if self_join else draw(plans(Size((size.nodes - 1) // 2, (size.joins - 1) // 2)))
    right = _disjoint(right, left.columns)
    count = pick(draw, (1, 1, 1, 2, 0))
    equalities = tuple(
        (_operand(draw, left.columns), _operand(draw, right.columns), one_in(draw, 2)) for _ in range(count)
    )
    both = left.columns + right.columns
    residual = draw(predicates(both)) if one_in(draw, 4) else None
    kind = pick(draw, (JoinKind.INNER, JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI))
    # Whether a join is a temporal one changes how the laws go about it, and not what it means.
    at = AsOf(column(pick(draw, left.columns)), single=False) if one_in(draw, 5) else None
    return Join(left, right, equalities, residual, kind, at)


def _disjoint(node: Node, taken: tuple[str, ...]) -> Node:
    if not set(node.columns) & set(taken):
        return node
    free: dict[str, str] = {}
    for name in node.columns:
        free[name] = _free(name, (*taken, *free.values()))
    return Project(node, tuple((new, column(name)) for name, new in free.items()))


def _free(name: str, taken: tuple[str, ...]) -> str:
    return name if name not in taken else _free(f"{name}_r", taken)


def _operand(draw: st.DrawFn, names: tuple[str, ...]) -> Expr:
    """A column, two times in three."""
    return draw(scalars(names)) if one_in(draw, 3) else column(pick(draw, names))


@st.composite
def _generates(draw: st.DrawFn, size: Size) -> Node:
    """Each row once for every value of an array of two; of some rows nothing is made."""
    child = draw(plans(_smaller(size)))
    array: exp.Expression = exp.Array(expressions=[_operand(draw, child.columns).tree.copy() for _ in range(2)])
    when = exp.If(this=draw(predicates(child.columns)).tree.copy(), true=array)
    call = Expr.of(exp.Explode(this=exp.Case(ifs=[when])))
    free = (*(n for n in NAMES if n not in child.columns), _free("e", child.columns))
    return Generate(child, call, free[:1], one_in(draw, 2))


@st.composite
def _windows(draw: st.DrawFn, size: Size) -> Node:
    """ROW_NUMBER over an order of whole rows, or an aggregate over a partition or over the rows up to each row."""
    return _windowed(draw, draw(plans(_smaller(size))))


def _windowed(draw: st.DrawFn, child: Node) -> Node:
    partition = tuple(_operand(draw, child.columns) for _ in range(pick(draw, (1, 1, 2, 0))))
    free = tuple(n for n in (*NAMES, "w") if n not in child.columns)
    calls = tuple((n, draw(_window_call(child.columns, partition))) for n in free[:1])
    return Window(child, partition, calls)


@st.composite
def _window_call(draw: st.DrawFn, names: tuple[str, ...], partition: tuple[Expr, ...]) -> Expr:
    of = _operand(draw, names).tree.copy()
    call = pick(draw, [exp.RowNumber(), exp.Sum(this=of), exp.Count(this=of), exp.Min(this=of)])
    ordered: tuple[str, ...] = names if isinstance(call, exp.RowNumber) else names[: draw(st.integers(0, 1))]
    order = [exp.Ordered(this=column(n).tree.copy(), nulls_first=True) for n in ordered]
    return Expr.of(
        exp.Window(
            this=call,
            partition_by=[e.tree.copy() for e in partition] or None,
            order=exp.Order(expressions=order) if order else None,
            over="OVER",
        )
    )


@st.composite
def _aggregates(draw: st.DrawFn, size: Size) -> Node:
    child = draw(plans(_smaller(size)))
    groups = draw(_group_exprs(child, at_least=0))
    names = tuple(n for n, _ in groups)
    calls = draw(_aggregate_calls(child, names))
    if not groups and not calls:
        calls = (("n", Expr.of(exp.Count(this=exp.Star()))),)
    return Aggregate(child, groups, calls)


@st.composite
def _group_exprs(draw: st.DrawFn, child: Node, at_least: int) -> Outputs:
    count = pick(draw, (1, 2) if at_least else (1, 2, 0))
    names = _some(draw, NAMES, count) if count else ()
    return tuple((n, _operand(draw, child.columns)) for n in names)


@st.composite
def _aggregate_calls(draw: st.DrawFn, child: Node, taken: tuple[str, ...]) -> Outputs:
    count = pick(draw, (1, 2, 0))
    names = _some(draw, tuple(n for n in NAMES if n not in taken), count) if count else ()
    return tuple((n, draw(_aggregate_call(child.columns))) for n in names)


@st.composite
def _aggregate_call(draw: st.DrawFn, names: tuple[str, ...]) -> Expr:
    of = _operand(draw, names).tree.copy()
    calls: list[exp.Expression] = [
        exp.Count(this=exp.Star()),
        exp.Count(this=of),
        exp.Count(this=exp.Distinct(expressions=[of])),
        exp.Sum(this=of),
        exp.Min(this=of),
        exp.Max(this=of),
        exp.Avg(this=of),
        exp.Coalesce(this=exp.Sum(this=of), expressions=[exp.Literal.number(0)]),
    ]
    call = pick(draw, calls)
    if isinstance(call, exp.AggFunc) and one_in(draw, 5):
        call = exp.Filter(this=call, expression=exp.Where(this=draw(predicates(names)).tree.copy()))
    return Expr.of(call)


# --- scalars ---------------------------------------------------------------------------------------------------------


def _atom(draw: st.DrawFn, names: tuple[str, ...]) -> Expr:
    return integer(draw(st.integers(-1, 2))) if one_in(draw, 2) else column(pick(draw, names))


@st.composite
def scalars(draw: st.DrawFn, names: tuple[str, ...]) -> Expr:
    """An integer expression over columns: a column, most often."""
    one, other = column(pick(draw, names)), _atom(draw, names)
    a, b = one.tree.copy(), other.tree.copy()
    shape = draw(st.integers(0, 7))
    if shape <= 2:
        return one
    if shape == 3:
        return other
    if shape == 4:
        return Expr.of(exp.Add(this=a, expression=b))
    if shape == 5:
        return Expr.of(exp.Mul(this=a, expression=exp.paren(exp.Sub(this=b, expression=a.copy()))))
    if shape == 6:
        return Expr.of(exp.Coalesce(this=a, expressions=[b]))
    when = exp.If(this=draw(predicates(names)).tree.copy(), true=a)
    return Expr.of(exp.Case(ifs=[when], default=b))


@st.composite
def conditions(draw: st.DrawFn, names: tuple[str, ...]) -> Expr:
    """The condition of a filter: now and then one that moves with the clock."""
    predicate = draw(predicates(names))
    if draw(st.integers(0, 4)):
        return predicate
    a, now = column(pick(draw, names)).tree.copy(), Clock(this="current_date")
    moving = draw(st.sampled_from((exp.LT, exp.GTE, exp.EQ)))(this=a, expression=now)
    both = draw(st.sampled_from((exp.And, exp.Or)))
    return Expr.of(both(this=moving, expression=exp.paren(predicate.tree.copy())))


@st.composite
def predicates(draw: st.DrawFn, names: tuple[str, ...], depth: int = 1) -> Expr:
    """A condition, whose truth may be unknown."""
    a = column(pick(draw, names)).tree.copy()
    b = _atom(draw, names).tree.copy()
    shape = draw(st.integers(0, 9 if depth else 6))
    comparisons = (exp.EQ, exp.NEQ, exp.LT, exp.GTE, exp.NullSafeEQ)
    if shape < len(comparisons):
        return Expr.of(comparisons[shape](this=a, expression=b))
    if shape == 5:
        return Expr.of(exp.Is(this=a, expression=exp.Null()))
    if shape == 6:
        return Expr.of(exp.Not(this=exp.Is(this=a, expression=exp.Null())))
    p, q = (exp.paren(draw(predicates(names, 0)).tree.copy()) for _ in range(2))
    return Expr.of((exp.And(this=p, expression=q), exp.Or(this=p, expression=q), exp.Not(this=p))[shape - 7])
