"""Values that are said to be among others are, and who asks a table again for some of its keys reads no table."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from dbt_spark_dynamic.algebra.evaluate import Bag, World, evaluate
from dbt_spark_dynamic.algebra.expressions import Expr, column
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
from dbt_spark_dynamic.changes.containment import Containment
from dbt_spark_dynamic.changes.plan import plan
from dbt_spark_dynamic.dialect import parse_expression

from .carrying_out import bound
from .plans import one_in, pick, plans, plans_over_groups, predicates
from .states import KEYS, SOURCES, TYPES, Script, bags, scripts, world

FED = {"few_change": ("k", "x"), "more_change": ("k", "x")}
BAGS = bags(FED)


def values(node: Node, name: str, now: World) -> set:
    place = node.columns.index(name)
    return {row[place] for row in evaluate(node, now)}


@st.composite
def relations(draw: st.DrawFn) -> list[tuple[str, Node]]:
    """Relations that are made of each other and of a few that they have in common, in all kinds of ways."""
    table = Scan("t.A", "t", (("k", "k"), ("x", "x")), Time.AFTER)
    kept = Filter(table, draw(predicates(table.columns)))
    pool: list[Node] = [table, kept, *(Named(name, columns) for name, columns in FED.items())]
    found: list[tuple[str, Node]] = []
    for number in range(pick(draw, (2, 3, 4, 5))):
        node = draw(_made_of(pool))
        found.append((f"r{number}", node))
        pool.append(Named(f"r{number}", node.columns))
    return found


@st.composite
def _made_of(draw: st.DrawFn, pool: list[Node]) -> Node:
    node = _named(pick(draw, pool), "c")
    for number in range(pick(draw, (1, 2, 3))):
        other = pick(draw, pool)
        kind = pick(draw, ("join", "join", "semi", "filter", "groups", "project", "union"))
        if kind == "join":
            renamed = _named(other, f"j{number}_")
            by = tuple(
                (column(pick(draw, node.columns)), column(pick(draw, renamed.columns)), one_in(draw, 3))
                for _ in range(pick(draw, (1, 1, 1, 2)))
            )
            how = pick(draw, (*JoinKind, JoinKind.INNER, JoinKind.SEMI, JoinKind.SEMI))
            sides = (renamed, node) if one_in(draw, 3) and how is JoinKind.INNER else (node, renamed)
            by = tuple((r, l, safe) for l, r, safe in by) if sides[0] is renamed else by
            residual = draw(predicates(node.columns)) if one_in(draw, 8) else None
            node = Join(*sides, by, residual, how)
        elif kind == "semi" and isinstance(other, Named):
            pairs = tuple(
                (column(pick(draw, node.columns)), pick(draw, other.columns)) for _ in range(pick(draw, (1, 1, 2)))
            )
            node = Semi(node, other, pairs)
        elif kind == "filter":
            node = Filter(node, draw(predicates(node.columns)))
        elif kind == "groups":
            counts = ((f"n{number}", Expr.of(parse_expression("COUNT(*)"))),) if one_in(draw, 2) else ()
            node = Aggregate(node, tuple((c, column(c)) for c in node.columns[:2]), counts)
        elif kind == "project":
            node = Project(node, tuple((c, column(c)) for c in reversed(node.columns)))
        elif kind == "union":
            width = min(len(node.columns), len(other.columns))
            node = UnionAll(tuple(Project(n, tuple((c, column(c)) for c in n.columns[:width])) for n in (node, other)))
    return node


def _named(node: Node, prefix: str) -> Node:
    return Project(node, tuple((f"{prefix}{i}", column(c)) for i, c in enumerate(node.columns)))


@given(relations(), BAGS, scripts(refreshes=1))
def test_what_is_within_is_within(made: list[tuple[str, Node]], bags: dict[str, Bag], script: Script) -> None:
    contained = Containment(TYPES, {name: dict.fromkeys(names, "int") for name, names in FED.items()})
    now = replace(world(script.states[0], script.states[1]), named=bags)
    for name, node in made:
        contained.add(name, node)
        now = replace(now, named={**now.named, name: evaluate(node, now)})
    columns = [(node, name) for _, node in made for name in node.columns]
    for node, name in columns:
        for other, of in columns:
            if contained.within((node, column(name)), (other, column(of))):
                assert values(node, name, now) <= values(other, of, now)


@given(st.one_of(plans(), plans_over_groups()), scripts(refreshes=1))
def test_what_is_within_in_a_plan_is_within(model: Node, script: Script) -> None:
    ((before, after, touched),) = script.refreshes
    planned = plan(model, touched, KEYS, large=SOURCES, types=TYPES)
    now = bound(planned.feeds, planned.bindings, before, after)
    contained = Containment(TYPES, {f.name: TYPES[f.source] for f in planned.feeds})
    for b in planned.bindings:
        contained.add(b.name, b.node)
    columns = [(b.node, name) for b in planned.bindings for name in b.node.columns]
    for node, name in columns:
        for other, of in columns:
            if contained.within((node, column(name)), (other, column(of))):
                assert values(node, name, now) <= values(other, of, now)


TABLE = Scan("t.A", "t", (("k", "k"), ("x", "x")), Time.AFTER)
KEPT = Filter(TABLE, Expr.of(parse_expression("x > 1")))
CHANGE = Named("few_change", ("k", "x"))


def said(types: str = "int", null_safe: bool = False) -> Containment:
    """`kept`: keys of the change that rows of the table have of which x > 1."""
    contained = Containment({"t.A": {"k": types, "x": "int"}, "few_change": {"k": "int", "x": "int"}})
    keys = Aggregate(Project(CHANGE, (("key", column("k")),)), (("key", column("key")),))
    contained.add("keys", keys)
    asked = Semi(TABLE, Named("keys", ("key",)), ((column("k"), "key"),))
    met = Project(Filter(asked, KEPT.predicate), (("met", column("k")),))
    contained.add(
        "kept", Join(Named("keys", ("key",)), met, ((column("key"), column("met"), null_safe),), None, JoinKind.SEMI)
    )
    return contained


def test_keys_that_meet_the_same_rows_are_within_those_that_did() -> None:
    paired = Join(Project(CHANGE, (("of", column("k")),)), KEPT, ((column("of"), column("k"), False),))
    kept = (Named("kept", ("key",)), column("key"))
    assert said().within((paired, column("k")), kept)
    assert said().within((paired, column("of")), kept)
    assert not said().within((replace(paired, right=TABLE), column("k")), kept), "of other rows"
    assert not said().within((replace(paired, kind=JoinKind.LEFT), column("of")), kept), "and of those that meet none"
    assert not said("string").within((paired, column("of")), kept), "01 is equal to 1, and so is 1"
    safe = replace(paired, equalities=((column("of"), column("k"), True),))
    assert not said().within((safe, column("of")), kept), "NULL meets nothing there"
    assert said(null_safe=True).within((safe, column("of")), kept)


def test_a_table_is_not_asked_again_for_some_of_its_keys() -> None:
    """TPC-H 17: lines of which less was bought than is usual of their part are compared with what they are, an average,
    was before and is now. All that have such a part are read once."""
    lines = Scan("t.A", "l", (("part", "k"), ("sold", "x")))
    others = Scan("t.A", "o", (("of", "k"), ("also", "x")))
    parts = Filter(Scan("s.a", "p", (("p", "k"), ("brand", "y"))), Expr.of(parse_expression("brand = 3")))
    usual = Aggregate(others, (("of", column("of")),), (("usual", Expr.of(parse_expression("AVG(also)"))),))
    sold = Join(lines, parts, ((column("part"), column("p"), False),))
    beside = Join(sold, usual, ((column("p"), column("of"), False),), None, JoinKind.LEFT)
    model = Filter(beside, Expr.of(parse_expression("sold < usual")))
    planned = plan(model, frozenset({"t.A"}), {}, by_key=False, large={"t.A"}, types=TYPES)
    read = [n.source for relation in planned.relations for n in walk(relation) if isinstance(n, Scan)]
    assert read.count("t.A") == 1
