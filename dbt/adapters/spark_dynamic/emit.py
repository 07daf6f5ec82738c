"""`emit`: when the results of windows of event time are made, and how they are refined."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from enum import Enum
from typing import Any

from dbt_spark_dynamic.algebra.clock import WATERMARK
from dbt_spark_dynamic.algebra.emission import PROCESSING_TIME, Emission
from dbt_spark_dynamic.algebra.times import length
from dbt_spark_dynamic.commit.spec import choice
from dbt_spark_dynamic.errors import ConfigError

FIRST, COMPLETE, LAST = "first_result_offset", "complete_result_offset", "last_result_offset"
RATE, LATE, CLOCK = "update_rate", "late_updates", "clock"
KEYS = (FIRST, COMPLETE, RATE, LATE, LAST, CLOCK)


class LogicalClock(Enum):
    """By which results are made: the watermark, or the time of the refresh."""

    WATERMARK = "watermark"
    PROCESSING_TIME = "processing_time"


CLOCKS = {LogicalClock.WATERMARK: WATERMARK, LogicalClock.PROCESSING_TIME: PROCESSING_TIME}


def emission_of(config: Mapping[str, Any], place: str) -> Emission | None:
    """What a model says under `emit`, None if nothing: its results are then what its rows are at any time.

    Raises ConfigError."""
    said = config.get("emit")
    if said is None:
        return None
    if not isinstance(said, Mapping):
        remedy = f"say emit: {{}} for one result when a window ends, or any of {', '.join(KEYS)}"
        raise ConfigError(f"emit: {said!r} is no list of keys and values.", where=place, remedy=remedy)
    _check_keys(said, place)
    _check_beside(config, place)
    first, complete = (_offset(said.get(key), key, place) for key in (FIRST, COMPLETE))
    late = _switch(said.get(LATE), place)
    last = _offset(said[LAST], LAST, place) if said.get(LAST) is not None else None
    clock = CLOCKS[choice(LogicalClock, said.get(CLOCK, "watermark"), f"emit.{CLOCK}", place)]  # type: ignore[index]
    emission = Emission(first, complete, late=late, last=last, clock=clock)
    if said.get(RATE) is not None:
        emission = _rated(emission, said[RATE], place)
    _check_order(emission, said, place)
    refined = LATE if emission.late else FIRST if emission.first != emission.complete else None
    if refined is not None and str(config.get("changelog_mode", "")).lower() == "append":
        raise ConfigError(
            f"changelog_mode='append' and emit.{refined} exclude each other.", where=place,
            why="a result that is made again takes the place of the one before, and a table that is only appended to "
            "cannot take rows back",
            remedy=f"leave out {refined}, or set changelog_mode to 'upsert' or 'retract'",
        )  # fmt: skip
    if clock == PROCESSING_TIME and config.get("watermark") is not None:
        raise ConfigError(
            "watermark has no effect with emit.clock='processing_time'.", where=place,
            why="results are made by the time of the refresh, however late rows are", remedy="leave out one of them",
        )  # fmt: skip
    return emission


def _check_keys(said: Mapping[str, Any], place: str) -> None:
    for key in said:
        if key not in KEYS:
            near = get_close_matches(str(key), KEYS, 1)
            remedy = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(KEYS)}"
            raise ConfigError(f"emit has an unknown key {key}.", where=place, remedy=remedy)


def _check_beside(config: Mapping[str, Any], place: str) -> None:
    """What else is configured and contradicts it."""
    kind = config.get("materialized")
    if kind in ("versioned_table", "temporal_join"):
        raise ConfigError(
            f"emit has no effect on a {kind}.", where=place, why="it is about windows of event time",
            remedy="set materialized='dynamic_table' for a SELECT that groups by window(), or leave emit out",
        )  # fmt: skip
    if config.get("late_versions") is not None:
        raise ConfigError(
            "emit and late_versions exclude each other.", where=place,
            why="late_versions is about temporal joins, whose rows are joined when the watermark has passed them",
            remedy="join in a model of its own, and group by window() in another that selects from it",
        )  # fmt: skip
    if str(config.get("refresh_mode", "")).lower() == "full":
        raise ConfigError(
            "refresh_mode='full' and emit exclude each other.", where=place,
            why="every refresh would make past results again", remedy="leave out refresh_mode",
        )  # fmt: skip


def _check_order(emission: Emission, said: Mapping[str, Any], place: str) -> None:
    if emission.first > emission.complete:
        raise ConfigError(
            f"emit: the first result, at {said.get(FIRST, 0)}, would come after the complete one, at "
            f"{said.get(COMPLETE, 0)}.",
            where=place, why="both are offsets from the end of a window",
            remedy=f"make {FIRST} the lesser, for example '-15 minutes', or {COMPLETE} the greater",
        )  # fmt: skip
    if said.get(RATE) is not None and emission.first == emission.complete:
        raise ConfigError(
            f"emit.{RATE} has no effect: the first result is the complete one.", where=place,
            why="results are brought up to date between the two",
            remedy=f"set {FIRST} to an earlier time, for example '-15 minutes', or leave out {RATE}",
        )  # fmt: skip
    if emission.last is not None and not emission.late:
        raise ConfigError(
            f"emit.{LAST} has no effect without {LATE}.", where=place,
            why="rows that come after the complete result are ignored then",
            remedy=f"set {LATE}: true, or leave out {LAST}",
        )  # fmt: skip
    if emission.last is not None and emission.last < emission.complete:
        raise ConfigError(
            f"emit: the last result, at {said.get(LAST)}, would come before the complete one, at "
            f"{said.get(COMPLETE, 0)}.",
            where=place, why="both are offsets from the end of a window", remedy=f"make {LAST} the greater",
        )  # fmt: skip


def _offset(value: Any, key: str, place: str) -> int:
    """Microseconds from the end of a window; before it if negative."""
    text = str(value or 0).strip()
    found = 0 if text == "0" else _length(text)
    if found is None:
        raise ConfigError(
            f"emit.{key}: '{value}' is not an offset.", where=place,
            remedy="write a number and a unit of fixed length, for example '-15 minutes', '30 seconds' or '1 day'",
        )  # fmt: skip
    return found


def _length(text: str) -> int | None:
    """Of one unit: of '-1 hour 30 minutes' it is open what the sign is for."""
    return length(text) if len(text.split()) == 2 else None


def _rated(emission: Emission, value: Any, place: str) -> Emission:
    """With results between the first and the complete one, by time or by number of rows."""
    text = str(value).strip()
    rows = re.fullmatch(r"(-?\d+)(?:\s+rows?)?", text)
    found = int(rows.group(1)) if rows else _length(text)
    if found is None or found <= 0:
        why = "" if found is None else "a result cannot be brought up to date that often"
        raise ConfigError(
            f"emit.{RATE}: '{value}' is not a rate.", where=place, why=why,
            remedy="write a time, for example '5 minutes', or a number of rows, for example '100 rows'",
        )  # fmt: skip
    return replace(emission, rows=found) if rows else replace(emission, every=found)


def _switch(value: Any, place: str) -> bool:
    text = str(value if value is not None else False).lower()
    if text not in ("true", "false"):
        raise ConfigError(
            f"emit.{LATE}: '{value}' is neither true nor false.", where=place, remedy="write true or false"
        )
    return text == "true"
