"""Chains of joins that begin at what changed mean what they meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from dbt_spark_dynamic.algebra.connect import in_order
from dbt_spark_dynamic.algebra.evaluate import Bag, evaluate
from dbt_spark_dynamic.algebra.expressions import Expr, column, columns
from dbt_spark_dynamic.algebra.nodes import (
    Filter,
    Join,
    Named,
    Node,
    Project,
    Scan,
    Semi,
    Time,
    UnionAll,
    walk,
)
from dbt_spark_dynamic.changes.chains import Chaining, changed_first
from dbt_spark_dynamic.changes.derivation import Derivation
from dbt_spark_dynamic.changes.literal_keys import with_literal_keys
from dbt_spark_dynamic.changes.plan import plan
from dbt_spark_dynamic.dialect import parse_expression

from .plans import one_in, pick, predicates, scalars
from .states import SOURCES, TYPES, Script, bags, scripts, world

COMPUTED = {"few": ("n", "m"), "others": ("v",)}
ALL_TYPES = {**TYPES, **{name: dict.fromkeys(names, "int") for name, names in COMPUTED.items()}}
BAGS = bags(COMPUTED)


@st.composite
def chains(draw: st.DrawFn) -> Node:
    """Up to five tables and computed relations, joined in any order and by anything."""
    parts = [draw(_links(i)) for i in range(pick(draw, (3, 4, 5)))]
    while len(parts) > 1:
        i = draw(st.integers(0, len(parts) - 2))
        left, right = parts[i : i + 2]
        by = tuple((_value(draw, left), _value(draw, right), one_in(draw, 3)) for _ in range(pick(draw, (1, 1, 2, 0))))
        residual = draw(predicates(left.columns + right.columns)) if one_in(draw, 6) else None
        joined: Node = Join(left, right, by, residual)
        if one_in(draw, 6):
            joined = Filter(joined, draw(predicates(joined.columns)))
        if one_in(draw, 6):
            joined = Project(joined, tuple((n, column(n)) for n in reversed(joined.columns)))
        parts[i : i + 2] = [joined]
    return parts[0]


@st.composite
def _links(draw: st.DrawFn, number: int) -> Node:
    def named(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(f"{n}{number}" for n in names)

    few = pick(draw, sorted(COMPUTED))
    computed = Project(Named(few, COMPUTED[few]), tuple(zip(named(COMPUTED[few]), columns(COMPUTED[few]), strict=True)))
    if one_in(draw, 3):
        return computed
    source = pick(draw, sorted(SOURCES))
    table: Node = Scan(source, source, tuple(zip(named(SOURCES[source]), SOURCES[source], strict=True)), Time.AFTER)
    if one_in(draw, 3):
        table = Filter(table, draw(predicates(table.columns)))
    if one_in(draw, 4):
        width = computed.columns[:1]
        table = UnionAll(
            (
                Project(table, tuple((n, column(table.columns[0])) for n in width)),
                Project(computed, tuple((n, column(n)) for n in width)),
            )
        )
    return table


def _value(draw: st.DrawFn, node: Node) -> Expr:
    return draw(scalars(node.columns)) if one_in(draw, 4) else column(pick(draw, node.columns))


@given(chains(), BAGS, scripts(refreshes=1), st.sets(st.sampled_from(sorted(SOURCES)), min_size=1), st.booleans())
def test_a_chain_that_begins_at_what_changed_has_the_same_rows(
    chain: Node, computed: dict[str, Bag], script: Script, large: set[str], short: bool
) -> None:
    """Also where tables are asked by a semi-join for the keys that computed relations have."""
    chaining = Chaining(Derivation(chain, frozenset(), frozenset(large), ALL_TYPES))
    begun = chaining.begun(chain)
    now = replace(world(script.states[0], script.states[1]), named=computed)
    was = evaluate(chain, now)
    for binding in chaining.bindings:
        now = replace(now, named={**now.named, binding.name: evaluate(binding.node, now)})
    small = set(SOURCES) - large
    types = {**ALL_TYPES, **{b.name: b.types for b in chaining.bindings}}
    asked = with_literal_keys(begun, lambda *_: None, small, types, lambda _: short)
    assert begun.columns == asked.columns == chain.columns
    assert evaluate(begun, now) == evaluate(asked, now) == was


@given(chains(), BAGS, scripts(refreshes=1), st.sets(st.sampled_from([*SOURCES, *COMPUTED])))
def test_a_chain_of_what_changed_first_has_the_same_rows(
    chain: Node, computed: dict[str, Bag], script: Script, changed: set[str]
) -> None:
    now = replace(world(script.states[0], script.states[1]), named=computed)
    found = [(n, changed_first(n, changed)) for n in walk(chain) if isinstance(n, Join)]
    assert all(was.columns == first.columns and evaluate(was, now) == evaluate(first, now) for was, first in found)


def test_what_did_not_change_is_met_once() -> None:
    """TPC-H 9: lines of parts, and their orders. Orders and lines changed: parts are read for the change of both."""
    parts = Scan("s.a", "p", (("part", "k"), ("colour", "y")))
    lines = Scan("t.A", "l", (("key", "k"), ("of", "x")))
    orders = Scan("s.result", "o", (("order", "x"), ("date", "z")))
    green = Filter(parts, Expr.of(parse_expression("colour = 2")))
    of_parts = Join(green, lines, ((column("part"), column("of"), False),))
    model = Join(of_parts, orders, ((column("key"), column("order"), False),))

    def times(source: str, *, few: bool, changed: tuple[str, ...] = ("t.A", "s.result")) -> int:
        planned = plan(model, frozenset(changed), {}, by_key=False, large=set(SOURCES), types=TYPES, few=few)
        scans = [n.source for relation in planned.relations for n in walk(relation) if isinstance(n, Scan)]
        return scans.count(source)

    assert (times("s.a", few=True), times("s.a", few=False)) == (1, 2)
    assert times("t.A", few=True) == times("s.result", few=True) == 1
    assert times("s.a", few=True, changed=("t.A",)) == 1
    assert changed_first(of_parts, {"t.A", "s.result"}) is of_parts, "only one of them changed"
    assert changed_first(replace(model, equalities=()), {"t.A", "s.result"}) == replace(model, equalities=())


def test_a_large_table_is_met_behind_a_computed_relation() -> None:
    """Parts and lines, and orders that changed: lines are looked up for these, parts for the lines that are found, as
    are suppliers. Of parts nothing is asked that the change of lines says itself."""
    parts = Scan("s.a", "p", (("part", "k"),), Time.AFTER)
    lines = Scan("t.A", "l", (("key", "k"), ("of", "x")), Time.AFTER)
    sold = Scan("s.result", "s", (("sold", "x"), ("by", "z")), Time.AFTER)
    change = Named("orders_change", ("order",))
    large = frozenset(SOURCES)

    def equal(left: Node, right: Node, *names: str) -> Join:
        return Join(
            left, right, tuple((column(l), column(r), False) for l, r in zip(names[::2], names[1::2], strict=True))
        )

    chain = equal(equal(equal(parts, lines, "part", "of"), sold, "of", "sold"), change, "key", "order")
    chaining = Chaining(Derivation(chain, frozenset(), large, TYPES))
    begun = chaining.begun(chain)
    (first,) = chaining.bindings
    assert first.node == equal(change, lines, "order", "key")
    found = Named(first.name, first.node.columns)
    assert begun == Project(
        equal(equal(found, parts, "of", "part"), sold, "of", "sold"), tuple((n, column(n)) for n in chain.columns)
    )
    asked = with_literal_keys(begun, lambda *_: None, (), TYPES, lambda _: True)
    (semi,) = (n for n in walk(asked) if isinstance(n, Semi))
    assert (semi.child, semi.keys) == (sold, found), "parts are met by the computed relation itself"
    assert with_literal_keys(begun, lambda *_: None, (), TYPES) == begun
    assert chaining.begun(equal(equal(parts, lines, "part", "of"), sold, "of", "sold")).leaves == (
        ("s.a", Time.AFTER),
        ("t.A", Time.AFTER),
        ("s.result", Time.AFTER),
    ), "nothing changed"
    small = Chaining(Derivation(chain, frozenset(), frozenset(), TYPES))
    assert small.begun(chain) is chain and not small.bindings


def test_behind_a_table_that_leaves_few_rows_the_next_is_met_by_these() -> None:
    """TPC-H 9: of the lines that changed those of green parts are computed before their offers are looked for."""
    change = Named("lines_change", ("of", "by"))
    parts = Scan("s.a", "p", (("part", "k"), ("colour", "y")), Time.AFTER)
    green = Filter(parts, Expr.of(parse_expression("colour = 2")))
    offers = Scan("t.A", "f", (("offered", "k"), ("offers", "x")), Time.AFTER)
    of_offers = ((column("of"), column("offered"), False), (column("by"), column("offers"), False))

    def chained(link: Node) -> tuple[Node, Chaining]:
        chain = Join(Join(link, change, ((column("part"), column("of"), False),)), offers, of_offers)
        chaining = Chaining(Derivation(chain, frozenset(), frozenset(SOURCES), TYPES))
        return chaining.begun(chain), chaining

    begun, chaining = chained(green)
    (few,) = chaining.bindings
    assert few.node == Join(change, green, ((column("of"), column("part"), False),))
    assert begun == in_order(Join(Named(few.name, few.node.columns), offers, of_offers), begun.columns)
    assert not chained(parts)[1].bindings, "as many rows as changed are left"


def test_what_a_cast_makes_equal_is_not_the_same_value() -> None:
    """Of a changed '01' that meets a 1, and of that 1 that meets a '1', nothing is asked of the third table."""
    first = Scan("s.a", "a", (("number", "k"),), Time.AFTER)
    second = Scan("t.A", "b", (("text", "k"),), Time.AFTER)
    change = Named("change", ("said",))
    by_number = Join(change, first, ((column("said"), column("number"), False),))
    chain = Join(by_number, second, ((column("number"), column("text"), False),))

    def asked(types: Mapping[str, Mapping[str, str]]) -> bool:
        found = with_literal_keys(chain, lambda *_: None, (), types, lambda _: True)
        return any(isinstance(n, Semi) for n in walk(found))

    assert asked({**TYPES, "change": {"said": "int"}})
    assert not asked({**TYPES, "change": {"said": "string"}}) and not asked(TYPES)
