"""The looking half of a refresh: the table, the model over its sources as they are now, its keys, its ledger."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from ..algebra.keys import SourceKeys, unique_key
from ..dialect import print_sql
from ..errors import Refusal, TargetError
from ..pipeline import Model, compile_model
from ..reading.relations import Kind
from ..sparksql.reads import undated
from ..sparksql.render import Renderer
from . import problems
from .catalog import SessionCatalog
from .engine import Engine, Table
from .history import read_commit
from .ledger import Position, find
from .spec import ChangelogMode, RefreshMode, Spec

KEY_PROPERTY = "dbt_spark_dynamic.unique_key"
MEANING_SETTINGS = ("spark.sql.session.timeZone", "spark.sql.ansi.enabled")
"""Session settings that give the same SQL another meaning."""


@dataclass(frozen=True)
class Seen:
    """target: the table, None if there is none; key: what rows are merged by, None for whole rows; checked: a key that
    is only declared, and must be verified; source_keys: keys of the sources that are dynamic tables; definition: what
    the table is made by, as a digest; position: where its ledger stands, None without one."""

    target: Table | None
    catalog: SessionCatalog
    model: Model
    source_keys: SourceKeys
    key: tuple[str, ...] | None
    checked: tuple[str, ...]
    definition: str
    position: Position | None


def look(spec: Spec, engine: Engine) -> Seen:
    """Writes nothing. Raises DynamicTableError for what cannot be maintained, SqlError for what Spark refuses."""
    target, catalog = engine.table(spec.target), SessionCatalog(engine)
    _check_target(target, spec)
    problems.check_properties(spec)
    model = _read(spec, engine, catalog)
    source_keys = {n: k for n, t in catalog.tables.items() if (k := key_of(t)) and _is_maintained(t, engine)}
    key, checked = _keys(model, source_keys, spec)
    settings = tuple((name, engine.setting(name)) for name in MEANING_SETTINGS)
    meaning = (model.fingerprint, key, checked, spec.changelog_mode.value, settings)
    definition = hashlib.sha256(repr(meaning).encode()).hexdigest()[:20]
    return Seen(target, catalog, model, source_keys, key, checked, definition, _position(target, engine))


def _check_target(t: Table | None, spec: Spec) -> None:
    if t is not None and t.kind is Kind.OTHER and not spec.full_refresh:
        raise TargetError(
            f"{t.name} exists and is a table in {t.provider} format, not a Delta table.",
            where=spec.place,
            why="a dynamic table is maintained by Delta commits; nothing was dropped or written",
            remedy="run with --full-refresh to put the dynamic table in its place, or give the model another alias",
        )


def _read(spec: Spec, engine: Engine, catalog: SessionCatalog) -> Model:
    result = engine.columns(spec.sql.strip().removesuffix(";"))
    problems.check_names([name for name, _ in result], spec)
    model = _understood(compile_model(spec.sql, result, catalog, engine.columns), engine)
    if spec.refresh_mode is RefreshMode.FULL:
        return replace(model, node=None, refusal=model.refusal or Refusal("refresh_mode='full'", "is set"))
    if model.refusal is not None and spec.refresh_mode is RefreshMode.INCREMENTAL:
        raise problems.not_maintainable(model.refusal, spec)
    return model


def _understood(model: Model, engine: Engine) -> Model:
    """A SELECT with other types once read and printed again was not understood: it is recomputed as written."""
    if model.node is None:
        return model
    printed = engine.columns(print_sql(Renderer(undated).query(model.node)))
    if [t for _, t in printed] == [t for _, t in model.columns]:
        return model
    return replace(model, node=None, refusal=Refusal("the SELECT", "has other types when it is read and printed again"))


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
    return None if by_row else key, declared if declared and not implied else ()


def _position(t: Table | None, engine: Engine) -> Position | None:
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
    position = _position(t, engine)
    return position is not None and position.entry is not None and position.foreign is None
