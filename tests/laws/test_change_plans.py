"""Whole change plans: what a refresh computes, applied to the table, gives the query's new result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from dbt_spark_dynamic.algebra.clock import CLOCK
from dbt_spark_dynamic.algebra.evaluate import Bag, Row, Table, evaluate
from dbt_spark_dynamic.algebra.expressions import Expr, column
from dbt_spark_dynamic.algebra.keys import unique_key
from dbt_spark_dynamic.algebra.nodes import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Named,
    Node,
    Project,
    Scan,
    UnionAll,
    Window,
    scans,
    walk,
    weighted,
)
from dbt_spark_dynamic.changes.additive import Own
from dbt_spark_dynamic.changes.additive import added as added_to
from dbt_spark_dynamic.changes.change_plan import ChangePlan, Shape
from dbt_spark_dynamic.changes.derivation import Derivation
from dbt_spark_dynamic.changes.partials import PARTIALS, Partials, partials
from dbt_spark_dynamic.changes.plan import plan
from dbt_spark_dynamic.changes.simplify import without
from dbt_spark_dynamic.changes.slices import slicing
from dbt_spark_dynamic.changes.unnetted import adding_up, of_all_changes
from dbt_spark_dynamic.dialect import parse_expression

from .carrying_out import OWN, added, applied, bound, key_places, meaning
from .plans import first_plans, grouped_plans, groups_of_left_joins, plans, plans_over_groups, summed_plans
from .states import KEYS, SOURCES, TYPES, Script, State, grown, scripts

Told = TypeVar("Told")

NOTHING: frozenset[str] = frozenset()
EVERY_SOURCE = frozenset(SOURCES) | {CLOCK}


@given(plans(), scripts(refreshes=3), st.booleans(), st.booleans(), st.sets(st.sampled_from(sorted(SOURCES))))
def test_the_table_equals_its_query_after_every_refresh(
    model: Node, script: Script, simplified: bool, reads_own: bool, large: set[str]
) -> None:
    """With the simplifying pass, the additive law and slices of large tables or without them: they may change what a
    plan costs, never what it means."""
    table = meaning(model, script.states[0])
    for before, after, touched in script.refreshes:
        reads = own(model) if reads_own else None
        planned = plan(model, touched, KEYS, reads, large=large, types=TYPES, simplified=simplified)
        table = _refreshed(table, model, planned, before, after)
        assert table == meaning(model, after)


@given(plans(), scripts(refreshes=1))
def test_a_slice_is_what_the_older_version_has(model: Node, script: Script) -> None:
    """T(R⁺) − T(ΔR) is T(R⁻), copies and all, and no large table is asked for the same keys at both times."""
    ((before, after, touched),) = script.refreshes
    planned = plan(model, touched, KEYS, by_key=False, large=SOURCES, types=TYPES)
    now = bound(planned.feeds, planned.bindings, before, after)
    for s in planned.slices:
        older = s.before.node if s.before is not None else Named(s.now.name, s.now.node.columns)
        for told, read in zip((s.now.node, older), s.scanned, strict=True):
            found = evaluate(told, now)
            assert read.columns == told.columns
            assert found <= evaluate(read, now) if s.partner else found == evaluate(read, now)
    left = [*(b.node for b in planned.bindings), planned.result.node]
    assert not slicing(left, Derivation(model, touched, frozenset(SOURCES), TYPES)).asked


@given(summed_plans(), scripts(refreshes=3))
def test_counts_and_sums_are_added_to_the_table(model: Node, script: Script) -> None:
    """By the additive law, which reads R for falling groups, and for values that are counted once."""
    table = meaning(model, script.states[0])
    for before, after, touched in script.refreshes:
        if touched:
            planned = plan(model, touched, KEYS, own(model), grown=grown(before, after))
            assert planned.shape is Shape.ADDITIVE
            table = _refreshed(table, model, planned, before, after)
        assert table == meaning(model, after)


@given(groups_of_left_joins(), scripts(refreshes=3), st.sets(st.sampled_from(sorted(SOURCES))), st.booleans())
def test_groups_of_left_joins_are_added_to(model: Node, script: Script, large: set[str], growing: bool) -> None:
    """Whoever has a partner, and had one before."""
    table = meaning(model, script.states[0])
    for before, after, touched in script.refreshes:
        if touched:
            came = grown(before, after) if growing else NOTHING
            planned = plan(model, touched, KEYS, own(model), grown=came, large=large, types=TYPES)
            assert planned.shape is Shape.ADDITIVE
            table = _refreshed(table, model, planned, before, after)
        assert table == meaning(model, after)


@given(summed_plans(), scripts(refreshes=2, growing=True))
def test_no_group_falls_where_rows_only_came(model: Node, script: Script) -> None:
    """Nor is any looked for, where no relation below keeps a row only while another one is not there."""
    table = meaning(model, script.states[0])
    for before, after, touched in script.refreshes:
        if touched:
            planned = plan(model, touched, KEYS, own(model), grown=grown(before, after))
            nodes = list(walk(model))
            keeps = all(isinstance(n, Scan | Project | Aggregate | UnionAll) for n in nodes)
            one = sum(isinstance(n, Aggregate) for n in nodes) == 1
            assert planned.affected is None or not (keeps and one) or CLOCK in touched
            table = _refreshed(table, model, planned, before, after)
        assert table == meaning(model, after)


@given(st.sampled_from(JoinKind), scripts(refreshes=2, growing=True))
def test_a_row_may_leave_a_join_because_another_came(kind: JoinKind, script: Script) -> None:
    """One that has no partner is none any more once it has one."""
    left = Scan("s.a", "a", (("k", "k"), ("x", "x")))
    joined = Join(left, Scan("t.A", "b", (("l", "k"), ("z", "x"))), ((column("k"), column("l"), False),), None, kind)
    least = Expr.of(exp.Min(this=column("z" if kind.shows_right else "x").tree.copy()))
    model = Aggregate(joined, (("x", column("x")),), (("n", Expr.of(exp.Count(this=exp.Star()))), ("least", least)))
    table = meaning(model, script.states[0])
    for before, after, touched in script.refreshes:
        if touched - {CLOCK}:
            planned = plan(model, touched - {CLOCK}, {}, own(model), grown=grown(before, after))
            assert (planned.affected is None) is (kind in (JoinKind.INNER, JoinKind.SEMI))
            table = _refreshed(table, model, planned, before, after)
        assert table == meaning(model, after)


@given(
    st.one_of(summed_plans(), groups_of_left_joins()), scripts(refreshes=3), st.sets(st.sampled_from(sorted(SOURCES)))
)
def test_partial_aggregates_that_are_kept_are_added_to(summed: Node, script: Script, large: set[str]) -> None:
    """Of a table that does not show them. Without them they are computed whole; with them R is read for falling groups
    alone."""
    model = _hidden(summed)
    found = partials(model, _summed_types)
    assert found is not None and added_to(model, own(model), Derivation(model, EVERY_SOURCE)) is None
    _assert_maintained_by(found, model, script, Shape.UPSERT, large=large, types=TYPES)


@given(plans_over_groups(), scripts(refreshes=3), st.booleans(), st.booleans())
def test_what_is_made_of_few_groups_is_made_of_those_that_are_kept(
    model: Node, script: Script, by_key: bool, simplified: bool
) -> None:
    """Conditions, windows and expressions over them, in any order: of R only falling groups are read, and what comes
    out is compared with the table."""
    found = partials(model, _summed_types)
    assert found is not None
    if by_key and added_to(model, own(model), Derivation(model, EVERY_SOURCE)) is not None:
        return
    keyed = by_key and found.key is not None and unique_key(model, KEYS) is not None
    shape = Shape.UPSERT if keyed else Shape.SIGNED
    _assert_maintained_by(found, model, script, shape, by_key=by_key, simplified=simplified)


@pytest.mark.parametrize("call", ["SUM(k)", "MAX(k)", "MIN(k)"])
def test_a_group_that_comes_back_has_no_part_of_what_it_was(call: str) -> None:
    """It had a row, lost it, and comes back with one that has no value or a smaller or larger one."""
    scan = Scan("s.a", "a", (("k", "k"), ("x", "x")))
    said = Aggregate(scan, (("x", column("x")),), (("y", Expr.of(parse_expression(call))),))
    model = _hidden(said)
    found = partials(model, _summed_types)
    assert found is not None
    rows = Counter({(3, 1, None): 1}), Counter({(3, 1, None): 1, (3, 2, None): 1}), Counter({(3, 2, None): 1})
    for back in (None, 2, 4):
        contents = (*rows, Counter({(3, 2, None): 1, (back, 1, None): 1}))
        states = tuple(
            {"s.a": bag, "t.A": Counter(), "s.result": Counter(), CLOCK: Counter({(0,): 1})} for bag in contents
        )
        script = Script(states, (frozenset({"s.a"}),) * 3)
        _assert_maintained_by(found, model, script, Shape.UPSERT, large=NOTHING, types=TYPES)


def _assert_maintained_by(found: Partials, model: Node, script: Script, shape: Shape, **asked: Any) -> None:
    """By what each refresh keeps for the next one. asked: of each plan."""
    table, held = meaning(model, script.states[0]), None
    for before, after, touched in script.refreshes:
        if touched:
            planned = plan(
                model,
                touched,
                KEYS,
                own(model),
                partials=found,
                held=held is not None,
                grown=grown(before, after),
                **asked,
            )
            assert (planned.shape, planned.partials) == (shape, found)
            table, held = _refreshed_from(held, table, model, planned, before, after)
        assert table == meaning(model, after)


def _hidden(summed: Node) -> Node:
    """With aggregates that cannot be told from what is shown."""
    keys = unique_key(summed, {})
    assert keys is not None
    hidden = (
        (n, exp.Coalesce(this=column(n).tree.copy(), expressions=[exp.Literal.number(0)])) for n in summed.columns
    )
    return Project(summed, tuple((n, column(n) if n in keys else Expr.of(e)) for n, e in hidden))


def _summed_types(node: Node) -> tuple[str, ...]:
    assert isinstance(node, Aggregate)
    return tuple(
        "bigint" if e.text.startswith("COUNT") else "decimal(28,2)" for _, e in (*node.groups, *node.aggregates)
    )


@given(first_plans(), scripts(refreshes=3), st.booleans(), st.booleans())
def test_first_rows_are_told_from_those_that_the_table_has(
    model: Node, script: Script, simplified: bool, by_key: bool
) -> None:
    """By the law of first rows where the table shows enough, which reads R for falling partitions alone."""
    table = meaning(model, script.states[0])
    for before, after, touched in script.refreshes:
        planned = plan(model, touched, KEYS, own(model), by_key=by_key, simplified=simplified)
        table = _refreshed(table, model, planned, before, after)
        assert table == meaning(model, after)


@given(first_plans(keyed=True), scripts(refreshes=3))
def test_the_first_row_of_a_key_is_told_from_what_it_is_chosen_by(model: Node, script: Script) -> None:
    """Other columns may be computed or hidden."""
    table = meaning(model, script.states[0])
    for before, after, touched in script.refreshes:
        planned = plan(model, touched, {}, own(model))
        assert planned.falling is not None or not touched & {s.source for s in scans(model)}
        assert planned.falling is None or planned.shape is Shape.UPSERT
        table = _refreshed(table, model, planned, before, after)
        assert table == meaning(model, after)


@pytest.mark.parametrize(
    ("came", "falls"),
    [
        ((3, 0, 9), False),
        ((1, 1, 9), True),
        ((3, 1, 0), True),
        ((1, 1, 5), False),
        ((9, 2, 0), False),
    ],
)
def test_what_is_level_by_the_columns_that_are_shown_falls(came: Row, falls: bool) -> None:
    """The table shows x and y, and orders by x, k and y."""
    order = [exp.Ordered(this=column(n).tree.copy(), nulls_first=True) for n in ("x", "k", "y")]
    place = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=order), over="OVER")
    rows = Scan("s.a", "a", (("k", "k"), ("x", "x"), ("y", "y")))
    first = Filter(Window(rows, (), (("place", Expr.of(place)),)), Expr.of(parse_expression("place = 1")))
    model = Project(first, (("x", column("x")), ("y", column("y"))))
    none = {source: Counter() for source in SOURCES} | {CLOCK: Counter([(0,)])}
    before = none | {"s.a": Counter([(2, 1, 5)])}
    after = none | {"s.a": Counter([(2, 1, 5), came])}
    planned = plan(model, frozenset({"s.a"}), {}, own(model))
    held = Table(model.columns, meaning(model, before))
    now = bound(planned.feeds, planned.bindings, before, after, held)
    assert planned.falling is not None and bool(now.named[planned.falling.name]) is falls
    assert _refreshed(held.rows, model, planned, before, after) == meaning(model, after)


def own(model: Node) -> Own:
    # A decimal: sums may be of averages, which are fractions here.
    return Own(OWN, dict.fromkeys(model.columns, "decimal(28,2)"))


@given(grouped_plans(), scripts(refreshes=2))
def test_groups_that_show_their_key_are_upserted(grouped: tuple[Node, tuple[str, ...]], script: Script) -> None:
    """There are groups and the key is theirs: asking for some keys reads less than the whole."""
    model, key = grouped
    table = meaning(model, script.states[0])
    for before, after, _ in script.refreshes:
        planned = plan(model, EVERY_SOURCE, {})
        assert (planned.shape, planned.key) == (Shape.UPSERT, key)
        table = _refreshed(table, model, planned, before, after)
        assert table == meaning(model, after)


@given(st.one_of(plans(), grouped_plans().map(lambda g: g[0])), scripts(refreshes=0))
def test_nothing_changed_changes_nothing(model: Node, script: Script) -> None:
    (state,) = script.states
    planned = plan(model, NOTHING, KEYS)
    assert not planned.feeds
    assert not evaluate(planned.result.node, bound((), planned.bindings, state, state))


@given(plans(), st.sets(st.sampled_from(sorted(SOURCES))))
def test_a_feed_is_called_the_same_whatever_else_changed(model: Node, touched: set[str]) -> None:
    """Feeds are read before it is known which of them are empty."""
    names = {f.source: f.name for f in plan(model, EVERY_SOURCE, KEYS).feeds}
    assert all(names.get(f.source) == f.name for f in plan(model, frozenset(touched), KEYS).feeds)


def test_a_chain_of_joins_over_groups_is_told_link_by_link() -> None:
    """Each link's change is computed once, for its keys and its rows: twice as many links are four times the plan (each
    is met by all before it), not eight times."""
    sizes = [sum(len(list(walk(b.node))) for b in (*p.bindings, p.result)) for p in map(_chain, (4, 8))]
    assert sizes[1] < 5 * sizes[0]


def _chain(links: int) -> ChangePlan:
    """The plan of a join of that many aggregations, each on the key of the one before."""
    source = next(iter(SOURCES))
    found: Node | None = None
    for i in range(links):
        scan = Scan(source, "s", tuple((f"{c}{i}", c) for c in SOURCES[source]))
        key = column(f"{SOURCES[source][0]}{i}")
        counted = Aggregate(scan, ((f"k{i}", key),), ((f"n{i}", Expr.of(exp.Count(this=exp.Star()))),))
        found = (
            counted if found is None else Join(found, counted, ((column(f"k{i - 1}"), column(f"k{i}"), False),), None)
        )
    assert found is not None
    return plan(found, frozenset({source}), {}, by_key=False)


def _refreshed(table: Bag, model: Node, planned: ChangePlan, before: State, after: State) -> Bag:
    """The table after the plan has been applied to it, net of what came and left, and if it adds up all changes, by
    those as well; what the plan promises is asserted on the way."""
    return _either_way(planned, partial(_refreshed_by, table, model, before, after))


def _either_way(planned: ChangePlan, refreshed: Callable[[ChangePlan, Collection[str]], Told]) -> Told:
    """refreshed: by a plan, and of its feeds those that are not netted."""
    told = refreshed(planned, ())
    if unread := adding_up(planned):
        assert refreshed(of_all_changes(planned, unread), unread) == told
    return told


def _refreshed_by(
    table: Bag, model: Node, before: State, after: State, planned: ChangePlan, unread: Collection[str]
) -> Bag:
    now = bound(planned.feeds, planned.bindings, before, after, Table(model.columns, table), unread=unread)
    result = evaluate(planned.result.node, now)
    _assert_own_names(planned)
    if planned.falling is not None:
        empty = {name for name, rows in now.named.items() if not rows}
        assert planned.falling.name not in empty or not scans(without(planned.result.node, empty))
    if planned.shape is Shape.SIGNED:
        refreshed = _told(table, model, planned, result)
    else:
        assert planned.result.node.columns == model.columns
        affected = _keys(planned, now.named)
        _assert_upsertable(planned, result, affected)
        base = table
        if planned.additions is not None:
            base = added(table, planned, _others(planned, evaluate(planned.additions.rows, now), affected))
        refreshed = applied(base, planned, result, affected)
    assert refreshed == table or all(now.named[name] for name in planned.settling)
    return refreshed


def _refreshed_from(
    held: Bag | None, table: Bag, model: Node, planned: ChangePlan, before: State, after: State
) -> tuple[Bag, Bag]:
    """The table, and what is kept for the next refresh. held: what is since the last one, None for nothing."""
    return _either_way(planned, partial(_refreshed_from_by, held, table, model, before, after))


def _refreshed_from_by(
    held: Bag | None,
    table: Bag,
    model: Node,
    before: State,
    after: State,
    planned: ChangePlan,
    unread: Collection[str],
) -> tuple[Bag, Bag]:
    now = bound(planned.feeds, planned.bindings, before, after, Table(model.columns, table), held, unread)
    result = evaluate(planned.result.node, now)
    _assert_own_names(planned)
    if held is not None and planned.falling is not None and not now.named[planned.falling.name]:
        empty = {name for name, rows in now.named.items() if not rows}
        partial = next(b for b in planned.bindings if b.name == PARTIALS)
        assert not scans(without(partial.node, empty))
    kept = now.named[PARTIALS]
    if planned.shape is Shape.SIGNED:
        refreshed = _told(table, model, planned, result)
        assert refreshed == table or all(now.named[name] for name in planned.settling)
        return refreshed, kept
    affected = _keys(planned, now.named)
    result = Counter({row: n for row, n in result.items() if tuple(row[p] for p in key_places(planned)) in affected})
    _assert_upsertable(planned, result, affected)
    return applied(table, planned, result, affected), kept


def _told(table: Bag, model: Node, planned: ChangePlan, result: Bag) -> Bag:
    """The table after the net change of its rows."""
    assert planned.result.node.columns == weighted(model.columns)
    _assert_net(result)
    return applied(table, planned, result, None)


def _others(planned: ChangePlan, additions: Bag, affected: Bag) -> Bag:
    """The additions to groups that are not computed again, of which there is one at most."""
    places = key_places(planned)
    keys = Counter(tuple(row[p] for p in places) for row in additions.elements())
    assert all(n == 1 for n in keys.values()) and affected.keys() <= keys.keys()
    return Counter({row: n for row, n in additions.items() if tuple(row[p] for p in places) not in affected})


def _keys(planned: ChangePlan, named: Mapping[str, Bag]) -> Bag:
    """The keys that are computed again. A relation of the one key of no columns has a column to be there at all."""
    assert planned.key is not None
    keys = named[planned.affected.name] if planned.affected is not None else Counter()
    return Counter(row[: len(planned.key)] for row in keys.elements())


def _assert_own_names(planned: ChangePlan) -> None:
    """Every relation of a plan has a name of its own, in a session that does not look at case."""
    names = [r.name.lower() for r in (*planned.feeds, *planned.bindings, planned.result)]
    assert len(set(names)) == len(names)


def _assert_net(result: Bag) -> None:
    """Each row once, with a weight that is not 0: so many copies came, or so many left."""
    assert all(n == 1 for n in Counter(row[:-1] for row in result.elements()).values())
    assert all(row[-1] != 0 for row in result)


def _assert_upsertable(planned: ChangePlan, result: Bag, affected: Bag) -> None:
    """Each key at most once, and only keys that the table's own rows are cleared for."""
    places = key_places(planned)
    keys = Counter(tuple(row[p] for p in places) for row in result.elements())
    assert keys.keys() <= affected.keys()
    assert all(n == 1 for n in (*keys.values(), *affected.values()))
