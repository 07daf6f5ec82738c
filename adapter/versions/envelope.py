"""The messages of a database's changes as the changelog of a versioned table: `format`, `payload`, `column_types`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..commit.spec import choice
from ..errors import ConfigError
from ..names import OPERATION
from ..reading.relations import Columns
from ..sparksql.envelopes import DATES, POSITIONS, Envelope, Format


def defaults(e: Envelope, config: Mapping[str, Any]) -> dict[str, Any]:
    """What the model's options are where it leaves them open."""
    open_ = {
        "updated_at": config.get("event_time") or DATES[0],
        # A deleted row tells when it was last written, not when it was deleted.
        "operation_time": DATES[0],
        "sequence_by": list(POSITIONS[e.format]),
    }
    return {"operation": OPERATION, **{o: v for o, v in open_.items() if config.get(o) is None}}


def envelope_of(config: Mapping[str, Any], columns: Columns, place: str) -> Envelope | None:
    """The model's format, None if its SELECT gives plain columns. Raises ConfigError."""
    if config.get("format") is None:
        return None
    kind: Any = choice(Format, config["format"], "format", place)
    types = config.get("column_types")
    if not isinstance(types, Mapping) or not types:
        raise ConfigError(
            f"format='{kind.value}' needs column_types: the columns of the row and their types.",
            where=place,
            remedy="for example column_types={'id': 'bigint', 'name': 'string', 'price': 'decimal(10,2)'}",
        )
    return Envelope(
        kind, _payload(config, columns, place), {str(n): str(t) for n, t in types.items()}, place, "versioned table"
    )


def _payload(config: Mapping[str, Any], columns: Columns, place: str) -> str:
    texts = [n for n, t in columns if t in ("string", "binary")]
    asked = config.get("payload")
    found = [n for n in texts if n.lower() == str(asked or "value").lower()] or ([] if asked else texts[:1])
    if not found or (not asked and len(texts) > 1 and found[0].lower() != "value"):
        raise ConfigError(
            f"payload: the SELECT has no string or binary column named {asked}."
            if asked
            else "payload: more than one column of the SELECT, or none, may hold the message.",
            where=place,
            why=f"its string and binary columns: {', '.join(texts) or 'none'}",
            remedy="set payload to the column that holds the JSON",
        )
    return found[0]
