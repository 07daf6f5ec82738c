"""The tables of the documentation, grown: `orders` has 10 M rows, and the table over it was built in 20 seconds."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

from dbt_spark_dynamic.commit.costs import Past
from dbt_spark_dynamic.commit.engine import Table
from dbt_spark_dynamic.commit.ledger import USER_METADATA, Consumed, Entry
from dbt_spark_dynamic.commit.look import KEY_PROPERTY, look
from dbt_spark_dynamic.commit.spec import Spec
from dbt_spark_dynamic.reading.relations import Kind
from docs.printing.shop import VERSION, Shop

ROWS, ROW = 10_000_000, 20
"""Rows of every source, and bytes of each."""

TARGET = "shop.model"
CREATED = 1_700_000_000_000


@dataclass
class GrownShop(Shop):
    """updated: rows of orders that an UPDATE rewrote since the table was built, inserted: that came instead; rows: of
    every source; past: what the table's refreshes took before the one that built it; timed: whether that was timed;
    sequence: its number; size: bytes of the table."""

    spec: Spec
    updated: int = 0
    inserted: int = 0
    rows: int = ROWS
    past: Past = field(default_factory=Past)
    timed: bool = True
    sequence: int = 1
    size: int = 1000
    _entry: Entry | None = None
    _key: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        seen = look(self.spec, self)
        sources = {name: Consumed(name, VERSION) for name in seen.model.sources}
        size = self.rows * ROW * len(sources)
        self._key = seen.key
        self._entry = Entry(
            sources, seen.definition, "create", "g", self.sequence, -1, seen.model.columns,
            started=CREATED if self.timed else 0, size=size, past=self.past,
        )  # fmt: skip

    def table(self, name: str) -> Table | None:
        if name == TARGET:
            if self._entry is None:
                return None
            properties = {KEY_PROPERTY: "\n".join(self._key)} if self._key else {}
            return Table(TARGET, Kind.DELTA, self._entry.columns, "m", 0, "/m", properties, size=self.size)
        found = super().table(name)
        if found is None:
            return None
        changed = self._entry is not None and found.name == "orders" and (self.updated or self.inserted)
        return replace(found, version=VERSION + bool(changed), latest=VERSION + bool(changed), size=self.rows * ROW)

    def log(self, table: Table, version: int) -> list[dict[str, Any]]:
        if table.name == TARGET:
            assert self._entry is not None
            info = {"operation": "CREATE OR REPLACE TABLE AS SELECT", "timestamp": CREATED + 20_000}
            ledger, metrics = self._entry.settings()[USER_METADATA], {"numOutputRows": "5000"}
            return [{"commitInfo": {**info, "operationMetrics": metrics, "userMetadata": ledger}}]
        if self.updated:
            add = {"size": self.rows * ROW, "dataChange": True, "stats": json.dumps({"numRecords": self.rows})}
            metrics = {"numUpdatedRows": str(self.updated)}
            info = {"operation": "UPDATE", "operationMetrics": metrics}
            return [{"commitInfo": info}, {"add": add}, {"remove": {"dataChange": True}}]
        add = {"size": self.inserted * ROW, "dataChange": True, "stats": json.dumps({"numRecords": self.inserted})}
        info = {"operation": "WRITE", "operationMetrics": {"numOutputRows": str(self.inserted)}}
        return [{"commitInfo": info}, {"add": add}]
