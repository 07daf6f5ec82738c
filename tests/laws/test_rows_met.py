"""What a plan asks of a table by what changed is found among the rows that meet the change feeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from dbt_spark_dynamic.algebra.evaluate import Bag, World, evaluate
from dbt_spark_dynamic.algebra.expressions import column
from dbt_spark_dynamic.algebra.nodes import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Named,
    Node,
    Project,
    Scan,
    Semi,
    Time,
    UnionAll,
    walk,
)
from dbt_spark_dynamic.changes.change_plan import ChangePlan
from dbt_spark_dynamic.changes.derivation import KEY, distinct
from dbt_spark_dynamic.changes.plan import plan
from dbt_spark_dynamic.changes.rows_met import Meeting, Met

from .carrying_out import bound
from .plans import one_in, pick, plans, plans_over_groups, predicates
from .states import KEYS, SOURCES, TYPES, Script, bags, scripts, world


def meeting(planned: ChangePlan) -> Meeting:
    return Meeting.of_plan({f.name: f.source for f in planned.feeds}, planned.bindings, TYPES)


def relation_of(met: Met, feeds: Mapping[str, Named]) -> tuple[Semi, Node]:
    """T ⋉ K with all columns that the table has, and K."""
    keys = distinct(UnionAll(tuple(Project(feeds[f], ((KEY.format(0), column(c)),)) for f, c in sorted(met.by))))
    names = SOURCES[met.scan.source]
    scan = Scan(met.scan.source, met.scan.alias, tuple((c, c) for c in names), met.scan.time)
    return Semi(scan, Named("keys", keys.columns), ((column(met.column), KEY.format(0)),)), keys


def over_rows_met(node: Node, found: Meeting, feeds: Mapping[str, Named], now: World) -> tuple[Bag, int]:
    """What it means over the rows met, and how many of its scans they stand for."""
    computed: dict[str, Bag] = {}

    def met(asked: Met) -> Named:
        semi, keys = relation_of(asked, feeds)
        name = f"met_{len(computed)}"
        computed[name] = evaluate(semi, replace(now, named={**now.named, "keys": evaluate(keys, now)}))
        return Named(name, semi.columns)

    read = found.over(node, met)
    assert read.columns == node.columns
    return evaluate(read, replace(now, named={**now.named, **computed})), len(computed)


@given(
    st.one_of(plans(), plans_over_groups()), scripts(refreshes=1), st.booleans(), st.booleans(),
    st.sets(st.sampled_from(sorted(SOURCES))),
)  # fmt: skip
def test_every_relation_is_the_same_over_rows_met(
    model: Node, script: Script, by_key: bool, few: bool, large: set[str]
) -> None:
    ((before, after, touched),) = script.refreshes
    planned = plan(model, touched, KEYS, by_key=by_key, few=few, large=large, types=TYPES)
    now = bound(planned.feeds, planned.bindings, before, after)
    for node in planned.relations:
        found, _ = over_rows_met(node, meeting(planned), {f.name: f.named for f in planned.feeds}, now)
        assert found == evaluate(node, now)


@given(st.one_of(plans(), plans_over_groups()), scripts(refreshes=1))
def test_what_a_column_holds_feeds_hold(model: Node, script: Script) -> None:
    ((before, after, touched),) = script.refreshes
    planned = plan(model, touched, KEYS, large=SOURCES, types=TYPES)
    now = bound(planned.feeds, planned.bindings, before, after)
    found = meeting(planned)
    for node in {n for relation in planned.relations for n in walk(relation)}:
        for place, name in enumerate(node.columns):
            by = found.fed(node, column(name))
            if by:
                values = {row[place] for row in evaluate(node, now)}
                feeds = {f.name: f for f in planned.feeds}
                held = Counter(
                    row[feeds[f].named.columns.index(c)] for f, c in by for row in evaluate(feeds[f].named, now)
                )
                assert values <= set(held)


FEEDS = {"few_change": ("s.a", ("k", "x")), "others_change": ("t.A", ("x",))}
COMPUTED = {"rows": ("v", "w")}
BAGS = bags({**{n: c for n, (_, c) in FEEDS.items()}, **COMPUTED})


@st.composite
def meetings(draw: st.DrawFn) -> Node:
    """Feeds, a relation of nobody knows which values, and tables, joined in all kinds of ways."""
    parts = [draw(_parts(i)) for i in range(pick(draw, (2, 3, 4)))]
    while len(parts) > 1:
        i = draw(st.integers(0, len(parts) - 2))
        left, right = parts[i : i + 2]
        by = tuple(
            (column(pick(draw, left.columns)), column(pick(draw, right.columns)), one_in(draw, 3))
            for _ in range(pick(draw, (1, 1, 2, 0)))
        )
        joined: Node = Join(left, right, by, None, pick(draw, (*JoinKind, JoinKind.INNER)))
        if one_in(draw, 5):
            joined = Filter(joined, draw(predicates(joined.columns)))
        if one_in(draw, 5):
            joined = Aggregate(joined, tuple((n, column(n)) for n in joined.columns[: pick(draw, (1, 2))]))
        if one_in(draw, 5) and len(parts) > 2:
            keys = cast(Named, Named("few_change", FEEDS["few_change"][1]))
            joined = Semi(joined, keys, ((column(pick(draw, joined.columns)), pick(draw, keys.columns)),))
        parts[i : i + 2] = [joined]
    return parts[0]


@st.composite
def _parts(draw: st.DrawFn, number: int) -> Node:
    def shown(node: Node, names: tuple[str, ...]) -> Node:
        return Project(node, tuple((f"{n}{number}", column(n)) for n in names))

    kind = pick(draw, ("feed", "feed", "table", "table", "table", "rows", "both"))
    if kind in ("feed", "rows"):
        name, names = pick(draw, [(n, c) for n, (_, c) in FEEDS.items()] if kind == "feed" else list(COMPUTED.items()))
        return shown(Named(name, names), names)
    source = pick(draw, sorted(SOURCES))
    table: Node = Scan(source, source, tuple((f"{n}{number}", n) for n in SOURCES[source]), Time.AFTER)
    if one_in(draw, 4):
        table = Filter(table, draw(predicates(table.columns)))
    if kind == "table":
        return table
    one = Project(Named("few_change", FEEDS["few_change"][1]), ((f"u{number}", column("k")),))
    other = Named("others_change", FEEDS["others_change"][1]) if one_in(draw, 2) else table
    return UnionAll((one, Project(other, ((f"u{number}", column(other.columns[0])),))))


@given(meetings(), BAGS, scripts(refreshes=1))
def test_a_table_that_is_joined_is_the_same_over_rows_met(node: Node, bags: dict[str, Bag], script: Script) -> None:
    found = Meeting({name: source for name, (source, _) in FEEDS.items()}, {}, TYPES)
    now = replace(world(script.states[0], script.states[1]), named=bags)
    read, _ = over_rows_met(node, found, {name: Named(name, names) for name, (_, names) in FEEDS.items()}, now)
    assert read == evaluate(node, now)


def test_what_is_met_is_read_there() -> None:
    """Of tables that a feed is joined with, and of those whose key is equal to its own by another join."""
    change = Named("few_change", ("k", "x"))
    lines = Scan("t.A", "l", (("of", "k"), ("at", "x")), Time.AFTER)
    also = Scan("t.A", "m", (("key", "k"),), Time.AFTER)
    places = Scan("s.result", "p", (("place", "x"), ("z", "z")), Time.AFTER)

    def met_of(node: Node, types: Mapping[str, Mapping[str, str]] = TYPES) -> list[tuple[str, str]]:
        asked: list[tuple[str, str]] = []

        def met(one: Met) -> Named:
            asked.append((one.scan.alias, one.column))
            return Named("met", tuple(c for _, c in one.scan.outputs))

        Meeting({"few_change": "s.a"}, {}, types).over(node, met)
        return sorted(asked)

    def by(left: Node, right: Node, l: str, r: str, kind: JoinKind = JoinKind.INNER) -> Join:
        return Join(left, right, ((column(l), column(r), False),), None, kind)

    first = by(change, lines, "k", "of")
    assert met_of(first) == [("l", "k")] == met_of(by(lines, change, "of", "k"))
    assert met_of(by(first, also, "of", "key")) == [("l", "k"), ("m", "k")]
    assert met_of(by(first, places, "at", "place")) == [("l", "k")], "nobody knows where they are at"
    assert met_of(by(change, lines, "k", "of", JoinKind.LEFT)) == [("l", "k")]
    assert met_of(by(lines, change, "of", "k", JoinKind.LEFT)) == [], "all are kept"
    for kind in (JoinKind.LEFT, JoinKind.ANTI):
        assert met_of(by(by(places, change, "place", "k", kind), also, "place", "key")) == [], "those without a partner"
    assert met_of(by(by(places, change, "place", "k", JoinKind.SEMI), also, "place", "key")) == [("m", "k"), ("p", "x")]
    assert met_of(by(by(places, change, "place", "k", JoinKind.LEFT), also, "k", "key")) == [], (
        "NULL where there is none"
    )
    other = {**TYPES, "t.A": {"k": "string", "x": "int"}}
    assert met_of(first, other) == [], "01 is equal to 1, and so is 1"
