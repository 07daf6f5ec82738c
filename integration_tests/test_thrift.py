"""A real thrift server: the materialization over a connection that has nothing but SQL."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from integration_tests.conftest import DbtProject

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def port(spark: SparkSession) -> Iterator[int]:
    """Of a thrift server over the Spark of these tests, on loopback, stopped when they are done."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number = free.getsockname()[1]
    context = spark._jsparkSession.sqlContext()
    context.setConf("hive.server2.thrift.bind.host", "127.0.0.1")
    context.setConf("hive.server2.thrift.port", str(number))
    server = spark._jvm.org.apache.spark.sql.hive.thriftserver.HiveThriftServer2.startWithContext(context)
    yield number
    server.stop()


def test_a_dynamic_table_over_thrift(port: int, new_project: Callable[..., DbtProject]) -> None:
    shop = new_project(method="thrift", host="127.0.0.1", port=port, user="dbt", poll_interval=0)
    shop.write("seeds/orders.csv", "id,customer,amount\n1,a,10\n2,a,\n3,it's,30\n")
    shop.model(
        "totals",
        "select customer, count(*) as n, sum(amount) as total from {{ ref('orders') }} group by customer",
        materialized="dynamic_table",
    )
    shop.model("large", "select customer from {{ ref('totals') }} where total > 5", materialized="dynamic_table")
    shop.dbt("build")
    assert {r["code"] for n, r in shop.responses().items() if n != "orders"} == {"CREATED"}
    shop.sql("INSERT INTO orders VALUES (4, 'b', 40), (5, 'a', 2)")
    shop.sql("DELETE FROM orders WHERE id = 3")
    shop.dbt("run")
    totals, large = shop.responses()["totals"], shop.responses()["large"]
    assert (totals["code"], totals["rows_inserted"], totals["rows_deleted"]) == ("INCREMENTAL", 1, 1)
    assert large["code"] == "INCREMENTAL"
    assert sorted(map(tuple, shop.sql("SELECT * FROM totals"))) == [("a", 3, 12), ("b", 1, 40)]
    assert sorted(row[0] for row in shop.sql("SELECT customer FROM large")) == ["a", "b"]
    shop.dbt("run")
    assert {r["code"] for r in shop.responses().values()} == {"NO CHANGE"}
