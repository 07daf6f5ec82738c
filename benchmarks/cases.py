"""The models that the benchmark refreshes, the one-row changes it makes, and the bare MERGE each is set beside."""

from __future__ import annotations

from dataclasses import dataclass

CUSTOMERS = 100_000

SOURCES = {
    "sales": (
        "SELECT id, CAST(id * 7919 % {customers} AS INT) AS customer,"
        " CAST(id % 10007 / 100 AS DECIMAL(12,2)) AS amount,"
        " DATE '2024-01-01' + CAST(id * 3650 / {rows} AS INT) AS day FROM RANGE({rows})"
    ),
    "customers": "SELECT CAST(id AS INT) AS customer, CAST(id % 25 AS INT) AS nation FROM RANGE({customers})",
}
"""Table -> its rows, as a query. `sales` is in the order of its ids, as a table that grew day by day is."""

LARGE = 9_900
"""`amount` of every id that leaves this rest by 10007 is 99.00, and somewhat less below it: rows that every model here
has in its result."""

CHANGES = {
    "insert": "INSERT INTO sales VALUES ({new}, {new} % {customers}, 99.00, DATE '2034-01-01')",
    "update": "UPDATE sales SET amount = amount + 0.5 WHERE id = {old}",
    "delete": "DELETE FROM sales WHERE id = {old}",
    "delete latest": "DELETE FROM sales WHERE id = {latest}",
}
"""One changed row of the large source. The latest of a customer is one whose day is in the result of a MAX."""


def change(kind: str, rows: int, n: int) -> str:
    """The n-th change of the benchmark, no two of which are about the same row."""
    old, latest = (rows // 20_014 - n) * 10_007 + LARGE, (rows // 10_007 - 1) * 10_007 + LARGE - n
    return CHANGES[kind].format(new=rows + n, old=old, latest=latest, customers=CUSTOMERS)


@dataclass(frozen=True)
class Case:
    """key: the columns by which a bare MERGE finds one row."""

    name: str
    sql: str
    key: tuple[str, ...]

    def bare_merge(self, table: str, row: str) -> str:
        """One row that is in the table written anew: what a refresh cannot do without. row: a relation of that row."""
        on = " AND ".join(f"t.{name} <=> s.{name}" for name in self.key) or "TRUE"
        updated = self.key[-1] if self.key else "n"
        return (
            f"MERGE INTO {table} AS t USING {row} AS s ON {on} WHEN MATCHED THEN UPDATE SET t.{updated} = s.{updated}"
        )


CASES = (
    Case(
        "filter and project",
        "SELECT id, customer, amount * 2 AS doubled FROM sales WHERE amount > 50",
        ("id",),
    ),
    Case(
        "group by",
        "SELECT customer, COUNT(*) AS n, SUM(amount) AS total, MAX(day) AS latest FROM sales GROUP BY customer",
        ("customer",),
    ),
    Case(
        "join and group by",
        "SELECT c.nation, s.day, COUNT(*) AS n, SUM(s.amount) AS total FROM sales s JOIN customers c"
        " ON s.customer = c.customer GROUP BY c.nation, s.day",
        ("nation", "day"),
    ),
    Case(
        "join without a key",
        "SELECT s.day, c.nation, s.amount FROM sales s JOIN customers c ON s.customer = c.customer WHERE s.amount > 90",
        ("day", "nation", "amount"),
    ),
    Case("distinct", "SELECT DISTINCT customer, day FROM sales WHERE amount > 90", ("customer", "day")),
    Case("one row of totals", "SELECT COUNT(*) AS n, SUM(amount) AS total FROM sales", ()),
)
