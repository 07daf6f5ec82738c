"""`target_lag`: how long a commit of a source may be without effect on a table."""

from __future__ import annotations

import re

from ..errors import ConfigError

AT_ONCE = 0.0
DOWNSTREAM = "downstream"

SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}


def target_lag(value: object, place: str = "") -> float | None:
    """Seconds; None for 'downstream': only as often as the tables that read it are refreshed.

    value: as configured ('0 seconds', '5 minutes', 'downstream'), None where it is not. Raises ConfigError."""
    if value is None:
        return AT_ONCE
    text = str(value).strip().lower()
    if text == DOWNSTREAM:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(second|minute|hour|day)s?", text)
    if found is None:
        raise ConfigError(
            f"target_lag: '{value}' is not a lag.",
            where=place,
            why="expected '<number> seconds', minutes, hours or days, or 'downstream'",
            remedy="'0 seconds' refreshes after every commit, '5 minutes' five minutes after it at the latest",
        )
    return float(found.group(1)) * SECONDS[found.group(2)]
