"""When a refresh is expected to be sooner done anew than by change."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt_spark_dynamic.changes.literal_keys import MOST_KEYS
from dbt_spark_dynamic.commit.costs import (
    ALIKE,
    BY_KEY,
    BY_ROW,
    FEW_CHANGES,
    LARGE,
    LITTLE,
    OF_DEAR_TABLES,
    OF_SMALL_TABLES,
    OF_TABLES,
    SMALL,
    Changed,
    Past,
    Planned,
    Slowness,
    Source,
    Took,
    bars_of,
    changed_of,
    dear_again,
    dear_at_sight,
    expected,
    saves_nothing,
    why_anew,
)

TIMES = st.floats(0.01, 10_000)
SIZES = st.integers(1, 2**50)
TOOK = st.builds(Took, TIMES, SIZES, st.just(1.0))
SHARES = st.floats(0, 1) | st.floats(-8, 0).map(lambda power: 10**power)


def remembered(anew: Took | None, by_change: list[Took]) -> Past:
    past = Past() if anew is None else Past().then(anew, anew=True)
    return reduce(lambda past, took: past.then(took, anew=False), by_change, past)


PASTS = st.builds(remembered, st.none() | TOOK, st.lists(st.builds(Took, TIMES, SIZES, SHARES), max_size=9))
BARS = (OF_TABLES, OF_SMALL_TABLES)
UNTIMED = st.sampled_from([BY_KEY, BY_ROW])


def of_rows(share: float) -> Changed:
    return Changed(round(share * 10**6), 10**6, share, "orders")


@given(PASTS, SIZES, SHARES, SHARES, UNTIMED)
def test_more_changes_never_take_less(past: Past, size: int, one: float, other: float, untimed: Slowness) -> None:
    less, more = (expected(past, size, share, untimed) for share in sorted([one, other]))
    assert (less is None) == (more is None) == (past.anew is None)
    if less is not None and more is not None:
        assert less.by_change <= more.by_change and less.anew == more.anew
        assert all(bar.is_met(more) or not bar.is_met(less) for bar in BARS)


@given(PASTS, SIZES, st.floats(0, LITTLE, exclude_max=True), UNTIMED)
def test_little_that_changed_is_never_computed_anew(past: Past, size: int, share: float, untimed: Slowness) -> None:
    assert why_anew(past, size, of_rows(share), untimed, OF_TABLES) is None


@given(PASTS, SIZES, SHARES, UNTIMED)
def test_a_small_table_is_never_computed_anew_for_much_less_than_was_timed(
    past: Past, size: int, share: float, untimed: Slowness
) -> None:
    """That may be quicker by change."""
    if why_anew(past, size, of_rows(share), untimed, OF_SMALL_TABLES) is not None:
        assert past.anew is not None and past.tells(share)


@given(PASTS, st.integers(1, LARGE - 1), SHARES, UNTIMED, st.builds(Planned, st.integers(1, 50), st.floats(0, 100)))
def test_small_sources_are_never_computed_anew(
    past: Past, size: int, share: float, untimed: Slowness, planned: Planned
) -> None:
    """Those that are a little larger may be, for a small table."""
    assert why_anew(past, size, of_rows(share), untimed, OF_TABLES) is None
    if size < SMALL:
        assert why_anew(past, size, of_rows(share), untimed, OF_SMALL_TABLES) is None
        assert dear_at_sight(past, size, of_rows(share), planned, OF_SMALL_TABLES) is None


def test_a_small_table_over_sources_that_were_written_anew_is_written_anew_too() -> None:
    past, size = Past(Took(2.4, 30 * 2**20, 1.0), (Took(3.6, 30 * 2**20, 0.04),)), 30 * 2**20
    assert why_anew(past, size, Changed(3_000_000, 1_500_000, 1.0), BY_KEY, OF_SMALL_TABLES) is not None
    assert why_anew(past, size, Changed(3_000_000, 1_500_000, 1.0), BY_KEY, OF_TABLES) is None


@given(st.integers(LARGE, 2**50), st.floats(0.9, 1), st.floats(10, 10_000), UNTIMED)
def test_large_tables_are_not_maintained_by_almost_everything(
    size: int, share: float, time: float, untimed: Slowness
) -> None:
    assert why_anew(Past(Took(time, size, 1.0)), size, of_rows(share), untimed, OF_TABLES) is not None


@given(PASTS, SIZES, SHARES, UNTIMED)
def test_what_is_not_known_is_maintained_by_change(past: Past, size: int, share: float, untimed: Slowness) -> None:
    assert why_anew(replace(past, anew=None), size, of_rows(share), untimed, OF_TABLES) is None
    assert why_anew(past, 0, of_rows(share), untimed, OF_TABLES) is None
    assert why_anew(past, size, None, untimed, OF_TABLES) is None


@given(PASTS, SIZES, SHARES, st.builds(Planned, st.integers(1, 50), st.floats(0, 100), st.booleans()))
def test_what_was_timed_is_not_judged_by_its_plan(past: Past, size: int, share: float, planned: Planned) -> None:
    dear = dear_at_sight(past, size, of_rows(share), planned, OF_SMALL_TABLES)
    if dear is None:
        return
    assert past.anew is not None and size >= SMALL and of_rows(share).rows > MOST_KEYS
    assert planned.seconds(past.anew.of(size), of_rows(share).rows) > past.anew.of(size)
    shares = [took.share for took in past.by_change if took.seconds <= past.anew.of(size)]
    assert not any(few_of(share) < known <= ALIKE * share or known > share for known in shares)


def few_of(share: float) -> float:
    """The share of so few rows that each was looked up by its key."""
    return min(share / ALIKE, share * FEW_CHANGES / max(of_rows(share).rows, FEW_CHANGES))


def test_what_few_rows_took_says_little_of_many() -> None:
    """TPC-H 20 at scale 10: 1.8 s where the rows of 300 orders changed, each looked up by its key, and 20 s where those
    of 30,000 did; computed anew it takes 4.7 s."""
    size, few, many = 3 * 2**30, Changed(1_200, 60_000_000, 2e-5), Changed(119_463, 60_000_000, 0.002)
    past, planned = remembered(Took(4.7, size, 1.0), [Took(1.8, size, few.share)]), Planned(17, 2.0, makes=False)
    assert dear_at_sight(past, size, many, planned, OF_SMALL_TABLES) is not None
    assert dear_at_sight(past, size, few, planned, OF_SMALL_TABLES) is None
    timed = past.then(Took(2.0, size, many.share / 5), anew=False)
    assert dear_at_sight(timed, size, many, planned, OF_SMALL_TABLES) is None
    assert dear_at_sight(timed, size, many, planned, OF_SMALL_TABLES, lacking=9.0) is not None
    past = past.then(Took(3.0, size, many.share), anew=False)
    assert dear_at_sight(past, size, many, planned, OF_SMALL_TABLES) is None
    more = Changed(1_194_630, 60_000_000, 0.02)
    assert dear_at_sight(past, size, more, planned, OF_SMALL_TABLES) is None, "which were not looked up one by one"


def test_what_others_had_read_is_added_to_what_earlier_refreshes_took() -> None:
    """TPC-H 14 at scale 10 took 3.7 s after 1 % and 4.4 s anew; the parts that lines meet, too many to be kept for all,
    are little beside the lines. By its relations alone such a plan would take 9 s."""
    size, changed = 3 * 2**30, Changed(1_200_000, 60_000_000, 0.02)
    planned = Planned(9, 0.1, makes=False, searched=0.1)
    untold = remembered(Took(4.4, size, 1.0), [Took(1.5, size, 1e-7)])
    assert dear_at_sight(untold, size, changed, planned, OF_SMALL_TABLES, lacking=2.0) is not None
    told = untold.then(Took(3.7, size, changed.share), anew=False)
    assert dear_at_sight(told, size, changed, planned, OF_SMALL_TABLES) is None
    assert dear_at_sight(told, size, changed, planned, OF_SMALL_TABLES, lacking=4.0) is None
    assert dear_at_sight(told, size, changed, planned, OF_SMALL_TABLES, lacking=8.0) is not None


def test_a_plan_that_reads_more_than_the_query_is_dear_at_sight() -> None:
    past, size, changed = Past(Took(2.6, 300 * 2**20, 1.0)), 300 * 2**20, Changed(12_000, 6_000_000, 0.002)
    assert dear_at_sight(past, size, changed, Planned(12, 3.05, makes=False), OF_SMALL_TABLES) == (
        "the change takes 12 relations, which read 3.0 times what the query reads: expected 6.4 s by change, 2.6 s anew"
    )
    assert dear_at_sight(past, size, changed, Planned(5, 1.0, makes=False), OF_SMALL_TABLES) is None
    slow = Past(Took(60.0, 300 * 2**20, 1.0))
    assert dear_at_sight(slow, size, changed, Planned(12, 2.0, makes=False), OF_SMALL_TABLES) is None
    assert dear_at_sight(slow, size, changed, Planned(6, 2.0, makes=True), OF_SMALL_TABLES) is not None
    assert dear_at_sight(slow, size, changed, Planned(6, 2.0, makes=False, searched=2.0), OF_SMALL_TABLES) is not None


@given(SIZES, st.floats(1e-7, 1), TIMES, TIMES, UNTIMED)
def test_what_was_timed_is_expected_again(size: int, share: float, anew: float, time: float, untimed: Slowness) -> None:
    past = remembered(Took(anew, size, 1.0), [Took(time, size, share)])
    found = expected(past, size, share, untimed)
    assert found is not None
    assert (found.by_change, found.anew) == (pytest.approx(time), pytest.approx(anew))


@given(PASTS, TIMES, st.floats(1e-7, 1))
def test_one_timing_of_each_size_is_remembered(past: Past, time: float, share: float) -> None:
    took = Took(time, 1, share)
    shares = [t.share for t in past.then(took, anew=False).by_change]
    assert took in past.then(took, anew=False).by_change and len(shares) <= 12
    assert all(less * ALIKE <= more for less, more in pairwise(shares))


def test_what_more_rows_take_is_told_by_what_fewer_took() -> None:
    """TPC-H 17 at scale 10: 12.5 s where 0.001 % changed and 28 s with 0.1 %; 1 % took 112 s, writing it anew 31."""
    size = 3 * 2**30
    past = remembered(Took(31.0, size, 1.0), [Took(12.5, size, 0.00001), Took(28.0, size, 0.001)])
    found = expected(past, size, 0.01, BY_KEY)
    assert found is not None and found.by_change == pytest.approx(41.9, abs=0.1)
    assert why_anew(past, size, of_rows(0.01), BY_KEY, OF_SMALL_TABLES) is not None
    for share, time in ((0.01, 112.0), (0.001, 28.0), (0.00001, 12.5)):
        past = past.then(Took(112.0, size, 0.01), anew=False)
        found = expected(past, size, share, BY_KEY)
        assert found is not None and found.by_change == pytest.approx(time)


def test_the_reason_names_the_numbers() -> None:
    changed = changed_of([Source("orders", 200 * 2**20, 600_000, 200.0), Source("customers", 2**20)])
    past = Past(Took(5.0, 201 * 2**20, 1.0), (Took(2.0, 201 * 2**20, 0.0001), Took(30.0, 201 * 2**20, 0.5)))
    assert why_anew(past, 201 * 2**20, changed, BY_KEY, OF_TABLES) == (
        "600,000 of about 1,048,576 rows of orders changed: expected 34 s by change, 5.0 s anew"
    )
    made_again = Changed(900, 1000, 0.9)
    assert str(made_again) == "900 of the table's 1,000 rows are to be made again"


def test_what_changed_of_several_sources() -> None:
    half = changed_of([Source("a", 1000, 10, 100.0), Source("b", 1000)])
    assert half == Changed(10, 10, 0.5, "a")
    assert changed_of([Source("a", 1000, 50, 100.0)]) == Changed(50, 50, 1.0, "a"), "rows that changed five times"
    assert changed_of([Source("a", 1000)]) is None
    assert changed_of([Source("a", 1000, 5, 100.0), Source("b", 1000, 5)]) is None, "nothing says how large b's are"


def test_whether_it_has_become_quicker_is_seen_rarely_where_that_is_dear() -> None:
    size, changed = 3 * 2**30, Changed(1_000, 10**6, 0.001)
    dear = Past(Took(40.0, size, 1.0), (Took(80.0, size, 0.001),))
    cheap = Past(Took(4.0, size, 1.0), (Took(8.0, size, 0.001),))

    def anew(past: Past, refresh: int) -> bool:
        return any(why_anew(past, size, changed, BY_KEY, bar) for bar in bars_of(1000, refresh))

    assert [n for n in range(1, 129) if not anew(cheap, n)] == list(range(8, 129, 8))
    assert [n for n in range(1, 129) if not anew(dear, n)] == [64, 128]
    untimed = Past(Took(40.0, size, 1.0))
    for n, bar in ((1, OF_SMALL_TABLES), (8, OF_DEAR_TABLES), (56, OF_DEAR_TABLES)):
        assert bars_of(1000, n)[-1] == bar and dear_at_sight(untimed, size, changed, Planned(9, 3.0, False), bar)
    assert bars_of(0, 1) == bars_of(2**40, 1) == (OF_TABLES,)


def test_who_reads_the_change_feed_counts() -> None:
    """All rows of a table that is written anew come and go for them."""
    size, changed = 3 * 2**30, Changed(1_000, 10**6, 0.001)
    past = Past(Took(3.0, size, 1.0), (Took(6.0, size, 0.001),))
    for shown, anew in ((0, True), (500_000, True), (1_500_000, False)):
        found = [why_anew(past, size, changed, BY_KEY, bar) for bar in bars_of(1000, 1, shown)]
        assert (found[-1] is not None) is anew


def test_a_timing_that_cannot_be_is_left_out() -> None:
    """Of two clocks that do not agree, or of sources whose size nothing said."""
    past = Past(Took(5.0, 100, 1.0))
    assert past.then(Took(-1.0, 100, 1.0), anew=True) == past == past.then(Took(3.0, 0, 0.5), anew=False)


def test_a_state_table_that_saves_nothing() -> None:
    """With about as many changed rows, it takes a fourth longer than without one, by change or anew."""
    alone = Past(Took(20.0, 1000, 1.0), (Took(10.0, 1000, 0.001), Took(30.0, 1000, 0.1)))
    dearer_alone = Past(alone.anew, (Took(90.0, 1000, 0.001),))

    def saves(over: float, *, without: Past = alone, share: float = 0.001) -> bool:
        past = Past(alone.anew, (Took(over, 1000, 0.001),))
        return not saves_nothing(past, without, 1000, Changed(5_000, 5_000_000, share), BY_KEY)

    assert saves(12.0) and not saves(13.0)
    assert saves(24.0, without=dearer_alone) and not saves(26.0, without=dearer_alone)
    assert not saves(26.0, without=Past(alone.anew))
    assert saves(13.0, share=1e-6) and saves(13.0, share=LITTLE)


def test_what_few_rows_took_without_a_state_table_says_nothing_of_many() -> None:
    """TPC-H 10 at scale 10: 5.6 s after 0.001 % without one, 7.0 s after 0.1 % with it. 1 % took 12.8 s without it
    then, and 7 s with it another time."""
    size, changed = 3 * 2**30, Changed(600_000, 60_000_000, 0.01, "lineitem")
    alone = remembered(Took(13.0, size, 1.0), [Took(5.6, size, 1e-5)])
    over = remembered(Took(13.0, size, 1.0), [Took(4.5, size, 1e-5), Took(7.0, size, 1e-3)])
    assert not saves_nothing(over, alone, size, changed, BY_KEY)
    told = alone.then(Took(6.5, size, 0.01), anew=False)
    assert saves_nothing(over, told, size, changed, BY_KEY)


def test_what_was_dear_at_sight_is_so_again() -> None:
    """Half as many rows change little of what a plan reads; one refresh in eight looks at it, and so does one of which
    another like it was timed."""
    past, changed = Past(Took(2.6, 300 * 2**20, 1.0)), Changed(12_000, 6_000_000, 0.002, "orders")
    assert dear_again(past, changed, 0.002, 3) == (
        "12,000 of about 6,000,000 rows of orders changed, and as few were too many the last time"
    )
    assert dear_again(past, changed, 0.004, 3) is not None
    assert dear_again(past, changed, 0.0041, 3) is dear_again(past, changed, 0.002, 8) is None
    assert dear_again(past, changed, None, 3) is dear_again(past, None, 0.002, 3) is None
    assert dear_again(past, Changed(MOST_KEYS, 6_000_000, 0.002), 0.002, 3) is None
    timed = past.then(Took(3.0, 300 * 2**20, 0.002), anew=False)
    assert dear_again(timed, changed, 0.002, 3) is None


def test_a_source_that_was_written_anew_is_not_read_to_see_once_more_that_its_changes_are_dear() -> None:
    past, supposed = Past(Took(2.6, 30 * 2**20, 1.0)), Changed(0, 0, 0.07, "customers", supposed=True)
    assert dear_again(past, supposed, 0.07, 3) == (
        "nothing says how many rows of customers changed, and the last time they were too many"
    )
    assert dear_again(past, supposed, 0.07, 8) is None
    assert dear_again(past.then(Took(3.0, 30 * 2**20, 0.07), anew=False), supposed, 0.07, 3) is None
