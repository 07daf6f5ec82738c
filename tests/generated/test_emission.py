"""Results of windows as they are made and refined, after each refresh row for row what the definition gives.

The definition knows no change plan: it goes from refresh to refresh, with all clicks there are, the clock, and the rows
that the table held; and says of each result whether an instant of its own lay on the clock's way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from dbt_spark_dynamic.algebra.clock import CLOCK, reads
from dbt_spark_dynamic.algebra.emission import Emission
from dbt_spark_dynamic.algebra.nodes import Aggregate, Filter, Node, Scan, Semi, Window
from dbt_spark_dynamic.changes.additive import Own
from dbt_spark_dynamic.changes.change_plan import Shape
from dbt_spark_dynamic.changes.plan import plan
from dbt_spark_dynamic.dialect import parse
from dbt_spark_dynamic.pipeline import compile_model

from .clicks import TABLES, Click, click_scripts
from .duck import Duck
from .maintained import Maintained
from .test_time_windows import COLUMNS, QUERIES, total

MINUTE = 60_000_000
REFRESHES = 6


def minutes(n: float | None) -> int | None:
    return None if n is None else int(n * MINUTE)


EMISSIONS: dict[str, Emission] = {
    "at the end": Emission(),
    "seed": Emission(-3 * MINUTE, 1 * MINUTE, every=1 * MINUTE),
    "late": Emission(0, 1 * MINUTE, late=True, last=6 * MINUTE),
    "late for ever": Emission(-2 * MINUTE, 0, late=True),
    "by rows": Emission(-10 * MINUTE, 2 * MINUTE, rows=2),
    "by rows, late": Emission(-10 * MINUTE, 2 * MINUTE, rows=3, late=True, last=4 * MINUTE),
    "early": Emission(-10 * MINUTE, -1 * MINUTE, every=2 * MINUTE, late=True, last=3 * MINUTE),
}


@dataclass(frozen=True)
class Result:
    """key: by which it is told from others; of: what it has to do with; rows: those of the table, and how many clicks
    they are made of."""

    key: tuple
    of: Any
    start: datetime
    end: datetime
    rows: tuple[str, ...]
    clicks: int
    made_of: Counter[Click]


Results = Callable[[Sequence[Click]], Iterable[Result]]


def of_windows(query: str) -> Results:
    _, windows, shown = QUERIES[query]

    def results(clicks: Sequence[Click]) -> Iterable[Result]:
        for user in dict.fromkeys(c.user for c in clicks):
            for start, end, held in windows([c for c in clicks if c.user == user]):
                row = shown(user, start, end, held)
                rows = () if row is None else (repr(row),)
                yield Result((user, start, end), user, start, end, rows, len(held), Counter(held))

    return results


def of_rows(shown: Callable[[Click, list[Click]], tuple]) -> Results:
    """OVER windows: what a click makes of the clicks of its user."""

    def results(clicks: Sequence[Click]) -> Iterable[Result]:
        for user in dict.fromkeys(c.user for c in clicks):
            mine = [c for c in clicks if c.user == user]
            for time in dict.fromkeys(c.time for c in mine if c.time is not None):
                rows = tuple(repr(shown(c, mine)) for c in mine if c.time == time)
                # Any click of the user may change it.
                yield Result((user, time), user, time, time, rows, len(rows), Counter(mine))

    return results


def until(clicks: list[Click], time: datetime) -> list[Click]:
    return [c for c in clicks if c.time is None or c.time <= time]


OVER: dict[str, tuple[str, Results]] = {
    "running": (
        "SELECT id, user, time, SUM(n) OVER (PARTITION BY user ORDER BY time) AS n FROM clicks",
        of_rows(lambda c, mine: (c.id, c.user, c.time, total(until(mine, c.time)))),
    ),
    "two": (
        "SELECT user, time, COUNT(*) OVER (PARTITION BY user ORDER BY time) AS n, "
        "COUNT(n) OVER (PARTITION BY user ORDER BY time "
        "RANGE BETWEEN INTERVAL 3 MINUTES PRECEDING AND CURRENT ROW) AS few FROM clicks",
        of_rows(
            lambda c, mine: (
                c.user, c.time, len(until(mine, c.time)),
                sum(
                    m.n is not None and m.time is not None and m.time >= c.time - timedelta(minutes=3)
                    for m in until(mine, c.time)
                ),
            )
        ),
    ),
}  # fmt: skip

TIME = "timestamp"
SHAPES: dict[str, tuple[str, Results, Any]] = {
    **{name: (sql, of_windows(name), COLUMNS[name]) for name, (sql, _, _) in QUERIES.items() if name != "by place"},
    **{
        name: (sql, results, columns)
        for (name, (sql, results)), columns in zip(
            OVER.items(),
            (
                (("id", "int"), ("user", "string"), ("time", TIME), ("n", "bigint")),
                (("user", "string"), ("time", TIME), ("n", "bigint"), ("few", "bigint")),
            ),
            strict=True,
        )
    },
}


class Definition:
    """The table, as it is to be after each refresh."""

    def __init__(self, results: Results, emission: Emission, read: Collection[str], *, sessions: bool) -> None:
        """read: the columns of the clicks that the query reads: of others no change is one."""
        self.results, self.emission, self.sessions = results, emission, sessions
        self.unread = {f.name: None for f in fields(Click) if f.name not in read}
        self.held: dict[tuple, Result] = {}
        self.newest: datetime | None = None
        self.clicks: tuple[Click, ...] = ()
        self.too_late = 0

    def clock(self, clicks: Sequence[Click], late_by: int) -> datetime | None:
        """It never falls."""
        times = [c.time for c in clicks if c.time is not None]
        self.newest = max([*times, *([self.newest] if self.newest is not None else [])], default=None)
        return None if self.newest is None else self.newest - timedelta(minutes=late_by)

    def create(self, clicks: tuple[Click, ...], now: datetime | None) -> None:
        self.clicks = clicks
        self.held = {r.key: r for r in self.results(clicks) if self._passed(r, self.emission.first, now)}

    def refresh(self, clicks: tuple[Click, ...], before: datetime | None, now: datetime | None) -> None:
        old, new = ({r.key: r for r in self.results(c)} for c in (self.clicks, clicks))
        changed = Counter(replace(c, **self.unread) for c in self.clicks)
        changed.subtract(replace(c, **self.unread) for c in clicks)
        self.too_late += sum(abs(n) * self._over(c, before) for c, n in changed.items() if c.time is not None)
        self.clicks = clicks
        made = {k for some in (self.held, new) for k, r in some.items() if self._due(r, before, now)}
        for key in old.keys() | new.keys():
            one, other = old.get(key), new.get(key)
            known = one or other
            assert known is not None
            if (one and one.made_of) != (other and other.made_of):
                made |= {key} if self._corrected(known, before, now) else set()
                counts = [r.clicks if r is not None else 0 for r in (one, other)]
                made |= {key} if self._grown(known, counts, now) else set()
        ripe = {k: new[k] for k in made if k in new and self._passed(new[k], self.emission.first, now)}
        if self.sessions:
            made |= {k for k, r in self.held.items() if any(_meet(r, n) for n in ripe.values())}
        self.held = {k: r for k, r in self.held.items() if k not in made} | ripe

    def rows(self) -> Counter[str]:
        return Counter(row for r in self.held.values() for row in r.rows)

    def next_due(self, now: datetime) -> int | None:
        """Microseconds to the next instant of a result that has rows, or of one that the table holds."""
        some = [*self.results(self.clicks), *self.held.values()]
        later = [i - now for r in some if r.rows for i in self._instants(r) if i > now]
        return min((int(t.total_seconds() * 1_000_000) for t in later), default=None)

    def _over(self, click: Click, before: datetime | None) -> int:
        """Of how many of its windows no result is made any more."""
        stop = self.emission.last if self.emission.late else self.emission.complete
        return 0 if stop is None else sum(self._passed(r, stop, before) for r in self.results([click]))

    def _passed(self, r: Result, offset: int, clock: datetime | None) -> bool:
        return clock is not None and r.end + timedelta(microseconds=offset) <= clock

    def _instants(self, r: Result) -> Iterable[datetime]:
        e = self.emission
        at, complete = (r.end + timedelta(microseconds=o) for o in (e.first, e.complete))
        while at < complete:
            yield at
            if e.every is None:
                break
            at += timedelta(microseconds=e.every)
        yield complete

    def _due(self, r: Result, before: datetime | None, now: datetime | None) -> bool:
        if now is None:
            return False
        return any(i <= now and (before is None or i > before) for i in self._instants(r))

    def _corrected(self, r: Result, before: datetime | None, now: datetime | None) -> bool:
        e = self.emission
        over = e.last is not None and self._passed(r, e.last, before)
        return e.late and self._passed(r, e.complete, now) and not over

    def _grown(self, r: Result, counts: list[int], now: datetime | None) -> bool:
        e = self.emission
        if e.rows is None or not self._passed(r, e.first, now) or self._passed(r, e.complete, now):
            return False
        return counts[0] // e.rows != counts[1] // e.rows


def _meet(one: Result, other: Result) -> bool:
    return one.of == other.of and one.start <= other.end and other.start <= one.end


@pytest.fixture(scope="module")
def duck() -> Duck:
    return Duck(TABLES, {})


def follows_its_definition(duck: Duck, shape: str, emission: Emission, seed: int, late_by: int, by_key: bool) -> int:
    """Returns how many results were made after the first build."""
    sql, results, columns = SHAPES[shape]
    states, rounds = click_scripts(Random(seed), REFRESHES)
    duck.enter(f"emitted_{seed}", rounds)
    table = Maintained(
        duck, sql, by_key=by_key, columns=columns, emission=emission, late_by=f"'{late_by}' MINUTE"
    )  # fmt: skip
    read = {c.name for c in parse(sql).find_all(exp.Column)}
    expected = Definition(results, emission, read, sessions=shape == "sessions")
    before, changes = None, 0
    for version, clicks in enumerate(states):
        now = expected.clock(clicks, late_by)
        rows = expected.rows()
        if version:
            expected.refresh(clicks, before, now)
            table.refresh(version)
            changes += rows != expected.rows()
        else:
            expected.create(clicks, now)
        before = now
        if now is not None:
            known, waited_for = table.next_due(version), expected.next_due(now)
            if shape == "sessions":
                assert known is None if waited_for is None and known is None else 0 < known <= (waited_for or known)
            else:
                assert known == waited_for
        assert table.too_late == expected.too_late
        assert Counter(map(repr, table.rows())) == expected.rows(), f"version {version}, clock {now}"
    return changes


# The rows of an OVER window's result are not counted: it is a single one.
PAIRS = [(s, e) for s in SHAPES for e in EMISSIONS if EMISSIONS[e].rows is None or s not in OVER]


@pytest.mark.parametrize(("shape", "emission"), PAIRS)
def test_each_kind_of_window_under_each_emission(duck: Duck, shape: str, emission: str) -> None:
    made = 0
    for seed in range(2):
        made += follows_its_definition(duck, shape, EMISSIONS[emission], seed, seed % 2, by_key=seed % 2 == 0)
    assert made


@pytest.mark.parametrize("emission", ["seed", "late", "by rows, late"])
@pytest.mark.parametrize("shape", ["tumbling", "whole", "hopping", "sessions", "running"])
def test_no_more_is_read_than_windows_are_open(duck: Duck, shape: str, emission: str) -> None:
    """Every state of the source is read by its time, or by what was read by its time or changed."""
    sql, _, columns = SHAPES[shape]
    asked = EMISSIONS[emission] if shape not in OVER else replace(EMISSIONS[emission], rows=None)
    duck.enter("reads", click_scripts(Random(0), 1)[1])
    duck.at(0)
    node = compile_model(sql, columns, duck, duck.columns, emission=asked).node
    assert node is not None
    own = Own("the_table", dict(columns))
    for changed in ({CLOCK}, {"clicks"}, {CLOCK, "clicks"}):
        made = plan(node, frozenset(changed), {}, own, emission=asked)
        assert made.shape is Shape.SIGNED
        for relation in (*made.bindings, made.result):
            for scan, above in scans_below(relation.node, ()):
                by_time = any(isinstance(n, Filter) and reads(n.predicate) for n in above)
                assert by_time or any(isinstance(n, Semi) for n in above), (relation.name, scan.source)


def scans_below(node: Node, above: tuple[Node, ...]) -> Iterable[tuple[Scan, tuple[Node, ...]]]:
    if isinstance(node, Scan):
        yield node, above
    # What stands above a window or a group is no condition on the rows that it is made of.
    kept = () if isinstance(node, Aggregate | Window) else above
    for child in node.children:
        yield from scans_below(child, (*kept, node))


def test_random_emissions(duck: Duck, pairs: int) -> None:
    offsets = st.integers(-8, 8)

    @settings(max_examples=max(10, pairs // 3))
    @given(
        st.sampled_from(sorted(SHAPES)), offsets, st.integers(0, 8), st.sampled_from([None, 0.5, 1, 3]),
        st.sampled_from([None, 1, 2, 3]), st.booleans(), st.sampled_from([None, 0, 1, 4, 20]), st.integers(0, 60),
        st.integers(0, 3), st.booleans(),
    )  # fmt: skip
    def holds(shape, first, longer, every, rows, late, last, seed, late_by, by_key) -> None:
        complete = first + longer
        emission = Emission(
            first * MINUTE, complete * MINUTE, minutes(every) if rows is None or shape in OVER else None,
            rows if shape not in OVER else None, late, None if last is None or not late else (complete + last) * MINUTE,
        )  # fmt: skip
        follows_its_definition(duck, shape, emission, seed, late_by, by_key)

    holds()
