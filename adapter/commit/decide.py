"""The deciding half of a refresh: from what was seen, what is to be done and why. Nothing is computed or written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..errors import TargetError
from .engine import Engine
from .layout import Layout, layout
from .ledger import Entry, Position, written_as
from .look import Seen
from .outcome import Code
from .sources import Change, Lost, change_of
from .spec import LostHistoryPolicy, Spec


@dataclass(frozen=True)
class Decision:
    """code: what kind of refresh this is; reason: why it is not by change; changes: source -> what happened to it,
    for a refresh by change; clock_moved: whether what the model reads of the clock is another than last time;
    layout: what the table needs before."""

    code: Code
    reason: str | None = None
    changes: Mapping[str, Change] = field(default_factory=dict)
    clock_moved: bool = False
    layout: Layout = field(default_factory=Layout)


def decide(seen: Seen, spec: Spec, engine: Engine) -> Decision:
    """Raises TargetError, SourceError or ConfigError where nothing right can be done."""
    position = seen.position
    if position is None or position.entry is None or spec.full_refresh:
        return Decision(Code.CREATED, _why_created(position, spec))
    _check_untouched(position, spec)
    needed = layout(seen, position.entry, spec)
    if needed.rebuild is not None:
        return Decision(Code.CREATED, needed.rebuild, layout=needed)
    if needed.recompute is not None:
        return Decision(Code.RECOMPUTE, needed.recompute, layout=needed)
    if position.foreign is not None:
        reason = f"its model was {written_as(position.foreign)} and wrote to it"
        return Decision(Code.RECOMPUTE, reason, layout=needed)
    return replace(_maintained(seen, position.entry, spec, engine), layout=needed)


def _maintained(seen: Seen, entry: Entry, spec: Spec, engine: Engine) -> Decision:
    if entry.definition != seen.definition:
        return Decision(Code.RECOMPUTE, "the SELECT or its configuration changed")
    refusal = seen.model.refusal
    if refusal is not None and seen.model.volatile:
        return Decision(Code.RECOMPUTE, refusal.reason)
    changes: dict[str, Change] = {}
    for name in seen.model.sources:
        if name not in entry.sources:
            return Decision(Code.RECOMPUTE, f"the source {name} is new")
        found = change_of(engine, seen.catalog.tables[name], entry.sources[name])
        if isinstance(found, Lost):
            return Decision(Code.RECOMPUTE, accepted(found, spec))
        if found is not None:
            changes[name] = found
    moved = seen.clock != entry.clock
    if not changes and not moved:
        return Decision(Code.NO_CHANGE)
    if refusal is not None:
        return Decision(Code.RECOMPUTE, refusal.reason)
    return Decision(Code.INCREMENTAL, changes=changes, clock_moved=moved)


def accepted(lost: Lost, spec: Spec) -> str:
    """Why the table is recomputed although nobody asked for it. Raises SourceError unless the model accepts that."""
    if spec.on_lost_history is LostHistoryPolicy.FAIL:
        raise lost.error(spec.place)
    return f"the source {lost.source} cannot say what changed: {lost.why}"


def _why_created(position: Position | None, spec: Spec) -> str | None:
    if position is None:
        return None
    if spec.full_refresh:
        return "--full-refresh was asked for"
    return "the table has no ledger of a dynamic table"


def _check_untouched(position: Position, spec: Spec) -> None:
    if position.foreign is not None and written_as(position.foreign) is None:
        c = position.foreign
        raise TargetError(
            f"{spec.target} was changed by somebody else: {c.operation} in its version {c.version}.",
            where=spec.place,
            why=f"its ledger ends at version {position.version}; "
            "building on a change that is not its query's would keep a wrong answer",
            remedy="rebuild it with `dbt run --full-refresh`, or undo the change: "
            f"RESTORE TABLE {spec.target} TO VERSION AS OF {position.version}",
        )
