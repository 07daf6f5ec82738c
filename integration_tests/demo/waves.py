"""Waves of changes to the TPC-H tables, in the manner of the TPC-H refresh functions.

A wave is data: a list of `Change`, each one Delta commit. Which rows a change takes follows from
its seed alone, so equal seeds over equal tables give equal waves. Each change chooses its rows
anew, so one wave may well update an order, give it to another customer and delete it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession

NATIONS = 25


@dataclass(frozen=True)
class Change:
    """One statement of a wave.

    Attributes:
        table: the TPC-H table that the statement changes, without its schema.
        action: what it does, in the words of the report.
        sql: the statement.
    """

    table: str
    action: str
    sql: str


@dataclass(frozen=True)
class WaveSize:
    """How many orders and customers a wave touches with each of its changes; both at least 1."""

    orders: int
    customers: int

    @classmethod
    def of(cls, fraction: float, rows: Mapping[str, int]) -> WaveSize:
        """Give the size of `fraction` (0 to 1) of tables that have `rows` rows."""
        return cls(
            orders=max(1, round(fraction * rows["orders"])),
            customers=max(1, round(fraction * rows["customer"])),
        )


@dataclass(frozen=True)
class Orders:
    """Orders that a change takes: so many of the last ones by their key, which ones says the salt.

    Attributes:
        number: how many are taken.
        salt: the same orders are taken for the same one.
        latest: of how many, None for all there are.
    """

    number: int
    salt: int
    latest: int | None = None

    def query(self, schema: str) -> str:
        """Give the SELECT of their keys, as o_orderkey."""
        return _some(f"{schema}.orders", "o_orderkey", self.number, self.salt, self.latest)


def wave(schema: str, fraction: float, seed: int, rows: Mapping[str, int], latest: float | None = None) -> list[Change]:
    """Give all changes of one wave: inserts, updates, key changes and deletes.

    Args:
        schema: the schema of the TPC-H tables.
        fraction: the share of orders (and of customers) that each change touches, 0 to 1.
        seed: which rows are taken; different waves need different seeds.
        rows: the number of rows per table, as `data.load` gives it.
        latest: the share of the orders, the last ones by their key, that changes are of, 0 to 1;
            None where they are of any. Customers are any.
    """
    size = WaveSize.of(fraction, rows)
    # Eight salts per wave are reserved, so that no change takes the rows of its neighbour.
    salt = seed * 8
    among = max(size.orders, round(latest * rows["orders"])) if latest is not None else None

    def some(nth: int, number: int = size.orders) -> Orders:
        return Orders(number, salt + nth, among)

    return [
        *insert_orders(schema, some(0)),
        *update_orders(schema, some(1)),
        *reassign_orders(schema, some(2, max(1, size.orders // 10)), rows["customer"]),
        *update_lines(schema, some(3)),
        *delete_orders(schema, some(4)),
        *update_customers(schema, size.customers, salt + 5),
    ]


def apply(spark: SparkSession, schema: str, changes: list[Change]) -> list[tuple[Change, int]]:
    """Run the changes in order.

    Returns:
        Each change with the number of rows it inserted, updated or deleted.
    """
    return [(change, _run(spark, schema, change)) for change in changes]


def insert_orders(schema: str, orders: Orders) -> list[Change]:
    """Insert copies of these orders and of their lines under new order keys (TPC-H RF1)."""
    # The lines go first: as long as orders is unchanged, both statements number the same orders.
    numbered = f"""
        SELECT
            o_orderkey AS old_key,
            (SELECT MAX(o_orderkey) FROM {schema}.orders)
                + ROW_NUMBER() OVER (ORDER BY o_orderkey) AS new_key
        FROM ({orders.query(schema)})"""
    return [
        Change(
            table="lineitem",
            action="inserted",
            sql=f"""
                INSERT INTO {schema}.lineitem
                SELECT numbered.new_key, lineitem.* EXCEPT (l_orderkey)
                FROM {schema}.lineitem
                INNER JOIN ({numbered}) AS numbered ON lineitem.l_orderkey = numbered.old_key""",
        ),
        Change(
            table="orders",
            action="inserted",
            sql=f"""
                INSERT INTO {schema}.orders
                SELECT numbered.new_key, orders.* EXCEPT (o_orderkey)
                FROM {schema}.orders
                INNER JOIN ({numbered}) AS numbered ON orders.o_orderkey = numbered.old_key""",
        ),
    ]


def update_orders(schema: str, orders: Orders) -> list[Change]:
    """Change status, priority and price of these orders."""
    return [
        Change(
            table="orders",
            action="repriced",
            sql=f"""
                MERGE INTO {schema}.orders
                USING ({orders.query(schema)}) AS chosen
                ON orders.o_orderkey = chosen.o_orderkey
                WHEN MATCHED THEN UPDATE SET
                    o_orderstatus = CASE orders.o_orderstatus WHEN 'O' THEN 'P' ELSE 'O' END,
                    o_orderpriority = '1-URGENT',
                    o_totalprice = CAST(orders.o_totalprice * 1.05 AS DECIMAL(15, 2))""",
        )
    ]


def reassign_orders(schema: str, orders: Orders, customers: int) -> list[Change]:
    """Give these orders to another one of the `customers` customers: a join key changes."""
    return [
        Change(
            table="orders",
            action="given to another customer",
            sql=f"""
                MERGE INTO {schema}.orders
                USING ({orders.query(schema)}) AS chosen
                ON orders.o_orderkey = chosen.o_orderkey
                WHEN MATCHED THEN UPDATE SET
                    o_custkey = PMOD(orders.o_custkey, {customers}) + 1""",
        )
    ]


def update_lines(schema: str, orders: Orders) -> list[Change]:
    """Change quantity, price, discount and return flag of the first line of these orders."""
    return [
        Change(
            table="lineitem",
            action="quantity and price changed",
            sql=f"""
                MERGE INTO {schema}.lineitem
                USING ({orders.query(schema)}) AS chosen
                ON lineitem.l_orderkey = chosen.o_orderkey AND lineitem.l_linenumber = 1
                WHEN MATCHED THEN UPDATE SET
                    l_quantity = lineitem.l_quantity + 1,
                    l_extendedprice = CAST(
                        lineitem.l_extendedprice * (lineitem.l_quantity + 1) / lineitem.l_quantity
                        AS DECIMAL(15, 2)
                    ),
                    l_discount = 0.05,
                    l_returnflag = 'N'""",
        )
    ]


def delete_orders(schema: str, orders: Orders) -> list[Change]:
    """Delete these orders and their lines (TPC-H RF2)."""
    # The lines go first: as long as orders is unchanged, both statements choose the same orders.
    chosen = f"({orders.query(schema)}) AS chosen"
    return [
        Change(
            table="lineitem",
            action="deleted",
            sql=f"""
                MERGE INTO {schema}.lineitem USING {chosen}
                ON lineitem.l_orderkey = chosen.o_orderkey
                WHEN MATCHED THEN DELETE""",
        ),
        Change(
            table="orders",
            action="deleted",
            sql=f"""
                MERGE INTO {schema}.orders USING {chosen}
                ON orders.o_orderkey = chosen.o_orderkey
                WHEN MATCHED THEN DELETE""",
        ),
    ]


def update_customers(schema: str, customers: int, salt: int) -> list[Change]:
    """Move `customers` customers to the next nation, another segment and another balance."""
    chosen = _some(f"{schema}.customer", "c_custkey", customers, salt)
    return [
        Change(
            table="customer",
            action="moved",
            sql=f"""
                MERGE INTO {schema}.customer USING ({chosen}) AS chosen
                ON customer.c_custkey = chosen.c_custkey
                WHEN MATCHED THEN UPDATE SET
                    c_nationkey = PMOD(customer.c_nationkey + 1, {NATIONS}),
                    c_mktsegment = CASE customer.c_mktsegment
                        WHEN 'BUILDING' THEN 'MACHINERY' ELSE 'BUILDING' END,
                    c_acctbal = -customer.c_acctbal""",
        )
    ]


def _some(table: str, key: str, rows: int, salt: int, latest: int | None = None) -> str:
    """Choose exactly `rows` keys, the same ones for the same salt, scattered over the table or its last `latest`."""
    if latest is not None:
        table = f"(SELECT {key} FROM {table} ORDER BY {key} DESC LIMIT {latest})"
    return f"SELECT {key} FROM {table} ORDER BY XXHASH64({key}, {salt}), {key} LIMIT {rows}"


def _run(spark: SparkSession, schema: str, change: Change) -> int:
    outcome = spark.sql(change.sql).collect()
    if outcome:
        return int(outcome[0]["num_affected_rows"])
    # INSERT returns no row; its count is in the commit.
    commit = spark.sql(f"DESCRIBE HISTORY {schema}.{change.table} LIMIT 1").collect()[0]
    return int(commit["operationMetrics"]["numOutputRows"])
