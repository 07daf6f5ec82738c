"""What a refresh is expected to take by change and computed anew, from what changed and what earlier refreshes took.

A refresh by change ends in a MERGE, which reads the table wherever changed keys may lie and sorts what it meets; where
much changed, that is most of the table, beside the changes themselves. Computing the query and writing the table anew
takes what building it took. Nothing here asks Spark; seconds are of wall time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..changes.literal_keys import MOST_KEYS

LARGE = 32 * 2**20
"""Bytes of all sources together up to which a refresh is by change whatever changed: most of what it takes is the fixed
cost of its statements, as it is of a rebuild. Also of a table up to which any number of its rows is soon merged."""

SMALL = 4 * 2**20
"""Bytes of all sources together up to which nothing else is weighed either: a refresh by change and a rebuild both take
as long as their statements do, and differ by less than two refreshes of the same change do. Between these two, a small
table that reads them whole several times takes two to four times as long as a rebuild."""

LITTLE = 0.05
"""Share of the rows that is little."""

AS_MANY = 0.5
"""Of the share that changed the last time, one that a plan reads about as much for."""

ALIKE, LEAST = 4, 1e-7
"""Shares less than so many times one another take about as long; and the share that all smaller ones count as."""

AGAIN, AT_LAST = 8, 64
"""One refresh in so many is by change although a small table is sooner written anew: it may have become quicker, and
nothing else would tell. The second where that is expected to cost more than some seconds. One in AGAIN also looks how
much changed of a source that does not say it."""


@dataclass(frozen=True)
class Bar:
    """What has to be so before a table is written anew. share: of the rows, those that changed at the least; times: of
    computing anew, what a refresh by change takes more than; saved: seconds, at the least; timed: whether one by change
    must have been timed, and rows that only came count too, although they may only have to be inserted."""

    share: float
    times: float
    saved: float
    timed: bool

    def is_met(self, found: Expected) -> bool:
        return found.by_change > self.times * found.anew and found.by_change - found.anew >= self.saved


OF_TABLES = Bar(LITTLE, 2.0, 3.0, timed=False)
"""A table that is written anew shows all of its rows to those who read its change feed, as many as twenty changes of
that share would; two refreshes of the same change differ by as many seconds."""

OF_SMALL_TABLES = Bar(0.0, 1.25, 1.0, timed=True)
"""Of less than LARGE bytes: the ten best, or totals by group. To read all of its rows costs little, and what computing
it anew takes is reading the sources, which a refresh by change may have to do more than once."""

OF_DEAR_TABLES = Bar(0.0, 1.25, 5.0, timed=True)
"""Of small tables, those for which it is dear to see whether they have become quicker by change. With TPC-H at scale
10, that took 192 s of query 21, which is written anew in 47."""


SHOWN = 3e-6
"""Seconds that reading the change feed of a table takes for each of its rows after it was written anew: all left and
came. Measured on two cores, of 1.5 M rows it took 3.7 and 5.3 s to find out which are new."""


def bars_of(size: int, refresh: int, shown: int = 0) -> tuple[Bar, ...]:
    """Of which one has to be met before a table is written anew. size: of its data files in bytes, 0 if that is not
    known; refresh: which one of the table's it is; shown: its rows, if others read its change feed."""
    small = 0 < size < LARGE and refresh % AT_LAST
    met = (OF_TABLES, OF_SMALL_TABLES if refresh % AGAIN else OF_DEAR_TABLES) if small else (OF_TABLES,)
    return tuple(replace(bar, saved=bar.saved + SHOWN * shown) for bar in met)


@dataclass(frozen=True)
class Slowness:
    """What a refresh by change takes that nobody has timed yet, as multiples of computing anew. at_all: for next to
    nothing that changed; of_all: what is added to that where everything did."""

    at_all: float
    of_all: float


BY_KEY = Slowness(1.5, 4.0)
"""Merged by a key. Measured on two busy cores against building the table, over 2 M rows of which 1, 10 and 30 % were
updated, here and there: counts and sums per group take 2.4, 2.1 and 4.0 times as long, the last row of each group 1.6,
1.9 and 3.1, ranks 2.3, 2.2 and 2.3, a join that is merged by its key 1.3, 1.9 and 5.4."""

BY_ROW = Slowness(3.0, 30.0)
"""Without a key, equal rows are counted and all columns compared: the same join takes 5.5, 12 and 12 times as long as
building it, a left join with 1 and 10 % 4.2 and 10. The difference of the whole takes as long as the change does."""


RELATION, OF_ROWS, POWER = 0.2, 12_000, 0.28
"""Seconds that computing a relation of a change plan takes beside what it reads: on two cores, as are the two below
with TPC-H at scale 1, of which 0.1 % came and went, so many rows. With ten times as many it takes 0.4 s, with a hundred
times 0.7."""

LOOKING, MAKING = 0.5, 0.9
"""Of what computing a query takes, the part that it takes to look through all of its tables for some keys, and to make
again the rows of few groups, to which most rows of its tables belong. Where the query searches rows for a pattern, it
takes the greater part to look for keys among those that have it."""

FEW_CHANGES = 2_000
"""Changed rows up to which everything derived from them is expected to be small."""

LOOKED_UP = 0.2
"""Of what reading a table for some keys takes, the part that it takes where the keys of few changes are said to it as
literals: with TPC-H at scale 10 a sixth to a half, by how the keys lie in its files."""


@dataclass(frozen=True)
class Planned:
    """What a change plan does, by which it is judged before any like it was timed. relations: that it computes, with
    the feeds and what is written; times: how often it reads the bytes that the query reads once; makes: whether it
    makes rows of the result again, and not their difference; searched: how often it also searches those bytes, for
    patterns and the like."""

    relations: int
    times: float
    makes: bool
    searched: float = 0.0

    def seconds(self, anew: float, changed: int) -> float:
        """anew: seconds that computing the query takes; changed: rows."""
        return RELATION * max(changed / OF_ROWS, 1.0) ** POWER * self.relations + self.reading(anew)

    def reading(self, anew: float) -> float:
        """Of those seconds, the ones for what it reads."""
        return anew * (MAKING * self.times if self.makes else LOOKING * self.times + (MAKING - LOOKING) * self.searched)

    def __str__(self) -> str:
        return f"the change takes {self.relations} relations, which read {self.times:.1f} times what the query reads"


@dataclass(frozen=True)
class Took:
    """An earlier refresh. size: bytes of its sources' data files; share: of the rows, those that were new."""

    seconds: float
    size: int
    share: float

    def of(self, size: int) -> float:
        """Seconds of the same with sources of another size."""
        return self.seconds * size / self.size


@dataclass(frozen=True)
class Past:
    """What earlier refreshes of a table took: the last that computed and wrote everything, and by change the last of
    each size, the smaller ones first: shares that are less than four times one another are of a size."""

    anew: Took | None = None
    by_change: tuple[Took, ...] = ()

    def then(self, took: Took, *, anew: bool) -> Past:
        """With one more refresh."""
        if took.seconds <= 0 or took.size <= 0:
            return self
        if anew:
            return replace(self, anew=took)
        took = replace(took, share=max(took.share, LEAST))
        others = (t for t in self.by_change if not took.share / ALIKE < t.share < took.share * ALIKE)
        return replace(self, by_change=tuple(sorted((*others, took), key=lambda t: t.share)))

    @property
    def is_slow_by_change(self) -> bool:
        """Whether a refresh took more than half of computing anew although little had changed."""
        anew = self.anew
        return anew is not None and any(
            took.seconds > anew.of(took.size) / 2 for took in self.by_change if took.share < LITTLE
        )

    def tells(self, share: float) -> bool:
        """Whether a refresh by so few changed rows was timed: what more took says nothing of a fourth of them."""
        return any(took.share <= ALIKE * share for took in self.by_change)

    def is_told(self, changed: Changed) -> bool:
        """Whether a refresh was timed that did to the tables what a change of so many rows does: one of about as many,
        or of fewer that were not looked up by their keys as few are."""
        few = changed.share * FEW_CHANGES / max(changed.rows, FEW_CHANGES)
        least = min(few, changed.share / ALIKE)
        return any(least < took.share <= ALIKE * changed.share for took in self.by_change)


@dataclass(frozen=True)
class Changed:
    """rows: of a source, those that changed, or of the table, those that are to be made again; of: how many it has;
    share: of all that is read, what changed; only_came: whether no row left; supposed: whether no more is known than
    the share of the last time. The text says it in a clause."""

    rows: int
    of: int
    share: float
    source: str | None = None
    only_came: bool = False
    supposed: bool = False

    def __str__(self) -> str:
        if self.supposed:
            return f"nothing says how many rows of {self.source} changed, and the last time they were too many"
        if self.source is None:
            return f"{self.rows:,} of the table's {self.of:,} rows are to be made again"
        # How many there are is reckoned from the size of files.
        return f"{self.rows:,} of about {self.of:,} rows of {self.source} changed"


@dataclass(frozen=True)
class Source:
    """A table that is read. size: bytes of its data files; changed: its changed rows; row: bytes of one of them in a
    data file."""

    name: str
    size: int
    changed: int = 0
    row: float = 0.0

    @property
    def part(self) -> float:
        """Bytes that changed, as far as it can be: a row that changed twice counts once."""
        return min(self.changed * self.row, float(self.size))


def changed_of(sources: Iterable[Source], *, only_came: bool = False) -> Changed | None:
    """What changed of all sources, told of the one with most of it. None if no row did or sizes are not known."""
    listed = list(sources)
    size = sum(s.size for s in listed)
    most = max(listed, key=lambda s: s.part, default=None)
    if most is None or most.part <= 0 or any(s.changed and not s.part for s in listed):
        return None
    rows = max(most.changed, round(most.size / most.row))
    return Changed(most.changed, rows, sum(s.part for s in listed) / size, most.name, only_came)


@dataclass(frozen=True)
class Expected:
    """Seconds by change and computed anew."""

    by_change: float
    anew: float

    def __str__(self) -> str:
        return f"expected {seconds(self.by_change)} by change, {seconds(self.anew)} anew"


def expected(past: Past, size: int, share: float, untimed: Slowness) -> Expected | None:
    """None if the table was never timed being built, or nothing says how large its sources are.

    size: bytes of all sources; share: of the rows, those that changed; untimed: what holds as long as no refresh by
    change was timed. A larger share never takes less."""
    if past.anew is None or size <= 0:
        return None
    anew = past.anew.of(size)
    timed = _timed(past.by_change, size)
    if not timed:
        return Expected((untimed.at_all + untimed.of_all * share) * anew, anew)
    least = timed[0][1] if timed[0][0] < LITTLE else min(untimed.at_all * anew, timed[0][1])
    points = [(0.0, least), *timed]
    above = next((i for i, (known, _) in enumerate(points) if known > share), None)
    if above is not None:
        return Expected(_on_line(points[above - 1], points[above], share), anew)
    (last, time), before = points[-1], points[-2]
    if last >= LITTLE:
        return Expected(_on_line(before, points[-1], share), anew)
    more = time + untimed.of_all * anew * (share - last)
    return Expected(max(more, _on_curve(before, points[-1], share)), anew)


def _timed(by_change: Iterable[Took], size: int) -> list[tuple[float, float]]:
    """Shares, and seconds that do not fall: of two days, the one on which less changed may have been the slower one."""
    found: list[tuple[float, float]] = []
    for took in by_change:
        # What little takes is for the most part what its statements take, however large the tables are.
        time = took.seconds if took.share < LITTLE else took.of(size)
        found.append((took.share, max([time, *(t for _, t in found[-1:])])))
    return found


def _on_line(one: tuple[float, float], other: tuple[float, float], share: float) -> float:
    (s, time), (t, more) = one, other
    return time + (more - time) * (share - s) / (t - s)


def _on_curve(one: tuple[float, float], other: tuple[float, float], share: float) -> float:
    """Seconds of a larger share, where ten times the rows take so many times as long again as they did from the one to
    the other: keys here and there lie in ever fewer files that have none yet, so that it is no line."""
    (s, time), (t, more) = one, other
    if s <= 0 or time <= 0:
        return more
    power = min(1.0, math.log(more / time) / math.log(t / s))
    return more * (share / t) ** power


def why_anew(past: Past, size: int, changed: Changed | None, untimed: Slowness, bar: Bar) -> str | None:
    """Why the table is sooner computed and written anew than maintained by this change; None if it is not, or if
    nothing says so."""
    if changed is None or never_anew(past, size, changed, bar) is not None:
        return None
    found = expected(past, size, changed.share, untimed)
    return f"{changed}: {found}" if found is not None and bar.is_met(found) else None


def saves_nothing(over: Past, alone: Past, size: int, changed: Changed, untimed: Slowness) -> bool:
    """Whether a refresh by few rows takes clearly longer over a state table than without it, by change or anew: as much
    as a small table has to take before it is written anew. over, alone: what those before took; False where none like
    it did."""
    if changed.share >= LITTLE or not over.is_told(changed):
        return False
    takes, took = (expected(past, size, changed.share, untimed) for past in (over, alone))
    if takes is None or took is None:
        return False
    # What far fewer rows took says nothing of what these would.
    without = min(took.by_change, took.anew) if alone.is_told(changed) else took.anew
    return OF_SMALL_TABLES.is_met(Expected(takes.by_change, without))


def dear_at_sight(
    past: Past, size: int, changed: Changed | None, planned: Planned, bar: Bar, *, lacking: float | None = None
) -> str | None:
    """Why a small table is sooner written anew than brought up to date by a plan of which none like it was timed; None
    if it is not, or if nothing says so. bar: of those for small tables, the one that has to be met; lacking: seconds by
    what earlier ones took, which had from others what this one has to read for itself; None where it need not."""
    # So few rows' keys are said to large tables as literals, and how many files those leave out is not known before.
    if past.anew is None or size < SMALL or changed is None or changed.rows <= MOST_KEYS:
        return None
    anew, told = past.anew.of(size), past.is_told(changed)
    if lacking is None:
        if told:
            return None
        # More rows never take less.
        at_most = [took.seconds for took in past.by_change if took.share >= changed.share]
    else:
        at_most = [lacking] if told else []
    found = Expected(min([planned.seconds(anew, changed.rows), *at_most]), anew)
    return f"{planned}: {found}" if bar.is_met(found) else None


def dear_again(past: Past, changed: Changed | None, share: float | None, refresh: int) -> str | None:
    """Why a table that was written anew the last time is so again, before anything of the change is read to find out
    once more that its plan is dear at sight; None if that is to be looked at. share: of the rows, those that changed
    when it was last looked at, None if that is not known; refresh: which one of the table's this is."""
    # A plan of which one like it was timed is judged by that.
    if changed is None or share is None or refresh % AGAIN == 0 or past.is_told(changed):
        return None
    if changed.supposed:
        return str(changed)
    # Plans for so few rows are not judged at sight.
    if changed.rows <= MOST_KEYS or changed.share < AS_MANY * share:
        return None
    return f"{changed}, and as few were too many the last time"


def never_anew(past: Past, size: int, changed: Changed | None, bar: Bar) -> str | None:
    """Why a refresh is by change whatever it takes; None if that is weighed."""
    least = SMALL if bar.timed else LARGE
    if size < least:
        return f"the sources have less than {least // 2**20} MB"
    if changed is None:
        return "nothing says how many rows changed"
    if bar.timed:
        return None if past.tells(changed.share) else "none by so few rows was timed yet"
    if changed.only_came:
        return "rows only came"
    return f"less than {bar.share:.0%} of the rows changed" if changed.share < bar.share else None


def seconds(time: float) -> str:
    return f"{time:.1f} s" if time < 10 else f"{time:,.0f} s"
