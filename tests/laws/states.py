"""Random states of the sources, and random conflicting changes between them.

A change is made row by row (kept, deleted, updated in any column, keys included) with new rows beside, so that states
empty out, fill again, lose one of two equal rows, or stay as they are although the source counts as changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from hypothesis import strategies as st

from dbt_spark_dynamic.algebra.clock import CLOCK
from dbt_spark_dynamic.algebra.evaluate import Bag, Row, Table, World
from dbt_spark_dynamic.algebra.nodes import Time
from dbt_spark_dynamic.changes.derivation import Feed

SOURCES = {"s.a": ("k", "x", "y"), "t.A": ("k", "x"), "s.result": ("x", "z")}
"""Source -> columns. Two have one name in two schemas, the third is called what a plan calls its result."""

TYPES = {source: dict.fromkeys(names, "int") for source, names in SOURCES.items()}

KEYS = {"s.a": ("k",)}
"""The one source whose key is declared."""

State = dict[str, Bag]
"""Source -> rows; and under CLOCK its reading, as a bag of one row of one number."""


@dataclass(frozen=True)
class Script:
    """states: the sources before and after each refresh; touched: what counts as changed in each, net or not."""

    states: tuple[State, ...]
    touched: tuple[frozenset[str], ...]

    @property
    def refreshes(self) -> list[tuple[State, State, frozenset[str]]]:
        return list(zip(self.states, self.states[1:], self.touched, strict=False))


VALUES = (None, 0, 1, 2)


def bags(relations: Mapping[str, tuple[str, ...]]) -> st.SearchStrategy[State]:
    """Rows of each of the relations, by its columns."""
    return st.fixed_dictionaries(
        {
            name: st.lists(st.tuples(*(st.sampled_from(VALUES) for _ in columns)), max_size=4).map(Counter)
            for name, columns in relations.items()
        }
    )


def _row(draw: st.DrawFn, source: str) -> Row:
    """Drawn as one number, whose digits are the values: a row is drawn often."""
    width = len(SOURCES[source])
    number = draw(st.integers(0, 4**width - 1))
    return tuple(VALUES[number // 4**i % 4] for i in range(width))


def _valid(source: str, rows: list[Row]) -> list[Row]:
    """Of a source with a key, the first row of each key (the first column)."""
    return list({row[0]: row for row in reversed(rows)}.values()) if source in KEYS else rows


def _grown(draw: st.DrawFn, source: str, before: list[Row]) -> list[Row]:
    return before + [_row(draw, source) for _ in range(draw(st.integers(0, 2)))]


def _next(draw: st.DrawFn, source: str, before: list[Row]) -> list[Row]:
    how = draw(st.integers(0, 5))
    if how == 4:
        return []
    if how == 3:
        return before
    if how == 5:
        return _grown(draw, source, before)
    kept = []
    for row in before:
        fate = draw(st.integers(0, 4))
        if fate <= 1:
            kept.append(row)
        elif fate == 2:
            kept.append(_row(draw, source))
        elif fate == 3:
            at = draw(st.integers(0, len(row) - 1))
            kept.append((*row[:at], VALUES[draw(st.integers(0, 3))], *row[at + 1 :]))
    return _grown(draw, source, kept)


@st.composite
def scripts(draw: st.DrawFn, refreshes: int, growing: bool = False) -> Script:
    """So many refreshes in a row, each with whatever changed since the one before. growing: of which no row leaves a
    source."""
    rows = {s: _valid(s, [_row(draw, s) for _ in range(draw(st.integers(0, 4)))]) for s in SOURCES}
    now = draw(st.integers(0, 1))
    states, touched, clocks = [rows], [], [now]
    for _ in range(refreshes):
        following = _grown if growing else _next
        after = {s: _valid(s, following(draw, s, states[-1][s])[: 9 if growing else 5]) for s in SOURCES}
        commits = draw(st.integers(0, 2 ** len(SOURCES) - 1))
        committed = {s for i, s in enumerate(SOURCES) if commits >> i & 1}
        changed = {s for s in SOURCES if Counter(after[s]) != Counter(states[-1][s])}
        clocks.append(clocks[-1] + draw(st.integers(0, 2)))
        moved = {CLOCK} if clocks[-1] != clocks[-2] else set()
        states.append(after)
        touched.append(frozenset(changed | committed | moved))
    bags = [{s: Counter(r) for s, r in state.items()} for state in states]
    return Script(tuple(bag | {CLOCK: Counter([(n,)])} for bag, n in zip(bags, clocks, strict=True)), tuple(touched))


def world(before: State, after: State) -> World:
    """Both states of every source; a plan without times reads the state after."""
    tables = {}
    for source, names in SOURCES.items():
        tables[source, Time.BEFORE] = Table(names, before[source])
        tables[source, Time.AFTER] = tables[source, Time.UNDATED] = Table(names, after[source])
    clock = {Time.BEFORE: _reading(before), Time.AFTER: _reading(after), Time.UNDATED: _reading(after)}
    return World(tables, clock=clock)


def grown(before: State, after: State) -> frozenset[str]:
    """The sources that no row left."""
    return frozenset(s for s in SOURCES if before[s] <= after[s])


def _reading(state: State) -> dict[str, str]:
    ((now,),) = state[CLOCK]
    return {"current_date": str(now)}


def fed(feed: Feed, before: State, after: State) -> Bag:
    """The net change of a source as its feed holds it: the feed's columns and one weight that is not 0. Every other
    one in which nothing cancels has its rows as they are, netted by the columns of others too: equal ones apart."""
    names = SOURCES[feed.source]
    changed = Counter(after[feed.source])
    changed.subtract(before[feed.source])
    whole = {row: w for row, w in changed.items() if w}
    places = [names.index(c) for c in feed.columns]
    apart = Counter((*(row[p] for p in places), w) for row, w in whole.items())
    if len(whole) % 2 and any(_tells(whole, p) for p in places):
        return apart
    weights: Bag = Counter()
    for (*row, weight), copies in apart.items():
        weights[tuple(row)] += weight * copies
    return Counter((*row, weight) for row, weight in weights.items() if weight)


def came(feed: Feed, before: State, after: State) -> Bag:
    """All changes of a source: every row left and came once more, and one came and left that was never there."""
    changes: Bag = Counter()
    for (*row, weight), copies in fed(feed, before, after).items():
        changes[(*row, 1 if weight > 0 else -1)] += abs(weight) * copies
    names = SOURCES[feed.source]
    for whole in ((7,) * len(names), *before[feed.source], *after[feed.source]):
        row = tuple(whole[names.index(c)] for c in feed.columns)
        changes.update([(*row, 1), (*row, -1)])
    return changes


def _tells(rows: Mapping[Row, int], place: int) -> bool:
    """Whether no value both came and left."""
    came, left = ({row[place] for row, w in rows.items() if w * sign > 0} for sign in (1, -1))
    return not came & left
