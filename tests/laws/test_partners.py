"""Groups that the other side of a join cannot meet are not asked for."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt_spark_dynamic.algebra.clock import CLOCK
from dbt_spark_dynamic.algebra.evaluate import evaluate
from dbt_spark_dynamic.algebra.expressions import Expr, column
from dbt_spark_dynamic.algebra.nodes import (
    Aggregate,
    Filter,
    Join,
    JoinKind,
    Node,
    Project,
    Scan,
    Semi,
    scans,
    walk,
    weighted,
)
from dbt_spark_dynamic.changes.additive import Own
from dbt_spark_dynamic.changes.change_plan import Shape
from dbt_spark_dynamic.changes.derivation import Derivation
from dbt_spark_dynamic.changes.differentiate import change
from dbt_spark_dynamic.changes.partials import Partials, partials
from dbt_spark_dynamic.changes.partners import Partner, of_groups_met, partners
from dbt_spark_dynamic.changes.plan import plan
from dbt_spark_dynamic.changes.simplify import simplify
from dbt_spark_dynamic.dialect import parse_expression

from .carrying_out import OWN, bound, difference, meaning, signed
from .plans import one_in, pick, predicates, rows_of_a_table
from .states import KEYS, SOURCES, TYPES, Script, scripts

LARGE = st.sets(st.sampled_from(sorted(SOURCES)), min_size=1)


@st.composite
def groups_beside_kept_rows(draw: st.DrawFn) -> Join:
    """Groups of a table, joined in any way with some rows of tables by some of what they are grouped by."""

    below = draw(rows_of_a_table("g", kept=one_in(draw, 3)))
    by = below.columns[: pick(draw, (1, 2))]
    groups: Node = Aggregate(
        below, tuple((f"by_{n}", column(n)) for n in by), (("n", Expr.of(parse_expression("COUNT(*)"))),)
    )
    if one_in(draw, 3):
        groups = Filter(groups, Expr.of(parse_expression("n > 1")))
    if one_in(draw, 3):
        groups = Project(groups, tuple((f"r_{n}", column(n)) for n in reversed(groups.columns)))
    side: Node = draw(rows_of_a_table("p", kept=not one_in(draw, 4)))
    for kind in (JoinKind.INNER, JoinKind.SEMI, JoinKind.LEFT, JoinKind.ANTI)[: pick(draw, (0, 1, 2, 4))]:
        if one_in(draw, 2):
            continue
        other = draw(rows_of_a_table(f"o{kind.name[0]}", kept=True))
        equal = (column(pick(draw, side.columns)), column(pick(draw, other.columns)), one_in(draw, 4))
        side = Join(side, other, (equal,), None, kind)
    names = [c for c in groups.columns if c.endswith(by)]
    on = tuple(
        (column(pick(draw, side.columns)), column(n), one_in(draw, 4)) for n in names[: pick(draw, (1, len(names)))]
    )
    kind = pick(draw, (JoinKind.LEFT, JoinKind.INNER, JoinKind.SEMI, JoinKind.ANTI))
    if kind is JoinKind.INNER and one_in(draw, 2):
        return Join(groups, side, tuple((r, l, safe) for l, r, safe in on), None, kind)
    residual = draw(predicates(side.columns + groups.columns)) if one_in(draw, 4) else None
    return Join(side, groups, on, residual, kind)


@given(
    groups_beside_kept_rows(), scripts(refreshes=1), LARGE, st.none() | st.sampled_from(sorted(SOURCES)), st.booleans()
)
def test_the_change_of_groups_is_told_of_those_that_are_met(
    model: Join, script: Script, large: set[str], alone: str | None, grouped: bool
) -> None:
    """alone: what changes when nothing else does; grouped: or the table of the groups."""
    ((before, after, touched),) = script.refreshes
    if grouped:
        alone = next(n for side in model.children for n in walk(side) if isinstance(n, Aggregate)).leaves[0][0]
    if alone is not None:
        after, touched = {**before, alone: after[alone]}, touched & {alone}
    d = Derivation(model, touched, frozenset(large), TYPES)
    delta = change(model, d)
    now = bound(d.feeds.values(), d.bindings, before, after)
    assert delta.columns == weighted(model.columns)
    assert signed(evaluate(delta, now)) == difference(meaning(model, after), meaning(model, before))


@given(groups_beside_kept_rows(), scripts(refreshes=2), LARGE)
def test_a_whole_plan_of_such_groups(model: Join, script: Script, large: set[str]) -> None:
    table = meaning(model, script.states[0])
    for before, after, touched in script.refreshes:
        planned = plan(model, touched, KEYS, by_key=False, large=large, types=TYPES)
        now = bound(planned.feeds, planned.bindings, before, after)
        for row, weight in signed(evaluate(planned.result.node, now)).items():
            table[row] += weight
        table = +table
        assert table == meaning(model, after)


@given(groups_beside_kept_rows(), scripts(refreshes=1), st.sets(st.sampled_from(sorted(SOURCES))))
def test_the_same_rows_are_made_of_the_groups_that_are_met(model: Join, script: Script, worth: set[str]) -> None:
    less = of_groups_met(model, TYPES, lambda _, rows: not worth.isdisjoint(name for name, _ in rows.leaves))
    for state in script.states:
        assert meaning(less, state) == meaning(model, state)


@given(groups_beside_kept_rows(), scripts(refreshes=1), st.booleans())
def test_one_row_of_all_is_made_of_the_groups_that_are_met(joined: Join, script: Script, keeps: bool) -> None:
    """keeps: what it is made of, for the next refresh to add to."""
    model = more_than_there_are(joined)
    kept = counts_of(model) if keeps else None
    ((before, after, touched),) = script.refreshes
    if touched:
        planned = plan(model, touched, KEYS, SHOWN, partials=kept, whole=of_all_met)
        now = bound(planned.feeds, planned.bindings, before, after)
        assert planned.shape is Shape.UPSERT and planned.partials is kept
        assert evaluate(planned.result.node, now) == meaning(model, after)


SHOWN = Own(OWN, {"more": "bigint"})


def more_than_there_are(rows: Node) -> Node:
    """One row, which does not show what it is made of."""
    counted = Aggregate(rows, (), (("n", Expr.of(parse_expression("COUNT(*)"))),))
    return Project(counted, (("more", Expr.of(parse_expression("n + 1"))),))


def counts_of(model: Node) -> Partials | None:
    return partials(model, lambda node: ("bigint",) * len(node.columns))


def of_all_met(node: Node) -> Node:
    return of_groups_met(node, TYPES, lambda *_: True)


PARTS = Filter(Scan("s.a", "p", (("part", "k"), ("brand", "x"))), Expr.of(parse_expression("brand = 1")))
LINES = Scan("t.A", "l", (("of", "k"), ("quantity", "x")))
AVERAGES = Aggregate(LINES, (("met_by", column("of")),), (("n", Expr.of(parse_expression("COUNT(*)"))),))


def beside(left: Node, name: str, kind: JoinKind = JoinKind.LEFT) -> Join:
    return Join(left, AVERAGES, ((column(name), column("met_by"), False),), None, kind)


def test_groups_are_asked_for_where_a_kept_part_has_their_key() -> None:
    """Averages of all parts beside parts of one brand: of the changed lines' parts, those of the brand."""
    model = beside(PARTS, "part")
    d = Derivation(model, frozenset({"t.A"}), frozenset({"t.A"}), TYPES)
    change(model, d)
    keys = next(b for b in d.bindings if b.name == "changed_groups")
    assert isinstance(keys.node, Join) and keys.node.kind is JoinKind.SEMI
    assert [s.source for s in scans(keys.node)] == ["s.a"] and not any(isinstance(n, Semi) for n in walk(keys.node))
    # A large one is looked up, not read.
    d = Derivation(model, frozenset({"t.A"}), frozenset({"t.A", "s.a"}), TYPES)
    change(model, d)
    keys = next(b for b in d.bindings if b.name == "changed_groups")
    assert [n.keys.name for n in walk(keys.node) if isinstance(n, Semi)] == ["touched_groups"]


def test_all_rows_of_groups_are_asked_for_by_whoever_is_worth_it() -> None:
    asked: list[tuple[Aggregate, Node]] = []
    shown = Filter(AVERAGES, Expr.of(parse_expression("n > 1")))

    def worth(groups: Aggregate, rows: Node) -> bool:
        asked.append((groups, rows))
        return len(asked) > 1

    model = replace(beside(PARTS, "part"), right=shown)
    assert of_groups_met(model, TYPES, worth) == model
    below = of_groups_met(model, TYPES, worth).children[1].children[0].children[0]
    assert isinstance(below, Join) and (below.left, below.kind) == (LINES, JoinKind.SEMI)
    assert below.right.children == (PARTS,) and asked == [(AVERAGES, PARTS)] * 2
    assert of_groups_met(AVERAGES, TYPES, worth) is AVERAGES


@pytest.mark.parametrize("keeps", [False, True])
def test_one_row_that_is_made_again_asks_for_no_other_groups(keeps: bool) -> None:
    model = more_than_there_are(beside(PARTS, "part"))
    kept = counts_of(model) if keeps else None
    planned = plan(model, frozenset({"t.A"}), KEYS, SHOWN, partials=kept, whole=of_all_met)
    made = [n for b in (*planned.bindings, planned.result) for n in walk(b.node) if isinstance(n, Join)]
    assert [n.kind for n in made] == [JoinKind.LEFT, JoinKind.SEMI]


def test_groups_that_changed_are_read_once_for_the_rows_that_meet_them() -> None:
    planned = plan(beside(PARTS, "part"), frozenset({"t.A"}), KEYS, by_key=False, large={"t.A"}, types=TYPES)
    read = [s for b in (*planned.bindings, planned.result) for s in scans(b.node) if s.source == "t.A"]
    assert len(read) == 1


def test_who_has_every_key_says_nothing() -> None:
    d = Derivation(AVERAGES, frozenset({"t.A"}), frozenset({"t.A"}), TYPES)
    found = Partner("met_by", PARTS, column("part"), False)
    orders = Scan("s.result", "o", (("bought", "x"), ("day", "z")))

    def joined(kind: JoinKind) -> Join:
        return Join(orders, PARTS, ((column("bought"), column("part"), False),), None, kind)

    assert partners(beside(PARTS, "part"), AVERAGES, d) == (found,)
    assert partners(beside(PARTS.child, "part"), AVERAGES, d) == ()
    for kind, met in ((JoinKind.INNER, (found,)), (JoinKind.SEMI, (found,)), (JoinKind.LEFT, ()), (JoinKind.ANTI, ())):
        assert partners(beside(joined(kind), "bought"), AVERAGES, d) == met
    left = beside(PARTS, "part")
    assert partners(left, left.left, d) == ()
    small = replace(d, large=frozenset())
    assert partners(left, AVERAGES, small) == ()
    assert simplify(change(left, replace(d, changed=frozenset()))) is not None


def test_a_row_may_meet_changed_groups_and_others() -> None:
    """Of groups by two columns, met by one: that the row met another one before is not forgotten."""
    groups = Aggregate(LINES, (("met_by", column("of")), ("quantity", column("quantity"))))
    model = Join(PARTS, groups, ((column("part"), column("met_by"), False),), None, JoinKind.LEFT)
    before = {"s.a": Counter([(1, 1, 0)]), "t.A": Counter([(1, 0)]), "s.result": Counter(), CLOCK: Counter([(0,)])}
    after = {**before, "t.A": Counter([(1, 0), (1, 1)])}
    d = Derivation(model, frozenset({"t.A"}), frozenset({"t.A"}), TYPES)
    delta = change(model, d)
    now = bound(d.feeds.values(), d.bindings, before, after)
    assert signed(evaluate(delta, now)) == Counter({(1, 1, 1, 1): 1})


def test_what_a_cast_makes_equal_says_no_key() -> None:
    orders = Scan("s.result", "o", (("bought", "x"), ("day", "z")))
    model = beside(Join(orders, PARTS, ((column("bought"), column("part"), False),)), "bought")
    d = Derivation(AVERAGES, frozenset({"t.A"}), frozenset({"t.A"}), TYPES)
    assert partners(model, AVERAGES, d)
    assert not partners(model, AVERAGES, replace(d, types={**TYPES, "s.a": dict.fromkeys(SOURCES["s.a"], "string")}))
