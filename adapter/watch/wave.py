"""A wave: tables that are brought to one state of their sources, each after those it reads."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from .graph import Graph


class Wave:
    """names: in the order of the graph; vector: leaf -> the version that everything in the wave consumes; epochs: the
    same as the schedule counts them; tables: maintained table -> its version, of those that are read but not in the
    wave, and of those in it once they are refreshed."""

    def __init__(
        self,
        graph: Graph,
        names: Collection[str],
        vector: Mapping[str, int],
        epochs: Mapping[str, int],
        tables: Mapping[str, int],
    ) -> None:
        self.names = tuple(n for n in graph.order if n in names)
        self.vector, self.epochs = dict(vector), dict(epochs)
        self._graph, self._tables = graph, dict(tables)
        self._waiting, self._running = list(self.names), set[str]()

    def take(self, most: int) -> list[str]:
        """Up to `most` tables whose parents are done, which from now on count as started."""
        ready = [n for n in self._waiting if not (self._graph.parents[n] & {*self._waiting, *self._running})][:most]
        self._waiting = [n for n in self._waiting if n not in ready]
        self._running |= set(ready)
        return ready

    def versions(self, name: str) -> dict[str, int]:
        """What a table of the wave consumes of each table that it stands on."""
        above = {self._graph.models[n].table for n in self._graph.ancestors[name]}
        maintained = {t: v for t, v in self._tables.items() if t in above}
        return {leaf: self.vector[leaf] for leaf in self._graph.leaves_of(name)} | maintained

    def done(self, name: str, version: int) -> None:
        """It was refreshed, and this version of it is what the wave reads."""
        self._running.discard(name)
        self._tables[self._graph.models[name].table] = version

    def failed(self, name: str) -> list[str]:
        """It was not, and so neither are those below it. Returns these."""
        self._running.discard(name)
        dropped = [n for n in self._waiting if name in self._graph.ancestors[n]]
        self._waiting = [n for n in self._waiting if n not in dropped]
        return dropped

    def abandon(self) -> None:
        """Nothing more of it is started."""
        self._waiting = []

    @property
    def over(self) -> bool:
        return not self._waiting and not self._running
