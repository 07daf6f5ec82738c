"""What a versioned table is asked to keep: the options of dbt's snapshots, and those of a changelog."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ..commit.spec import choice
from ..errors import ConfigError


class Strategy(Enum):
    """When an event begins a new version: always, or where a tracked column has another value than before."""

    TIMESTAMP = "timestamp"
    CHECK = "check"


class Changelog(Enum):
    """What the events are: the rows of the SELECT, or its changes from one refresh to the next."""

    ROWS = "rows"
    CHANGES = "changes"


class LateEvents(Enum):
    """What becomes of an event that is older than the watermark."""

    ACCEPT = "accept"
    IGNORE = "ignore"
    ERROR = "error"


class HardDeletes(Enum):
    """What a delete does: it closes the version, it is passed over, or it makes a version of its own."""

    INVALIDATE = "invalidate"
    IGNORE = "ignore"
    NEW_RECORD = "new_record"


META_COLUMNS = ("dbt_scd_id", "dbt_updated_at", "dbt_valid_from", "dbt_valid_to", "dbt_is_deleted")


@dataclass(frozen=True)
class History:
    """place: model file, for messages; key, time: columns of the changelog; operation: the column that says what each
    event did, None if all of them write; operation_time: the column that dates deletes instead of `time`; sequence:
    what decides between events of one time; tracked: columns whose values make a version, None for all;
    untracked_in_place: whether other columns show the last value of the version, not its first; valid_to_current: SQL
    that stands in for NULL; names: of dbt's columns; hidden: columns of the changelog that the history does not
    show."""

    place: str
    key: tuple[str, ...]
    time: str
    operation: str | None
    operation_time: str | None
    sequence: tuple[str, ...]
    strategy: Strategy
    hard_deletes: HardDeletes
    tracked: tuple[str, ...] | None
    untracked_in_place: bool
    valid_to_current: str | None
    names: Mapping[str, str]
    hidden: frozenset[str]

    def values(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Of the columns of the changelog those that the history shows."""
        return tuple(c for c in columns if c not in self.hidden)

    def compared(self, columns: Sequence[str]) -> tuple[str, ...]:
        """The columns whose values make a version: when something was said is no value of what was said."""
        if self.tracked is not None:
            return self.tracked
        about = {*self.key, self.time, self.operation_time, *self.sequence}
        return tuple(c for c in self.values(columns) if c not in about)


def key_of(config: Mapping[str, Any], columns: Sequence[str], place: str) -> tuple[str, ...]:
    """The columns that say which rows are versions of one another. Raises ConfigError."""
    key = _Reader(config, columns, place).columns("unique_key")
    if not key:
        raise ConfigError(
            "a versioned table needs unique_key: the columns that say which rows are versions of one another.",
            where=place,
            remedy=f"set unique_key to one or more of {', '.join(columns)}",
        )
    return key


def history_of(config: Mapping[str, Any], columns: Sequence[str], place: str, hidden: Collection[str] = ()) -> History:
    """The model's options, checked against the columns of its changelog. hidden: columns that the model's author did
    not write. Raises ConfigError."""
    read = _Reader(config, columns, place)
    key = key_of(config, [c for c in columns if c not in hidden], place)
    operation = read.column("operation")
    operation_time = read.column("operation_time")
    time = read.column("updated_at") or read.column("event_time") or operation_time
    if time is None:
        raise ConfigError(
            "a versioned table needs the time at which each version began: updated_at (or event_time).",
            where=place,
            why="without it a table is a regular temporal table, of which only the latest version is known",
            remedy="set updated_at to a column of the SELECT, or make the model a dynamic_table, "
            "which a temporal_join joins as it is now",
        )
    tracked, in_place = read.tracked()
    default = Strategy.TIMESTAMP if tracked is None and config.get("check_cols") is None else Strategy.CHECK
    strategy = read.choice("strategy", Strategy, default)
    if strategy is Strategy.TIMESTAMP and default is Strategy.CHECK:
        raise ConfigError(
            "strategy='timestamp' makes a version of every event, and the model also names columns to compare.",
            where=place,
            remedy="leave out strategy (or set it to 'check'), or leave out check_cols and track_history_column_list",
        )
    return History(
        place, key, time, operation, operation_time, read.columns("sequence_by"), strategy, read.hard_deletes(),
        tracked, in_place, config.get("dbt_valid_to_current"), read.names(),
        frozenset({*hidden, *({operation} if operation else ())}),
    )  # fmt: skip


@dataclass(frozen=True)
class _Reader:
    config: Mapping[str, Any]
    existing: Sequence[str]
    place: str

    def choice(self, option: str, kind: type[Enum], default: Enum) -> Any:
        value = self.config.get(option)
        return choice(kind, value, option, self.place) if value is not None else default

    def columns(self, option: str) -> tuple[str, ...]:
        value = self.config.get(option) or ()
        return tuple(self._spelled(v, option) for v in ((value,) if isinstance(value, str) else value))

    def column(self, option: str) -> str | None:
        value = self.config.get(option)
        return self._spelled(value, option) if value else None

    def _spelled(self, name: str, option: str) -> str:
        """The name as the SELECT spells it."""
        found = [c for c in self.existing if c.lower() == str(name).strip().strip("`").lower()]
        if not found:
            raise ConfigError(
                f"{option} names {name}, which is not a column of the SELECT.",
                where=self.place,
                why=f"existing columns: {', '.join(self.existing)}",
                remedy="name a column of the SELECT; an expression has to be one of its columns, too",
            )
        return found[0]

    def tracked(self) -> tuple[tuple[str, ...] | None, bool]:
        """(columns that make a version, None for all; whether the other ones are kept up to date within it)"""
        checked, listed = self.config.get("check_cols"), self.config.get("track_history_column_list")
        left_out = self.config.get("track_history_except_column_list")
        if sum(v is not None for v in (checked, listed, left_out)) > 1:
            raise ConfigError(
                "check_cols, track_history_column_list and track_history_except_column_list exclude one another.",
                where=self.place,
                remedy="keep one: check_cols shows the values that a version began with, "
                "the other two keep the columns that are not tracked up to date",
            )
        if left_out is not None:
            gone = set(self.columns("track_history_except_column_list"))
            about = {self.column(o) for o in ("operation", "operation_time", "updated_at", "event_time")}
            about |= {*self.columns("unique_key"), *self.columns("sequence_by")}
            return tuple(c for c in self.existing if c not in gone | about), True
        if listed is not None:
            return self.columns("track_history_column_list"), True
        if checked is None or checked == "all":
            return None, False
        return self.columns("check_cols"), False

    def hard_deletes(self) -> HardDeletes:
        old = self.config.get("invalidate_hard_deletes")
        if old is not None and self.config.get("hard_deletes") is not None:
            raise ConfigError(
                "hard_deletes and invalidate_hard_deletes are both set.",
                where=self.place,
                remedy="leave out invalidate_hard_deletes, the older of the two",
            )
        default = HardDeletes.IGNORE if old is False else HardDeletes.INVALIDATE
        return self.choice("hard_deletes", HardDeletes, default)

    def names(self) -> dict[str, str]:
        given = dict(self.config.get("snapshot_meta_column_names") or {})
        unknown = [n for n in given if n not in META_COLUMNS]
        if unknown:
            raise ConfigError(
                f"snapshot_meta_column_names: '{unknown[0]}' is not a column that there is to rename.",
                where=self.place,
                remedy=f"use some of {', '.join(META_COLUMNS)}",
            )
        return {name: given.get(name) or name for name in META_COLUMNS}
