"""A model means the same over a table of the groups that it is made of, and changes as that table does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt_spark_dynamic.algebra.evaluate import Bag, Table, World, evaluate
from dbt_spark_dynamic.algebra.expressions import Expr, column
from dbt_spark_dynamic.algebra.nodes import Aggregate, Filter, Join, JoinKind, Node, Project, Scan, Time, scans, walk
from dbt_spark_dynamic.changes.apart import Apart, all_apart
from dbt_spark_dynamic.changes.derivation import Derivation
from dbt_spark_dynamic.changes.differentiate import change
from dbt_spark_dynamic.changes.distinct_partners import with_distinct_partners
from dbt_spark_dynamic.changes.partners import of_groups_met
from dbt_spark_dynamic.dialect import parse_expression

from .carrying_out import difference, meaning, signed
from .plans import (
    Size,
    grouped_joins,
    groups_of_left_joins,
    one_in,
    pick,
    plans,
    plans_over_groups,
    predicates,
    rows_of_a_table,
)
from .states import TYPES, Script, State, fed, scripts, world
from .test_partners import groups_beside_kept_rows

STATE = "s.model__state"

OVER_LEFT_JOINS = groups_of_left_joins().map(lambda groups: Filter(groups, Expr.of(parse_expression("a0 > 1"))))

MET = groups_beside_kept_rows().map(lambda model: of_groups_met(model, TYPES, lambda *_: True))

MODELS = st.one_of(plans_over_groups(), grouped_joins(), OVER_LEFT_JOINS, MET, plans(Size(nodes=7)))


@st.composite
def _asking(draw: st.DrawFn) -> Node:
    """Rows of a table that others are, or are not, beside; also twice, and below groups."""
    model = draw(rows_of_a_table("l", kept=one_in(draw, 3)))
    for asked in ("r", "s")[: pick(draw, (1, 1, 2))]:
        other = draw(rows_of_a_table(asked, kept=one_in(draw, 3)))
        on = tuple(
            (column(pick(draw, model.columns)), column(pick(draw, other.columns)), one_in(draw, 4))
            for _ in range(pick(draw, (0, 1, 1, 2)))
        )
        residual = draw(predicates(model.columns + other.columns)) if not on or one_in(draw, 3) else None
        model = Join(model, other, on, residual, pick(draw, (JoinKind.SEMI, JoinKind.ANTI)))
    if one_in(draw, 3):
        count = ("n", Expr.of(parse_expression("COUNT(*)")))
        model = Aggregate(model, ((model.columns[0], column(model.columns[0])),), (count,))
    return model


ASKING = _asking()


def said(model: Node) -> Iterator[Apart]:
    """Also where groups are no author's."""
    for one in (model, *with_distinct_partners(model, {}, TYPES)):
        yield from all_apart(one)


def over_states(apart: Apart, before: State, after: State) -> World:
    """With the table of the groups as it is before, after, and now."""
    names = apart.content.columns
    then, now = (Table(names, meaning(apart.content, state)) for state in (before, after))
    found = world(before, after)
    states = {(STATE, Time.BEFORE): then, (STATE, Time.AFTER): now, (STATE, Time.UNDATED): now}
    return replace(found, tables={**found.tables, **states})


@given(st.one_of(MODELS, ASKING), scripts(refreshes=1))
def test_a_model_is_what_it_is_over_its_groups(model: Node, script: Script) -> None:
    for state in script.states:
        for apart in said(model):
            over = apart.over(STATE)
            assert over.columns == model.columns
            assert evaluate(over, over_states(apart, state, state)) == meaning(model, state)


@given(st.one_of(MODELS, ASKING), scripts(refreshes=1))
def test_its_change_is_told_of_that_of_its_groups(model: Node, script: Script) -> None:
    ((before, after, touched),) = script.refreshes
    for apart in said(model):
        states = over_states(apart, before, after)
        d = Derivation(apart.over(STATE), touched | {STATE})
        delta = change(d.model, d)
        of_groups = _weighted(difference(*(meaning(apart.content, state) for state in (after, before))))
        places = [apart.content.columns.index(c) for c in d.feeds[STATE].columns]
        shown = Counter[tuple[object, ...]]()
        for (*row, weight), copies in of_groups.items():
            shown[(*(row[p] for p in places), weight)] += copies
        named: Mapping[str, Bag] = {f.name: fed(f, before, after) for f in d.feeds.values() if f.source != STATE}
        now = replace(states, named={**named, d.feeds[STATE].name: shown})
        for b in d.bindings:
            now = replace(now, named={**now.named, b.name: evaluate(b.node, now)})
        assert signed(evaluate(delta, now)) == difference(meaning(model, after), meaning(model, before))


@given(MODELS, scripts(refreshes=1))
def test_groups_are_counted_where_no_table_is_joined(model: Node, script: Script) -> None:
    for apart in all_apart(model):
        if apart.counting is None:
            assert any(isinstance(n, Join) for n in walk(apart.groups.child))
            continue
        (keys,) = apart.counting.children
        assert not any(isinstance(n, Join) for n in walk(keys))
        for state in script.states:
            assert len(meaning(keys, state)) == len(meaning(apart.groups, state))


def _weighted(change: Counter) -> Bag:
    return Counter({(*row, weight): 1 for row, weight in change.items()})


GROUPS = Aggregate(
    Scan("s.a", "a", (("k", "k"), ("x", "x"))), (("k", column("k")),), (("n", Expr.of(parse_expression("COUNT(*)"))),)
)


def test_equal_groups_are_one_table() -> None:
    """The largest group, by a join with the maximum of all."""
    most = Aggregate(Project(GROUPS, (("m", column("n")),)), (), (("m", Expr.of(parse_expression("MAX(m)"))),))
    model = Join(GROUPS, most, ((column("n"), column("m"), False),), None, JoinKind.INNER)
    (apart,) = all_apart(model)
    assert [scan.source for scan in scans(apart.over(STATE))] == [STATE, STATE]


@pytest.mark.parametrize(
    "model",
    [
        GROUPS,
        Project(GROUPS, (("n", column("n")),)),
        Aggregate(GROUPS.child, (), GROUPS.aggregates),
        Aggregate(GROUPS.child, GROUPS.groups, ()),
        Project(Aggregate(GROUPS.child, GROUPS.groups, ()), (("n", column("k")),)),
        Filter(GROUPS.child, Expr.of(parse_expression("k > 1"))),
    ],
)
def test_what_is_all_that_the_table_is_or_has_no_groups_is_not_kept_apart(model: Node) -> None:
    assert list(all_apart(model)) == []


def test_only_the_innermost_groups_are() -> None:
    above = Aggregate(GROUPS, (("n", column("n")),), (("m", Expr.of(parse_expression("COUNT(*)"))),))
    model = Filter(above, Expr.of(parse_expression("m > 1")))
    assert [apart.groups for apart in all_apart(model)] == [GROUPS]
    assert sum(isinstance(n, Aggregate) for n in walk(model)) == 2


ONE, MANY = (Scan(f"s.{n}", n, ((f"{n}k", "k"), (f"{n}x", "x"))) for n in "ab")
OF_MANY = {"s.b": {"k": "int", "x": "int"}}
BESIDE = ((column("ak"), column("bk"), False),)


def test_of_what_rows_are_asked_for_the_values_are_kept_once() -> None:
    model = Join(Join(ONE, MANY, BESIDE, None, JoinKind.SEMI), MANY, BESIDE, None, JoinKind.ANTI)
    (once,) = with_distinct_partners(model, {}, OF_MANY)
    (apart,) = all_apart(once)
    assert apart.groups == Aggregate(MANY, (("bk", column("bk")),), ())
    assert apart.content.columns == ("c0", "c1") and apart.counting is not None
    assert [scan.source for scan in scans(apart.over(STATE))] == ["s.a", STATE, STATE]


@pytest.mark.parametrize(
    ("join", "key"),
    [
        (Join(ONE, MANY, BESIDE, None, JoinKind.SEMI), ("k",)),
        (Join(ONE, MANY, BESIDE, Expr.of(parse_expression("bx > ax")), JoinKind.ANTI), ("k", "x")),
        (Join(ONE, MANY, BESIDE, None, JoinKind.LEFT), ()),
        (Join(ONE, GROUPS, ((column("ak"), column("k"), False),), None, JoinKind.SEMI), ()),
        (Join(ONE, MANY, (), Expr.of(parse_expression("ax > 1")), JoinKind.SEMI), ()),
    ],
)
def test_they_are_not_where_each_is_there_once_or_shown(join: Join, key: tuple[str, ...]) -> None:
    assert list(with_distinct_partners(join, {"s.b": key}, OF_MANY)) == []


@pytest.mark.parametrize("of", ["double", "struct<a:float>", "string collate UTF8_LCASE", None])
def test_nor_are_they_where_equal_values_need_not_be_one(of: str | None) -> None:
    shown = Project(MANY, (("v", Expr.of(parse_expression("bx + 1"))),))
    join = Join(ONE, shown, ((column("ax"), column("v"), False),), None, JoinKind.SEMI)
    assert list(with_distinct_partners(join, {}, OF_MANY)) != []
    assert list(with_distinct_partners(join, {}, {"s.b": {"x": of} if of else {}})) == []
