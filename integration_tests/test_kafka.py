"""Streams of a real Kafka broker, in a process of its own: Spark has to be started with the package for it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from integration_tests.kafka_broker import NoJars, broker, token_provider
from integration_tests.own_process import SHORT_LIVED, shop_project

OPENING = textwrap.dedent(
    """
    import json, os, sys
    from pathlib import Path
    from dbt.cli.main import dbtRunner
    from dbt_common.tests import enable_test_caching
    from dbt_spark_dynamic.embedded.jars import SHIPPED, packages_for
    from dbt_spark_dynamic.embedded.session import open_session
    from dbt_spark_dynamic.embedded.settings import EmbeddedSettings

    address, jar, store = *sys.argv[1:], Path(os.environ["DBT_SPARK_DYNAMIC_STORE"])
    conf = {"spark.jars": jar, "spark.jars.excludes": f"{SHIPPED},org.apache.spark:spark-token-provider*"}
    spark = open_session(EmbeddedSettings(store, "in-memory", packages=packages_for({"kafka"}), conf=conf))
    enable_test_caching()

    def text(value):
        return value if value is None or isinstance(value, str) else json.dumps(value)

    def send(topic, *records):
        # (key, value) in the order given, in one partition: `None` for neither.
        rows = spark.createDataFrame([(text(k), text(v)) for k, v in records], "key string, value string").coalesce(1)
        to = rows.write.format("kafka").option("kafka.bootstrap.servers", address)
        to.option("topic", topic).save()

    def run(*more):
        result = dbtRunner().invoke(["--quiet", "run", "--profiles-dir", ".", *more])
        return {r.node.name: r for r in result.result.results}

    def table(name):
        return sorted((tuple(r) for r in spark.table(f"shop.{name}").collect()), key=repr)
    """
)
APPENDED = textwrap.dedent(
    """
    def produce(*values):
        send("clicks", *((None, v) for v in values))

    def per_user():
        return run("--select", "per_user")["per_user"]

    produce({"user": "mary", "n": 1}, {"user": "bob", "n": 2})
    assert per_user().adapter_response["code"] == "CREATED" and table("per_user") == [("bob", 2), ("mary", 1)]
    produce({"user": "mary", "n": 5}, {"n": 7, "more": True})
    found = per_user()
    assert (found.adapter_response["code"], found.adapter_response["rows_in"]) == ("INCREMENTAL", 2), found
    assert table("per_user") == [("None", 7), ("bob", 2), ("mary", 6)], table("per_user")
    assert per_user().adapter_response["code"] == "NO CHANGE"
    offsets = {tuple(r) for r in spark.sql("SELECT kafka_partition, kafka_offset FROM shop.clicks").collect()}
    assert len(offsets) == 4, offsets

    produce("no json")
    failed = per_user()
    assert failed.status == "error" and "could not be landed" in failed.message, failed.message
    assert spark.table("shop.clicks").count() == 4
    """
)
BY_KEY = textwrap.dedent(
    """
    def source(at):
        return {"ts_ms": at, "file": "bin.000001", "pos": at, "row": 0}

    def debezium(op, before, after, at):
        return {"payload": {"op": op, "before": before, "after": after, "ts_ms": at, "source": source(at)}}

    def canal(kind, data, old, at):
        return {"type": kind, "data": data, "old": old, "es": at, "ts": at, "id": at, "isDdl": False}

    def totals():
        found = run("--select", "price_total", "customer_total", "order_total")
        assert all(r.status == "success" for r in found.values()), [r.message for r in found.values()]
        codes = {r.adapter_response["code"] for r in found.values()}
        return codes, table("price_total"), table("customer_total"), table("order_total")

    # A key as JSON, as JSON beside its schema, and as it is; a value that is NULL deletes.
    send("prices", ("1", {"id": 1, "n": 1}), ({"id": 2}, {"id": 2, "n": 2}), ("1", {"id": 1, "n": 3}))
    mary, bob = {"id": 1, "n": 10}, {"id": 2, "n": 20}
    send("customers", ({"id": 1}, debezium("r", None, mary, 1)), ({"id": 2}, debezium("c", None, bob, 2)))
    send("orders", (None, canal("INSERT", [{"id": "1", "n": "5"}, {"id": "2", "n": "6"}], None, 1)))
    assert totals() == ({"CREATED"}, [(5, 2)], [(30, 2)], [(11, 2)]), totals()

    send("prices", ("1", None), ({"payload": {"id": 2}, "schema": {}}, None))
    # Keys that are written in two ways are in two partitions: the later time counts.
    send("prices", ("2", {"id": 2, "n": 4}), ("3", {"id": 3, "n": 1}))
    send("customers",
        ({"id": 1}, debezium("u", mary, {"id": 1, "n": 11}, 3)),
        # A key that changes is sent as a delete, its tombstone, and a row that is created.
        ({"id": 2}, debezium("d", bob, None, 4)), ({"id": 2}, None),
        ({"id": 7}, debezium("c", None, {"id": 7, "n": 20}, 4)))
    send("orders",
        (None, canal("UPDATE", [{"id": "9", "n": "5"}], [{"id": "1"}], 2)),
        (None, canal("DELETE", [{"id": "2", "n": "6"}], None, 3)))
    assert totals() == ({"INCREMENTAL"}, [(5, 2)], [(31, 2)], [(5, 1)]), totals()
    assert table("prices") == [(2, 4), (3, 1)] and table("customers") == [(1, 11, 3), (7, 20, 4)]
    assert table("orders") == [(9, 5)]

    # In another partition: the database's log says that it is older than what the table has.
    send("customers", ({"id": 1}, debezium("u", mary, {"id": 1, "n": 99}, 2)))
    codes, *_ = totals()
    assert codes == {"NO CHANGE"} and table("customers") == [(1, 11, 3), (7, 20, 4)], table("customers")

    send("prices", (None, None))
    failed = run("--select", "price_total")["price_total"]
    assert "a record without a value deletes a row, and its key does not say which" in failed.message, failed.message
    """
)
SINKS = textwrap.dedent(
    """
    from collections import Counter

    def consumed(topic):
        # The records of each partition in the order of their offsets, as (key, value, version, sequence).
        reader = spark.read.format("kafka").option("kafka.bootstrap.servers", address)
        found = reader.option("subscribe", topic).option("includeHeaders", "true").load().orderBy("partition", "offset")
        for r in found.collect():
            headers = {h.key: int(bytes(h.value)) for h in r.headers}
            value = None if r.value is None else json.loads(bytes(r.value))
            yield bytes(r.key).decode() if r.key else None, value, headers["version"], headers["sequence"]

    def replayed():
        retracted, upserted, seen = Counter(), {}, set()
        for key, message, *about in consumed("retractions"):
            # A consumer drops what it has seen: a message with the key, version and sequence of another.
            if (key, *about) not in seen:
                seen.add((key, *about))
                retracted[(message["user"], message["n"])] += 1 if message["_flag"] else -1
                assert retracted[(message["user"], message["n"])] >= 0, message
        for key, row, *_ in consumed("upserts"):
            if row is None:
                del upserted[key]
            else:
                assert json.loads(key) == {"user": row["user"]}, key
                upserted[key] = (row["user"], row["n"])
        return sorted((+retracted).elements(), key=repr), sorted(upserted.values(), key=repr)

    def delivered():
        found = run("--select", "retracted", "upserted", "appended")
        for name in ("retracted", "upserted"):
            assert found[name].status == "success", found[name].message
        rows = table("retracted")
        assert replayed() == (rows, rows) and table("upserted") == rows, (replayed(), rows)
        return found

    spark.sql("CREATE TABLE shop.base (user STRING, n INT) USING delta")
    spark.sql("INSERT INTO shop.base VALUES ('mary', 1), ('mary', 2), ('bob', 3), (NULL, 4)")
    delivered()
    assert {m[1]["n"] for m in consumed("appends")} == {1, 2, 3, 4}
    spark.sql("INSERT INTO shop.base VALUES ('liz', 5), ('mary', 1)")
    assert delivered()["appended"].adapter_response["delivered"] == 2
    spark.sql("DELETE FROM shop.base WHERE user = 'bob'")
    refused = delivered()["appended"]
    assert "update or delete changes, which an append changelog cannot say" in refused.message, refused.message
    assert len(list(consumed("appends"))) == 6
    assert ('{"user":"bob"}', None) in [m[:2] for m in consumed("upserts")]

    # Dead after the messages and before the record: they are there twice, and recognizable.
    from dbt_spark_dynamic.sinks.kafka import KafkaSink
    note = KafkaSink._note

    def dying(self, delivery):
        if delivery.over and "retracted" in self.target:
            raise RuntimeError("dead")
        note(self, delivery)

    KafkaSink._note = dying
    spark.sql("UPDATE shop.base SET n = 9 WHERE user = 'liz'")
    assert run("--select", "retracted")["retracted"].status == "error"
    KafkaSink._note = note
    before = len(list(consumed("retractions")))
    spark.sql("INSERT INTO shop.base VALUES ('liz', 1)")
    delivered()
    messages = [(key, *about) for key, _, *about in consumed("retractions")]
    assert len(messages) == before + 4 and len(set(messages)) == len(messages) - 2, messages
    assert run("--select", "retracted", "--full-refresh")["retracted"].adapter_response["delivered"] == 0
    """
)


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The broker's address, and a jar that Spark needs for it."""
    try:
        jar = token_provider()
        with broker(tmp_path_factory.mktemp("kafka")) as found:
            yield found, str(jar)
    except NoJars as error:
        pytest.skip(f"no Kafka here: {error}")


def source(address: str, topic: str, columns: Mapping[str, str], **said: str) -> str:
    """A stream of the topic, as an entry of sources.yml."""
    options = f"{{kafka.bootstrap.servers: '{address}', subscribe: {topic}, startingOffsets: earliest}}"
    stream = ", ".join(["format: kafka", f"options: {options}", *(f"{k}: {v}" for k, v in said.items())])
    listed = ", ".join(f"{{name: {name}, data_type: {kind}}}" for name, kind in columns.items())
    return f"{{name: {topic}, meta: {{stream: {{{stream}}}}}, columns: [{listed}]}}"


def sink(address: str, mode: str, topic: str) -> str:
    """As a model's config."""
    options = {"kafka.bootstrap.servers": address}
    return repr({"format": "kafka", "mode": mode, "topic": topic, "options": options})


def model(select: str, **config: str) -> str:
    said = ", ".join(f"{k}={v}" for k, v in {"materialized": "'dynamic_table'", **config}.items())
    return f"{{{{ config({said}) }}}}\n{select}"


def test_records_of_kafka_are_landed_and_maintained_and_delivered(kafka: tuple[str, str], tmp_path: Path) -> None:
    address = kafka[0]
    clicks = {"user": "string", "n": "int", "kafka_partition": "int", "kafka_offset": "bigint"}
    replicated = {"id": "int", "n": "int"}
    streams = [
        source(address, "clicks", clicks),
        source(address, "prices", replicated, key="id"),
        source(
            address, "customers", {**replicated, "source_pos": "bigint"},
            key="[id]", value_format="debezium-json", sequence_by="source_pos",
        ),
        source(address, "orders", replicated, key="id", value_format="canal-json"),
    ]  # fmt: skip
    totals = {
        f"models/{topic[:-1]}_total.sql": model(
            f"select sum(n) as n, count(*) as c from {{{{ source('shop', '{topic}') }}}}"
        )
        for topic in ("prices", "customers", "orders")
    }
    by_user = "select user, sum(n) as n from shop.base group by user"
    sinks = {
        "retracted": model(by_user, sink=sink(address, "retract", "retractions")),
        "upserted": model(by_user, sink=sink(address, "upsert", "upserts")),
        "appended": model("select * from shop.base", sink=sink(address, "append", "appends")),
    }
    files = {
        "models/sources.yml": f"sources: [{{name: shop, tables: [{', '.join(streams)}]}}]",
        "models/per_user.sql": model(
            "select coalesce(user, 'None') as user, sum(n) as n from {{ source('shop', 'clicks') }} group by 1"
        ),
        **totals,
        **{f"models/{name}.sql": text for name, text in sinks.items()},
        "run.py": OPENING + APPENDED + BY_KEY + SINKS + 'print("DONE")\n',
    }
    environment = shop_project(tmp_path, files) | SHORT_LIVED
    said = subprocess.run(
        [sys.executable, "run.py", *kafka], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600
    )
    assert said.returncode == 0 and said.stdout.endswith("DONE\n"), said.stdout[-4000:] + said.stderr[-4000:]
    assert "Traceback" not in said.stderr, said.stderr[-4000:]
