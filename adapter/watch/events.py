"""What happened while watching, as data: a line for people, an object of JSON for machines."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Kind(Enum):
    """What happened. The values are the names in the event log."""

    BUILDING = "building"
    WATCHING = "watching"
    STANDING_BY = "standing_by"
    REFRESHED = "refreshed"
    FAILED = "failed"
    CONFLICT = "conflict"
    NOT_BUILT = "not_built"
    UNREACHABLE = "unreachable"
    NOTE = "note"
    STOPPING = "stopping"
    STOPPED = "stopped"


@dataclass(frozen=True)
class Event:
    """model: its unique id in dbt, if the event is about one; fields: by kind; at: seconds since 1970."""

    kind: Kind
    model: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    at: float = field(default_factory=time.time)

    @property
    def label(self) -> str:
        return label(self.model) if self.model else ""

    def json(self) -> str:
        """One line of the event log."""
        named = {"model": self.model} if self.model else {}
        return json.dumps({"time": _iso(self.at), "event": self.kind.value, **named, **self.fields}, default=str)

    def line(self) -> str:
        """`01:02:03 clicks_per_user INCREMENTAL merge: 3 changed in, …`"""
        said = f"{self.label} {LINES[self.kind]}" if self.model else LINES[self.kind]
        return f"{time.strftime('%H:%M:%S', time.localtime(self.at))} {said.format(**self.fields)}"


LINES = {
    Kind.BUILDING: "dbt run: {reason}",
    Kind.WATCHING: "watching {models} models over {tables} tables",
    Kind.STANDING_BY: "is maintained by another watcher; standing by",
    Kind.REFRESHED: "{line}, {lag:.1f}s after the commit",
    Kind.FAILED: "FAILED, again in {again_in:.0f}s: {error}",
    Kind.CONFLICT: "was refreshed by another run at the same time; looking again",
    Kind.NOT_BUILT: "was not built by dbt, again in {again_in:.0f}s",
    Kind.UNREACHABLE: "Spark does not answer, again in {again_in:.0f}s: {error}",
    Kind.NOTE: "{text}",
    Kind.STOPPING: "stopping after the refreshes that are running",
    Kind.STOPPED: "stopped; every table is at one committed state",
}


def label(model: str) -> str:
    """A model's name without its kind and package."""
    return ".".join(model.split(".")[2:]) or model


def _iso(at: float) -> str:
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(at))}.{int(at % 1 * 1000):03d}Z"
