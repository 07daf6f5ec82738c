"""The loop of `dbt-dynamic watch`: looks for commits, carries out the waves that the schedule forms, starts over after
an edit. It decides nothing about what is due; the schedule does, and the project does the work."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

from ..commit.outcome import Code, Outcome
from ..errors import ConfigError, ConflictError, DynamicTableError
from .events import Event, Kind, label
from .graph import Graph, Watched
from .project import Built, Project
from .schedule import FIRST_RETRY, LAST_RETRY, Schedule
from .wave import Wave

SHARE_OF_LOOKING = 0.2
"""The part of a core that looking for commits may take, however many tables there are."""

SECONDS_BETWEEN_LOOKS_AT_FILES = 1.0

MOST_UNANSWERED = 8
"""How often in a row Spark may fail to say the versions of tables before the loop gives up: some minutes."""


@dataclass(frozen=True)
class Running:
    name: str
    wave: Wave
    stale_since: float


class Watch:
    """tell: is told what happens, from the loop's own thread; threads: refreshes at a time; interval: seconds between
    two looks at the versions of tables, at least."""

    def __init__(
        self,
        project: Project,
        tell: Callable[[Event], None],
        *,
        threads: int = 1,
        interval: float = 0.1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._project, self._tell, self._clock = project, tell, clock
        self._threads, self._interval = threads, interval
        self._models: dict[str, Watched] = {}
        self._schedule = Schedule(Graph(()))
        self._waves: list[Wave] = []
        self._running: dict[Future[Outcome], Running] = {}
        self._not_built: dict[str, tuple[int, float]] = {}
        self._regraph = False
        self._files_at = 0.0
        self._edited = False
        self._unanswered = 0

    def run(self, stop: threading.Event) -> None:
        """Until `stop` is set; then the refreshes that are running are finished. Raises DynamicTableError for a project
        that cannot be parsed or has nothing to maintain, and whatever Spark raises once it is gone."""
        self._say(Kind.BUILDING, reason="to begin with")
        self._built(self._project.build())
        with ThreadPoolExecutor(self._threads, "watch") as pool:
            while not stop.is_set():
                if self._is_to_start_over():
                    self._hold()
                    if not self._running:
                        self._start_over()
                        continue
                    pause = self._interval
                else:
                    pause = self._look()
                    self._start(pool)
                self._collect(stop, pause)
            self._hold()
            self._say(Kind.STOPPING)
            while self._running:
                self._collect(stop, None)
        self._say(Kind.STOPPED)

    def lags(self) -> dict[str, float]:
        """Model -> seconds that its table is behind."""
        now = self._clock()
        return {name: self._schedule.lag(name, now) for name in self._schedule.graph.order}

    # ---- starting over

    def _is_to_start_over(self) -> bool:
        now = self._clock()
        if now >= self._files_at + SECONDS_BETWEEN_LOOKS_AT_FILES:
            self._files_at = now
            self._edited = self._edited or self._project.edited() or self._project.free()
        return self._edited or self._regraph or bool(self._to_build(now))

    def _to_build(self, now: float) -> list[str]:
        return [name for name, (_, again_at) in self._not_built.items() if now >= again_at]

    def _start_over(self) -> None:
        self._regraph = False
        if self._edited:
            self._edited = False
            self._say(Kind.BUILDING, reason="the project was edited")
            try:
                self._built(self._project.build())
            except DynamicTableError as error:
                self._say(Kind.NOTE, text=f"{error}\n  what was maintained goes on as it was")
                self._watch()
        elif names := self._to_build(self._clock()):
            self._say(Kind.BUILDING, reason=f"{', '.join(label(n) for n in names)} once more")
            self._built(self._project.build_again(names), names)
        else:
            self._watch()

    def _built(self, built: Built, tried: list[str] | None = None) -> None:
        now = self._clock()
        for name in tried if tried is not None else list(self._not_built):
            if name not in built.not_built:
                self._not_built.pop(name, None)
        for name in built.not_built:
            failures = self._not_built.get(name, (0, 0.0))[0] + 1
            delay = min(FIRST_RETRY * 2**failures, LAST_RETRY)
            self._not_built[name] = (failures, now + delay)
            self._say(Kind.NOT_BUILT, name, again_in=delay)
        for name in sorted(built.elsewhere):
            self._say(Kind.STANDING_BY, name)
        self._models = {m.name: m for m in built.models}
        if not (self._models or self._not_built or built.elsewhere):
            raise ConfigError(
                "there is nothing to maintain.",
                why="no model that is selected is a dynamic_table, versioned_table or temporal_join",
                remedy="correct --select and --exclude, or set materialized='dynamic_table'",
            )
        self._watch()

    def _watch(self) -> None:
        """A new schedule, in which nothing is known of any table: the first wave looks at all of them."""
        graph = Graph(self._models.values())
        self._schedule = Schedule(graph)
        self._say(Kind.WATCHING, models=len(graph.order), tables=len(graph.leaves))
        for name in graph.idle():
            text = "is never refreshed: target_lag is 'downstream', and nothing below it says when"
            self._say(Kind.NOTE, name, text=text)
        for name, model in graph.models.items():
            if model.volatile and not model.lag:
                text = "changes without commits (it reads the clock, or tables without versions): give it a target_lag"
                self._say(Kind.NOTE, name, text=text)

    # ---- looking, starting, finishing

    def _look(self) -> float:
        """Tells the schedule the versions of the leaves. Returns seconds until the next look."""
        began = self._clock()
        try:
            versions = self._project.versions(self._schedule.graph.leaves)
        except Exception as error:
            self._unanswered += 1
            if self._unanswered > MOST_UNANSWERED:
                raise
            delay = min(FIRST_RETRY * 2**self._unanswered, LAST_RETRY)
            self._say(Kind.UNREACHABLE, error=_first_line(error), again_in=delay)
            return delay
        self._unanswered = 0
        for text in self._project.notes():
            self._say(Kind.NOTE, text=text)
        now = self._clock()
        self._schedule.observe(versions, now)
        return max(self._interval, (now - began) * (1 / SHARE_OF_LOOKING - 1))

    def _start(self, pool: ThreadPoolExecutor) -> None:
        if (wave := self._schedule.wave(self._clock())) is not None:
            self._waves.append(wave)
        for wave in self._waves:
            for name in wave.take(self._threads - len(self._running)):
                since = self._schedule.stale_since(name)
                running = Running(name, wave, self._clock() if since is None else since)
                self._running[pool.submit(self._project.refresh, name, wave.versions(name))] = running

    def _hold(self) -> None:
        """Starts nothing more."""
        for wave in self._waves:
            wave.abandon()
        self._put_away()

    def _collect(self, stop: threading.Event, pause: float | None) -> None:
        """Waits for a refresh to end, or for the pause."""
        if not self._running:
            stop.wait(pause)
            return
        done, _ = wait(self._running, timeout=pause, return_when=FIRST_COMPLETED)
        for future in done:
            self._finish(self._running.pop(future), future)
        self._put_away()

    def _put_away(self) -> None:
        for wave in [w for w in self._waves if w.over]:
            self._waves.remove(wave)
            self._schedule.over(wave)

    def _finish(self, ran: Running, future: Future[Outcome]) -> None:
        now = self._clock()
        try:
            outcome = future.result()
        except ConflictError as error:
            self._schedule.conflicted(ran.name, ran.wave, now)
            ran.wave.failed(ran.name)
            self._say(Kind.CONFLICT, ran.name, error=error.what)
        except Exception as error:
            delay, waiting = self._schedule.failed(ran.name, ran.wave, now)
            self._say(Kind.FAILED, ran.name, error=str(error), again_in=delay, waiting=waiting)
        else:
            self._schedule.refreshed(ran.name, ran.wave, outcome.version, outcome.seconds, now, outcome.due_in)
            lag = now - ran.stale_since
            self._say(Kind.REFRESHED, ran.name, line=outcome.line(), lag=round(lag, 3), **outcome.fields())
            self._note_what_it_reads(ran.name, outcome)

    def _note_what_it_reads(self, name: str, outcome: Outcome) -> None:
        model = self._models[name]
        now = replace(model, table=outcome.table, reads=frozenset(outcome.sources), volatile=outcome.volatile)
        if now != model:
            self._models[name], self._regraph = now, True
        if outcome.code is Code.CREATED:
            # dbt has still to do what belongs to a new table: hooks, grants, descriptions.
            self._not_built[name] = (0, self._clock())

    def _say(self, kind: Kind, model: str | None = None, **fields: object) -> None:
        self._tell(Event(kind, model, fields))


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
