"""How the temporal joins of a model find their versions: by a join on the key, or by looking the last one up.

A join compares every row with all versions of its key: with 20,000 versions of each key, 2 M rows take minutes. Looking
up sorts both sides, some seconds whatever the data; but it needs versions that do not overlap. (Measured: benchmarks/.)
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..algebra.expressions import Expr, column
from ..algebra.nodes import AsOf, Join, Node, Project, Time, scans, walk
from ..changes.derivation import at
from ..dialect import print_sql
from ..sparksql.lookups import census
from ..sparksql.render import Renderer
from .engine import Engine
from .measure import Measure

MOST_MET = 400
"""Versions of a key up to which a row is compared with all of them: about what sorting the row costs instead."""

MANY_ROWS = 20_000
"""Changed rows from which on a refresh asks how they find their versions. Up to here, every row may meet all versions
of its key."""


def choose(
    model: Node, engine: Engine, measure: Measure, renderer: Renderer, times: Sequence[Time] = (Time.AFTER,)
) -> frozenset[AsOf]:
    """The temporal joins at an event time to be made by lookup: some key has many versions, and none overlap at any of
    the times. Two joins that say the same of their time are chosen together or not at all."""
    joins = [n for n in walk(model) if isinstance(n, Join) and n.as_of is not None and n.as_of.time is not None]
    refused = {j.as_of for j in joins if not all(_worth_it(at(j, t), engine, measure, renderer) for t in times)}
    return frozenset(j.as_of for j in joins if j.as_of is not None and j.as_of not in refused)


def among_versions(model: Node, lookups: Collection[AsOf], changed: Collection[str]) -> bool:
    """Whether any of the changed sources holds versions that are looked up: those of a change cannot be, and comparing
    many of them with all rows of their keys costs more than looking all versions up again."""
    met = [n.right for n in walk(model) if isinstance(n, Join) and n.as_of in lookups]
    return any(s.source in changed for side in met for s in scans(side))


def _worth_it(join: Node, engine: Engine, measure: Measure, renderer: Renderer) -> bool:
    assert isinstance(join, Join) and join.as_of is not None and join.as_of.time is not None
    most, overlaps = measure.census(print_sql(renderer.query(census(join))))
    if most <= MOST_MET or overlaps:
        return False
    asked = [l for l, _, _ in join.equalities] + [join.as_of.time]
    answered = [r for _, r, _ in join.equalities] + [column(join.as_of.valid_from)]
    return _types(join.left, asked, engine, renderer) == _types(join.right, answered, engine, renderer)


def _types(side: Node, exprs: list[Expr], engine: Engine, renderer: Renderer) -> list[str]:
    listed = Project(side, tuple((f"c{i}", e) for i, e in enumerate(exprs)))
    return [t for _, t in engine.columns(print_sql(renderer.query(listed)))]
