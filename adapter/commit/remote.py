"""The engine where Spark is elsewhere and SQL is all that reaches it: thrift, http, odbc, Spark Connect."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

from ..reading.relations import Columns
from ..sparksql.inlined import inlined
from .describe import DeltaState, in_full, look_up
from .engine import DESCRIBE, SqlError, Table, Written, under
from .history import commit_time, parse_actions

PADDED = ("readSidePadding", " more fields")
"""What is in the plan of a query that reads CHAR(n): a function of Spark's, which may be where its lists are cut short.
To SQL alone the type of such a column is STRING."""

Execute = Callable[[str], tuple[list[str], list[tuple[Any, ...]]]]
"""statement -> (column names, rows)"""


class SqlEngine:
    """execute: runs a statement on a connection that no other refresh uses at the same time."""

    feeds = None
    rows_met = None
    """What is cached has a name in one session alone."""

    def __init__(self, execute: Execute, sent: Callable[[str], None] = lambda _: None) -> None:
        self._run, self._sent = execute, sent

    def _execute(self, sql: str, *, told: bool = True) -> tuple[list[str], list[tuple[Any, ...]]]:
        if told:
            self._sent(sql)
        try:
            return self._run(sql)
        except Exception as error:
            raise SqlError(str(error), statement=sql) from error

    def columns(self, sql: str) -> Columns:
        return tuple((row[0], row[1]) for row in in_full(self, DESCRIBE + sql))

    def pads(self, sql: str) -> bool:
        plan = "\n".join(row[0] for row in self.rows(f"EXPLAIN {sql}"))
        return any(sign in plan for sign in PADDED)

    def setting(self, name: str) -> str:
        value = self._execute(f"SET {name}", told=False)[1][0][1]
        return "" if value == "<undefined>" else str(value)

    def set(self, name: str, value: str) -> None:
        # Quoted, because a value may have a semicolon in it.
        quoted = value.replace("`", "``")
        self._execute(f"SET `{name}`=`{quoted}`" if value else f"RESET {name}", told=False)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self._execute(sql)[1]

    def steady(self) -> AbstractContextManager[None]:
        # Each statement looks for itself.
        return nullcontext()

    def reading(self, size: int | None, moved: int | None = None) -> AbstractContextManager[None]:
        # Each setting would be a statement or two, and a cluster's executors keep what they have compiled.
        return nullcontext()

    def table(self, name: str) -> Table | None:
        return look_up(name, self, self._delta)

    def glance(self, name: str) -> Table | None:
        return None

    def _delta(self, path: str) -> DeltaState:
        names, (detail,) = self._execute(f"DESCRIBE DETAIL delta.`{path}`")
        fields = dict(zip(names, detail, strict=True))
        size = int(fields["sizeInBytes"] or 0)
        properties = _mapping(fields["properties"])
        if properties is None:
            properties = {row[0]: row[1] for row in self.rows(f"SHOW TBLPROPERTIES delta.`{path}`")}
        return DeltaState(fields["id"], self._version(path), properties, size)

    def version(self, table: Table) -> int:
        return self._version(table.path)

    def _version(self, path: str) -> int:
        return int(self.rows(f"DESCRIBE HISTORY delta.`{path}` LIMIT 1")[0][0])

    def log(self, table: Table, version: int) -> list[dict[str, Any]]:
        return parse_actions("\n".join(value for value, _ in self._commit_file(table, version)))

    def read_ahead(self, table: Table) -> None:
        pass

    def clean_log(self, table: Table) -> None:
        pass

    def committed_at(self, table: Table, version: int) -> int:
        lines = self._commit_file(table, version)
        return commit_time(parse_actions("\n".join(value for value, _ in lines)), int(lines[0][1])) if lines else 0

    def _commit_file(self, table: Table, version: int) -> list[tuple[Any, ...]]:
        """Its lines, with when the file was written, in milliseconds since 1970; none if it is gone."""
        file = f"text.`{table.path}/_delta_log/{version:020d}.json`"
        try:
            return self.rows(f"SELECT value, UNIX_MILLIS(_metadata.file_modification_time) FROM {file}")
        except SqlError as error:
            if "PATH_NOT_FOUND" in str(error):
                return []
            raise

    def pin(self, name: str, sql: str, *, few: bool) -> int:
        """Cached on the executors; `few` makes no difference where rows cannot be kept on the driver."""
        self._execute(f"CACHE TABLE {name} AS {inlined(sql)}")
        return int(self.rows(f"SELECT COUNT(*) FROM {name}")[0][0])

    def unpin(self, name: str) -> None:
        for statement in (f"UNCACHE TABLE IF EXISTS {name}", f"DROP VIEW IF EXISTS {name}"):
            # What cannot be cleared away ends with the session, and must not hide why the refresh failed.
            with suppress(SqlError):
                self._execute(statement, told=False)

    def write(self, sql: str, settings: Mapping[str, str]) -> Written:
        # Left behind, the transaction identifier would make later writes vanish without a word.
        with under(self, settings):
            return Written.of(*self._execute(sql))


def _mapping(value: Any) -> dict[str, str] | None:
    """A MAP as it comes over the wire: a dict, pairs, or the text that thrift makes of it, which is JSON unless there
    are quotes in it. None if it cannot be told what it says."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, str):
        try:
            return dict(json.loads(value, strict=False)) if value.strip() else {}
        except ValueError:
            return None
    return dict(value or ())
