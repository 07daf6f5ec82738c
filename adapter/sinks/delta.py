"""A Delta table of messages. Its own commits are the record: messages and record are there together or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..commit.engine import Engine, SqlError, Table
from ..errors import ConflictError, TargetError
from ..reading.relations import Columns, Kind
from ..sparksql.statements import create_empty, defined, insert
from .declaration import Sink
from .delivery import Messages
from .record import Delivery, newest


@dataclass(frozen=True)
class DeltaSink:
    engine: Engine
    sink: Sink

    def last(self) -> Delivery | None:
        found = self._found()
        if found is None:
            return None
        delivered = newest(self.engine, found)
        if delivered is None and self.engine.rows(f"SELECT 1 FROM {self.sink.place} LIMIT 1"):
            raise TargetError(
                f"{self.sink.place} has rows that no delivery wrote, or the log of its last delivery is gone.",
                where=self.sink.where,
                why="nothing says what of the table is in it; nothing was written",
                remedy="give the sink a table of its own, or empty that one",
            )
        return delivered

    def begun(self) -> Delivery | None:
        return None

    def write(self, messages: Messages, delivery: Delivery) -> None:
        query = messages.ordered
        columns = self.engine.columns(query)
        found = self._found()
        if found is None:
            self.engine.write(create_empty(self.sink.place, columns, ""), {})
        else:
            has = {n.lower(): t for n, t in found.columns}
            self._check_types(columns, has)
            if new := tuple((n, t) for n, t in columns if n.lower() not in has):
                self.engine.write(f"ALTER TABLE {self.sink.place} ADD COLUMNS ({defined(new)})", {})
        statement = insert(self.sink.place, f"(\n{query}\n)", messages.shown)
        self.engine.write(statement, delivery.settings())
        if (done := self.last()) is None or done.version < delivery.version:
            raise ConflictError(
                f"another run delivered to {self.sink.place} at the same time, and this one delivered nothing.",
                where=self.sink.where,
                remedy="run again: it goes on from what the other run delivered",
            )

    def _check_types(self, columns: Columns, has: Mapping[str, str]) -> None:
        """Raises TargetError for values that would become others in the sink."""
        for name, kind in columns:
            if has.get(name.lower(), kind) != kind:
                raise TargetError(
                    f"the column {name} is a {kind}, and in {self.sink.place} a {has[name.lower()]}.",
                    where=self.sink.where,
                    why="what was delivered keeps its type, so that it is read as it was written",
                    remedy="cast the column in the SELECT to the type it had, or give the sink another table, which "
                    "begins with the whole table",
                )

    def _found(self) -> Table | None:
        try:
            found = self.engine.table(self.sink.place)
        except SqlError as error:
            if "DELTA_MISSING_DELTA_TABLE" not in str(error):
                raise
            # What Delta says of a folder that is not there yet.
            found = None
        if found is not None and found.kind is not Kind.DELTA:
            raise TargetError(
                f"{self.sink.place} exists and is no Delta table ({found.provider}).",
                where=self.sink.where,
                remedy="give the sink another table, or set its format to what that one is",
            )
        return found
