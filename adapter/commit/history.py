"""What a Delta table's own log says of its commits: whether they changed data, and how many rows."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

INSERTED = ("numTargetRowsInserted", "numInsertedRows")
UPDATED = ("numTargetRowsUpdated", "numUpdatedRows")
DELETED = ("numTargetRowsDeleted", "numDeletedRows")


PACKING = "OPTIMIZE"
"""The operation of a commit that put files together and changed no row."""

MAPPING = "delta.columnMapping.mode"
"""The property of tables whose columns may be renamed and dropped, because their files know them by other names."""

RENAME, DROP = "RENAME COLUMN", "DROP COLUMNS"
REDEFINING = (RENAME, DROP, "REPLACE COLUMNS", "RESTORE")
"""Operations after which names of columns may mean other data of the same files. The first two say which."""

FIRST_NAME = re.compile(r"(?:`([^`]+)`|([^.`]+))(?:\.|$)")
"""Of the path to a field: the column that it is in, in backticks where that has a dot in its name."""

REPLACING = "REPLACE TABLE"
"""In the operation of a commit that put another table in the place of the one before."""


@dataclass(frozen=True)
class Commit:
    """One commit. rows: changed rows by its own count, None where it does not say; table_id: if it set one;
    rows_written: rows of the files it added; file_rows, file_bytes: of those of them that count their rows, without
    rows that are marked as deleted; feed_bytes: of the files that its change feed is read from; removes: whether it
    took files away, or rows out of them; renamed: columns whose names may mean other data since, in lower case, None
    for any of them; more: rows it added less those it removed, None where it does not say; made: when, in milliseconds
    since 1970, 0 where it does not say."""

    version: int
    operation: str
    changes_data: bool
    changes_schema: bool
    rows: int | None
    user_metadata: str | None
    table_id: str | None = None
    rows_written: int = 0
    file_rows: int = 0
    file_bytes: int = 0
    feed_bytes: int = 0
    removes: bool = False
    renamed: frozenset[str] | None = frozenset()
    more: int | None = None
    made: int = 0

    @property
    def replaces_table(self) -> bool:
        return REPLACING in self.operation


def read_commit(version: int, actions: Iterable[dict[str, Any]]) -> Commit:
    """The commit that these actions make."""
    listed = list(actions)
    info, metadata = commit_info(listed), next((a["metaData"] for a in listed if "metaData" in a), None)
    files = [a.get("add") or a.get("remove") for a in listed if "add" in a or "remove" in a]
    changes = any(f.get("dataChange", True) for f in files if f is not None)
    changed = [a["cdc"] for a in listed if "cdc" in a] or [f for f in files if f is not None]
    counted = [(rows, int(a["add"].get("size", 0))) for a in listed if (rows := _rows_of_file(a.get("add"))) > 0]
    return Commit(
        version,
        info.get("operation", ""),
        changes,
        metadata is not None,
        _rows(info, changes),
        # Delta's auto compaction has that of the commit that set it off.
        info.get("userMetadata") if info.get("operation") != PACKING else None,
        metadata.get("id") if metadata is not None else None,
        int((info.get("operationMetrics") or {}).get("numOutputRows", 0)),
        sum(rows for rows, _ in counted),
        sum(size for _, size in counted),
        sum(int(f.get("size") or 0) for f in changed) if changes else 0,
        any("remove" in a for a in listed),
        _renamed(info, metadata) if metadata is not None else frozenset(),
        _more(info, changes),
        int(info.get("timestamp", 0)),
    )


def commit_info(actions: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """What a commit says of itself; nothing if its actions do not hold that."""
    return next((a["commitInfo"] for a in actions if "commitInfo" in a), {})


def is_mapped(properties: Mapping[str, str] | None) -> bool:
    """Whether columns of a table with these properties may be renamed and dropped, and have any name."""
    return {k.lower(): v.lower() for k, v in (properties or {}).items()}.get(MAPPING.lower(), "none") != "none"


def _renamed(info: dict[str, Any], metadata: dict[str, Any]) -> frozenset[str] | None:
    operation, said = info.get("operation"), info.get("operationParameters") or {}
    if operation not in REDEFINING or not is_mapped(metadata.get("configuration")):
        return frozenset()
    if operation == RENAME:
        paths = [said.get("oldColumnPath", ""), said.get("newColumnPath", "")]
    elif operation == DROP and "columns" in said:
        paths = json.loads(said["columns"])
    else:
        return None
    found = [first[1] or first[2] for path in paths if (first := FIRST_NAME.match(path))]
    return frozenset(name.lower() for name in found) if len(found) == len(paths) else None


def commit_time(actions: Iterable[dict[str, Any]], modified: int) -> int:
    """When Delta takes these actions for committed, in milliseconds since 1970: the time in the commit where the table
    keeps one, otherwise that of its file. The commit's `timestamp` is neither: the clock of a file system may be some
    milliseconds behind it."""
    return int(commit_info(actions).get("inCommitTimestamp") or modified)


def now() -> int:
    """Milliseconds since 1970, as Delta counts them."""
    return time.time_ns() // 1_000_000


def _rows_of_file(added: dict[str, Any] | None) -> int:
    """By the file's own statistics, 0 if it has none. They are long in a table of many columns: only this is read."""
    added = added or {}
    found = re.search(r'"numRecords"\s*:\s*(\d+)', added.get("stats") or "")
    marked = (added.get("deletionVector") or {}).get("cardinality", 0)
    return int(found.group(1)) - int(marked) if found else 0


def _rows(info: dict[str, Any], changes: bool) -> int | None:
    if not changes:
        return 0
    metrics = info.get("operationMetrics") or {}
    if info.get("operation") == "WRITE" and "numOutputRows" in metrics and not _overwrites(info):
        return int(metrics["numOutputRows"])
    counts = [int(metrics[m]) for names in (INSERTED, UPDATED, DELETED) for m in names if m in metrics]
    return sum(counts) if counts else None


def _more(info: dict[str, Any], changes: bool) -> int | None:
    if not changes:
        return 0
    metrics = info.get("operationMetrics") or {}
    if info.get("operation") == "WRITE":
        return _rows(info, changes)
    counts = [
        sign * int(metrics[m]) for sign, names in ((1, INSERTED), (-1, DELETED)) for m in names if m in metrics
    ]  # fmt: skip
    return sum(counts) if counts else None


def _overwrites(info: dict[str, Any]) -> bool:
    return (info.get("operationParameters") or {}).get("mode", "") == "Overwrite"


def parse_actions(text: str) -> list[dict[str, Any]]:
    """The lines of a commit file."""
    return [json.loads(line) for line in text.splitlines() if line.strip()]
