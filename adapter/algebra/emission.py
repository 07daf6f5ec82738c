"""When the results of windows of event time are made, and how often they are refined ("Calculation of Results and
Refinement of Time Sequence", the design of dynamic tables in Apache Flink).

A result belongs to an end: that of its window, or the time of its own row in an OVER window. By a logical clock, the
watermark or the time of processing, it is first made when the clock has passed the end plus `first`, again after every
further `every`, and when the clock has passed the end plus `complete`. Rows that change after that correct it at once
if `late`, until the clock has passed the end plus `last`; they are too late from then on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from sqlglot import exp

from ..dialect import Clock
from .clock import WATERMARK, reads
from .expressions import Expr, column, conjunction
from .kept import origin, side
from .nodes import Aggregate, Filter, Node, Project, TimeWindow, UnionAll, Window, walk
from .shown import Shown
from .times import micros_of, number, time_at

PROCESSING_TIME = "current_timestamp"
"""The clock of processing time."""

LONG_AGO = "CAST('0001-01-01' AS TIMESTAMP)"
"""Where the clock stands that has not begun."""


@dataclass(frozen=True)
class Emission:
    """Offsets are in microseconds, from the end of a window. every: between two results, None if there are none between
    the first and the complete one; rows: instead of `every`, a result is made again whenever the number of its rows has
    passed a multiple of this; late: whether rows that change after the complete result correct it; last: None for ever;
    clock: a function of the clock."""

    first: int = 0
    complete: int = 0
    every: int | None = None
    rows: int | None = None
    late: bool = False
    last: int | None = None
    clock: str = WATERMARK

    @property
    def stop(self) -> int | None:
        """The offset from which on a result stays as it is; None if never."""
        return self.last if self.late else self.complete


class Lack(Enum):
    """Why the results of a plan have no end."""

    NO_WINDOW = "no window"
    ABOVE = "something above its windows"
    NOT_SHOWN = "not shown"
    NOT_BY_TIME = "not by time"
    CLOCK = "another clock"


@dataclass(frozen=True)
class Timing:
    """How the results of a plan lie in time.

    columns: of the plan, which together say which result a row belongs to; end, past: over them, the end of a result is
    `past` microseconds behind `end`; parts: those of the columns by which rows are told apart that have to do with each
    other; windows: the node that makes the results.

    rows: the relation whose rows are in them; at: the time of each; lasts: microseconds that a row stays part of a
    window at the most. of_rows: whether rows make the windows, so that one of them may change others; start: then the
    begin of a session, over the columns, None for an OVER window."""

    columns: tuple[str, ...]
    end: Expr
    past: int
    parts: tuple[tuple[str, Expr], ...]
    windows: Aggregate | Window
    rows: Node
    at: Expr
    lasts: int
    of_rows: bool
    start: Expr | None = None


def emitted(model: Node, emission: Emission) -> Node:
    """The plan with those of its results alone that were made first already; itself if its results have no end."""
    timing = timing_of(model)
    return Filter(model, reached(timing, emission, emission.first)) if isinstance(timing, Timing) else model


def lack_of(model: Node) -> Lack | None:
    """Why `emitted` gave the plan back as it was; None if it did not."""
    found = timing_of(model.child if isinstance(model, Filter) else model)
    return found if isinstance(found, Lack) else None


def has_groups_of_time(model: Node) -> bool:
    """Whether the results of a plan that `emitted` gave are groups."""
    found = timing_of(without_emission(model))
    return isinstance(found, Timing) and isinstance(found.windows, Aggregate)


def without_emission(model: Node) -> Node:
    """The plan that `emitted` was given."""
    assert isinstance(model, Filter)
    return model.child


def timing_of(model: Node) -> Timing | Lack:
    """How the results of a plan lie in time, or why nothing says it."""
    shown = Shown.by(model)
    node = shown.node
    if any(reads(n.predicate) for n in walk(model) if isinstance(n, Filter)):
        return Lack.CLOCK
    restored = {e.column: column(name) for name, e in reversed(shown.of.items()) if e.column is not None}
    if isinstance(node, Aggregate) and node.over is not None:
        return _grouped(node, node.over, restored)
    if isinstance(node, Window):
        return _over_rows(node, restored)
    return Lack.ABOVE if any(_makes_windows(n) for n in walk(node)) else Lack.NO_WINDOW


def sides(model: Node) -> tuple[Project, ...]:
    """What the watermark of a plan that `emitted` gave is the least of: the times of the rows of its windows, for each
    input of a UNION ALL its own."""
    timing = timing_of(without_emission(model))
    assert isinstance(timing, Timing)
    return tuple(dict.fromkeys(side(rows, time) for rows, time in _origins(timing.rows, timing.at)))


def _origins(rows: Node, time: Expr) -> Iterator[tuple[Node, Expr]]:
    node, e = origin(rows, time)
    if not isinstance(node, UnionAll):
        yield node, e
        return
    for child in node.inputs:
        yield from _origins(child, e.rename(dict(zip(node.columns, child.columns, strict=True))))


def _makes_windows(node: Node) -> bool:
    return isinstance(node, Window) or (isinstance(node, Aggregate) and node.over is not None)


def _grouped(node: Aggregate, over: TimeWindow, restored: dict[str, Expr]) -> Timing | Lack:
    shown = {name: restored.get(name) for name, _ in node.groups}
    if None in shown.values():
        return Lack.NOT_SHOWN
    known = {name: e for name, e in shown.items() if e is not None}
    end, start = over.end.substitute(known), over.start.substitute(known) if over.start is not None else None
    within = end.columns | (start.columns if start is not None else frozenset())
    named = tuple((known[name].column or "", e) for name, e in node.groups)
    rows: Node = node.child
    lowest = _lowest_window(node.child) if over.session else None
    if lowest is not None:
        rows = lowest.child
    parts = tuple((name, e) for name, e in named if name not in within)
    columns = tuple(name for name, _ in named)
    return Timing(
        columns, end, over.past, parts, node, rows, over.at, over.size, over.session, start if over.session else None
    )


def _lowest_window(node: Node) -> Window | None:
    """Of those that tell sessions apart, which have nothing but projections between them."""
    found = None
    while isinstance(node, Project | Window):
        if isinstance(node, Window):
            found = node
        node = node.child
    return found


def _over_rows(node: Window, restored: dict[str, Expr]) -> Timing | Lack:
    stack = [node]
    while isinstance(below := stack[-1].child, Window):
        stack.append(below)
    times = {_time_of(call) for w in stack for _, call in w.calls}
    time = next(iter(times)) if len(times) == 1 else None
    if time is None:
        return Lack.NOT_BY_TIME
    partitions = dict.fromkeys(e for w in stack for e in w.partition)
    if time not in restored or any(e.column not in restored for e in partitions):
        return Lack.NOT_SHOWN
    end = restored[time]
    named = tuple((restored[e.column or ""].column or "", e) for e in partitions)
    same = all(w.partition == node.partition for w in stack)
    columns = dict.fromkeys((end.column or "", *(name for name, _ in named)))
    return Timing(tuple(columns), end, 0, named if same else (), node, stack[-1].child, column(time), 0, True)


def _time_of(call: Expr) -> str | None:
    """The column that a window function is ordered by, forward, before any other; None if there is none."""
    order = call.tree.args.get("order")
    if order is None or not order.expressions or order.expressions[0].args.get("desc"):
        return None
    first = order.expressions[0].this
    return first.name if isinstance(first, exp.Column) else None


# --- conditions on results --------------------------------------------------------------------------------------------


def reached(timing: Timing, emission: Emission, offset: int, time: str | None = None) -> Expr:
    """Whether the clock has passed the end of a result by the offset. time: of the clock, as in `Clock`."""
    return passed_by(timing.end, timing.past + offset, emission, time)


def passed_by(end: Expr, offset: int, emission: Emission, time: str | None) -> Expr:
    return Expr.of(exp.LTE(this=end.tree.copy(), expression=_before(emission.clock, offset, time)))


def not_reached(end: Expr, offset: int, emission: Emission, time: str | None) -> Expr:
    """The opposite, also of a clock that has not begun. Both compare a column with a value that is known beforehand, so
    that readers of files know how to skip by it."""
    known = exp.Coalesce(this=_before(emission.clock, offset, time), expressions=[exp.maybe_parse(LONG_AGO)])
    return Expr.of(exp.GT(this=end.tree.copy(), expression=known))


def due(timing: Timing, emission: Emission) -> Expr:
    """Whether a result is made, for the first time or again, because of what the clock has passed since before."""
    end, past = timing.end, timing.past
    anew = [
        reached(timing, emission, emission.complete, "after"),
        not_reached(end, past + emission.first, emission, "before"),
    ]
    if emission.every is not None:
        anew.append(_ticked(timing, emission, emission.every))
    return _all(
        not_reached(end, past + emission.complete, emission, "before"),
        reached(timing, emission, emission.first, "after"),
        Expr.of(exp.paren(exp.or_(*(e.tree for e in anew)))),
    )


def _ticked(timing: Timing, emission: Emission, every: int) -> Expr:
    """Whether the clock has passed one of the times, `every` apart, that begin with the first result."""

    def ticks(time: str) -> exp.Expression:
        now = micros_of(Clock(this=emission.clock, time=time))
        end = micros_of(exp.cast(timing.end.tree.copy(), "timestamp"))
        since = exp.Sub(this=exp.Sub(this=now, expression=end), expression=number(timing.past + emission.first))
        return exp.IntDiv(this=exp.paren(since), expression=exp.Literal.number(every))

    return Expr.of(exp.GT(this=ticks("after"), expression=ticks("before")))


def incomplete(timing: Timing, emission: Emission) -> Expr:
    """Whether a result is still to be made, for the first time or again."""
    return not_reached(timing.end, timing.past + emission.complete, emission, "after")


def until_due(timing: Timing, emission: Emission) -> Expr:
    """Microseconds from the clock until an incomplete result is made next."""
    end = micros_of(exp.cast(timing.end.tree.copy(), "timestamp"))
    since = exp.Sub(this=micros_of(Clock(this=emission.clock, time="after")), expression=end)

    def until(offset: int) -> exp.Expression:
        return exp.Sub(this=number(timing.past + offset), expression=exp.paren(since.copy()))

    next_one = until(emission.complete)
    if emission.every is not None:
        from_first = exp.Sub(this=exp.paren(since.copy()), expression=number(timing.past + emission.first))
        rest = exp.Anonymous(this="PMOD", expressions=[from_first, exp.Literal.number(emission.every)])
        tick = exp.Sub(this=exp.Literal.number(emission.every), expression=rest)
        next_one = exp.Least(this=next_one, expressions=[tick])
    first = until(emission.first)
    return Expr.of(
        exp.Case(
            ifs=[exp.If(this=exp.GT(this=first, expression=exp.Literal.number(0)), true=first.copy())],
            default=next_one,
        )
    )


def refining(timing: Timing, emission: Emission) -> Expr:
    """Whether a result is between its first and its complete one."""
    return _all(
        reached(timing, emission, emission.first, "after"),
        not_reached(timing.end, timing.past + emission.complete, emission, "after"),
    )


def late(timing: Timing, emission: Emission) -> Expr:
    """Whether what changed now corrects a result that was complete before."""
    parts = [reached(timing, emission, emission.complete, "after")]
    if emission.last is not None:
        parts.append(not_reached(timing.end, timing.past + emission.last, emission, "before"))
    return _all(*parts)


def in_reach(timing: Timing, emission: Emission, back: int | None, *, ahead: bool = False) -> Expr | None:
    """Whether a row may be part of a result that was not passed by the offset `back` before, and, unless `ahead`, was
    made already. back: None for one that was passed however long ago. None if every row may."""
    parts = [] if ahead else [passed_by(timing.at, emission.first, emission, "after")]
    if back is not None:
        parts.append(not_reached(timing.at, timing.lasts + back, emission, "before"))
    return conjunction(parts)


def _before(clock: str, offset: int, time: str | None) -> exp.Expression:
    """The clock less the offset, in microseconds."""
    now = Clock(this=clock, time=time)
    return time_at(exp.Sub(this=micros_of(now), expression=number(offset))) if offset else now


def _all(*parts: Expr) -> Expr:
    whole = conjunction(list(parts))
    assert whole is not None
    return whole
