"""The four queries that every peer maintains, and what of a result is compared where the result itself cannot be."""

from __future__ import annotations

from dataclasses import dataclass, field

SOURCES = ("orders", "customers", "rates")


@dataclass(frozen=True)
class Shape:
    """sql: as a dynamic table and Flink have it; plain: the same without a temporal join, "" if it has none; columns:
    with their types in Flink; unique_key: of the dynamic table; sums: over the rows, which tell one result from
    another."""

    name: str
    sql: str
    columns: str
    unique_key: tuple[str, ...]
    sums: tuple[str, ...]
    plain: str = field(default="")

    @property
    def batch_sql(self) -> str:
        return self.plain or self.sql

    def checksum(self, query: str) -> str:
        """One row: how many rows the query has, and the sums. Says the same in Spark, Flink and DuckDB."""
        sums = ", ".join(f"SUM(CAST({s} AS DECIMAL(24, 2)))" for s in self.sums)
        return f"SELECT COUNT(*), {sums} FROM ({query}) AS maintained"


PAID = (
    "SELECT o.id, o.currency, o.amount * r.rate AS paid FROM orders o LEFT JOIN rates {of} ON o.currency = r.currency"
)

SHAPES = (
    Shape(
        "group by",
        "SELECT customer, COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY customer",
        "customer INT, n BIGINT, total DECIMAL(38, 2)",
        ("customer",),
        ("total", "n * (customer % 97)", "CAST(total AS DECIMAL(18, 2)) * (customer % 89)"),
    ),
    Shape(
        "join",
        "SELECT o.id, o.customer, o.amount, c.nation FROM orders o JOIN customers c ON o.customer = c.customer",
        "id BIGINT, customer INT, amount DECIMAL(12, 2), nation INT",
        ("id",),
        ("amount", "customer", "amount * (id % 97)", "nation * (id % 89)"),
    ),
    Shape(
        "top 3 of each group",
        "SELECT customer, id, amount, made_at FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY customer "
        "ORDER BY made_at DESC, id DESC) AS place FROM orders) AS placed WHERE place <= 3",
        "customer INT, id BIGINT, amount DECIMAL(12, 2), made_at TIMESTAMP(3)",
        ("id",),
        ("amount", "id", "amount * (customer % 97)", "customer * (id % 89)"),
    ),
    Shape(
        "temporal join",
        PAID.format(of="FOR SYSTEM_TIME AS OF o.made_at AS r"),
        "id BIGINT, currency INT, paid DECIMAL(38, 2)",
        ("id",),
        ("paid", "currency", "CAST(paid AS DECIMAL(18, 2)) * (id % 97)"),
        PAID.format(of="r")
        + " AND r.dbt_valid_from <= o.made_at AND (r.dbt_valid_to IS NULL OR o.made_at < r.dbt_valid_to)",
    ),
)
NAMED = {shape.name: shape for shape in SHAPES}
