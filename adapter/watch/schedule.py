"""What is due: the one place that decides which tables are refreshed when. Pure: the time and the versions are told.

A table is stale from the moment a leaf below it was seen at another version than the one it was last brought to, and
due once its lag is nearly used up, by as much as its refresh is expected to take. What is due at one moment forms a
wave with everything stale that it reads: so commits that came while nothing was due, or while a wave ran, are consumed
together, and no two tables of a wave see different states of a leaf. Until a wave is over, its tables are in no other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from .graph import Graph
from .wave import Wave

FIRST_RETRY, LAST_RETRY = 1.0, 300.0
"""Seconds between a failure and the next try: the first time, and at most; each failure doubles them."""

FIRST_CONFLICT, LAST_CONFLICT = 0.1, 5.0
"""The same after another run was faster."""

GONE = -1
"""The version of a leaf that is not there."""


@dataclass
class Leaf:
    """version: as last seen; epoch: how many different ones were seen; seen: (epoch, when) of those that are the first
    that some table does not hold."""

    version: int = GONE
    epoch: int = 0
    seen: deque[tuple[int, float]] = field(default_factory=deque)


@dataclass
class Standing:
    """One table. epochs: leaf -> the epoch that it was brought to; read: parent -> its version then; version, at: its
    own version after that, and when; doubted: since when it counts as stale whatever the leaves say; again_at: not to
    be tried before; failures, conflicts: in a row; seconds, tried: of its last refresh; due: when its result
    changes without a commit, None if never; busy: in a wave."""

    epochs: dict[str, int] = field(default_factory=dict)
    read: dict[str, int | None] = field(default_factory=dict)
    version: int | None = None
    at: float = 0.0
    doubted: float | None = None
    again_at: float = 0.0
    failures: int = 0
    conflicts: int = 0
    seconds: float = 0.0
    tried: float = 0.0
    due: float | None = None
    busy: bool = False


class Schedule:
    """graph: what is watched."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.leaves = {leaf: Leaf() for leaf in graph.leaves}
        self.standing = {name: Standing() for name in graph.order}
        self._waves: list[Wave] = []

    # ---- what is told

    def observe(self, versions: Mapping[str, int], now: float) -> None:
        """The leaves as they are now."""
        for name, version in versions.items():
            leaf = self.leaves.get(name)
            # Another version, not a higher one: a table that was recreated begins again at 0.
            if leaf is not None and (leaf.version != version or leaf.epoch == 0):
                if self._holds(name, leaf.epoch):
                    leaf.seen.append((leaf.epoch + 1, now))
                leaf.version, leaf.epoch = version, leaf.epoch + 1

    def refreshed(
        self, name: str, wave: Wave, version: int, seconds: float, now: float, due_in: float | None = None
    ) -> None:
        """It holds what the wave consumes, in this version of its own. due_in: seconds since the refresh began."""
        wave.done(name, version)
        state = self.standing[name]
        state.epochs = {leaf: wave.epochs[leaf] for leaf in self.graph.leaves_of(name)}
        consumed = wave.versions(name)
        state.read = {p: consumed.get(self.graph.models[p].table) for p in self.graph.parents[name]}
        if version != state.version:
            state.version, state.at = version, now
        state.seconds, state.tried, state.doubted = seconds, now, None
        state.due = None if due_in is None else now - seconds + due_in
        state.failures = state.conflicts = 0
        state.again_at = 0.0
        self._forget()

    def failed(self, name: str, wave: Wave, now: float) -> tuple[float, list[str]]:
        """It could not be refreshed. Returns after how many seconds it is tried again, and what waits for it."""
        state = self.standing[name]
        state.failures += 1
        delay = min(FIRST_RETRY * 2 ** (state.failures - 1), LAST_RETRY)
        state.again_at = now + delay
        return delay, wave.failed(name)

    def conflicted(self, name: str, wave: Wave, now: float) -> float:
        """Another run has moved it, or what it reads: all of that has to be looked at again. Returns the seconds until
        then."""
        state = self.standing[name]
        state.conflicts += 1
        delay = min(FIRST_CONFLICT * 2 ** (state.conflicts - 1), LAST_CONFLICT)
        state.again_at = now + delay
        for n in (name, *self.graph.ancestors[name]):
            self.standing[n].doubted = now
        wave.abandon()
        return delay

    def over(self, wave: Wave) -> None:
        """Its tables may be part of other waves."""
        self._waves.remove(wave)
        for name in wave.names:
            self.standing[name].busy = False

    # ---- what is asked

    def stale_since(self, name: str) -> float | None:
        """When the first commit was seen that the table does not hold yet, or when it was last computed if it changes
        without commits, or when it will change without one; None if it holds all."""
        since, model = self._missing_since(name), self.graph.models[name]
        due = self.standing[name].due
        if due is not None:
            since = due if since is None else min(since, due)
        if model.volatile and model.lag:
            tried = self.standing[name].tried
            return tried if since is None else min(since, tried)
        return since

    def _missing_since(self, name: str) -> float | None:
        state = self.standing[name]
        times = [] if state.doubted is None else [state.doubted]
        above = [self.standing[p] for p in self.graph.parents[name] if self.standing[p].version != state.read.get(p)]
        times.extend(parent.at for parent in above if parent.version is not None)
        for leaf in self.graph.leaves_of(name):
            reached = state.epochs.get(leaf, 0)
            first = next((when for epoch, when in self.leaves[leaf].seen if epoch > reached), None)
            if first is not None:
                times.append(first)
        return min(times, default=None)

    def lag(self, name: str, now: float) -> float:
        """Seconds that the table is behind its leaves."""
        since = self.stale_since(name)
        return 0.0 if since is None else max(0.0, now - since)

    def wave(self, now: float) -> Wave | None:
        """What is to be refreshed now, if anything. Its tables are busy until `over`."""
        due = [n for n in self.graph.order if self._is_due(n, now)]
        names = {n for d in due for n in self.graph.ancestors[d] if self._missing_since(n) is not None}.union(due)
        if not names:
            return None
        read = frozenset().union(*(self.graph.ancestors[n] for n in names)) - names
        versions = {n: self.standing[n].version for n in read}
        for name in names:
            self.standing[name].busy = True
        leaves = {leaf for n in names for leaf in self.graph.leaves_of(n)}
        wave = Wave(
            self.graph,
            names,
            {leaf: self.leaves[leaf].version for leaf in leaves},
            {leaf: self.leaves[leaf].epoch for leaf in leaves},
            {self.graph.models[n].table: v for n, v in versions.items() if v is not None},
        )
        self._waves.append(wave)
        return wave

    def _is_due(self, name: str, now: float) -> bool:
        lag, since = self.graph.models[name].lag, self.stale_since(name)
        if since is None or self._held_up((name, *self.graph.ancestors[name]), now):
            return False
        if self.standing[name].failures:
            return True
        if lag is None:
            return False
        return now >= since + max(0.0, lag - self._expected(name))

    def _held_up(self, names: Collection[str], now: float) -> bool:
        return any(self.standing[n].busy or now < self.standing[n].again_at for n in names)

    def _holds(self, leaf: str, epoch: int) -> bool:
        """Whether some table was brought, or is being brought, to just this epoch of a leaf."""
        below = [s for n, s in self.standing.items() if leaf in self.graph.leaves_of(n)]
        held = [s.epochs.get(leaf, 0) for s in below] + [w.epochs.get(leaf) for w in self._waves]
        return epoch in held

    def _expected(self, name: str) -> float:
        """Seconds until it is refreshed once it is begun: its own, and of what goes before it."""
        stale = [n for n in self.graph.ancestors[name] if self._missing_since(n) is not None]
        return sum(self.standing[n].seconds for n in (name, *stale))

    def _forget(self) -> None:
        """What every table has been brought to need not be remembered."""
        for leaf_name, leaf in self.leaves.items():
            below = [n for n in self.graph.order if leaf_name in self.graph.leaves_of(n)]
            reached = min((self.standing[n].epochs.get(leaf_name, 0) for n in below), default=leaf.epoch)
            while leaf.seen and leaf.seen[0][0] <= reached:
                leaf.seen.popleft()
