"""The small files of a table put together from time to time.

Every refresh leaves a file or two, and whoever reads the table opens all of them. Delta's own auto compaction counts
within one process, so a table that every hour another process writes to would never be packed.
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


def keep_up(engine: Engine, table: Table, name: str, version: int) -> str | None:
    """Packs the files of a table if that is due. Returns what went wrong, if the user can do something about it.

    table: as it was before it was written; name, version: as it is now."""
    if table.version // EVERY == version // EVERY or OF_DELTA in (table.properties or {}):
        return None
    try:
        engine.write(f"OPTIMIZE {name}", SIZES)
    except SqlError as error:
        # Whoever was quicker has written files of its own: the next time they are packed too.
        if is_conflict(error):
            return None
        return f"small files of {name} could not be put together: {error}"
    return None
