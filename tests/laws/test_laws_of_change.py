"""Δ, K and ⋉: the three functions a change plan is made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from dbt_spark_dynamic.algebra.connect import connected
from dbt_spark_dynamic.algebra.evaluate import Bag, Row, World, evaluate
from dbt_spark_dynamic.algebra.expressions import Expr, column, columns, integer
from dbt_spark_dynamic.algebra.nodes import (
    Aggregate,
    Join,
    Named,
    Node,
    Project,
    Scan,
    Semi,
    Time,
    scans,
    walk,
    weighted,
)
from dbt_spark_dynamic.algebra.prune import prune
from dbt_spark_dynamic.changes.affected import affected
from dbt_spark_dynamic.changes.derivation import Derivation, at
from dbt_spark_dynamic.changes.differentiate import change
from dbt_spark_dynamic.changes.restrict import restrict
from dbt_spark_dynamic.changes.simplify import simplify
from dbt_spark_dynamic.dialect import parse_expression
from dbt_spark_dynamic.reading.joins import place

from .carrying_out import bound, difference, meaning, signed
from .plans import grouped_joins, plans, scalars
from .states import SOURCES, TYPES, VALUES, Script, scripts, world


@given(plans(), scripts(refreshes=1))
def test_change_is_after_minus_before(model: Node, script: Script) -> None:
    """meaning(after) - meaning(before) = meaning(Δ), for the plan and for every relation inside it."""
    ((before, after, touched),) = script.refreshes
    for node in walk(model):
        d = Derivation(model, touched)
        delta = change(node, d)
        now = bound(d.feeds.values(), d.bindings, before, after)
        assert delta.columns == weighted(node.columns)
        assert signed(evaluate(delta, now)) == difference(meaning(node, after), meaning(node, before))


@given(grouped_joins(), scripts(refreshes=1), st.sets(st.sampled_from(sorted(SOURCES)), min_size=1))
def test_groups_of_joins_are_told_by_a_part_of_their_key(model: Node, script: Script, large: set[str]) -> None:
    """The change of groups whose keys the changed rows of one side of a join say is the change of all groups."""
    ((before, after, touched),) = script.refreshes
    d = Derivation(model, touched, frozenset(large), TYPES)
    delta = change(model, d)
    now = bound(d.feeds.values(), d.bindings, before, after)
    assert signed(evaluate(delta, now)) == difference(meaning(model, after), meaning(model, before))


@given(plans(), scripts(refreshes=1))
def test_simplifying_keeps_the_meaning(model: Node, script: Script) -> None:
    """meaning(simplify(Δ)) = meaning(Δ), names and all, for the change and for each relation it reads."""
    ((before, after, touched),) = script.refreshes
    d = Derivation(model, touched, frozenset(SOURCES), TYPES)
    delta = change(model, d)
    now = bound(d.feeds.values(), d.bindings, before, after)
    for node in (delta, *(b.node for b in d.bindings)):
        assert simplify(node).columns == node.columns
        assert evaluate(simplify(node), now) == evaluate(node, now)


@given(st.data(), plans(), scripts(refreshes=1), st.sets(st.sampled_from(sorted(SOURCES))))
def test_affected_keys_miss_no_change(data: st.DataObject, model: Node, script: Script, large: set[str]) -> None:
    """The keys of whatever came or left are in affected(R, e), and no key is in it twice."""
    ((before, after, touched),) = script.refreshes
    exprs = data.draw(_key_exprs(model), label="key")
    d = Derivation(model, touched, frozenset(large), TYPES)
    found = affected(model, exprs, d)
    keys = evaluate(found, bound(d.feeds.values(), d.bindings, before, after))
    changed = difference(meaning(model, after), meaning(model, before))
    assert {_key(exprs, model, row) for row in changed} <= keys.keys()
    assert all(n == 1 for n in keys.values())


@given(st.data(), plans(), scripts(refreshes=0))
def test_restricting_is_a_semi_join(data: st.DataObject, model: Node, script: Script) -> None:
    """restrict(R, e, K) = R ⋉ K on e <=> K, however far the semi-join was pushed."""
    state = script.states[0]
    exprs = data.draw(_key_exprs(model), label="key")
    keys = Named("keys", tuple(f"key_{i}" for i in range(len(exprs))))
    rows = meaning(model, state)
    present = sorted({_key(exprs, model, row) for row in rows}, key=repr)
    chosen = data.draw(st.sets(st.sampled_from(present)) if present else st.just(set()), label="present")
    absent = data.draw(st.sets(st.tuples(*(st.sampled_from(VALUES) for _ in exprs)), max_size=3), label="others")
    now = replace(world(state, state), named={"keys": Counter({*chosen, *absent})})
    dated = at(model, Time.AFTER)
    semi = Semi(dated, keys, tuple(zip(exprs, keys.columns, strict=True)))
    pushed = restrict(dated, exprs, keys)
    assert pushed.columns == model.columns
    assert evaluate(pushed, now) == evaluate(semi, now)


@given(plans(), scripts(refreshes=0), st.data())
def test_pruning_keeps_what_is_read(model: Node, script: Script, data: st.DataObject) -> None:
    """Of the needed columns, and how often each combination of their values occurs, nothing is lost."""
    (state,) = script.states
    needed = data.draw(st.sets(st.sampled_from(model.columns), min_size=1))
    names = tuple(n for n in model.columns if n in needed)
    read = Project(model, tuple(zip(names, columns(names), strict=True)))
    pruned = prune(read)
    assert pruned.columns == read.columns
    assert meaning(pruned, state) == meaning(read, state)


def _key_exprs(node: Node) -> st.SearchStrategy[tuple[Expr, ...]]:
    """What a parent may ask for: columns, computed values, a constant now and then."""
    one = st.one_of(st.sampled_from(columns(node.columns)), scalars(node.columns), st.just(integer(1)))
    return st.lists(one, min_size=1, max_size=3).map(tuple)


def _key(exprs: tuple[Expr, ...], node: Node, row: Row) -> Row:
    """The key of a row, by the meaning of a projection."""
    rows: Bag = Counter({row: 1})
    named = Named("row", node.columns)
    keys = evaluate(Project(named, tuple((f"e{i}", e) for i, e in enumerate(exprs))), World({}, {"row": rows}))
    return next(iter(keys))


@given(st.permutations(range(4)), scripts(refreshes=1))
def test_the_order_of_inner_joins_keeps_the_meaning(order: list[int], script: Script) -> None:
    """Of a chain of equalities, from any order of its sides; no side is met without one then."""
    tables = [Scan("s.a", f"a{i}", tuple((f"{c}{i}", c) for c in SOURCES["s.a"])) for i in range(4)]
    first, *others = (tables[i] for i in order)
    node: Node = first
    for table in others:
        node = Join(node, table)
    predicates = [Expr.of(parse_expression(f"k{i} {'<=>' if i == 1 else '='} x{i + 1}")) for i in range(3)]
    node = place(node, *predicates, Expr.of(parse_expression("y0 + y3 > 1")))
    found = connected(node)
    assert found.columns == node.columns
    assert all(n.equalities for n in walk(found) if isinstance(n, Join))
    assert meaning(found, script.states[0]) == meaning(node, script.states[0])


def test_no_table_is_read_for_a_key_that_changed_rows_say() -> None:
    """Of lines and orders that are joined by the order, both say it; the lines' day is theirs alone. Customers, whose
    rows say nothing of orders, are asked for theirs; keys of two types are two keys."""
    lines = Scan("s.a", "a", (("order", "k"), ("day", "x")))
    orders = Scan("t.A", "o", (("key", "k"), ("customer", "x")))
    names = Scan("s.result", "c", (("id", "x"), ("name", "z")))
    bought = Join(lines, orders, ((column("order"), column("key"), False),))
    named = Join(bought, names, ((column("customer"), column("id"), False),))
    groups = Aggregate(named, tuple((n, column(n)) for n in ("key", "day", "name")))
    large = frozenset(SOURCES)

    def read(changed: set[str], types: Mapping[str, Mapping[str, str]] = TYPES) -> tuple[tuple[str, ...], set[str]]:
        d = Derivation(groups, frozenset(changed), large, types)
        change(groups, d)
        (keys,) = (b for b in d.bindings if b.name == "changed_groups")
        return keys.node.columns, {s.source for s in scans(keys.node)}

    assert read({"s.a"}) == (("key_0", "key_1"), set())
    assert read({"t.A"}) == (("key_0",), set())
    assert read({"s.a", "t.A"}) == (("key_0",), set())
    assert read({"s.result"}) == (("key_0", "key_1"), {"t.A"})
    other = {**TYPES, "t.A": {"k": "bigint", "x": "int"}}
    assert read({"s.a"}, other) == (("key_0", "key_1"), {"t.A"})

    by_two = Join(lines, names, ((column("order"), column("id"), False), (column("day"), column("name"), False)))
    few = Aggregate(by_two, (("name", column("name")),))
    d = Derivation(few, frozenset({"s.a"}), large, TYPES)
    change(few, d)
    assert scans(d.bindings[0].node), "one of the two that a join is by may have few values"
