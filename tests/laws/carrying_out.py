"""Carrying out a change plan over bags, the way a refresh carries it out over tables."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from dbt_spark_dynamic.algebra.evaluate import Bag, Table, World, evaluate
from dbt_spark_dynamic.algebra.nodes import Node, Time
from dbt_spark_dynamic.changes.accumulators import Combine
from dbt_spark_dynamic.changes.change_plan import ChangePlan, Shape
from dbt_spark_dynamic.changes.derivation import Binding, Feed
from dbt_spark_dynamic.changes.partials import HELD

from .states import State, came, fed, world

OWN = "own.table"
"""The name of the maintained table in a plan that may read it."""


def bound(
    feeds: Iterable[Feed],
    bindings: Iterable[Binding],
    before: State,
    after: State,
    own: Table | None = None,
    held: Bag | None = None,
    unread: Collection[str] = (),
) -> World:
    """The world in which the last relation of a plan is evaluated: all it names has been computed, in order.

    own: the maintained table before the refresh, for plans that read it; held: the partial aggregates of before;
    unread: feeds that are not netted.
    """
    now = world(before, after)
    now = replace(now, named={f.name: (came if f.name in unread else fed)(f, before, after) for f in feeds})
    if held is not None:
        now = replace(now, named={**now.named, HELD: held})
    if own is not None:
        now = replace(now, tables={**now.tables, (OWN, Time.BEFORE): own})
    for b in bindings:
        now = replace(now, named={**now.named, b.name: evaluate(b.node, now)})
    return now


def meaning(model: Node, state: State) -> Bag:
    """The query's result in one state of its sources."""
    return evaluate(model, world(state, state))


def signed(change: Bag) -> Counter:
    """Rows whose last column is a weight, as row -> sum of weights, without those that cancel."""
    weights: Counter = Counter()
    for (*row, weight), copies in change.items():
        weights[tuple(row)] += weight * copies
    return Counter({row: w for row, w in weights.items() if w})


def difference(after: Bag, before: Bag) -> Counter:
    return Counter({row: n for row in after | before if (n := after[row] - before[row])})


def applied(table: Bag, planned: ChangePlan, result: Bag, affected: Bag | None) -> Bag:
    """The table after the result of a change plan. affected: the keys whose rows the result replaces, or None."""
    if planned.shape is Shape.SIGNED:
        changed = Counter(table)
        changed.update(signed(result))
        return Counter({row: n for row, n in changed.items() if n})
    assert planned.key is not None and affected is not None
    places = key_places(planned)
    kept = {row: n for row, n in table.items() if tuple(row[p] for p in places) not in affected}
    return Counter(kept) + result


def key_places(planned: ChangePlan) -> list[int]:
    """Where the key's columns are among the columns of the table."""
    assert planned.key is not None
    return [planned.result.node.columns.index(k) for k in planned.key]


def added(table: Bag, planned: ChangePlan, additions: Bag) -> Bag:
    """The table after additions to its rows, as the MERGE makes them."""
    assert planned.additions is not None
    places, how = key_places(planned), planned.additions.combine
    counted = planned.additions.counted
    count = planned.result.node.columns.index(counted) if counted is not None else None
    rows = {tuple(row[p] for p in places): row for row in table.elements()}
    for addition in additions.elements():
        key = tuple(addition[p] for p in places)
        row = tuple(map(combined, how, rows[key], addition)) if key in rows else addition
        rows[key] = row
        if count is not None and row[count] == 0:
            del rows[key]
    return Counter(rows.values())


def combined(how: Combine, held: Any, more: Any) -> Any:
    """NULL adds nothing."""
    if how is Combine.GROUP or more is None:
        return held
    if held is None:
        return more
    return {Combine.ADD: operator.add, Combine.LEAST: min, Combine.GREATEST: max}[how](held, more)
