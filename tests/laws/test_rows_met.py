"""What a plan asks of a table by what changed is found among the rows that meet the change feeds."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from dbt_spark_dynamic.algebra.evaluate import Bag, World, evaluate
from dbt_spark_dynamic.algebra.expressions import column
from dbt_spark_dynamic.algebra.nodes import Named, Node, Project, Scan, Semi, UnionAll, walk
from dbt_spark_dynamic.changes.change_plan import ChangePlan
from dbt_spark_dynamic.changes.derivation import KEY, distinct
from dbt_spark_dynamic.changes.plan import plan
from dbt_spark_dynamic.changes.rows_met import Meeting, Met

from .carrying_out import bound
from .plans import plans, plans_over_groups
from .states import KEYS, SOURCES, TYPES, Script, scripts


def meeting(planned: ChangePlan) -> Meeting:
    return Meeting.of_plan({f.name: f.source for f in planned.feeds}, planned.bindings, TYPES)


def relation_of(met: Met, planned: ChangePlan) -> Node:
    """T ⋉ K with all columns that the table has."""
    feeds = {f.name: f.named for f in planned.feeds}
    keys = distinct(UnionAll(tuple(Project(feeds[f], ((KEY.format(0), column(c)),)) for f, c in sorted(met.by))))
    names = SOURCES[met.scan.source]
    scan = Scan(met.scan.source, met.scan.alias, tuple((c, c) for c in names), met.scan.time)
    return Semi(scan, Named("keys", keys.columns), ((column(met.column), KEY.format(0)),)), keys


def over_rows_met(node: Node, planned: ChangePlan, now: World) -> tuple[Bag, int]:
    """What it means over the rows met, and how many of its scans they stand for."""
    computed: dict[str, Bag] = {}

    def met(asked: Met) -> Named:
        semi, keys = relation_of(asked, planned)
        name = f"met_{len(computed)}"
        computed[name] = evaluate(semi, replace(now, named={**now.named, "keys": evaluate(keys, now)}))
        return Named(name, semi.columns)

    read = meeting(planned).over(node, met)
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
        found, _ = over_rows_met(node, planned, now)
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
