"""The change of a table that shows the results of windows of event time as they are made and refined.

With K the results that the clock's way since the last refresh has made due, and those that late rows correct: the
table's rows of K give way to what K is now, and no other row changes. Which results are due, the clock says alone, of
those that the SELECT has now and of those that the table holds: so nothing has to be remembered of rows that came
without making a result due. What they make of it is computed from all rows when it is.

A session has other bounds once a row came that joins it to another one. It is another result then, and those that the
table holds of its parts give way to it when it is made.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from ..algebra.emission import (
    Emission,
    Timing,
    due,
    in_reach,
    incomplete,
    late,
    passed_by,
    refining,
    timing_of,
    until_due,
    without_emission,
)
from ..algebra.equal_values import ungrouped
from ..algebra.expressions import Expr, column, columns, conjunction
from ..algebra.nodes import Aggregate, Filter, Join, Named, Node, Project, Scan, Semi, Time, UnionAll
from ..algebra.prune import narrow
from ..algebra.shown import Shown
from ..algebra.transform import with_children
from ..names import PREFIX, WEIGHT
from .additive import Own
from .affected import affected
from .change_plan import ChangePlan, Shape
from .derivation import (
    CHANGE,
    KEY,
    MINUS_ONE,
    ONE,
    Binding,
    Derivation,
    at,
    distinct,
    is_nothing,
    net,
    passed,
    with_weight,
)
from .differentiate import change
from .restrict import restrict
from .simplify import simplify

ROWS_NOW, ROWS_BEFORE = f"{PREFIX}rows_now", f"{PREFIX}rows_before"
"""How many rows a result is made of."""

BEGUN, ENDED, MADE = f"{PREFIX}begun", f"{PREFIX}ended", f"{PREFIX}made_{{}}"
"""Of a session that is made: its bounds, and what else it is told by, beside those that the table holds."""

TOO_LATE = "too_late"
"""The relation of one row, and its column: how many changed rows no result is made of any more."""


def emitted_plan(
    model: Node, emission: Emission, own: Own, key: tuple[str, ...] | None, d: Derivation, tidy
) -> ChangePlan:
    """model: as `emitted` gave it; own: the table; key: what its rows are merged by, None for whole rows."""
    timing = timing_of(without_emission(model))
    assert isinstance(timing, Timing)
    work = Emitted(model, timing, emission, own, d)
    results = work.results()
    exprs = columns(timing.columns)
    now = restrict(work.bounded(at(model, Time.AFTER), emission.stop), exprs, results)
    held = restrict(work.held(model.columns), exprs, results)
    signed = tidy(UnionAll((with_weight(now, ONE), with_weight(held, MINUS_ONE))))
    why = "what is made of them now (+), and what the table holds of them (-)"
    result = Binding(CHANGE, net(signed, ungrouped(own.types)), why)
    return ChangePlan((), (), result, Shape.SIGNED, key, None, too_late=work.too_late())


class Emitted:
    """The results that a refresh makes, as relations with the columns of the timing."""

    def __init__(self, model: Node, timing: Timing, emission: Emission, own: Own, d: Derivation) -> None:
        self._model, self._every = model, without_emission(model)
        self._timing, self._emission, self._own, self._d = timing, emission, own, d

    def held(self, names: tuple[str, ...]) -> Node:
        """The table's own rows."""
        return Scan(self._own.name, "held", tuple((n, n) for n in names), Time.BEFORE)

    def bounded(self, plan: Node, back: int | None, *, ahead: bool = False) -> Node:
        """A plan at a time over rows alone that may be part of the results that were not passed by the offset `back`,
        and, unless `ahead`, were made already. Where rows make the windows, all rows that have to do with each other
        are kept."""
        if self._timing.of_rows:
            return plan
        condition = in_reach(self._timing, self._emission, back, ahead=ahead)
        if condition is None:
            return plan

        def over(node: Node) -> Node:
            if isinstance(node, Filter | Project):
                return with_children(node, (over(node.child),))
            assert isinstance(node, Aggregate)
            return replace(node, child=Filter(node.child, condition))

        return over(plan)

    def results(self) -> Named:
        """K, under a name."""
        condition = due(self._timing, self._emission)
        found = [self.shown(Filter(self._now(), condition)), self._held(condition)]
        changed = simplify(affected(self._every, columns(self._timing.columns), self._d))
        if not is_nothing(changed):
            touched = Project(changed, tuple((n, column(KEY.format(i))) for i, n in enumerate(self._timing.columns)))
            if self._emission.late:
                found.append(Filter(touched, late(self._timing, self._emission)))
            if self._emission.rows is not None:
                found.append(self._grown(touched, self._emission.rows))
        made = distinct(UnionAll(tuple(found)))
        if self._timing.start is None:
            return self._d.keys(made, "results that are due, or corrected by late rows", "due_results")
        named = self._d.keys(made, "sessions that are due, or corrected by late rows", "due_sessions")
        both = distinct(UnionAll((named, self._given_up(named))))
        return self._d.keys(both, "they, and what the table holds of their parts", "due_results")

    def shown(self, rows: Node) -> Node:
        return Project(rows, passed(self._timing.columns))

    def _held(self, condition: Expr) -> Node:
        return Filter(self.held(self._timing.columns), condition)

    def _now(self) -> Node:
        """The results there are now, those at least that may be due."""
        every = narrow(at(self._every, Time.AFTER), frozenset(self._timing.columns))
        timing, emission = self._timing, self._emission
        if not timing.of_rows:
            return self.bounded(every, emission.complete)
        if not timing.parts:
            return every
        last, near = at(timing.rows, Time.AFTER), in_reach(timing, emission, emission.complete)
        assert near is not None
        parts = distinct(
            Project(Filter(last, near), tuple((KEY.format(i), e) for i, (_, e) in enumerate(timing.parts)))
        )
        named = self._d.keys(parts, "rows that may end a result that is due", "parts_due")
        return restrict(every, columns(tuple(name for name, _ in timing.parts)), named)

    def _grown(self, touched: Node, most: int) -> Node:
        """Of the changed results those that the number of their rows has passed a multiple of."""
        windows, timing = self._timing.windows, self._timing
        assert isinstance(windows, Aggregate)
        counted = Aggregate(windows.child, windows.groups, ((ROWS_NOW, Expr.of(exp.Count(this=exp.Star()))),))
        shown = self._of_groups(counted)
        keys = self._d.keys(
            distinct(Filter(touched, refining(timing, self._emission))), "changed results that are refined", "refined"
        )
        zero = Expr.of(exp.cast(exp.Literal.number(0), "bigint"))
        states = []
        for time in (Time.AFTER, Time.BEFORE):
            rows = restrict(at(shown, time), columns(timing.columns), keys)
            both = (column(ROWS_NOW), zero) if time is Time.AFTER else (zero, column(ROWS_NOW))
            states.append(Project(rows, (*passed(timing.columns), (ROWS_NOW, both[0]), (ROWS_BEFORE, both[1]))))
        sums = tuple((n, Expr.of(exp.Sum(this=column(n).tree.copy()))) for n in (ROWS_NOW, ROWS_BEFORE))
        compared = Aggregate(UnionAll(tuple(states)), passed(timing.columns), sums)
        multiples = [
            exp.IntDiv(this=column(n).tree.copy(), expression=exp.Literal.number(most)) for n in (ROWS_NOW, ROWS_BEFORE)
        ]
        return self.shown(Filter(compared, Expr.of(exp.NEQ(this=multiples[0], expression=multiples[1]))))

    def _of_groups(self, counted: Aggregate) -> Project:
        """Counts of groups under the columns that show them."""
        by_group = {e.column: name for name, e in self._shown_groups().items()}
        outputs = tuple((by_group[name], column(name)) for name, _ in counted.groups)
        return Project(counted, (*outputs, (ROWS_NOW, column(ROWS_NOW))))

    def _shown_groups(self) -> dict[str, Expr]:
        """Column of the plan -> the group that it shows."""
        shown = Shown.by(self._every).of
        return {name: shown[name] for name in self._timing.columns}

    def _given_up(self, made: Named) -> Node:
        """What the table holds of sessions that are part of one that is made: it lies within, or meets it."""
        timing = self._timing
        assert timing.start is not None
        now = narrow(at(self._model, Time.AFTER), frozenset(timing.columns))
        sessions = self.shown(restrict(now, columns(timing.columns), made))
        mine = {name: MADE.format(name) for name, _ in timing.parts}
        bounds = ((BEGUN, timing.start), (ENDED, timing.end))
        beside = Project(sessions, (*((mine[n], column(n)) for n in mine), *bounds))
        overlap = conjunction(
            [
                Expr.of(exp.LTE(this=timing.start.tree.copy(), expression=column(ENDED).tree.copy())),
                Expr.of(exp.LTE(this=column(BEGUN).tree.copy(), expression=timing.end.tree.copy())),
            ]
        )
        same = tuple((column(n), column(mine[n]), True) for n in mine)
        held = self.held(timing.columns)
        of_same = Semi(held, made, tuple((column(n), n) for n in mine)) if mine else held
        return self.shown(Join(of_same, beside, same, overlap))

    def too_late(self) -> Named | None:
        """How many rows changed of which no result is made any more; None where there are none for certain. Rows that
        make a session are counted by what they would be alone; others once for each of their windows."""
        timing, stop = self._timing, self._emission.stop
        if stop is None:
            return None
        rows = timing.rows
        changed = simplify(change(rows, self._d))
        if is_nothing(changed):
            return None
        end, past = timing.at, timing.lasts
        if not timing.of_rows:
            assert isinstance(timing.windows, Aggregate) and timing.windows.over is not None
            over = timing.windows.over
            end, past = over.end.substitute(dict(timing.windows.groups)), over.past
        late_ones = Filter(changed, passed_by(end, past + stop, self._emission, "before"))
        copies = exp.Abs(this=column(WEIGHT).tree.copy())
        counted = Aggregate(late_ones, (), ((TOO_LATE, Expr.of(exp.Sum(this=copies))),))
        return self._d.keys(counted, "changed rows that come too late for every result", TOO_LATE)


UNTIL = "until_due"
"""Microseconds from the clock until a result is made."""


def next_instant(model: Node, emission: Emission, own: Own) -> Node:
    """The least of the microseconds until a result is made, first or again, in one row; NULL if none waits. Of results
    there are, and of those that the table holds, which may have no rows any more."""
    timing = timing_of(without_emission(model))
    assert isinstance(timing, Timing)
    work = Emitted(model, timing, emission, own, Derivation(model, frozenset()))
    every = at(without_emission(model), Time.AFTER)
    if timing.of_rows:
        # Every row may be the last of its session: those that are not only say a time too many.
        rows = narrow(at(timing.rows, Time.AFTER), timing.at.columns)
        now = _waiting(rows, replace(timing, end=timing.at, past=timing.lasts), emission)
    else:
        shown = narrow(every, frozenset(timing.columns))
        now = _waiting(work.bounded(shown, emission.complete, ahead=True), timing, emission)
    some = UnionAll((now, _waiting(work.held(timing.columns), timing, emission)))
    return Aggregate(some, (), ((UNTIL, Expr.of(exp.Min(this=column(UNTIL).tree.copy()))),))


def _waiting(results: Node, timing: Timing, emission: Emission) -> Node:
    return Project(Filter(results, incomplete(timing, emission)), ((UNTIL, until_due(timing, emission)),))
