"""`sink: {…}`: where changes are delivered, in which encoding, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from dbt_spark_dynamic.commit.spec import ChangelogMode
from dbt_spark_dynamic.errors import ConfigError
from dbt_spark_dynamic.sinks.declaration import Sink, by_key, sink_of
from dbt_spark_dynamic.sinks.delivery import Messages
from dbt_spark_dynamic.sinks.kafka import records
from dbt_spark_dynamic.sinks.record import Delivery

SERVERS = {"kafka.bootstrap.servers": "localhost:9092"}


def declared(said: Any) -> Sink | None:
    return sink_of({"sink": said} if said is not None else {}, "`shop`.`m`", "models/m.sql")


def test_a_model_without_a_sink_has_none() -> None:
    assert declared(None) is None


@pytest.mark.parametrize(
    "said, place, name",
    [
        ({"format": "delta", "mode": "append", "table": "out"}, "`shop`.out", "delta `shop`.out"),
        ({"format": "delta", "mode": "retract", "table": "other.out"}, "other.out", "delta other.out"),
        ({"format": "delta", "mode": "UPSERT", "path": "/out/"}, "delta.`/out`", "delta delta.`/out`"),
        ({"format": "json", "mode": "retract", "path": "/out/"}, "/out", "json /out"),
        ({"format": "kafka", "mode": "upsert", "topic": "out", "options": SERVERS}, "out", "kafka out"),
    ],
)
def test_a_sink_has_a_place(said: Any, place: str, name: str) -> None:
    sink = declared(said)
    assert sink is not None and (sink.place, sink.name) == (place, name)
    assert sink.mode is ChangelogMode(said["mode"].lower())


@pytest.mark.parametrize(
    "said, message",
    [
        ("kafka", "the sink has no format"),
        ({"mode": "append"}, "the sink has no format"),
        ({"format": "kafak", "mode": "append"}, "'kafak' is no format of a sink"),
        ({"format": "json", "mode": "append", "pth": "/x"}, "did you mean path?"),
        ({"format": "json", "mode": "append", "checkpoint": "/x"}, "the keys are format, mode, options, topic"),
        ({"format": "json", "path": "/x"}, "the sink has no mode"),
        ({"format": "json", "mode": "auto", "path": "/x"}, "use one of 'append', 'retract', 'upsert'"),
        ({"format": "json", "mode": "append"}, "is at a path, and this one says none"),
        ({"format": "json", "mode": "append", "table": "x"}, "is at a path, and this one says table"),
        ({"format": "delta", "mode": "append", "table": "x", "path": "/x"}, "is at a table or a path"),
        ({"format": "delta", "mode": "append", "table": "x", "options": {"a": 1}}, "options means nothing"),
        ({"format": "kafka", "mode": "append", "topic": "x"}, "options has no kafka.bootstrap.servers"),
    ],
)
def test_what_cannot_be_meant_is_refused(said: Any, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        declared(said)
    assert message in str(refused.value) and "models/m.sql" in str(refused.value)


def test_upserts_of_a_table_that_is_only_appended_to_need_no_key() -> None:
    sink = declared({"format": "json", "mode": "upsert", "path": "/x"})
    assert sink is not None and by_key(sink, {}) and not by_key(sink, {"changelog_mode": "append"})
    retracting = declared({"format": "json", "mode": "retract", "path": "/x"})
    assert retracting is not None and not by_key(retracting, {})


def test_a_delivery_is_read_as_it_was_written_and_committed_once_begun_and_once_over() -> None:
    delivery = Delivery("shop.m", "id", 7, "commit", 3, "first", over=False)
    assert Delivery.read(delivery.text) == delivery
    steps = [int(v) for k, v in delivery.settings().items() if k.endswith("txnVersion")]
    over = Delivery("shop.m", "id", 9, "commit", 3, "first")
    assert steps == [5] and [int(v) for k, v in over.settings().items() if k.endswith("txnVersion")] == [6]


@pytest.mark.parametrize(
    "mode, key, said_key, said_value",
    [
        (ChangelogMode.UPSERT, ("a",), "STRUCT(`a`)", "CASE WHEN `_flag` THEN TO_JSON(STRUCT(`a`, `b`)"),
        (ChangelogMode.RETRACT, ("a",), "STRUCT(`a`)", "TO_JSON(STRUCT(`_flag`, `a`, `b`)"),
        (ChangelogMode.RETRACT, (), "STRUCT(`a`, `b`)", "TO_JSON(STRUCT(`_flag`, `a`, `b`)"),
        (ChangelogMode.APPEND, (), "CAST(NULL AS STRING) AS `__dynamic_record_key`", "TO_JSON(STRUCT(`a`, `b`)"),
    ],
)
def test_a_record_of_kafka(mode: ChangelogMode, key: tuple[str, ...], said_key: str, said_value: str) -> None:
    text = records(Messages("SELECT 1", (("a", "int"), ("b", "int")), mode, key), 7)
    assert said_key in text and said_value in text and "STRUCT('version' AS key, CAST(CAST(7 AS" in text
