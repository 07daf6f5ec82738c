"""What the events of a versioned table are: the model's rows, the changes in its messages, the rows below a view that
keeps the last of each key, or the changes of the SELECT from one refresh to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..commit import problems
from ..commit.catalog import SessionCatalog
from ..commit.engine import Engine
from ..commit.spec import Spec, choice
from ..errors import ConfigError
from ..names import OPERATION, OPERATION_TIME
from ..pipeline import compile_model
from ..reading.relations import Columns
from ..sparksql.envelopes import unwrapped
from .deduplicated import Unwrapped, changelog_of
from .envelope import defaults, envelope_of
from .options import Changelog, key_of


@dataclass(frozen=True)
class Events:
    """sql: a query whose rows, or whose changes, are events; columns: its columns; options: what the model's are
    because of it; hidden: columns that the history does not show."""

    kind: Changelog
    sql: str
    columns: Columns
    options: Mapping[str, Any] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(n for n, _ in self.columns)


def events_of(spec: Spec, config: Mapping[str, Any], engine: Engine) -> Events:
    """Raises ConfigError, SqlError."""
    sql = spec.sql.strip().removesuffix(";").rstrip()
    columns = engine.columns(sql)
    names = [name for name, _ in columns]
    problems.check_names(names, spec)
    asked = choice(Changelog, config["changelog"], "changelog", spec.place) if config.get("changelog") else None
    if asked is Changelog.CHANGES:
        return _changes(sql, columns, config, spec.place)
    envelope = envelope_of(config, columns, spec.place)
    if envelope is not None:
        key = key_of(config, list(envelope.types), spec.place)
        hidden = (*(n for n in names if n != envelope.payload), *envelope.hidden)
        opened = unwrapped(sql, columns, key, envelope)
        return Events(Changelog.ROWS, opened, engine.columns(opened), defaults(envelope, config), hidden)
    if config.get("operation") is None and (view := _deduplicated(sql, columns, config, engine)) is not None:
        time = config.get("updated_at") or config.get("event_time") or view.time
        options: dict[str, Any] = {"unique_key": list(view.key), "updated_at": time, "operation": view.operation}
        if view.sequence:
            options["sequence_by"] = list(view.sequence)
        return Events(Changelog.ROWS, view.sql, engine.columns(view.sql), options, view.hidden)
    if asked is Changelog.ROWS or config.get("operation") is not None:
        return Events(Changelog.ROWS, sql, columns)
    return _changes(sql, columns, config, spec.place)


def _changes(sql: str, columns: Columns, config: Mapping[str, Any], place: str) -> Events:
    """A SELECT of rows that are written in place, as a snapshot's: what is not there any more was deleted."""
    for option in ("operation", "operation_time", "format"):
        if config.get(option) is not None:
            raise ConfigError(
                f"{option} describes rows that are events, and changelog='changes' makes events of changes.",
                where=place,
                remedy=f"leave out {option} or changelog",
            )
    sequence = config.get("sequence_by") or []
    options = {
        "operation": OPERATION,
        "operation_time": OPERATION_TIME,
        "sequence_by": [*([sequence] if isinstance(sequence, str) else sequence), OPERATION_TIME],
    }
    if config.get("updated_at") is None and config.get("event_time") is None:
        if str(config.get("strategy", "")).lower() != "check" and config.get("check_cols") is None:
            raise ConfigError(
                "a versioned table needs the time at which each version began: updated_at (or event_time).",
                where=place,
                why="without it a table is a regular temporal table, of which only the latest version is known",
                remedy="set updated_at to a column of the SELECT; or strategy='check', which dates a version by the "
                "commit that brought it; or make the model a dynamic_table, which a temporal_join joins as it is now",
            )
        options["updated_at"] = OPERATION_TIME
    return Events(Changelog.CHANGES, sql, columns, options, (OPERATION, OPERATION_TIME))


def _deduplicated(sql: str, columns: Columns, config: Mapping[str, Any], engine: Engine) -> Unwrapped | None:
    """The changelog below the SELECT, if it is a deduplication view, by the key that the model declares if it does."""
    model = compile_model(sql, columns, SessionCatalog(engine), engine.columns)
    view = changelog_of(model.node) if model.node is not None else None
    declared: str | Sequence[str] | None = config.get("unique_key")
    if view is None or declared is None:
        return view
    listed = (declared,) if isinstance(declared, str) else declared
    return view if {str(k).lower() for k in listed} == {k.lower() for k in view.key} else None
