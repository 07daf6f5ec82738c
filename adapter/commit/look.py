"""The looking half of a refresh: the table, the model over its sources as they are now, its keys, its ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from ..algebra.clock import WATERMARK, Reading, read_by
from ..algebra.kept import is_kept
from ..algebra.keys import SourceKeys, unique_key
from ..algebra.nodes import Aggregate, Node
from ..changes.additive import Own, adds_up
from ..changes.apart import Apart
from ..changes.change_plan import ChangePlan
from ..changes.column_types import Types
from ..changes.map_order import shows_order
from ..changes.partials import Partials
from ..changes.partners import of_groups_met
from ..changes.plan import plan
from ..changes.top import moves_up
from ..dialect import without_as_of
from ..errors import Impossible, Refusal, TargetError
from ..pipeline import Model, columns_of, compile_model, digest
from ..reading.relations import Columns, Kind
from ..reading.temporal import only_maintained
from ..sparksql.reads import Span
from . import problems
from .catalog import SessionCatalog
from .clock import reading
from .columns_read import columns_read
from .costs import Changed
from .engine import Engine, Table
from .held import name_of, worth_keeping
from .history import read_commit
from .ledger import Entry, ExpectedKey, HeldRows, Position, find
from .sources import commits_between
from .spec import ChangelogMode, RefreshMode, Spec
from .watermark import Watermark, sides_of, untimed, watermark

KEY_PROPERTY = "dbt_spark_dynamic.unique_key"
MEANING_SETTINGS = ("spark.sql.session.timeZone", "spark.sql.ansi.enabled")
"""Session settings that give the same SQL another meaning."""

Settings = tuple[tuple[str, str], ...]
"""Their names and values."""


LARGE = 32 * 2**20
"""Bytes from which on it pays to look which of a table's files can hold the changed keys before it is read for them."""

ASKED = 4
"""Times that a table is larger than another of which some rows say which of its groups are met: Spark sends those to
all tasks then, or finds out while it runs that it can."""


@dataclass(frozen=True)
class State:
    """A state table that the model is read over. table: its complete name; of: what it holds, as a digest; alone: what
    was seen without it; below: sources that it is made from; changed: what changed of all that the SELECT reads, None
    where that is not known."""

    table: str
    of: str
    alone: Seen
    below: frozenset[str]
    changed: Changed | None


@dataclass(frozen=True)
class Seen:
    """target: the table, None if there is none; key: what rows are merged by, None for whole rows; checked: a key that
    is only declared, and must be verified; source_keys: keys of the sources that are dynamic tables; definition: what
    the table is made by, as a digest; position: where its ledger stands, None without one; clock: what the model reads
    of it, now; newest: the newest times that its watermark is made of; settings: of the session, as `meaning_of`;
    partials: what the ledger is to keep rows of, None for nothing; expected_key: where rows have no other, one that the
    project expects, and what is known of it; state: the table of groups that the model reads instead of what these are
    made from."""

    target: Table | None
    catalog: SessionCatalog
    model: Model
    source_keys: SourceKeys
    key: tuple[str, ...] | None
    checked: tuple[str, ...]
    definition: str
    position: Position | None
    clock: Reading = field(default_factory=dict)
    newest: Mapping[str, int] = field(default_factory=dict)
    settings: Settings = ()
    partials: Partials | None = None
    expected_key: ExpectedKey | None = None
    state: State | None = None

    @property
    def sources(self) -> tuple[str, ...]:
        """The tables that the SELECT reads, be it through the state table."""
        return tuple(self.state.alone.model.sources if self.state is not None else self.model.sources)

    def columns_read(self, source: str) -> Columns:
        """Those of a table's columns that the SELECT reads, be it through the state table."""
        state = self.state
        model = self.model if state is None or source == state.table else state.alone.model
        return columns_read(model, source, self.catalog.tables[source].columns)

    @cached_property
    def maps_in_order(self) -> frozenset[str]:
        """The sources with maps of which the SELECT may show the order, which their change feeds do not tell."""
        return shows_order(self.model.node, self.types) if self.model.node is not None else frozenset()

    @property
    def known_keys(self) -> SourceKeys:
        """Keys of the sources, as we maintain them or as the project expects them."""
        return {**self.model.expected_keys, **self.source_keys}

    @property
    def entry(self) -> Entry | None:
        """The last refresh, None if there was none."""
        return self.position.entry if self.position is not None else None

    @property
    def rows(self) -> int | None:
        """That the table holds; None if nothing says it."""
        return self.position.rows if self.position is not None else None

    @property
    def held(self) -> HeldRows | None:
        """What the ledger says of the rows that it is to keep; None if it says nothing of these."""
        found = self.entry.partials if self.entry is not None else None
        return found if found is not None and self.partials and found.of == name_of(self.partials) else None

    def plan(
        self,
        changed: frozenset[str],
        grown: frozenset[str] = frozenset(),
        *,
        few: bool = True,
        holds_rows: bool = True,
    ) -> ChangePlan:
        """How a change of these sources reaches the table. The model is not refused. grown: those of them that no row
        left; few: whether few rows changed; holds_rows: whether the table has the rows of the SELECT, so that they may
        be told from it."""
        assert self.model.node is not None
        return plan(
            self.model.node,
            changed,
            self.source_keys,
            self._own() if holds_rows else None,
            by_key=self.key is not None,
            declared=self.key,
            emission=self.model.emission,
            large=frozenset(name for name, t in self.catalog.tables.items() if is_large(t)),
            types=self.types,
            shown=dict(self.model.columns),
            partials=self.partials,
            held=self.held is not None,
            grown=grown,
            few=few,
            whole=self._whole,
        )

    @property
    def content(self) -> Node:
        """The SELECT, for all of its rows. The model is not refused."""
        assert self.model.node is not None
        return self._whole(self.model.node)

    def _whole(self, node: Node) -> Node:
        """The same, for all of its rows: without groups of large tables that no join meets."""
        tables = self.catalog.tables

        def largest(node: Node) -> int:
            return max((tables[source].size for source, _ in node.leaves if source in tables), default=0)

        def worth(groups: Aggregate, rows: Node) -> bool:
            return largest(groups) >= LARGE and 0 < largest(rows) * ASKED <= largest(groups)

        return of_groups_met(node, self.types, worth)

    @property
    def types(self) -> Types:
        """Of the columns of all tables that may be read, the target's own among them."""
        own = {self.target.name: self.target} if self.target is not None else {}
        tables = {**self.catalog.tables, **own}
        return {name: {c.lower(): kind for c, kind in t.columns} for name, t in tables.items()}

    def _own(self) -> Own | None:
        """The table as a relation that its own change plan may read; None if it must not."""
        # Keys that are only declared are checked on whole rows, which additions to the table's own are not. Of a table
        # whose results are made when they are due, whole rows are compared.
        if self.checked and self.model.emission is None:
            return None
        return Own(self.target.name if self.target is not None else "the table", dict(self.model.columns))


def is_large(found: Table) -> bool:
    return found.size >= LARGE


def meaning_of(engine: Engine) -> Settings:
    """What the session makes of SQL."""
    return tuple((name, engine.setting(name)) for name in MEANING_SETTINGS)


def look(spec: Spec, engine: Engine, until: Mapping[str, int] | None = None) -> Seen:
    """Writes nothing. until: table -> the version up to which it is consumed, where it is not the latest.

    Raises DynamicTableError for what cannot be maintained, SqlError for what Spark refuses."""
    target = engine.table(spec.target)
    catalog = SessionCatalog(engine, spec.versionings, until, spec.expected_keys)
    _check_target(target, spec)
    problems.check_properties(spec)
    model = _read(spec, engine, catalog)
    properties = {**((target.properties or {}) if target is not None else {}), **spec.properties}
    problems.check_storable([name for name, _ in model.columns], properties, spec)
    source_keys = {n: k for n, t in catalog.tables.items() if (k := key_of(t)) and _is_maintained(t, engine)}
    key, checked = _keys(model, source_keys, spec)
    if model.node is not None and is_kept(model.node):
        problems.check_kept(model.node, key, spec)
    settings = meaning_of(engine)
    meaning = (model.fingerprint, key, checked, spec.changelog_mode.value, settings, spec.late_by)
    if spec.emission is not None:
        meaning += (spec.emission,)
    definition = digest(meaning)
    position = position_of(target, engine)
    _check_held_back(catalog, position, engine, spec)
    read = read_by(model.node) if model.node is not None else frozenset()
    clock = reading(engine, read)
    seen = Seen(
        target, catalog, model, source_keys, key, checked, definition, position, clock, settings=settings
    )  # fmt: skip
    if WATERMARK in read:
        reached = _watermark(seen, spec, engine)
        seen = replace(seen, clock={**seen.clock, **reached.reading()}, newest=reached.newest)
    return _completed(seen, spec, engine)


def over_state(
    seen: Seen, spec: Spec, engine: Engine, apart: Apart, of: str, there: tuple[str, int], changed: Changed | None
) -> Seen | None:
    """The same with the model read over its state table; None where its rows have another key then. of, changed: as
    `State` has them; there: the state table's complete name, and the version that is read."""
    assert seen.model.node is not None
    relation = seen.catalog.at(*there)
    node = apart.over(relation.name)
    read = {name for name, _ in node.leaves}
    sources = {name: r for name, r in seen.model.sources.items() if name in read} | {relation.name: relation}
    model = replace(seen.model, node=node, sources=sources)
    source_keys = {**seen.source_keys, relation.name: key_of(seen.catalog.tables[relation.name])}
    key, checked = _keys(model, source_keys, spec)
    if (key, checked) != (seen.key, seen.checked):
        return None
    below = frozenset(name for name, _ in apart.groups.leaves)
    over = replace(
        seen, model=model, source_keys=source_keys, partials=None, expected_key=None,
        state=State(relation.name, of, seen, below, changed),
    )  # fmt: skip
    return _completed(over, spec, engine)


def _completed(seen: Seen, spec: Spec, engine: Engine) -> Seen:
    """With what follows from all the rest."""
    by_row = seen.key is None and spec.changelog_mode is ChangelogMode.AUTO
    expected = _expected_key(seen, spec) if by_row else None
    return replace(seen, partials=_partials(seen, engine), expected_key=expected)


def _expected_key(seen: Seen, spec: Spec) -> ExpectedKey | None:
    """A key that the project expects of the table itself, or that follows from what it expects of the sources; where
    it expects none, what was found in the rows themselves."""
    model = seen.model
    names = {n.lower(): n for n, t in model.columns if problems.comparable(t) and t != "void"}
    key = seen.catalog.expected_key(spec.target)
    if not key and model.node is not None:
        key = unique_key(model.node, seen.known_keys) or ()
    columns = tuple(names[c.lower()] for c in key if c.lower() in names)
    known = seen.entry.expected_key if seen.entry is not None else None
    if not columns or len(columns) < len(key):
        still = known is not None and known.found and set(known.columns) <= set(names.values())
        return known if still else None
    return known if known is not None and known.columns == columns else ExpectedKey(columns)


def _partials(seen: Seen, engine: Engine) -> Partials | None:
    """What the ledger is to keep from this refresh on, if it does not yet. Where there may be more groups than rows,
    nobody looks how many they are before a refresh has taken about as long as that would; of first rows, before they
    have to be found again."""
    found = may_be_kept(seen, engine)
    if found is None or not found.hides_groups or replace(seen, partials=found).held is not None:
        return found
    assert seen.position is not None and seen.model.node is not None
    waits = moves_up(seen.model.node, seen.key) or not seen.position.past.is_slow_by_change
    return None if waits else found


def may_be_kept(seen: Seen, engine: Engine) -> Partials | None:
    """Nothing where more than the sources makes rows what they are, or the table shows what is to be added to, or
    little is to be saved; and nothing that was found not to be kept."""
    position, model, own = seen.position, seen.model, seen._own()
    if position is None or position.entry is None or position.entry.definition != seen.definition:
        return None
    if own is None or model.node is None or model.kept or seen.clock:
        return None
    if adds_up(model.node, own) or not any(is_large(seen.catalog.tables[name]) for name in model.sources):
        return None
    found = worth_keeping(model.node, engine, position.rows)
    if found is None:
        return None
    held = replace(seen, partials=found).held
    return None if held is not None and held.rows is None else found


def _watermark(seen: Seen, spec: Spec, engine: Engine) -> Watermark:
    """Goes on from the last refresh, unless the table was made in another way then."""
    assert spec.late_by is not None
    entry = seen.entry
    if entry is None or entry.definition != seen.definition or spec.full_refresh:
        entry = None
    spans = {}
    for name in seen.model.sources:
        table = seen.catalog.tables[name]
        then = entry.sources.get(name) if entry is not None else None
        spans[name] = Span(then.version if then is not None and then.id == table.id else -1, table.version)
    return watermark(sides_of(seen.model), spec.late_by, spans, entry.newest if entry is not None else {}, engine)


def _check_target(t: Table | None, spec: Spec) -> None:
    if t is not None and t.kind is Kind.OTHER and not spec.full_refresh:
        raise TargetError(
            f"{t.name} exists and is a table in {t.provider} format, not a Delta table.",
            where=spec.place,
            why="a dynamic table is maintained by Delta commits; nothing was dropped or written",
            remedy="run with --full-refresh to put the dynamic table in its place, or give the model another alias",
        )


def _check_held_back(catalog: SessionCatalog, position: Position | None, engine: Engine, spec: Spec) -> None:
    """A source that is seen as it was must have been the same table then, and not have been consumed further."""
    consumed = position.entry.sources if position is not None and position.entry is not None else {}
    for name, table in catalog.tables.items():
        if table.version == table.latest or table.kind is not Kind.DELTA:
            continue
        then = consumed.get(name)
        if then is not None and then.id == table.id and then.version > table.version:
            raise problems.overtaken(spec, name, then.version, table.version)
        since = commits_between(engine, table, table.version, table.latest, None)
        if since is None or any(c.changes_schema for c in since):
            raise problems.altered(spec, name)


def _read(spec: Spec, engine: Engine, catalog: SessionCatalog) -> Model:
    result = engine.columns(without_as_of(spec.sql).strip().removesuffix(";"))
    problems.check_names([name for name, _ in result], spec)
    try:
        once = spec.late_by is not None and spec.emission is None
        read = compile_model(
            spec.sql, result, catalog, engine.columns, spec.deterministic, joined_once=once, emission=spec.emission
        )
        if spec.emission is not None:
            problems.check_emitted(read, spec)
        timed = read.node is not None and (spec.late_by is not None or spec.emission is not None)
        if timed and (found := untimed(sides_of(read), engine)) is not None:
            raise problems.untimed(*found, spec)
        model = _understood(read, engine)
        if spec.emission is not None and model.refusal is not None:
            raise problems.not_emitted(model.refusal, spec)
    except Impossible as refusal:
        raise problems.impossible(refusal, spec) from refusal
    if spec.refresh_mode is RefreshMode.FULL:
        # A temporal join is SQL that Spark runs only as it is read here.
        node = model.node if model.temporal else None
        return replace(model, node=node, refusal=model.refusal or Refusal("refresh_mode='full'", "is set"))
    if model.refusal is not None and spec.refresh_mode is RefreshMode.INCREMENTAL:
        raise problems.not_maintainable(model.refusal, spec)
    return model


def _understood(model: Model, engine: Engine) -> Model:
    """A SELECT with other types once read and printed again was not understood: it is recomputed as written."""
    if model.node is None:
        return model
    try:
        printed = columns_of(model.node, engine.columns)
        if [t for _, t in printed] == [t for _, t in model.columns]:
            return model
        refusal = Refusal("the SELECT", "has other types when it is read and printed again")
    except Refusal as unprintable:
        refusal = unprintable
    if model.temporal:
        raise only_maintained(refusal)
    return replace(model, node=None, refusal=refusal)


def _keys(model: Model, source_keys: SourceKeys, spec: Spec) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """What rows are merged by, and a key that is only declared. A key by the SELECT's shape comes first."""
    names = [n for n, _ in model.columns]
    declared = problems.existing(spec.unique_key, names, spec)
    derived = unique_key(model.node, source_keys) if model.node is not None else None
    implied = derived is not None and set(derived) <= set(declared)
    key = derived if derived is not None else declared or None
    if spec.changelog_mode is ChangelogMode.UPSERT and key is None:
        raise problems.upsert_without_key(names, spec)
    by_row = spec.changelog_mode in (ChangelogMode.RETRACT, ChangelogMode.APPEND)
    if spec.sink_by_key and not declared and (key is None or by_row):
        raise problems.sink_without_key(names, spec)
    return None if by_row else key, declared if declared and not implied else ()


def position_of(t: Table | None, engine: Engine) -> Position | None:
    if t is None or t.kind is not Kind.DELTA:
        return None

    def commit_at(version: int):
        actions = engine.log(t, version)
        return read_commit(version, actions) if actions else None

    return find(t.version, commit_at)


def key_of(t: Table) -> tuple[str, ...]:
    """The key that a dynamic table was created with."""
    listed = (t.properties or {}).get(KEY_PROPERTY)
    return tuple(listed.split("\n")) if listed else ()


def _is_maintained(t: Table, engine: Engine) -> bool:
    """Whether its rows are those of its query, so that the key it was created with still is one."""
    position = position_of(t, engine)
    return position is not None and position.entry is not None and position.foreign is None
