"""The small files of a table put together from time to time, and its log kept as short as the table says.

Every refresh leaves a file or two, and whoever reads the table opens all of them. Delta's own auto compaction counts
within one process, so a table that every hour another process writes to would never be packed.

And every refresh leaves a commit, and whoever looks at the table has all of them listed. Delta itself deletes the old
ones of whole days.
"""

from __future__ import annotations

from .engine import Engine, SqlError, Table
from .problems import is_conflict

EVERY = 50
"""Versions from one time to the next: the small files that Delta's auto compaction waits for."""

MEGABYTE = 2**20

SIZES = {
    "spark.databricks.delta.optimize.minFileSize": str(32 * MEGABYTE),
    "spark.databricks.delta.optimize.maxFileSize": str(128 * MEGABYTE),
}
"""Bytes below which a file is packed with others, and up to which. By Delta's own figures, one gigabyte, a table of
files as Spark writes them would be written anew the first time."""

OF_DELTA = "delta.autoOptimize.autoCompact"
"""A table that has this property, whatever it says, is left to whoever set it."""

KEPT_FOR, CLEANED = "delta.logRetentionDuration", "delta.enableExpiredLogCleanup"
"""What a table says of its log. One that says nothing keeps it for 30 days, and leaves it to Delta."""


def keep_up(engine: Engine, table: Table, name: str, version: int) -> str | None:
    """What is due of it. Returns what went wrong, if the user can do something about it.

    table: as it was before it was written; name, version: as it is now."""
    properties = table.properties or {}
    if table.version // EVERY == version // EVERY:
        return None
    if KEPT_FOR in properties and properties.get(CLEANED, "true").lower() == "true":
        engine.clean_log(table)
    return None if OF_DELTA in properties else _pack(engine, name)


def _pack(engine: Engine, name: str) -> str | None:
    try:
        engine.write(f"OPTIMIZE {name}", SIZES)
    except SqlError as error:
        # Whoever was quicker has written files of its own: the next time they are packed too.
        if is_conflict(error):
            return None
        return f"small files of {name} could not be put together: {error}"
    return None
