"""One refresh of one dynamic table: look, decide, compute, write once, make sure.

Everything before the write only reads. The write is a single Delta commit that carries the ledger, so a process that
dies anywhere leaves the table as it was or as it should be, and running again is always right.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from ..algebra.clock import WATERMARK
from ..algebra.nodes import AsOf, Time
from ..changes.additive import Own
from ..changes.apart import Apart
from ..changes.change_plan import ChangePlan
from ..changes.emitted import next_instant
from ..changes.partials import HELD, Partials
from ..changes.top import moves_up
from ..changes.unnetted import adding_up, of_all_changes
from ..dialect import print_sql
from ..errors import Bug, DynamicTableError, TargetError
from ..names import aside
from ..reading.relations import Kind
from ..sparksql.literal_rows import literal_rows
from ..sparksql.reads import Span, dated
from ..sparksql.render import Renderer
from ..sparksql.statements import create, create_empty, overwrite, touch
from . import costs, problems
from .apply import Applied, Applier, Dearer, NotHeld
from .bytes_read import BytesRead
from .columns_read import types_of
from .content import after, content_of, printed, recorded, storable
from .costs import Changed, Past
from .decide import (
    Decision,
    accepted,
    changed_rows,
    dear_plan,
    dearer,
    decide,
    read_at_most,
    size_of_sources,
)
from .drift import CHANGE_FEED, created_with
from .engine import Engine, SqlError, Table, Written
from .held import MOST_GROUPS, NotKept, SoonerKept, name_of
from .history import Commit, now, read_commit
from .incremental import Incremental, is_long
from .layout import taking_its_place
from .ledger import (
    ADDITIVE,
    CREATE,
    KEYED,
    NO_OP,
    RECOMPUTE,
    REWRITE,
    TOP,
    Consumed,
    Entry,
    HeldRows,
    StateTable,
)
from .look import KEY_PROPERTY, Seen, is_large, look, may_be_kept, over_state
from .measure import Measure
from .outcome import Code, Outcome
from .rows_met import RowsMet
from .sources import Change, are_few, enabling, grown, with_change_feed
from .spec import ChangelogMode, RefreshMode, Spec
from .state_table import (
    ROWS_EACH,
    changed_since,
    dropped,
    is_dear,
    maintained_as,
    state_of,
    text_of,
    to_begin,
    why_slow,
)
from .temporal_plans import MANY_ROWS, Technique, among_versions, choose
from .told_apart import ToldApart
from .unchanged import asked, is_plain, up_to_date
from .upkeep import keep_up

DEFAULT_PROPERTIES = {"delta.enableDeletionVectors": "true"}
"""What a table is created with unless its tblproperties say otherwise. With deletion vectors a MERGE marks rows as gone
instead of writing every file anew that holds one of them."""

NEW_CONSTRAINT = "DELTA_NEW_CHECK_CONSTRAINT_VIOLATION"
"""Delta's refusal to add a constraint that rows of the table do not meet."""

WHOLE = {"spark.sql.sources.partitionOverwriteMode": "static"}
"""Under which INSERT OVERWRITE replaces the whole table, whatever the session has set for partitions."""

MARK_ROWS = "spark.databricks.delta.merge.deletionVectors.persistent"

LITTLE = 16 * 2**20
"""Bytes up to which a table's files are sooner written anew than their rows marked and the marks read ever after:
measured on two cores, a MERGE and the next read of the table take 3.3 s either way at 12 MB, at 2 MB 2.1 s instead of
2.8 s. Of long rows, more bytes are written as soon (a MERGE of 1 % of 400,000 rows in 47 MB takes 1.6 s instead of 2.0
s), but each time a copy of the table stays until it is vacuumed."""


def refresh(spec: Spec, engine: Engine, until: Mapping[str, int] | None = None) -> Outcome:
    """Brings the table up to its sources as they are now, or as they were.

    until: source -> the version up to which it is consumed, where it is not the latest: so that several tables can be
    brought to one state of the sources that they share. Raises DynamicTableError, having written nothing."""
    started = time.monotonic()
    try:
        with engine.steady():
            if (outcome := up_to_date(spec, engine, until or {})) is not None:
                return replace(outcome, seconds=time.monotonic() - started)
            began = now()
            seen, ended = _over_state(look(spec, engine, until), spec, engine)
            run = Refresh(spec, engine, seen, began=began, ended=ended)
            decision = decide(seen, spec, engine)
            with engine.reading(read_at_most(seen, decision.changes)):
                outcome = run.carry_out(decision)
                due_in = run.next_due()
                outcome = run.kept_up(outcome)
    except SqlError as error:
        raise problems.explained(error, spec) from error
    return replace(
        outcome,
        table=run.table,
        version=run.version,
        volatile=run.model.emission is None and (run.model.volatile or bool(run.clock.keys() - {WATERMARK})),
        due_in=due_in,
        seconds=time.monotonic() - started,
    )


def _over_state(seen: Seen, spec: Spec, engine: Engine) -> tuple[Seen, StateTable | None]:
    """With the state table that the ledger says there is, brought up to what was seen of its sources; or without it,
    and the one that does not pay."""
    apart = state_of(seen, spec)
    if apart is None:
        return seen, None
    changed = changed_since(seen, engine)
    if is_dear(seen, changed):
        return seen, seen.entry.state if seen.entry is not None else None
    state = maintained_as(apart, spec)
    try:
        made = _refreshed(state, apart, seen, engine)
    except TargetError:
        # Somebody else wrote to it, which nobody has to mend by hand: it holds nothing of its own.
        made = _refreshed(replace(state, full_refresh=True), apart, seen, engine)
    there = (made.table, made.version)
    return over_state(seen, spec, engine, apart, text_of(apart), there, changed) or seen, None


def _refreshed(state: Spec, apart: Apart, seen: Seen, engine: Engine) -> Outcome:
    """A state table, brought up to what was seen of its sources."""
    return refresh(state, engine, {source: seen.catalog.tables[source].version for source, _ in apart.groups.leaves})


class Refresh:
    """The state of one refresh. began: when, by the ledger's clock; measure: what is asked about what was computed;
    table, version: the target's complete name, and its version once refreshed; unkept: what the ledger was found not to
    be able to keep rows of; at_sight: as in `Entry`; begun: whether it is the first over a state table; ended: the one
    that is done without from now on."""

    def __init__(
        self, spec: Spec, engine: Engine, seen: Seen, measure: Measure | None = None, *, began: int | None = None,
        ended: StateTable | None = None,
    ) -> None:  # fmt: skip
        self.spec, self.engine, self.measure = spec, engine, measure or Measure(engine)
        self._see(seen)
        if self.target is not None:
            self.table, self.version = self.target.name, self.target.version
        self.notes: list[str] = []
        self.altered: tuple[str, ...] = ()
        self.started = now() if began is None else began
        self.share: float | None = None
        self.at_sight = False
        self.met: RowsMet | None = None
        self.begun, self.ended = False, ended
        known = seen.entry.partials if seen.entry is not None else None
        self.unkept = known if known is not None and known.rows is None else None

    def _see(self, seen: Seen) -> None:
        self.target, self.catalog, self.model = seen.target, seen.catalog, seen.model
        self.key, self.checked = seen.key, seen.checked
        self.definition, self.position, self.seen = seen.definition, seen.position, seen
        self.clock, self.newest = seen.clock, seen.newest
        self.told_apart = ToldApart(seen, self.spec, self.engine, self.measure)

    def carry_out(self, decision: Decision) -> Outcome:
        self.notes.extend(decision.layout.notes)
        if decision.code is Code.CREATED:
            return self._create(decision.reason)
        try:
            for statement in decision.layout.statements:
                self.engine.write(statement, {})
        except SqlError as error:
            if NEW_CONSTRAINT in str(error):
                return self._create("rows of the table violate a constraint that is new")
            raise
        self.altered = decision.layout.altered
        assert self.position is not None and self.position.entry is not None
        entry = self.position.entry
        if decision.code is Code.NO_CHANGE:
            return self._unchanged(entry)
        if decision.code is Code.RECOMPUTE:
            assert decision.reason is not None
            if decision.rewrite:
                return self._anew(entry, decision.reason, decision.changes)
            return self._recompute(entry, decision.reason)
        slow = why_slow(self.seen, changed_rows(self.seen, decision.changes)) if self.ended is None else None
        if slow is not None and (outcome := self._begin(entry, slow, decision.changes)) is not None:
            return outcome
        return self._incremental(entry, decision.changes, clock_moved=decision.clock_moved)

    def next_due(self) -> float | None:
        """Seconds from what the clock said until the next result is made, where the clock is of processing time."""
        model = self.model
        if model.emission is None or model.emission.clock == WATERMARK or model.node is None:
            return None
        now = after(self.seen)
        now[self.table] = Span(self.version, self.version)
        renderer = Renderer(dated(now), clock={time: self.clock for time in Time})
        waiting = next_instant(model.node, model.emission, Own(self.table, dict(model.columns)))
        micros = self.measure.number(print_sql(renderer.query(waiting)))
        return micros / 1_000_000 if micros else None

    def kept_up(self, outcome: Outcome) -> Outcome:
        """The outcome, once the table's small files are looked after."""
        note = keep_up(self.engine, self.target, self.table, self.version) if self.target is not None else None
        return replace(outcome, notes=(*outcome.notes, note)) if note else outcome

    def _unchanged(self, entry: Entry) -> Outcome:
        """Nothing to read. Versions that moved without data (OPTIMIZE, properties) are consumed at the next change."""
        below = self.seen.state.below if self.seen.state is not None else frozenset()
        if any(entry.sources[n].version != self.catalog.tables[n].version for n in below if n in entry.sources):
            # What changed of them changed no group.
            new = self._entry(NO_OP, None, entry.generation, entry.sequence + 1, self._base(), 0)
            self._commit(touch(self.spec.target), replace(new, partials=entry.partials))
        return Outcome(Code.NO_CHANGE, NO_OP, sources=self._versions(entry), **self._said())

    # ---- doing

    def _create(self, reason: str | None) -> Outcome:
        if self.target is not None and self.target.kind is Kind.DELTA and not self.spec.may_rebuild:
            raise problems.may_not_be_rebuilt(reason, self.spec)
        if self.spec.refresh_mode is not RefreshMode.FULL:
            self._see_to_feeds()
        query = storable(self._content(), self.model.columns, self.engine)
        self.told_apart.check(query)
        instead = taking_its_place(self.spec, self.target)
        into = aside(self.spec.target) if instead else self.spec.target
        base = self.target.version if self.target is not None and not instead else -1
        entry = self._entry(CREATE, reason, uuid.uuid4().hex, 1, -1, None)
        properties = {**DEFAULT_PROPERTIES, **created_with(self.spec), CHANGE_FEED: "true"}
        if self.key:
            properties[KEY_PROPERTY] = "\n".join(self.key)
        if base < 0:
            self.engine.write(create_empty(into, self.model.columns, self.spec.layout), {})
        self.engine.write(create(into, query, self.spec.layout, properties), entry.settings())
        for statement in instead:
            self.engine.write(statement, {})
        commit = self._committed(entry, base)
        return Outcome(
            Code.CREATED, CREATE, reason, rows_inserted=commit.rows_written, sources=self._versions(None),
            **self._said(),
        )  # fmt: skip

    def _see_to_feeds(self) -> None:
        for name in sorted(self.seen.maps_in_order):
            self.notes.append(
                f"it shows in which order maps of {name} have their entries, which change feeds do not tell: every "
                "refresh reads two of its versions whole. To read only what changed, sort them: "
                "MAP_FROM_ENTRIES(ARRAY_SORT(MAP_ENTRIES(…))) in place of the map"
            )
        for name in self.model.sources:
            state = self.catalog.delta(name)
            if state is None or state.has_change_feed:
                continue
            if with_change_feed(self.engine, state, self.spec.source_change_feed, self.spec.place):
                self.catalog.again(name)
            else:
                self.notes.append(
                    f"{name} has no change feed: every refresh reads two of its versions whole. "
                    f"To read only what changed: {enabling(state)}"
                )

    def _recompute(self, entry: Entry, reason: str) -> Outcome:
        """The whole query again, applied as a difference, so that readers of the table's feed see only real changes."""
        if not all(problems.comparable(t) for n, t in self.model.columns if n in (self.key or ())):
            return self._create(f"{reason}, and a key that cannot be compared rules out a difference")
        new = self._entry(RECOMPUTE, reason, entry.generation, entry.sequence + 1, self._base(), None)
        try:
            applied = self._applier(new).difference(self._query())
        except SqlError as error:
            if not problems.is_unplanned(error) or self.spec.changelog_mode is ChangelogMode.APPEND:
                raise
            return self._rewrite(entry, reason)
        return self._outcome(Code.RECOMPUTE, new, entry, applied, None)

    def _anew(self, entry: Entry, reason: str, changes: Mapping[str, Change]) -> Outcome:
        """The table written anew because that takes less than bringing it up to these changes. If these are few, it is
        over a state table from now on, so that the next ones take less, or without the one that saved too little."""
        state = self.seen.state
        if state is not None and state.changed is not None and state.changed.share < costs.LITTLE:
            self._see(state.alone)
            self.ended = entry.state
        elif self.ended is None and (outcome := self._begin(entry, reason, changes)) is not None:
            return outcome
        return self._rewrite(entry, reason)

    def _begin(self, entry: Entry, reason: str, changes: Mapping[str, Change]) -> Outcome | None:
        """The table written anew over a state table that is made for it; None if there is none to be made, or it has
        too many groups to be of use."""
        changed = changed_rows(self.seen, changes)
        apart = to_begin(self.seen, self.spec, self.engine, changed)
        if apart is None or changed is None:
            return None
        state, of = maintained_as(apart, self.spec), text_of(apart)
        if self._has_too_many(apart, changed):
            self.ended = StateTable(of, state.target, Past())
            return None
        try:
            made = _refreshed(replace(state, full_refresh=True), apart, self.seen, self.engine)
        except DynamicTableError as error:
            self.notes.append(f"it would take less with {state.target} beside it, which cannot be made: {error.what}")
            return None
        there = (made.table, made.version)
        over = over_state(self.seen, self.spec, self.engine, apart, of, there, changed)
        if over is None or made.rows_inserted * ROWS_EACH > changed.of:
            self.engine.write(dropped(made.table), {})
            self.ended = StateTable(of, made.table, Past())
            return None
        self._see(over)
        self.begun = True
        said = f"from now on it is made from {made.table}, which is kept beside it"
        return self._rewrite(entry, f"{reason}; {said}")

    def _has_too_many(self, apart: Apart, changed: Changed) -> bool:
        """Whether it is known before they are computed that there are too many groups."""
        if apart.counting is None:
            return False
        try:
            groups = self.measure.number(printed(apart.counting, self.seen, self.engine, self.measure))
        except SqlError:
            # By what cannot be hashed, no row of a table is found again.
            return True
        return groups * ROWS_EACH > changed.of

    def _rewrite(self, entry: Entry, reason: str) -> Outcome:
        """The whole query again, in place of all rows of the table."""
        # What was read before it was known to be too much says nothing of the next time.
        self.started = now()
        new = self._entry(REWRITE, reason, entry.generation, entry.sequence + 1, self._base(), None)
        if self.share is None and entry.technique == REWRITE:
            # Nobody looked this time.
            self.share, self.at_sight = entry.share, entry.at_sight
        if self.seen.state is not None:
            # It is set beside what computing the table without a state table takes.
            new = replace(new, started=0)
        new = replace(new, share=self.share, at_sight=self.at_sight)
        with self.told_apart.written_anew(self._content()) as query:
            statement = overwrite(self.spec.target, query, [n for n, _ in self.model.columns])
            _, commit = self._write(statement, new, WHOLE)
        return Outcome(
            Code.RECOMPUTE, REWRITE, reason, rows_inserted=commit.rows_written, rows_deleted=self.seen.rows or 0,
            sources=self._versions(entry), **self._said(),
        )  # fmt: skip

    def _incremental(self, entry: Entry, changes: Mapping[str, Change], *, clock_moved: bool) -> Outcome:
        assert self.model.node is not None and self.target is not None
        work = Incremental(
            self.engine, self.model, changes, self.spec, types=self.seen.types, keys=self.seen.known_keys,
            clock_moved=clock_moved,
        )  # fmt: skip
        clock = {Time.BEFORE: entry.clock, Time.AFTER: self.clock}
        spans = {
            n: Span(c.version, self.catalog.tables[n].version)
            for n, c in entry.sources.items()
            if n in self.model.sources
        }
        # A change plan may read the table itself, as it is before the refresh.
        spans[self.target.name] = Span(self.target.version, self.target.version)
        self._read_ahead(changes)
        try:
            lost = work.read_feeds(self._summed(changes, clock_moved))
            if lost is not None:
                return self._recompute(entry, accepted(lost, self.spec, self.seen))
            if not work.changed:
                new = self._entry(NO_OP, None, entry.generation, entry.sequence + 1, self._base(), 0)
                new = replace(new, partials=entry.partials)
                self._commit(touch(self.spec.target), new)
                return Outcome(Code.NO_CHANGE, NO_OP, rows_in=0, sources=self._versions(entry), **self._said())
            changed = changed_rows(self.seen, work.changes)
            self._weigh(changed)
            temporal: Mapping[AsOf, Technique] = {}
            if work.rows_in > MANY_ROWS:
                asking, times = Renderer(dated(spans), clock=clock), (Time.BEFORE, Time.AFTER)
                temporal = choose(self.model.node, self.engine, self.measure, asking, times)
            if not self.model.kept and among_versions(self.model.node, temporal, work.changed):
                return self._recompute(entry, "many rows changed, among them versions of keys that have many of them")
            renderer = Renderer(dated(spans), work.relation, clock, temporal)
            return self._by_change(work, partial(self._by_plan, entry, work, changed, renderer, spans))
        except Dearer as found:
            again, why = partial(self._anew, changes=work.changes), str(found)
        except NotHeld as found:
            again, why = self._recompute, f"the table does not hold what its query has just lost ({found.why})"
        except SqlError as error:
            lost = work.lost_by(error)
            reason = accepted(lost, self.spec, self.seen) if lost is not None else problems.beyond_spark(error)
            if reason is None:
                raise
            again, why = self._recompute, reason
        finally:
            work.forget()
        return again(entry, why)

    def _by_change(self, work: Incremental, by_plan: Callable[[], Outcome]) -> Outcome:
        """Raises Dearer or NotHeld, with nothing written."""
        while True:
            try:
                return by_plan()
            except SoonerKept as found:
                self.seen = replace(self.seen, partials=found.partials)
                work.forget(but_feeds=True)
            except NotKept:
                self._give_up_keeping()
                work.forget(but_feeds=True)
            except SqlError:
                if not work.unread:
                    raise
                # A commit may have no feed; and a row that came and left again may be one that Spark cannot compute.
                work.forget(but_feeds=True)
                work.read_unread()

    def _by_plan(
        self,
        entry: Entry,
        work: Incremental,
        changed: Changed | None,
        renderer: Renderer,
        spans: Mapping[str, Span],
    ) -> Outcome:
        """Raises SoonerKept, NotKept, Dearer or NotHeld, with nothing written."""
        plan = self._plan(work)
        if not work.unread.keys() <= adding_up(plan):
            work.read_unread()
        plan = of_all_changes(plan, frozenset(work.unread))
        weigh = partial(self._weigh_plan, plan, changed)
        met = self.met = RowsMet(
            self.engine, plan, work, self.catalog.tables, spans, self.seen.types, self.spec.target, weigh=weigh
        )  # fmt: skip
        weigh(met)
        new = self._entry("", None, entry.generation, entry.sequence + 1, self._base(), work.rows_in)
        new = self._with_partials(new, plan.partials, work)
        sizes = BytesRead(self._tables(), work.rows)
        applier = replace(self._applier(new), weigh=self._weigh_rows, search=self._weigh_search, sizes=sizes, met=met)
        applied = applier.plan(plan, work, renderer)
        return self._outcome(Code.INCREMENTAL, new, entry, applied, work.rows_in)

    def _read_ahead(self, changes: Mapping[str, Change]) -> None:
        """Unless rows are likely to be appended, which needs no list of the files that are there."""
        assert self.model.node is not None and self.target is not None
        if self.model.node.has_groups or not all(c.only_came for c in changes.values()):
            self.engine.read_ahead(self.target)

    def _summed(self, changes: Mapping[str, Change], clock_moved: bool) -> frozenset[str]:
        """The feeds that are only added up, where one is so long that it is worth knowing."""
        if clock_moved or not any(map(is_long, changes.values())):
            return frozenset()
        return adding_up(self.seen.plan(frozenset(changes), grown(changes), few=are_few(changes)))

    def _plan(self, work: Incremental) -> ChangePlan:
        return self.seen.plan(work.changed, grown(work.changes), few=are_few(work.changes))

    def _weigh_search(self, changed: int) -> None:
        """Raises SoonerKept where the ledger may be able to keep all of the rows that the table's are the first of: to
        compute them for it takes what finding the first of them does. changed: of these rows, those that came or
        left."""
        assert self.model.node is not None
        if self.seen.partials is not None or self.unkept is not None or changed > 2 * MOST_GROUPS:
            return
        found = may_be_kept(self.seen, self.engine) if moves_up(self.model.node, self.key) else None
        if found is not None:
            raise SoonerKept(found)

    def _give_up_keeping(self) -> None:
        """The ledger remembers that it cannot have them, so that nobody tries again."""
        assert self.seen.partials is not None
        self.unkept = HeldRows(name_of(self.seen.partials), None)
        self.seen = replace(self.seen, partials=None)

    def _with_partials(self, new: Entry, partials: Partials | None, work: Incremental) -> Entry:
        """The entry that has them still, if nothing is added. The first time they are computed whole, which says
        nothing of what adding to them takes, and nor does what went before."""
        if partials is None:
            return new
        if (held := self.seen.held) is None:
            self.share = None
            return replace(new, past=Past(anew=new.past.anew))
        assert held.rows is not None
        work.pin(HELD, literal_rows(tuple(partials.types.items()), held.rows), few=True)
        return replace(new, partials=held)

    def _weigh(self, changed: Changed | None) -> None:
        """Raises Dearer where so many rows changed, or are to be made again, that writing the table anew is cheaper."""
        if changed is None:
            return
        self.share = max(self.share or 0.0, changed.share)
        if (reason := dearer(self.seen, self.spec, changed)) is not None:
            raise Dearer(reason)

    def _weigh_plan(self, plan: ChangePlan, changed: Changed | None, met: RowsMet) -> None:
        """Raises Dearer where what the plan reads takes so long that writing the table anew is cheaper."""
        hoped = met.hoped if met.lacks else None
        if (reason := dear_plan(self.seen, self.spec, changed, plan, met.alone, hoped)) is not None:
            self.at_sight = True
            raise Dearer(reason)

    def _weigh_rows(self, rows: int) -> None:
        """rows: of the table, that are to be made again. Into a small table they are soon merged, however many."""
        assert self.target is not None
        if self.target.size >= costs.LARGE and (held := self.seen.rows):
            self._weigh(Changed(rows, max(held, rows), rows / max(held, rows)))

    def _applier(self, entry: Entry) -> Applier:
        return Applier(
            self.engine, self.spec, self.model.columns, self.key, self.checked, entry, self._commit,
            self.told_apart.refuse, self.measure, self._small(), self.seen.types, expected=self.seen.expected_key,
            worth_looking=self.told_apart.worth_looking, sizes=BytesRead(self._tables()), fell=self._fell(),
        )  # fmt: skip

    def _fell(self) -> bool | None:
        technique = self.seen.entry.technique if self.seen.entry is not None else None
        return technique == KEYED if technique in (ADDITIVE, TOP, KEYED) else None

    def _small(self) -> frozenset[str]:
        return frozenset(name for name, t in self._tables().items() if t.size and not is_large(t))

    def _tables(self) -> dict[str, Table]:
        assert self.target is not None
        # Change plans know the table by its complete name, the statements that write to it by the model's.
        return {**self.catalog.tables, self.target.name: self.target, self.spec.target: self.target}

    def _commit(self, statement: str, entry: Entry) -> Written:
        for_others = round(self.met.for_others * 1000) if self.met is not None else 0
        entry = replace(entry, share=self.share, started=entry.started + for_others)
        return self._write(statement, entry, self._marking())[0]

    def _write(self, statement: str, entry: Entry, settings: Mapping[str, str]) -> tuple[Written, Commit]:
        assert self.target is not None
        try:
            written = self.engine.write(statement, {**settings, **entry.settings()})
        except SqlError as error:
            if problems.is_conflict(error):
                raise problems.raced(self.spec) from error
            raise
        return written, self._committed(entry, self.target.version)

    def _marking(self) -> dict[str, str]:
        assert self.target is not None
        return {MARK_ROWS: "false"} if 0 < self.target.size <= LITTLE else {}

    def _committed(self, entry: Entry, base: int) -> Commit:
        """The commit that holds the entry. Raises ConflictError if Delta skipped it because another run came first."""
        table = self.target if base >= 0 else self.engine.table(self.spec.target)
        if table is None:
            raise Bug(f"{self.spec.target} is not there after it was written.")
        for version in range(self.engine.version(table), base, -1):
            commit = read_commit(version, self.engine.log(table, version))
            found = Entry.read(commit.user_metadata)
            if found is not None and found.refresh == entry.refresh:
                self.table, self.version = table.name, version
                self._leave_state(entry)
                return commit
        raise problems.raced(self.spec)

    def _leave_state(self, entry: Entry) -> None:
        """Drops the state table that the table was made from before, and is not any more."""
        known = self.seen.entry.state if self.seen.entry is not None else None
        if known is not None and known.ended is None and (entry.state is None or entry.state.ended is not None):
            try:
                self.engine.write(dropped(known.table), {})
            except SqlError as error:
                # What it was for is done, and committed.
                self.notes.append(f"{known.table} is not needed any more, and cannot be dropped: {error}")

    # ---- saying

    def _content(self) -> str:
        """What the table is made of when it is built."""
        return self._query()

    def _query(self) -> str:
        """The model's SELECT over the versions this refresh consumes."""
        return content_of(self.seen, self.spec, self.engine, self.measure)

    def _entry(
        self, technique: str, reason: str | None, generation: str, sequence: int, base: int, rows_in: int | None
    ) -> Entry:
        read = dict.fromkeys((*self.seen.sources, *self.model.sources))
        sources = {
            n: Consumed(t.id, t.version, types_of(self.seen.columns_read(n)))
            for n in read
            if (t := self.catalog.delta(n)) is not None
        }
        return Entry(
            sources, self.definition, technique, generation, sequence, base, self.model.columns, reason, rows_in,
            self.clock, recorded(self.seen, self.spec), self.newest, self._asked(), self.started,
            size_of_sources(self.seen), self.seen.rows, past=self._past(), partials=self.unkept if base >= 0 else None,
            expected_key=self.seen.expected_key if technique not in (CREATE, REWRITE) else None,
            state=self._state(sequence),
        )  # fmt: skip

    def _state(self, sequence: int) -> StateTable | None:
        state, known = self.seen.state, self.seen.entry.state if self.seen.entry is not None else None
        if state is not None and self.begun:
            return StateTable(state.of, state.table, self.position.past if self.position is not None else Past())
        if state is not None:
            return known
        if self.ended is not None:
            return replace(self.ended, ended=sequence)
        return known if known is not None and known.ended is not None else None

    def _asked(self) -> str:
        # What there was to say is said at every refresh.
        return asked(self.spec, self.seen.settings) if is_plain(self.seen, self.spec) and not self.notes else ""

    def _past(self) -> Past:
        """What this query took so far: over a state table, or without one."""
        position = self.position
        if position is None or position.entry is None or position.entry.definition != self.definition:
            return Past()
        if self.begun:
            return Past(anew=position.past.anew)
        if self.ended is not None and position.entry.state is not None and position.entry.state.ended is None:
            return position.entry.state.alone
        return position.past

    def _base(self) -> int:
        assert self.target is not None
        return self.target.version

    def _versions(self, entry: Entry | None) -> dict[str, tuple[int | None, int]]:
        before = entry.sources if entry is not None else {}
        return {
            n: (before[n].version if n in before else None, t.version)
            for n in self.seen.sources
            if (t := self.catalog.delta(n)) is not None
        }

    def _said(self) -> dict[str, tuple[str, ...]]:
        return {"notes": tuple(self.notes), "altered": self.altered}

    def _outcome(self, code: Code, new: Entry, old: Entry, applied: Applied, rows_in: int | None) -> Outcome:
        if applied.note is not None:
            self.notes.append(applied.note)
        return Outcome(
            code, applied.technique if code is Code.INCREMENTAL else RECOMPUTE, new.reason, rows_in,
            applied.inserted, applied.updated, applied.deleted, self._versions(old), ignored=applied.too_late,
            **self._said(),
        )  # fmt: skip
