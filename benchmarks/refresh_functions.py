"""The refresh functions of TPC-H as changes of Delta tables: orders come with their lines, and orders go.

Specification: TPC Benchmark H, revision 3.0.1, clause 2.5.
"""

from __future__ import annotations

from dataclasses import dataclass

USED = 8
"""Of 32 order keys in a row the generator takes the first eight (clause 4.2.3); the others are free."""

KEYS = {"orders": "o_orderkey", "lineitem": "l_orderkey"}


@dataclass(frozen=True)
class Change:
    """share: of the orders, those that come, and in a mixed change as many that go; recent: with the largest keys, else
    all over the tables; number: no two changes of a run have the same."""

    share: float
    mixed: bool
    recent: bool
    number: int

    @property
    def kind(self) -> str:
        return f"{'recent' if self.recent else 'scattered'}, {'mixed' if self.mixed else 'inserts'}"

    def statements(self, orders: int) -> list[str]:
        """orders: about how many there are. New orders are copies of old ones under other keys."""
        many = max(1, round(orders * self.share))
        statements = [f"CREATE OR REPLACE TABLE came USING delta AS {self._came(many)}"]
        if self.mixed:
            statements.append(f"CREATE OR REPLACE TABLE went USING delta AS {self._went(many)}")
        for table, key in KEYS.items():
            statements.append(
                f"INSERT INTO {table} BY NAME SELECT t.* EXCEPT ({key}), becomes AS {key}"
                f" FROM {table} AS t JOIN came ON {key} = k"
            )
        if self.mixed:
            # Delta's DELETE takes no subquery.
            statements += [
                f"MERGE INTO {table} USING went ON {key} = k WHEN MATCHED THEN DELETE" for table, key in KEYS.items()
            ]
        return statements

    def _came(self, many: int) -> str:
        order = f"XXHASH64(o_orderkey, {self.number})"
        if self.recent:
            # Of any orders: if the last ones came again, the next change would undo this one.
            some = f"SELECT o_orderkey AS k FROM orders ORDER BY {order} LIMIT {many}"
            last = "(SELECT MAX(o_orderkey) FROM orders)"
            return f"SELECT k, {last} + ROW_NUMBER() OVER (ORDER BY k) AS becomes FROM ({some})"
        free = f"o_orderkey + {USED * (1 + self.number % 3)}"
        return (
            f"SELECT o_orderkey AS k, {free} AS becomes FROM orders AS o"
            f" LEFT ANTI JOIN (SELECT o_orderkey AS taken FROM orders) ON taken = {free}"
            f" WHERE o_orderkey % 32 < {USED} ORDER BY {order} LIMIT {many}"
        )

    def _went(self, many: int) -> str:
        order = "o_orderkey DESC" if self.recent else f"XXHASH64('went', o_orderkey, {self.number})"
        return f"SELECT o_orderkey AS k FROM orders ORDER BY {order} LIMIT {many}"
