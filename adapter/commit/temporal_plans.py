"""How the temporal joins of a model meet their versions: by a join on the key, by bins of time, or by looking the last
one up.

A join on the key compares every row with all versions of its key: with 20,000 versions of each, 2 M rows take minutes.
Bins leave those of one stretch of time, where the times of versions are spread well enough. Looking up sorts both
sides, whatever the times; but it needs versions that do not overlap. (Measured: benchmarks/.)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from ..algebra.expressions import Expr, column
from ..algebra.nodes import AsOf, Join, Node, Project, Time, scans, walk
from ..changes.derivation import at
from ..dialect import print_sql
from ..sparksql.bins import Bins, position
from ..sparksql.lookups import look_up
from ..sparksql.render import Renderer
from ..sparksql.versions_met import census, of_versions, spread
from .engine import Engine
from .measure import Measure

Technique = Callable[[Join], Node]
"""Makes a join in another way, with the same meaning."""

MOST_MET = 400
"""Versions of a key up to which a row is compared with all of them: about what sorting the row costs instead."""

MOST_IN_BIN = 40
"""Versions of a key in one bin up to which bins are as good as a lookup."""

MANY_ROWS = 20_000
"""Changed rows from which on a refresh asks how they find their versions. Up to here, every row may meet all versions
of its key."""

LONGEST = 1_000_000
"""Bins that one version may stand in."""

LARGEST = 2**63 - 1
"""Distance of two times that Spark can reckon with."""

COPIES = 4
"""Bins that versions stand in on the average, at the most: those that hold for long beside others get wider ones."""


def choose(
    model: Node, engine: Engine, measure: Measure, renderer: Renderer, times: Sequence[Time] = (Time.AFTER,)
) -> Mapping[AsOf, Technique]:
    """Those of the temporal joins at an event time that are not to be made as joins on the key, because some key has
    many versions. times: at which versions are met. Two joins that say the same of their time are made in one way."""
    made: dict[AsOf, Technique] = {}
    joins = [n for n in walk(model) if isinstance(n, Join)]
    for as_of in dict.fromkeys(j.as_of for j in joins):
        if as_of is None or as_of.time is None:
            continue
        among = Versions([at(j, t) for j in joins if j.as_of == as_of for t in times], engine, measure, renderer)
        if (technique := among.technique()) is not None:
            made[as_of] = technique
            if isinstance(technique, Bins):
                made[as_of.changed()] = technique
    return made


def among_versions(model: Node, chosen: Collection[AsOf], changed: Collection[str]) -> bool:
    """Whether any of the changed sources holds versions that are looked up: those of a change cannot be, and comparing
    many of them with all rows of their keys costs more than looking all versions up again."""
    joins = [n for n in walk(model) if isinstance(n, Join) and n.as_of is not None]
    met = [n.right for n in joins if n.as_of in chosen and n.as_of.changed() not in chosen]
    return any(s.source in changed for side in met for s in scans(side))


class Versions:
    """What is asked of the versions that joins of one kind meet. joins: at the times at which they are made."""

    def __init__(self, joins: Sequence[Join], engine: Engine, measure: Measure, renderer: Renderer) -> None:
        self._joins, self._engine, self._measure, self._renderer = joins, engine, measure, renderer

    def technique(self) -> Technique | None:
        counts = [self._measure.census(self._query(census(j))) for j in self._joins]
        most, crowded = max(((c[0], i) for i, c in enumerate(counts)), default=(0, 0))
        if most <= MOST_MET:
            return None
        bins = self._bins(self._joins[crowded])
        in_bin = self._measure.number(self._query(bins.filling(self._joins[crowded]))) if bins is not None else most
        if in_bin <= MOST_IN_BIN:
            return bins
        if not any(overlaps for _, overlaps in counts) and all(self._is_sorted_alike(j) for j in self._joins):
            return look_up
        return bins if in_bin <= most // 2 else None

    def _bins(self, join: Join) -> Bins | None:
        """As many as an average key has versions, from the first change of a version to the last."""
        assert join.as_of is not None and join.as_of.time is not None
        ends = [column(n) for n in (join.as_of.valid_from, join.as_of.valid_to)]
        as_number = position([*self._types(join.left, [join.as_of.time]), *self._types(join.right, ends)])
        if as_number is None:
            return None
        found = self._measure.spread(self._query(spread(join, as_number)))
        if found is None:
            return None
        keys, versions, first, last = found
        if last - first > LARGEST:
            return None
        width = max(1, keys * (last - first) // versions, (last - first) // LONGEST)
        bins = Bins(as_number, first, last, width)
        stood_in = self._measure.number(self._query(bins.stood_in(join)))
        return replace(bins, width=width * max(1, stood_in // (COPIES * versions)))

    def _is_sorted_alike(self, join: Join) -> bool:
        """Whether rows and versions have keys and times of the same types."""
        assert join.as_of is not None and join.as_of.time is not None
        asked = [l for l, _, _ in join.equalities] + [join.as_of.time]
        answered = [*of_versions(join), column(join.as_of.valid_from)]
        return self._types(join.left, asked) == self._types(join.right, answered)

    def _types(self, side: Node, exprs: list[Expr]) -> list[str]:
        listed = Project(side, tuple((f"c{i}", e) for i, e in enumerate(exprs)))
        return [t for _, t in self._engine.columns(self._query(listed))]

    def _query(self, node: Node) -> str:
        return print_sql(self._renderer.query(node))
