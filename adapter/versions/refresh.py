"""One refresh of a versioned table: its changelog found or kept, and its history maintained over it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..commit import problems
from ..commit.engine import Engine, SqlError
from ..commit.look import position_of
from ..commit.outcome import Outcome
from ..commit.refresh import refresh
from ..commit.spec import ChangelogMode, LostHistoryPolicy, RefreshMode, Spec, choice, interval
from ..errors import ConfigError, TargetError
from ..names import CHANGELOG_SUFFIX, OPERATION, beside
from .adoption import adopted
from .changelog import Events, events_of
from .history import dating, history
from .journal import ADDED, Keeping, keep
from .options import META_COLUMNS, Changelog, History, LateEvents, history_of
from .time_travel import TIME_TRAVEL, rows_are_events


@dataclass(frozen=True)
class Plan:
    """events: the changelog; asked: what is kept of it; keeping: how its events are kept, None where the changelog
    keeps them itself; journal: the table they are kept in."""

    events: Events
    asked: History
    keeping: Keeping | None
    journal: str

    def history(self) -> str:
        """The SELECT that the versioned table is maintained by."""
        names, added = self.events.columns, ADDED[self.events.kind] if self.keeping is not None else ()
        source = self.events.sql if self.keeping is None else f"SELECT * FROM {self.journal}"
        return history(source, (*names, *added), self.asked)


def refresh_versions(
    spec: Spec, config: Mapping[str, Any], engine: Engine, until: Mapping[str, int] | None = None
) -> Outcome:
    """Brings the table up to its changelog. spec.sql: the model's SELECT; until: source -> the version up to which it
    is consumed, where it is not the latest. Raises DynamicTableError; where it is raised before the events are kept,
    nothing was written, and after that running again goes on."""
    started = time.monotonic()
    try:
        plan = plan_of(spec, config, engine)
    except SqlError as error:
        raise problems.explained(error, spec) from error
    news = _keep(spec, plan, engine, until) if plan.keeping is not None else None
    outcome = refresh(replace(spec, sql=plan.history(), unique_key=()), engine, until)
    if news is not None:
        notes = (*news.notes, *outcome.notes)
        outcome = replace(outcome, sources=news.sources, rows_in=news.rows_in, ignored=news.ignored, notes=notes)
    return replace(outcome, seconds=time.monotonic() - started)


def maintained(spec: Spec, config: Mapping[str, Any], engine: Engine) -> Spec:
    """The dynamic table that the versioned table is, for whoever only looks. Raises DynamicTableError."""
    try:
        plan = plan_of(spec, config, engine)
    except SqlError as error:
        raise problems.explained(error, spec) from error
    if plan.keeping is not None and engine.table(plan.journal) is None:
        raise TargetError(
            f"{spec.target} is made from the events that its first run puts into {plan.journal}.",
            where=spec.place,
            remedy="run the model once",
        )
    return replace(spec, sql=plan.history(), unique_key=())


def plan_of(spec: Spec, config: Mapping[str, Any], engine: Engine) -> Plan:
    """What the refresh is going to do. Reads only. Raises DynamicTableError, SqlError."""
    events = events_of(spec, config, engine)
    watermark, late, history_from = _lateness(config, spec), config.get("late_events"), config.get("history_from")
    policy: LateEvents = choice(LateEvents, late, "late_events", spec.place) if late else LateEvents.IGNORE
    filtered = watermark is not None and policy is not LateEvents.ACCEPT
    if history_from and events.kind is Changelog.ROWS and {**config, **events.options}.get("operation") is None:
        events = _telling(events)
    options = {**config, **events.options}
    added = ADDED[events.kind]
    names = (*events.names, *(n for n, _ in added))
    asked = history_of(options, names, spec.place, events.hidden)
    problems.check_names([*asked.values(names), *(asked.names[n] for n in META_COLUMNS)], spec)
    target, journal = engine.table(spec.target), beside(spec.target, CHANGELOG_SUFFIX)
    travels = str(history_from).lower() == TIME_TRAVEL
    if travels and events.kind is not Changelog.CHANGES:
        raise rows_are_events(spec.place)
    adopts = engine.table(str(history_from)) if history_from and not travels else None
    itself = adopts is not None and target is not None and adopts.name == target.name
    if not itself:
        _check_no_history_is_lost(spec, target, asked.names["dbt_valid_from"], engine)
    keeping = None
    if events.kind is Changelog.CHANGES or filtered or history_from:
        new = engine.table(journal) is None
        adopting = history_from and new and not travels
        begins = adopted(adopts, str(history_from), (*events.columns, *added), asked) if adopting else None
        late_by = watermark if filtered else None
        keeping = Keeping(events.kind, asked.key, dating(asked), late_by, policy, begins, travels)
    return Plan(events, asked, keeping, journal)


def _keep(spec: Spec, plan: Plan, engine: Engine, until: Mapping[str, int] | None) -> Outcome:
    """Appends what is new to the journal. It is never rebuilt: what it has may be nowhere else any more."""
    assert plan.keeping is not None
    # Its key is none of its rows', and only the history's SELECT has to be maintainable.
    lost = LostHistoryPolicy.RECOMPUTE if spec.full_refresh else spec.on_lost_history
    beside = replace(
        spec, target=plan.journal, sql=plan.events.sql, layout="", partition_by=(), cluster_by=(),
        location="", constraints={}, unique_key=(), full_refresh=False, sink_by_key=False,
        changelog_mode=ChangelogMode.RETRACT, refresh_mode=RefreshMode.AUTO, on_lost_history=lost,
    )  # fmt: skip
    try:
        return keep(beside, engine, plan.keeping, until)
    except SqlError as error:
        raise problems.explained(error, beside) from error


def _telling(events: Events) -> Events:
    """Rows that are all written, with a column that says so: the history they go on from has ends."""
    sql = f"SELECT *, 'upsert' AS {OPERATION} FROM (\n{events.sql}\n)"
    columns = (*events.columns, (OPERATION, "string"))
    return Events(events.kind, sql, columns, {**events.options, "operation": OPERATION}, (*events.hidden, OPERATION))


def _lateness(config: Mapping[str, Any], spec: Spec) -> str | None:
    """The watermark as an interval in SQL."""
    watermark = config.get("watermark")
    if watermark is None:
        if config.get("late_events") not in (None, LateEvents.ACCEPT.value):
            raise ConfigError(
                "late_events says what becomes of events that are older than the watermark, and there is none.",
                where=spec.place,
                remedy="set watermark to an interval, for example '1 hour'",
            )
        return None
    return interval(watermark, "watermark", spec.place)


def _check_no_history_is_lost(spec: Spec, target, valid_from: str, engine: Engine) -> None:
    """Raises TargetError where the table is a snapshot of dbt's, which no changelog may be able to give again."""
    if target is None or valid_from.lower() not in (n.lower() for n, _ in target.columns):
        return
    position = position_of(target, engine)
    if position is None or position.entry is None:
        raise TargetError(
            f"{spec.target} holds a history that this model did not make, a dbt snapshot's for one.",
            where=spec.place,
            why="building the table from the model's changelog would replace that history; nothing was written",
            remedy=f"set history_from='{target.name}' to go on from it, or drop the table",
        )
