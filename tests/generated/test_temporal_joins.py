"""Temporal joins of random changelogs: after each refresh the table is what the definition gives, row for row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbt_spark_dynamic.algebra.nodes import Join, Time, walk
from dbt_spark_dynamic.changes.derivation import at
from dbt_spark_dynamic.commit import temporal_plans
from dbt_spark_dynamic.commit.measure import Measure
from dbt_spark_dynamic.dialect import print_sql
from dbt_spark_dynamic.sparksql.bins import MICROS, Bins
from dbt_spark_dynamic.sparksql.lookups import look_up
from dbt_spark_dynamic.sparksql.reads import Span, dated
from dbt_spark_dynamic.sparksql.render import Renderer
from dbt_spark_dynamic.sparksql.versions_met import census

from .duck import Duck
from .maintained import Maintained
from .temporal import NEWEST, START, TABLES, VERSIONED, VIEWS, Relation, Row, ValidAt, World, of_events, of_intervals

REFRESHES = 4

SIDES: dict[str, tuple[str, ValidAt]] = {
    "intervals": ("intervals", of_intervals),
    "view": ("newest", of_events),
    "cte": ("of_cte", of_events),
    "declared": ("appended", of_events),
}
"""What holds the versions: (its name in FROM, the version of a key at a time)."""

NINE = int(START.replace(tzinfo=UTC).timestamp()) * 1_000_000
MINUTE = 60_000_000

TECHNIQUES: dict[str, temporal_plans.Technique | None] = {
    "join": None,
    "bins": Bins(MICROS, NINE + 2 * MINUTE, NINE + 9 * MINUTE, 3 * MINUTE),
    "lookup": look_up,
}
"""The bins leave times before the first and after the last."""

CTE = f"WITH of_cte AS ({NEWEST.format(shown='*')}) "

Rows = Iterable[tuple[Any, ...]]


def key_of(order: Row) -> tuple:
    return (order["currency"], order["market"])


def left_join(state: Relation, valid_at: ValidAt) -> Rows:
    for o in state["orders"]:
        version = valid_at(state, key_of(o), o["order_time"])
        yield o["id"], o["order_time"], version and version["rate"]


def inner_join(state: Relation, valid_at: ValidAt) -> Rows:
    for o in state["orders"]:
        version = valid_at(state, key_of(o), o["order_time"])
        if version is not None:
            yield o["id"], o["currency"], product(o["amount"], version["rate"])


def conditions(state: Relation, valid_at: ValidAt) -> Rows:
    for o in state["orders"]:
        version = valid_at(state, key_of(o), o["order_time"])
        met = version and version["rate"] is not None and o["amount"] is not None and version["rate"] > o["amount"]
        yield o["id"], version["rate"] if met else None


def where(state: Relation, valid_at: ValidAt) -> Rows:
    for o in state["orders"]:
        version = valid_at(state, key_of(o), o["order_time"])
        if version is not None and (version["rate"] or 0) > 1:
            yield o["id"], version["rate"]


def two_joins(state: Relation, valid_at: ValidAt) -> Rows:
    for o in state["orders"]:
        now = valid_at(state, key_of(o), o["order_time"])
        one = valid_at(state, (o["currency"], 1), o["order_time"])
        if one is not None:
            yield o["id"], now and now["rate"], one["rate"]


def totals(state: Relation, valid_at: ValidAt) -> Rows:
    groups: dict[Any, list[int | None]] = {}
    for o in state["orders"]:
        version = valid_at(state, key_of(o), o["order_time"])
        groups.setdefault(o["currency"], []).append(product(o["amount"], version["rate"]) if version else None)
    for currency, of in groups.items():
        known = [v for v in of if v is not None]
        yield currency, len(of), sum(known) if known else None


def without(state: Relation, valid_at: ValidAt) -> Rows:
    for o in state["orders"]:
        if valid_at(state, key_of(o), o["order_time"]) is None:
            yield o["id"], o["order_time"]


def product(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a * b


ON = "ON o.currency = r.currency AND o.market = r.market"

QUERIES: dict[str, tuple[str, Callable[[Relation, ValidAt], Rows]]] = {
    "left": (
        "SELECT o.id, o.order_time, r.rate FROM orders o LEFT JOIN {v} FOR SYSTEM_TIME AS OF o.order_time AS r " + ON,
        left_join,
    ),
    "inner": (
        "SELECT id, currency, amount * rate AS paid FROM orders o JOIN {v} FOR SYSTEM_TIME AS OF order_time r "
        "USING (currency, market)",
        inner_join,
    ),
    "comma": (
        "SELECT o.id, o.currency, o.amount * r.rate AS paid FROM orders AS o, {v} FOR SYSTEM_TIME AS OF o.order_time r "
        "WHERE r.market = o.market AND o.currency = r.currency",
        inner_join,
    ),
    "comma with on": (
        "SELECT o.id, o.currency, o.amount * r.rate AS paid FROM orders AS o, {v} FOR SYSTEM_TIME AS OF o.order_time r "
        + ON,
        inner_join,
    ),
    "conditions": (
        "SELECT o.id, r.rate FROM orders o LEFT JOIN {v} FOR SYSTEM_TIME AS OF o.order_time AS r "
        + ON
        + " AND r.rate > o.amount",
        conditions,
    ),
    "where": (
        "SELECT o.id, r.rate FROM orders o LEFT JOIN {v} FOR SYSTEM_TIME AS OF o.order_time AS r "
        + ON
        + " WHERE r.rate > 1",
        where,
    ),
    "two": (
        "SELECT o.id, r.rate, one.rate AS first_rate FROM orders o "
        "LEFT JOIN {v} FOR SYSTEM_TIME AS OF o.order_time AS r "
        + ON
        + " JOIN {v} FOR SYSTEM_TIME AS OF o.order_time one "
        "ON one.currency = o.currency AND one.market = o.market - o.market + 1",
        two_joins,
    ),
    "totals": (
        "SELECT o.currency, COUNT(*) AS n, SUM(o.amount * r.rate) AS paid FROM orders o "
        "LEFT JOIN {v} FOR SYSTEM_TIME AS OF o.order_time AS r " + ON + " GROUP BY o.currency",
        totals,
    ),
    "anti": (
        "SELECT o.id, o.order_time FROM orders o LEFT ANTI JOIN {v} FOR SYSTEM_TIME AS OF o.order_time AS r " + ON,
        without,
    ),
}


@pytest.fixture(scope="module")
def duck() -> Duck:
    return Duck(TABLES, VIEWS, VERSIONED)


def maintain(duck: Duck, query: str, side: str, seed: int, by_key: bool, technique: str) -> None:
    (sql, definition), (name, valid_at) = QUERIES[query], SIDES[side]
    world = World.random(seed, REFRESHES)
    duck.enter(str(seed), world.rounds())
    cte = CTE if side == "cte" else ""
    table = Maintained(duck, cte + sql.format(v=name), by_key=by_key, technique=TECHNIQUES[technique])
    for version, state in enumerate(world.states):
        if version:
            table.refresh(version)
        assert Counter(table.rows()) == Counter(definition(state, valid_at)), f"version {version}"


@pytest.mark.parametrize("technique", TECHNIQUES)
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("query", QUERIES)
def test_each_query_over_each_kind_of_versions(duck: Duck, query: str, side: str, technique: str) -> None:
    maintain(duck, query, side, len(query) % 2, by_key=len(query) % 2 == 0, technique=technique)


def test_random_changelogs(duck: Duck, pairs: int) -> None:
    worlds = max(12, pairs // 4)

    @settings(max_examples=max(1, pairs // 3))
    @given(
        st.sampled_from(sorted(QUERIES)),
        st.sampled_from(sorted(SIDES)),
        st.integers(0, worlds - 1),
        st.booleans(),
        st.sampled_from(sorted(TECHNIQUES)),
    )
    def holds(query: str, side: str, seed: int, by_key: bool, technique: str) -> None:
        maintain(duck, query, side, seed, by_key, technique)

    holds()


def met_now(state: Relation, order: Row, side: str) -> tuple | None:
    """What an order that is processed in this state meets: the newest row of its key. To a view that keeps the newest
    row, one without a time is the oldest; to what is declared with an event time, it is none."""
    if side == "view":
        timed = [{**e, "rate_time": e["rate_time"] or datetime.min} for e in state["events"]]
        state = {"events": tuple(timed)}
    newest = of_events(state, key_of(order), datetime.max)
    return (order["id"], order["currency"], newest["rate"]) if newest is not None else None


@pytest.mark.parametrize("side", ["view", "declared"])
@pytest.mark.parametrize("seed", range(4))
def test_at_processing_time_past_results_are_kept(duck: Duck, side: str, seed: int) -> None:
    """By definition: an order that came or changed since the last refresh meets the newest versions, others do not."""
    world = World.random(seed, REFRESHES, unique=True)
    duck.enter(f"unique_{seed}", world.rounds())
    sql = f"SELECT o.id, o.currency, r.rate FROM orders o JOIN {SIDES[side][0]} FOR SYSTEM_TIME AS OF PROCTIME() r {ON}"
    table = Maintained(duck, sql, by_key=True, declared=("id",))
    held: dict[int, tuple | None] = {}
    known: dict[int, tuple] = {}
    for version, state in enumerate(world.states):
        now = {o["id"]: (o["currency"], o["market"]) for o in state["orders"]}
        orders = {o["id"]: o for o in state["orders"]}
        kept = {i for i, seen in now.items() if known.get(i) == seen}
        held = {i: held[i] if i in kept else met_now(state, orders[i], side) for i in now}
        known = now
        if version:
            table.refresh(version)
        assert Counter(table.rows()) == Counter(r for r in held.values() if r is not None), f"version {version}"


TIMED = {
    "intervals": ("intervals", "dbt_valid_from"),
    "view": ("events", "rate_time"),
    "declared": ("appended", "rate_time"),
}
"""Side -> the table that its versions come from, and since when each is valid there."""

JOINED_ONCE: dict[str, tuple[str, Callable[[Row, Row | None], tuple | None]]] = {
    "left": (
        "SELECT o.id, o.order_time, r.rate FROM orders o LEFT JOIN {v} FOR SYSTEM_TIME AS OF o.order_time AS r " + ON,
        lambda o, version: (o["id"], o["order_time"], version and version["rate"]),
    ),
    "inner": (
        "SELECT o.id, o.amount * r.rate AS paid FROM orders AS o, {v} FOR SYSTEM_TIME AS OF o.order_time r " + ON,
        lambda o, version: (o["id"], product(o["amount"], version["rate"])) if version else None,
    ),
    "two": (
        "SELECT o.id, r.rate, again.market FROM orders o LEFT JOIN {v} FOR SYSTEM_TIME AS OF o.order_time AS r "
        + ON
        + " LEFT JOIN {v} FOR SYSTEM_TIME AS OF o.order_time AS again "
        "ON o.currency = again.currency AND o.market = again.market",
        lambda o, version: (o["id"], version and version["rate"], version and version["market"]),
    ),
    "where": (
        "SELECT o.id, r.rate FROM (SELECT * FROM orders WHERE amount > 1) o "
        "LEFT JOIN {v} FOR SYSTEM_TIME AS OF o.order_time AS r " + ON + " WHERE r.rate IS NULL OR r.rate > 1",
        lambda o, version: (
            None
            if (o["amount"] or 0) <= 1 or (version and version["rate"] == 1)
            else (o["id"], version and version["rate"])
        ),
    ),
}
"""Query -> (its SQL, the row of an order and the version that it met; None if there is none)."""


def late_versions_are_ignored(duck: Duck, query: str, side: str, seed: int, minutes: int, technique: str) -> None:
    """By definition: an order is joined when the watermark, which never falls, has passed it, with what is known then;
    again if it changes; and not when a version does."""
    (sql, shown), (name, valid_at), (table, since) = JOINED_ONCE[query], SIDES[side], TIMED[side]
    world = World.random(seed, REFRESHES + 2, unique=True)
    duck.enter(f"ignoring_{seed}", world.rounds())
    maintained = Maintained(
        duck, sql.format(v=name), by_key=True, declared=("id",), late_by=f"'{minutes}' MINUTE",
        technique=TECHNIQUES[technique],
    )  # fmt: skip
    newest: list[datetime | None] = [None, None]
    held: dict[int, tuple | None] = {}
    joined: dict[int, Row] = {}
    for version, state in enumerate(world.states):
        times = [(o["order_time"] for o in state["orders"]), (v[since] for v in state[table])]
        known = [[t for t in (*ts, n) if t is not None] for ts, n in zip(times, newest, strict=True)]
        newest = [max(ts, default=None) for ts in known]
        passed = [n for n in newest if n is not None]
        reached = min(passed) - timedelta(minutes=minutes) if len(passed) == 2 else None
        ripe = {
            o["id"]: o
            for o in state["orders"]
            if o["order_time"] is None or (reached is not None and o["order_time"] <= reached)
        }
        held = {
            i: held[i] if joined.get(i) == o else shown(o, valid_at(state, key_of(o), o["order_time"]))
            for i, o in ripe.items()
        }
        joined = ripe
        if version:
            maintained.refresh(version)
        assert Counter(maintained.rows()) == Counter(r for r in held.values() if r is not None), f"version {version}"


@pytest.mark.parametrize("side", TIMED)
@pytest.mark.parametrize("query", JOINED_ONCE)
def test_late_versions_are_ignored(duck: Duck, query: str, side: str) -> None:
    for seed, technique in enumerate(TECHNIQUES):
        late_versions_are_ignored(duck, query, side, seed, minutes=seed * 2, technique=technique)


def test_late_versions_of_random_changelogs_are_ignored(duck: Duck, pairs: int) -> None:
    @settings(max_examples=max(1, pairs // 3))
    @given(
        st.sampled_from(sorted(JOINED_ONCE)),
        st.sampled_from(sorted(TIMED)),
        st.integers(3, 40),
        st.integers(0, 6),
        st.sampled_from(sorted(TECHNIQUES)),
    )
    def holds(query: str, side: str, seed: int, minutes: int, technique: str) -> None:
        late_versions_are_ignored(duck, query, side, seed, minutes, technique)

    holds()


@pytest.mark.parametrize("seed", range(6))
def test_the_watermark_of_several_versioned_tables_is_that_of_the_latest(duck: Duck, seed: int) -> None:
    """An order waits until both kinds of versions are known up to its time."""
    world = World.random(seed, REFRESHES + 2, unique=True)
    duck.enter(f"several_{seed}", world.rounds())
    on = "ON o.currency = {0}.currency AND o.market = {0}.market"
    sql = (
        "SELECT o.id, r.rate, e.rate AS other FROM orders o "
        f"LEFT JOIN intervals FOR SYSTEM_TIME AS OF o.order_time AS r {on.format('r')} "
        f"LEFT JOIN appended FOR SYSTEM_TIME AS OF o.order_time AS e {on.format('e')}"
    )
    maintained = Maintained(duck, sql, by_key=True, declared=("id",), late_by="'1' MINUTE")
    held: dict[int, tuple] = {}
    joined: dict[int, Row] = {}
    newest: dict[str, datetime] = {}
    for version, state in enumerate(world.states):
        for table, time in (("orders", "order_time"), ("intervals", "dbt_valid_from"), ("appended", "rate_time")):
            times = [row[time] for row in state[table] if row[time] is not None]
            if times or table in newest:
                newest[table] = max([*times, newest.get(table, datetime.min)])
        reached = min(newest.values()) - timedelta(minutes=1) if len(newest) == 3 else None
        ripe = {
            o["id"]: o
            for o in state["orders"]
            if o["order_time"] is None or (reached is not None and o["order_time"] <= reached)
        }
        met = {
            i: [valid_at(state, key_of(o), o["order_time"]) for valid_at in (of_intervals, of_events)]
            for i, o in ripe.items()
        }
        held = {
            i: held[i] if joined.get(i) == o else (i, *(version and version["rate"] for version in met[i]))
            for i, o in ripe.items()
        }
        joined = ripe
        if version:
            maintained.refresh(version)
        assert Counter(maintained.rows()) == Counter(held.values()), f"version {version}"


@pytest.mark.parametrize("seed", range(4))
def test_versions_that_overlap_are_not_looked_up(duck: Duck, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The census of versions, which decides: most of one key, and how many are valid still when the next begins."""
    monkeypatch.setattr(temporal_plans, "MOST_MET", 0)
    monkeypatch.setattr(temporal_plans, "MOST_IN_BIN", -1)
    world = World.random(seed, 0)
    of_key = Counter((v["currency"], v["market"]) for v in world.states[0]["intervals"] if v["currency"] is not None)
    longer = "UPDATE intervals SET dbt_valid_to = dbt_valid_to + INTERVAL 1 YEAR"
    duck.enter(f"overlapping_{seed}", (*world.rounds(), (longer,)))
    table = Maintained(duck, QUERIES["left"][0].format(v="intervals"), by_key=False)
    node = table.model.node
    assert node is not None

    def chosen(version: int) -> bool:
        duck.at(version)
        renderer = Renderer(dated(dict.fromkeys(table.model.sources, Span(version, version))))
        (join,) = [n for n in walk(node) if isinstance(n, Join)]
        most, overlaps = Measure(duck).census(print_sql(renderer.query(at(census(join), Time.AFTER))))
        assert most <= max(of_key.values(), default=0)
        technique = temporal_plans.choose(node, duck, Measure(duck), renderer).get(join.as_of)
        assert (technique is look_up) == (most > 0 and not overlaps)
        return not overlaps

    assert chosen(0)
    duck.at(1)
    (later,) = duck.rows(
        "SELECT COUNT(*) FROM intervals a JOIN intervals b ON a.currency = b.currency AND a.market = b.market "
        "AND a.dbt_valid_from < b.dbt_valid_from AND (a.dbt_valid_to IS NULL OR b.dbt_valid_from < a.dbt_valid_to) "
        "WHERE a.dbt_is_deleted <> 'True' AND b.dbt_is_deleted <> 'True'"
    )
    assert chosen(1) == (later[0] == 0)
