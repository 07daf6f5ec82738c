"""The schedule against a clock that is told, and a property: whatever is committed and fails, in whatever order tables
finish, every table consumes what the tables it reads consumed, and in the end all hold everything."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt_spark_dynamic.errors import ConfigError
from dbt_spark_dynamic.watch.graph import Graph, Watched
from dbt_spark_dynamic.watch.lag import target_lag
from dbt_spark_dynamic.watch.schedule import LAST_RETRY, Schedule
from dbt_spark_dynamic.watch.wave import Wave


def watched(name: str, *reads: str, lag: float | None = 0.0, volatile: bool = False) -> Watched:
    return Watched(name, f"s.{name}", frozenset(reads), lag, volatile)


def chain(**lags: float | None) -> Schedule:
    """leaf -> a -> b, and other -> c."""
    models = [
        watched("b", "s.a", lag=lags.get("b", 0.0)),
        watched("a", "leaf", lag=lags.get("a", 0.0)),
        watched("c", "other", lag=lags.get("c", 0.0)),
    ]
    return Schedule(Graph(models))


def carry_out(schedule: Schedule, wave: Wave | None, now: float, seconds: float = 0.0) -> list[str]:
    """All of a wave, one table at a time. Returns the order."""
    assert wave is not None
    order = []
    while not wave.over:
        (name,) = wave.take(1)
        order.append(name)
        schedule.refreshed(name, wave, (schedule.standing[name].version or 0) + 1, seconds, now)
    schedule.over(wave)
    return order


def settled(**lags: float | None) -> Schedule:
    """The chain with everything consumed at time 0."""
    schedule = chain(**lags)
    schedule.observe({"leaf": 1, "other": 1}, -1000.0)
    carry_out(schedule, schedule.wave(0.0), 0.0)
    while (wave := schedule.wave(0.0)) is not None:
        carry_out(schedule, wave, 0.0)
    return schedule


def test_a_commit_refreshes_what_stands_on_it_in_order_and_once() -> None:
    schedule = settled()
    assert schedule.wave(1.0) is None
    schedule.observe({"leaf": 2, "other": 1}, 2.0)
    assert schedule.lag("b", 2.5) == 0.5 and schedule.lag("c", 2.5) == 0.0
    wave = schedule.wave(2.5)
    assert wave is not None and wave.names == ("a", "b")
    assert wave.versions("a") == {"leaf": 2}
    assert carry_out(schedule, wave, 3.0) == ["a", "b"]
    assert schedule.wave(4.0) is None and schedule.lag("b", 4.0) == 0.0


def test_what_comes_while_a_wave_runs_is_consumed_together_by_the_next() -> None:
    schedule = settled()
    schedule.observe({"leaf": 2}, 1.0)
    first = schedule.wave(1.0)
    assert first is not None
    for version in range(3, 10):
        schedule.observe({"leaf": version}, version)
    assert schedule.wave(9.0) is None, "its tables are busy"
    carry_out(schedule, first, 10.0)
    second = schedule.wave(10.0)
    assert second is not None and second.vector["leaf"] == 9
    assert schedule.lag("a", 10.0) == 7.0, "since the first commit that is not held yet"
    carry_out(schedule, second, 11.0)
    assert schedule.wave(12.0) is None


def test_tables_that_share_nothing_do_not_wait_for_each_other() -> None:
    schedule = settled()
    schedule.observe({"leaf": 2}, 1.0)
    first = schedule.wave(1.0)
    schedule.observe({"other": 2}, 2.0)
    second = schedule.wave(2.0)
    assert first is not None and second is not None and (first.names, second.names) == (("a", "b"), ("c",))


def test_a_lag_is_kept_with_the_time_the_refresh_takes() -> None:
    schedule = settled(b=60.0, a=None)
    schedule.observe({"leaf": 2}, 0.0)
    assert schedule.wave(59.0) is None
    wave = schedule.wave(60.0)
    assert wave is not None and wave.names == ("a", "b"), "downstream: with the table that needs it"
    carry_out(schedule, wave, 61.0, seconds=5.0)
    schedule.observe({"leaf": 3}, 100.0)
    assert schedule.wave(149.0) is None and schedule.wave(150.0) is not None


def test_downstream_alone_is_never_refreshed_and_said_to_be() -> None:
    graph = Graph([watched("a", "leaf", lag=None), watched("b", "s.a", lag=None), watched("c", "other")])
    assert graph.idle() == ["a", "b"]
    schedule = Schedule(graph)
    schedule.observe({"leaf": 1, "other": 1}, 0.0)
    wave = schedule.wave(0.0)
    assert wave is not None and wave.names == ("c",)


def test_a_failure_holds_up_what_is_below_it_alone_and_is_tried_again_ever_later() -> None:
    schedule = settled()
    schedule.observe({"leaf": 2, "other": 2}, 0.0)
    now, delays = 0.0, []
    for _ in range(12):
        wave = schedule.wave(now)
        assert wave is not None
        while names := wave.take(2):
            for name in names:
                if name == "a":
                    delay, waiting = schedule.failed("a", wave, now)
                    delays.append(delay)
                    assert waiting == ["b"]
                else:
                    schedule.refreshed(name, wave, 9, 0.0, now)
        schedule.over(wave)
        assert schedule.standing["c"].version == 9
        assert schedule.wave(now + delay - 0.01) is None
        now += delay
    assert delays[:4] == [1.0, 2.0, 4.0, 8.0] and delays[-1] == LAST_RETRY
    assert carry_out(schedule, schedule.wave(now), now) == ["a", "b"]
    assert schedule.standing["a"].failures == 0


def test_after_a_conflict_what_was_read_is_looked_at_again() -> None:
    schedule = settled()
    schedule.observe({"leaf": 2}, 1.0)
    wave = schedule.wave(1.0)
    assert wave is not None
    schedule.refreshed(wave.take(1)[0], wave, 7, 0.0, 1.0)
    assert wave.take(1) == ["b"]
    assert schedule.conflicted("b", wave, 1.0) == 0.1
    assert wave.failed("b") == [] and wave.over
    schedule.over(wave)
    assert carry_out(schedule, schedule.wave(1.05), 1.05) == ["a"]
    assert schedule.wave(1.06) is None
    assert carry_out(schedule, schedule.wave(1.2), 1.2) == ["b"]


def test_what_changes_without_a_commit_is_refreshed_as_often_as_its_lag_says_and_what_reads_it_too() -> None:
    today, now = watched("today", "leaf", lag=60.0, volatile=True), watched("now", "leaf", volatile=True)
    schedule = Schedule(Graph([today, watched("b", "s.today"), now]))
    schedule.observe({"leaf": 1}, 0.0)
    while (wave := schedule.wave(0.0)) is not None:
        carry_out(schedule, wave, 0.0)
    assert schedule.wave(59.0) is None
    assert carry_out(schedule, schedule.wave(60.0), 60.0) == ["today"]
    assert carry_out(schedule, schedule.wave(60.1), 60.1) == ["b"]
    assert schedule.wave(61.0) is None


def test_a_leaf_that_was_recreated_counts_as_changed() -> None:
    schedule = settled()
    schedule.observe({"leaf": 0}, 1.0)
    wave = schedule.wave(1.0)
    assert wave is not None and wave.vector["leaf"] == 0


@pytest.mark.parametrize(
    "said, seconds",
    [
        (None, 0.0),
        ("0 seconds", 0.0),
        ("1 second", 1.0),
        ("5 minutes", 300.0),
        ("1.5 hours", 5400.0),
        ("DOWNSTREAM", None),
    ],
)
def test_lags_are_read(said: str | None, seconds: float | None) -> None:
    assert target_lag(said) == seconds


@pytest.mark.parametrize("said", ["5", "minutes", "-1 minutes", "5 parsecs", ""])
def test_what_is_no_lag_is_refused(said: str) -> None:
    with pytest.raises(ConfigError, match="or 'downstream'"):
        target_lag(said)


LEAVES = ("l0", "l1", "l2")


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    models: list[Watched] = []
    for i in range(draw(st.integers(1, 6))):
        above = [m.table for m in models] + list(LEAVES)
        reads = draw(st.sets(st.sampled_from(above), min_size=1, max_size=3))
        models.append(Watched(f"m{i}", f"s.m{i}", frozenset(reads), draw(st.sampled_from([0.0, 0.0, 5.0, None]))))
    return Graph(draw(st.permutations(models)))


STEPS = st.lists(
    st.sampled_from(
        ["commit l0", "commit l1", "commit l2", "wave", "start", "done", "done", "fail", "conflict", "wait"]
    ),
    max_size=80,
)


class Simulation:
    """Each table is simulated as the leaf versions it was computed from: its own, and those of what it reads must be
    the same ones, at every version of it."""

    def __init__(self, graph: Graph, random: Random) -> None:
        self.graph, self.random, self.schedule = graph, random, Schedule(graph)
        self.versions, self.now = dict.fromkeys(LEAVES, 0), 0.0
        self.held: dict[str, dict[int, dict[str, int]]] = {n: {} for n in graph.order}
        self.waves: list[Wave] = []
        self.running: list[tuple[Wave, str, dict[str, int]]] = []
        self.schedule.observe(self.versions, self.now)

    def step(self, what: str) -> None:
        self.now += 400.0 if what == "wait" else 0.25
        if what.startswith("commit"):
            self.versions[what.split()[1]] += 1
            self.schedule.observe(self.versions, self.now)
        elif what == "wave":
            if (wave := self.schedule.wave(self.now)) is not None:
                self.waves.append(wave)
        elif what == "start":
            for wave in self.waves:
                self.running.extend((wave, name, wave.versions(name)) for name in wave.take(2))
        elif what != "wait" and self.running:
            self.finish(what)

    def finish(self, how: str) -> None:
        wave, name, consumed = self.running.pop(self.random.randrange(len(self.running)))
        if how == "fail":
            self.schedule.failed(name, wave, self.now)
        elif how == "conflict":
            self.schedule.conflicted(name, wave, self.now)
            wave.failed(name)
        else:
            version = len(self.held[name])
            self.held[name][version] = self.computed(name, consumed)
            self.schedule.refreshed(name, wave, version, 0.5, self.now)
        if wave.over:
            self.waves.remove(wave)
            self.schedule.over(wave)

    def computed(self, name: str, consumed: dict[str, int]) -> dict[str, int]:
        held = {leaf: consumed[leaf] for leaf in self.graph.leaves_of(name)}
        for parent in self.graph.parents[name]:
            read = self.held[parent][consumed[self.graph.models[parent].table]]
            assert read == {leaf: held[leaf] for leaf in self.graph.leaves_of(parent)}
        return held


@given(graphs(), STEPS, st.randoms(use_true_random=False))
def test_every_wave_sees_one_state_and_all_is_held_in_the_end(graph: Graph, steps: list[str], random: Random) -> None:
    simulation = Simulation(graph, random)
    for what in [*steps, *("start", "done", "start", "done", "wait", "wave") * 60]:
        simulation.step(what)
    for name in frozenset(graph.order) - set(graph.idle()):
        assert simulation.schedule.stale_since(name) is None
        last = simulation.held[name][max(simulation.held[name])]
        assert last == {leaf: simulation.versions[leaf] for leaf in graph.leaves_of(name)}
    assert all(len(leaf.seen) <= 2 * len(graph.order) + 2 for leaf in simulation.schedule.leaves.values())


def test_a_result_that_changes_by_itself_is_due_when_it_does() -> None:
    """Its clock is the time of processing: no commit says that a window has ended."""
    schedule = Schedule(Graph([watched("m", "leaf"), watched("above", "s.m")]))
    schedule.observe({"leaf": 1}, 0.0)
    carry_out(schedule, schedule.wave(0.0), 0.0)
    schedule.observe({"leaf": 2}, 1.0)
    wave = schedule.wave(1.0)
    assert wave is not None and wave.take(1) == ["m"]
    schedule.refreshed("m", wave, 2, 0.5, 10.0, due_in=30.0)
    assert wave.take(1) == ["above"]
    schedule.refreshed("above", wave, 2, 0.1, 10.0)
    schedule.over(wave)
    assert schedule.wave(39.0) is None and schedule.lag("m", 39.0) == 0.0
    again = schedule.wave(39.5)
    assert again is not None and again.names == ("m",)
    # The next one says anew when it is due; one that waits for nothing is not.
    carry_out(schedule, again, 40.0)
    while (wave := schedule.wave(40.0)) is not None:
        carry_out(schedule, wave, 40.0)
    assert schedule.wave(1000.0) is None
