"""The deciding half of a refresh: from what was seen, what is to be done and why. Nothing is computed or written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ..algebra.nodes import Node
from ..changes.change_plan import ChangePlan, Shape
from ..changes.literal_keys import read_whole
from ..changes.rows_met import searched
from ..errors import TargetError
from .bytes_read import added, of_table
from .computed import MANY_CHANGES
from .costs import (
    AGAIN,
    BY_KEY,
    BY_ROW,
    FEW_CHANGES,
    LARGE,
    LOOKED_UP,
    Bar,
    Changed,
    Expected,
    Past,
    Planned,
    Slowness,
    Source,
    bars_of,
    changed_of,
    dear_again,
    dear_at_sight,
    expected,
    why_anew,
)
from .engine import Engine
from .layout import Layout, layout
from .ledger import REWRITE, Entry, Position, written_as
from .look import Seen
from .outcome import Code
from .sources import Change, Lost, Redefined, change_of
from .spec import ChangelogMode, LostHistoryPolicy, RefreshMode, Spec

Reads = Callable[[Node], Node]
"""Of a relation of a change plan, what a refresh has to read for it."""


@dataclass(frozen=True)
class Decision:
    """code: what kind of refresh this is; reason: why it is not by change; changes: source -> what happened to it,
    where a refresh by change is possible; clock_moved: whether what the model reads of the clock is another than last
    time; rewrite: whether the table is written anew, which is cheaper then, and not only what is different in it;
    layout: what the table needs before."""

    code: Code
    reason: str | None = None
    changes: Mapping[str, Change] = field(default_factory=dict)
    clock_moved: bool = False
    rewrite: bool = False
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
        found = change_of(engine, seen.catalog.tables[name], entry.sources[name], seen.columns_read(name))
        if isinstance(found, Redefined):
            return Decision(Code.RECOMPUTE, found.why)
        if isinstance(found, Lost):
            return Decision(Code.RECOMPUTE, accepted(found, spec, seen))
        if found is not None:
            changes[name] = found if name not in seen.maps_in_order else replace(found, feed=False)
    moved = seen.clock != entry.clock
    if not changes and not moved:
        return Decision(Code.NO_CHANGE)
    if refusal is not None:
        return Decision(Code.RECOMPUTE, refusal.reason)
    changed = changed_rows(seen, changes)
    supposed = changed or _supposed(entry, changes)
    dear = dearer(seen, spec, supposed) or _dear_again(seen, spec, entry, supposed)
    code = Code.INCREMENTAL if dear is None else Code.RECOMPUTE
    return Decision(code, dear, changes, moved, rewrite=dear is not None)


def changed_rows(seen: Seen, changes: Mapping[str, Change]) -> Changed | None:
    """What changed of all that the SELECT reads; None where the sources do not say it."""
    if seen.state is not None:
        return seen.state.changed
    if not changes or any(c.rows is None or not c.row_size for c in changes.values()):
        return None
    tables = {name: seen.catalog.tables[name] for name in seen.model.sources}
    if not size_of_sources(seen):
        return None
    sources = (
        Source(name, t.size, c.rows or 0, c.row_size or 0.0) if (c := changes.get(name)) else Source(name, t.size)
        for name, t in tables.items()
    )
    return changed_of(sources, only_came=all(c.only_came for c in changes.values()))


def _supposed(entry: Entry, changes: Mapping[str, Change]) -> Changed | None:
    """As much as the last time, where a source does not say it, which was written anew itself: its feed is all of its
    rows twice, and netting them only told the last time that they are too many. None where it is worth looking."""
    source = next((name for name, change in changes.items() if change.rows is None), None)
    if source is None or entry.technique != REWRITE or entry.share is None or (entry.sequence + 1) % AGAIN == 0:
        return None
    return Changed(0, 0, entry.share, source, supposed=True)


def _dear_again(seen: Seen, spec: Spec, entry: Entry, changed: Changed | None) -> str | None:
    past = _past_of_rewritable(seen, spec)
    # With a state table, what changed of that is all that is weighed.
    if past is None or seen.state is not None or not entry.at_sight:
        return None
    return dear_again(past, changed, entry.share, entry.sequence + 1)


def size_of_sources(seen: Seen) -> int:
    """Bytes of all tables that the SELECT reads; 0 if one of them does not say it."""
    sizes = [seen.catalog.tables[name].size for name in seen.sources]
    return sum(sizes) if all(sizes) else 0


def read_at_most(seen: Seen, changes: Mapping[str, Change]) -> int | None:
    """Bytes of all files that a refresh may read, its own table's among them; None if nothing says it."""
    if seen.model.node is None:
        return None
    tables = [seen.catalog.tables[name] for name in seen.model.sources]
    own = [seen.target] if seen.target is not None else []
    return added(*map(of_table, tables + own), *(change.size for change in changes.values()))


def dearer(seen: Seen, spec: Spec, changed: Changed | None) -> str | None:
    """Why a change of so many rows is not worth maintaining the table by; None if it is."""
    past = _past_of_rewritable(seen, spec)
    if past is None:
        return None
    size = size_of_sources(seen)
    reasons = (why_anew(past, size, changed, untimed(seen), bar) for bar in bars(seen, spec))
    return next((reason for reason in reasons if reason is not None), None)


def dear_plan(
    seen: Seen,
    spec: Spec,
    changed: Changed | None,
    plan: ChangePlan,
    alone: Reads = lambda relation: relation,
    hoped: Reads | None = None,
) -> str | None:
    """Why a plan for a change of so many rows is not worth carrying out; None if it is. alone: one of its relations,
    without what it reads together with others; hoped: without what it might have read so, too; None where all of that
    is there."""
    past = _past_of_rewritable(seen, spec)
    bar = next((bar for bar in bars(seen, spec) if bar.timed), None)
    # What a state table saves was seen when it was begun.
    if past is None or bar is None or seen.state is not None:
        return None
    planned, lacking = _planned(seen, changed, plan, alone), None
    if hoped is not None and (told := costs(seen, changed)) is not None:
        spared = _planned(seen, changed, plan, hoped)
        lacking = told.by_change + planned.reading(told.anew) - spared.reading(told.anew)
    return dear_at_sight(past, size_of_sources(seen), changed, planned, bar, lacking=lacking)


def _planned(seen: Seen, changed: Changed | None, plan: ChangePlan, alone: Reads) -> Planned:
    assert seen.model.node is not None
    sizes = {name: seen.catalog.tables[name].size for name in seen.model.sources}
    few = changed is not None and changed.rows <= FEW_CHANGES
    # Of slices that turn out long, the older rows are read from the table once more.
    long = changed is not None and changed.rows >= MANY_CHANGES
    twice = [s.now.node for s in plan.slices if s.before is not None] if long else []
    relations, read, slowly = plan.expected, 0.0, 0.0
    for relation in (*relations, *twice):
        whole, own = read_whole(relation) if few else frozenset(relation.leaves_read), alone(relation)
        read += sum(sizes.get(leaf[0], 0) * (1.0 if leaf in whole else LOOKED_UP) for leaf in own.leaves_read)
        slowly += sum(sizes.get(leaf[0], 0) for leaf in searched(own) & whole)
    # Where no size is known, nothing read is either.
    once = sum(sizes.get(source, 0) for source, _ in seen.model.node.leaves) or 1
    makes = plan.shape is Shape.UPSERT and seen.held is None
    return Planned(len(plan.feeds) + len(relations) + 1, read / once, makes, slowly / once)


def _past_of_rewritable(seen: Seen, spec: Spec) -> Past | None:
    """What refreshes took before, of a table that may be written anew instead of being maintained; None for others."""
    if seen.position is None or not may_be_rewritten(seen, spec) or _begins_to_keep(seen):
        return None
    return seen.position.past


def _begins_to_keep(seen: Seen) -> bool:
    """Whether the ledger is to have what the table is made of from this refresh on: that takes what computing the table
    anew takes, and the next one adds to it."""
    return seen.partials is not None and seen.held is None


def bars(seen: Seen, spec: Spec) -> tuple[Bar, ...]:
    """Of which one has to be met before the table is written anew."""
    refresh = seen.entry.sequence + 1 if seen.entry is not None else 0
    shown = (seen.rows or 0) if spec.is_read else 0
    return bars_of(seen.target.size if seen.target is not None else 0, refresh, shown)


def costs(seen: Seen, changed: Changed | None) -> Expected | None:
    """What the next refresh is expected to take; None if nothing says so. changed: None for next to nothing."""
    if seen.position is None:
        return None
    share = changed.share if changed is not None else 0.0
    return expected(seen.position.past, size_of_sources(seen), share, untimed(seen))


def untimed(seen: Seen) -> Slowness:
    """What a refresh by change is taken to be as long as none was timed. Into a small table rows are soon merged,
    whatever they are found by."""
    key = seen.expected_key
    by_key = seen.key is not None or (key is not None and key.columns and key.holds is not False)
    return BY_KEY if by_key or (seen.target is not None and 0 < seen.target.size < LARGE) else BY_ROW


def may_be_rewritten(seen: Seen, spec: Spec) -> bool:
    """Whether the model leaves it to the refresh how changes reach the table."""
    asked = spec.refresh_mode is RefreshMode.AUTO and spec.changelog_mode is ChangelogMode.AUTO and spec.may_rebuild
    return asked and seen.model.node is not None and not seen.model.kept


def accepted(lost: Lost, spec: Spec, seen: Seen) -> str:
    """Why the table is recomputed although nobody asked for it. Raises SourceError unless the model accepts that."""
    if seen.state is not None and lost.source == seen.state.table:
        return f"its state table {lost.source} was made anew"
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
