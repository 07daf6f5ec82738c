"""One workload for all peers: orders at first, then changes of them in batches; customers; rates by time.

Everything is Parquet, written by DuckDB: a peer that reads it has no part in making it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb

CUSTOMERS, CURRENCIES, RATES_EACH = 100_000, 1000, 100
SPAN = 10_000_000
"""Seconds over which the orders and the rates are spread."""

ORDER = "id, customer, currency, amount, made_at"
COLUMNS = (
    "id BIGINT, customer INTEGER, currency INTEGER, amount DECIMAL(12, 2), made_at TIMESTAMP",
    "customer INTEGER, nation INTEGER",
    "currency INTEGER, rate INTEGER, dbt_valid_from TIMESTAMP, dbt_valid_to TIMESTAMP",
)
OPERATIONS = ("INSERT", "UPDATE_BEFORE", "UPDATE_AFTER", "DELETE")

INSERTS, UPDATES = 0.5, 0.4
"""Shares of a batch; the others are deletions."""

NEW_ORDER = (
    f"i AS id, CAST(hash(i) % {CUSTOMERS} AS INTEGER) AS customer,"
    f" CAST(hash(i, 1) % {CURRENCIES} AS INTEGER) AS currency,"
    " CAST(hash(i, 2) % 100000 / 100 AS DECIMAL(12, 2)) AS amount,"
    f" TIMESTAMP '2025-01-01' + to_seconds(CAST(hash(i, 3) % {SPAN} AS BIGINT)) AS made_at"
)


@dataclass(frozen=True)
class Workload:
    """folder: of its files; rows: orders at first; changes: an order inserted, updated or deleted is one; batches: that
    they come in."""

    folder: Path
    rows: int
    changes: int
    batches: int

    @property
    def of_batch(self) -> int:
        return self.changes // self.batches

    def path(self, name: str) -> Path:
        """orders, customers, rates: as they are at first; batch_1 …: changes; after: the orders at the end."""
        return self.folder / f"{name}.parquet"

    def streams(self, whole: bool) -> Path:
        """The folder of a changelog for readers side by side: a file for each of two, that an order be in one file
        with all of its changes. `whole`: with the batches, else with the orders at first alone."""
        return self.folder / ("whole" if whole else "first")

    def write(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with duckdb.connect() as db:
            self._write_first(db)
            for n in range(1, self.batches + 1):
                self._write_batch(db, n)
            self._copy(db, "SELECT * FROM live", "after")
            self._write_streams(db)

    def _write_first(self, db: duckdb.DuckDBPyConnection) -> None:
        db.sql(f"CREATE TABLE live AS SELECT {NEW_ORDER} FROM range({self.rows}) AS r(i)")
        self._copy(db, "SELECT * FROM live", "orders")
        self._copy(
            db,
            f"SELECT CAST(i AS INTEGER) AS customer, CAST(i % 25 AS INTEGER) AS nation FROM range({CUSTOMERS}) AS r(i)",
            "customers",
        )
        lasts = SPAN // RATES_EACH
        since = f"TIMESTAMP '2025-01-01' + to_seconds(n * {lasts})"
        self._copy(
            db,
            f"SELECT CAST(c AS INTEGER) AS currency, CAST(1 + hash(c, n) % 1000 AS INTEGER) AS rate,"
            f" {since} AS dbt_valid_from, CASE WHEN n < {RATES_EACH - 1} THEN {since} + to_seconds({lasts}) END"
            f" AS dbt_valid_to FROM range({CURRENCIES}) AS c(c), range({RATES_EACH}) AS n(n)",
            "rates",
        )

    def _write_batch(self, db: duckdb.DuckDBPyConnection, n: int) -> None:
        """An update changes the amount; one in ten moves the order to another customer, one in ten in time."""
        inserts, updates = int(self.of_batch * INSERTS), int(self.of_batch * UPDATES)
        touched, first = self.of_batch - inserts, self.rows + (n - 1) * inserts
        db.sql(
            f"CREATE OR REPLACE TABLE touched AS SELECT *, row_number() OVER (ORDER BY draw, id) <= {updates} AS stays"
            f" FROM (SELECT *, hash(id, {n}) AS draw FROM live ORDER BY draw, id LIMIT {touched})"
        )
        moved = (
            f"CASE WHEN draw % 10 = 1 THEN CAST(hash(draw) % {CUSTOMERS} AS INTEGER) ELSE customer END AS customer,"
            " currency, CAST(hash(draw, 1) % 100000 / 100 AS DECIMAL(12, 2)) AS amount,"
            f" CASE WHEN draw % 10 = 2 THEN TIMESTAMP '2025-01-01' + to_seconds(CAST(hash(draw, 2) % {SPAN} AS BIGINT))"
            " ELSE made_at END AS made_at"
        )
        db.sql(
            f"CREATE OR REPLACE TABLE batch AS SELECT 'INSERT' AS op, {NEW_ORDER}"
            f" FROM range({first}, {first + inserts}) AS r(i)"
            f" UNION ALL SELECT CASE WHEN stays THEN 'UPDATE_BEFORE' ELSE 'DELETE' END, {ORDER} FROM touched"
            f" UNION ALL SELECT 'UPDATE_AFTER', id, {moved} FROM touched WHERE stays"
        )
        db.sql("DELETE FROM live WHERE id IN (SELECT id FROM touched)")
        db.sql(f"INSERT INTO live SELECT {ORDER} FROM batch WHERE op IN ('INSERT', 'UPDATE_AFTER')")
        self._copy(db, "SELECT * FROM batch", f"batch_{n}")

    def _write_streams(self, db: duckdb.DuckDBPyConnection) -> None:
        first = f"SELECT 0 AS n, 'INSERT' AS op, {ORDER} FROM '{self.path('orders')}'"
        batches = [f"SELECT {n}, op, {ORDER} FROM '{self.path(f'batch_{n}')}'" for n in range(1, self.batches + 1)]
        for whole, parts in ((False, [first]), (True, [first, *batches])):
            self.streams(whole).mkdir()
            for reader in range(2):
                # UPDATE_BEFORE comes after UPDATE_AFTER in the alphabet.
                self._copy(
                    db,
                    f"SELECT op, {ORDER} FROM ({' UNION ALL '.join(parts)}) WHERE id % 2 = {reader}"
                    " ORDER BY n, id, op DESC",
                    f"{self.streams(whole).name}/{reader}",
                )

    def _copy(self, db: duckdb.DuckDBPyConnection, sql: str, name: str) -> None:
        db.sql(f"COPY ({sql}) TO '{self.path(name)}' (FORMAT parquet)")
