"""The session's clock, read once in a refresh."""

from __future__ import annotations

from ..algebra.clock import WATERMARK, Reading
from .engine import Engine

MOMENT = (
    "SELECT UNIX_MICROS(CURRENT_TIMESTAMP()), CAST(CURRENT_DATE() AS STRING), CAST(LOCALTIMESTAMP() AS STRING), "
    "UNIX_TIMESTAMP()"
)


def reading(engine: Engine, functions: frozenset[str]) -> Reading:
    """What these functions of the clock say now, all at one moment, but for the watermark. No function: nothing is
    asked."""
    functions -= {WATERMARK}
    if not functions:
        return {}
    micros, date, local, seconds = engine.rows(MOMENT)[0]
    every = {
        "current_timestamp": f"TIMESTAMP_MICROS({micros})",
        "current_date": f"CAST('{date}' AS DATE)",
        "localtimestamp": f"CAST('{local}' AS TIMESTAMP_NTZ)",
        "unix_timestamp": f"CAST({seconds} AS BIGINT)",
    }
    return {name: every[name] for name in sorted(functions)}
