"""A stream of a real Kafka broker, in a process of its own: Spark has to be started with the package for it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration_tests.kafka_broker import NoJars, broker, token_provider
from integration_tests.own_process import shop_project

SCRIPT = textwrap.dedent(
    """
    import json, os, sys
    from pathlib import Path
    from dbt.cli.main import dbtRunner
    from dbt_spark_dynamic.embedded.jars import SHIPPED, packages_for
    from dbt_spark_dynamic.embedded.session import open_session
    from dbt_spark_dynamic.embedded.settings import EmbeddedSettings

    address, jar, store = *sys.argv[1:], Path(os.environ["DBT_SPARK_DYNAMIC_STORE"])
    conf = {"spark.jars": jar, "spark.jars.excludes": f"{SHIPPED},org.apache.spark:spark-token-provider*"}
    spark = open_session(EmbeddedSettings(store, "in-memory", packages=packages_for({"kafka"}), conf=conf))

    def produce(*values):
        rows = spark.createDataFrame([(v if isinstance(v, str) else json.dumps(v),) for v in values], "value string")
        to = rows.write.format("kafka").option("kafka.bootstrap.servers", address)
        to.option("topic", "clicks").save()

    def run():
        result = dbtRunner().invoke(["--quiet", "run", "--profiles-dir", "."])
        (found,) = result.result.results
        return found

    def table():
        return sorted(tuple(r) for r in spark.table("shop.per_user").collect())

    produce({"user": "mary", "n": 1}, {"user": "bob", "n": 2})
    assert run().adapter_response["code"] == "CREATED" and table() == [("bob", 2), ("mary", 1)], table()
    produce({"user": "mary", "n": 5}, {"n": 7, "more": True})
    found = run()
    assert (found.adapter_response["code"], found.adapter_response["rows_in"]) == ("INCREMENTAL", 2), found
    assert table() == [("None", 7), ("bob", 2), ("mary", 6)], table()
    assert run().adapter_response["code"] == "NO CHANGE"
    offsets = {tuple(r) for r in spark.sql("SELECT kafka_partition, kafka_offset FROM shop.clicks").collect()}
    assert len(offsets) == 4, offsets

    produce("no json")
    failed = run()
    assert failed.status == "error" and "could not be landed" in failed.message, failed.message
    assert spark.table("shop.clicks").count() == 4
    print("DONE")
    """
)


@pytest.fixture
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The broker's address, and a jar that Spark needs for it."""
    try:
        jar = token_provider()
        with broker(tmp_path_factory.mktemp("kafka")) as found:
            yield found, str(jar)
    except NoJars as error:
        pytest.skip(f"no Kafka here: {error}")


def test_records_of_kafka_are_landed_and_maintained(kafka: tuple[str, str], tmp_path: Path) -> None:
    address = kafka[0]
    options = f"{{kafka.bootstrap.servers: '{address}', subscribe: clicks, startingOffsets: earliest}}"
    columns = ", ".join(
        f"{{name: {name}, data_type: {kind}}}"
        for name, kind in (("user", "string"), ("n", "int"), ("kafka_partition", "int"), ("kafka_offset", "bigint"))
    )
    files = {
        "models/sources.yml": f"sources: [{{name: shop, tables: [{{name: clicks, meta: {{stream: {{format: kafka, "
        f"options: {options}}}}}, columns: [{columns}]}}]}}]",
        "models/per_user.sql": "{{ config(materialized='dynamic_table') }}\n"
        "select coalesce(user, 'None') as user, sum(n) as n from {{ source('shop', 'clicks') }} group by 1",
        "run.py": SCRIPT,
    }
    environment = shop_project(tmp_path, files)
    said = subprocess.run(
        [sys.executable, "run.py", *kafka], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600
    )
    assert said.returncode == 0 and said.stdout.endswith("DONE\n"), said.stdout[-4000:] + said.stderr[-4000:]
