"""Which maintained tables read which, and which tables of others they all stand on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter


@dataclass(frozen=True)
class Watched:
    """A maintained table. name: of its model; table: its complete name; reads: the tables it is computed from;
    lag: seconds, None for 'downstream'; volatile: whether its result can change without a commit."""

    name: str
    table: str
    reads: frozenset[str]
    lag: float | None = 0.0
    volatile: bool = False


class Graph:
    """order: names, a table after those it reads; leaves: tables read that are not maintained here."""

    def __init__(self, models: Iterable[Watched]) -> None:
        self.models: Mapping[str, Watched] = {m.name: m for m in models}
        of_table = {m.table: m.name for m in self.models.values()}
        self.parents = {
            n: frozenset(of_table[t] for t in m.reads if t in of_table and of_table[t] != n)
            for n, m in self.models.items()
        }
        self.order = tuple(TopologicalSorter(self.parents).static_order())
        self.ancestors: dict[str, frozenset[str]] = {}
        self._leaves: dict[str, frozenset[str]] = {}
        for name in self.order:
            above = self.parents[name]
            self.ancestors[name] = above.union(*(self.ancestors[p] for p in above))
            own = self.models[name].reads - of_table.keys()
            self._leaves[name] = own.union(*(self._leaves[p] for p in above))
        self.leaves = frozenset().union(*self._leaves.values())

    def leaves_of(self, name: str) -> frozenset[str]:
        """The tables of others that it stands on, through however many maintained ones."""
        return self._leaves[name]

    def descendants(self, name: str) -> frozenset[str]:
        return frozenset(n for n, above in self.ancestors.items() if name in above)

    def idle(self) -> list[str]:
        """Tables that say 'downstream' and have nothing below them that says when: they are never refreshed."""
        timed = [n for n, m in self.models.items() if m.lag is not None]
        needed = frozenset(timed).union(*(self.ancestors[n] for n in timed))
        return [n for n in self.order if n not in needed]
