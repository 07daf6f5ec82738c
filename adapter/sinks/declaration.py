"""`sink: {…}` of a model: where its changes are delivered, and in which encoding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import Enum
from typing import Any

from ..commit.spec import ChangelogMode, choice
from ..errors import ConfigError

FILES = ("json", "csv", "parquet", "orc")
PLACES = {"kafka": ("topic",), "delta": ("table", "path"), **{f: ("path",) for f in FILES}}
"""Format -> the keys of which one says where the sink is."""

KEYS = ("format", "mode", "options", "topic", "table", "path")
SERVERS = "kafka.bootstrap.servers"


class Mode(Enum):
    APPEND = "append"
    RETRACT = "retract"
    UPSERT = "upsert"


@dataclass(frozen=True)
class Sink:
    """place: the topic, table or folder, as the format has it; a Delta table's folder is delta.`…`; options: of Spark's
    writer; where: the model's file."""

    format: str
    mode: ChangelogMode
    place: str
    options: Mapping[str, str] = field(default_factory=dict)
    where: str = ""

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.format} {self.place}"


def sink_of(config: Mapping[str, Any], target: str, where: str) -> Sink | None:
    """What a model says under `sink`, None if nothing. target: its table, in whose schema a table without one lies.

    Raises ConfigError."""
    said = config.get("sink")
    if said is None:
        return None
    if not isinstance(said, Mapping) or "format" not in said:
        remedy = f"say sink: {{format: …, mode: …}} with one of {', '.join(PLACES)}"
        raise ConfigError("the sink has no format.", where=where, remedy=remedy)
    for key in said:
        if key not in KEYS:
            near = get_close_matches(str(key), KEYS, 1)
            remedy = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(KEYS)}"
            raise ConfigError(f"sink has an unknown key {key}.", where=where, remedy=remedy)
    form = str(said["format"])
    if form not in PLACES:
        raise ConfigError(f"'{form}' is no format of a sink.", where=where, remedy=f"use one of {', '.join(PLACES)}")
    if said.get("mode") is None:
        raise ConfigError(
            "the sink has no mode.",
            where=where,
            why="a change can be said in more than one way",
            remedy="say mode: append (rows that come; updates and deletes are refused), retract (rows with a flag) or "
            "upsert (rows by key, with a flag)",
        )
    mode = ChangelogMode(choice(Mode, said["mode"], "sink.mode", where).value)
    options = {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in (said.get("options") or {}).items()}
    _check_options(form, options, where)
    return Sink(form, mode, _place(said, form, target, where), options, where)


def by_key(sink: Sink, config: Mapping[str, Any]) -> bool:
    """Whether messages are told apart by key: in a table that is only appended to, none replaces another."""
    return sink.mode is ChangelogMode.UPSERT and str(config.get("changelog_mode", "")).lower() != "append"


def _place(said: Mapping[str, Any], form: str, target: str, where: str) -> str:
    wanted = PLACES[form]
    given = [k for k in ("topic", "table", "path") if said.get(k) is not None]
    if len(given) != 1 or given[0] not in wanted:
        raise ConfigError(
            f"a sink in {form} format is at a {' or a '.join(wanted)}, and this one says {', '.join(given) or 'none'}.",
            where=where,
            remedy=f"say {' or '.join(f'{w}: …' for w in wanted)}, and no other",
        )
    place = str(said[given[0]])
    if form in FILES:
        return place.rstrip("/")
    if given[0] == "path":
        return f"delta.`{place.rstrip('/')}`"
    schema, _, _ = target.rpartition(".")
    return f"{schema}.{place}" if form == "delta" and schema and "." not in place else place


def _check_options(form: str, options: Mapping[str, str], where: str) -> None:
    if form == "delta" and options:
        raise ConfigError(
            "options means nothing for a sink in delta format.",
            where=where,
            remedy="create the table yourself, laid out as you like and empty, or leave options out",
        )
    if form == "kafka" and SERVERS not in options:
        raise ConfigError(
            f"the sink does not say where Kafka is: options has no {SERVERS}.",
            where=where,
            remedy=f"say options: {{{SERVERS}: 'host:9092'}}",
        )
