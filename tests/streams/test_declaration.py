"""`meta: {stream: …}`: what is read from it, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from dbt_spark_dynamic.errors import ConfigError
from dbt_spark_dynamic.sparksql.envelopes import Format
from dbt_spark_dynamic.streams.declaration import Stream, stream_of

COLUMNS = {"user": {"data_type": "string"}, "at": {"data_type": "timestamp"}, "note": {}}


def declared(said: Any, columns: dict[str, Any] = COLUMNS) -> Stream | None:
    return stream_of("source.p.shop.clicks", "shop.clicks", {"stream": said}, columns, "models/sources.yml")


def test_a_source_without_a_stream_is_a_table() -> None:
    assert stream_of("s", "shop.clicks", {"owner": "me"}, COLUMNS, "") is None


def test_files_are_read_with_the_columns_that_have_a_type() -> None:
    stream = declared({"format": "json", "options": {"path": "/in", "multiLine": True, "maxFilesPerTrigger": 5}})
    assert stream is not None and stream.schema == "`user` string, `at` timestamp" and stream.projection == ()
    assert stream.options == {"path": "/in", "multiLine": "true", "maxFilesPerTrigger": "5"}


def test_a_record_of_kafka_is_its_value_and_what_is_declared_beside_it() -> None:
    stream = declared(
        {"format": "kafka", "options": {"subscribe": "clicks"}}, {**COLUMNS, "kafka_offset": {"data_type": "bigint"}}
    )
    assert stream is not None and stream.schema is None
    user, at, offset = stream.projection
    assert offset == "offset AS `kafka_offset`"
    assert user == (
        "FROM_JSON(CAST(value AS STRING), '`user` string, `at` timestamp', MAP('mode', 'FAILFAST')).`user` AS `user`"
    )
    assert at.endswith(".`at` AS `at`")


def test_what_is_no_json_is_kept_where_there_is_a_column_for_it_or_as_the_user_says() -> None:
    kept = declared({"format": "kafka"}, {**COLUMNS, "_corrupt_record": {"data_type": "string"}})
    assert kept is not None and "'mode', 'PERMISSIVE'" in kept.projection[0]
    said = declared({"format": "kafka", "value_options": {"mode": "PERMISSIVE", "timestampFormat": "yyyy"}})
    assert said is not None and "MAP('mode', 'PERMISSIVE', 'timestampFormat', 'yyyy')" in said.projection[0]


def test_a_key_is_a_column_or_several_as_they_are_declared() -> None:
    one = declared({"format": "kafka", "key": "USER", "sequence_by": ["At"]})
    assert one is not None and (one.key, one.sequence_by, one.value_format) == (("user",), ("at",), None)
    two = declared({"format": "text", "key": ["user", "at"], "value_format": "debezium-json"})
    assert two is not None and (two.key, two.value_format) == (("user", "at"), Format.DEBEZIUM)
    assert two.schema == "value STRING" and two.about == (
        "db_operation_time", "message_time", "source_file", "source_pos", "source_row", "source_lsn",
    )  # fmt: skip
    plain = declared({"format": "kafka", "value_format": "json"})
    assert plain is not None and plain == declared({"format": "kafka"})


@pytest.mark.parametrize(
    "said, columns, message",
    [
        ("kafka", COLUMNS, "has no format"),
        ({"options": {}}, COLUMNS, "has no format"),
        ({"format": "kafak"}, COLUMNS, "'kafak' is no format of a stream"),
        ({"format": "json", "option": {}}, COLUMNS, "did you mean options?"),
        ({"format": "json", "checkpoint": "x"}, COLUMNS, "the keys are format, options, value_options, value_format"),
        ({"format": "json"}, {"user": {}}, "each with its data_type"),
        ({"format": "kafka"}, {"kafka_offset": {"data_type": "bigint"}}, "does not say what its rows are"),
        ({"format": "rate", "value_options": {"mode": "x"}}, {}, "value_options means nothing for rate"),
        ({"format": "kafka", "key": "id"}, COLUMNS, "key names id, which is not a column of the stream"),
        ({"format": "kafka", "key": ["user", "note"]}, COLUMNS, "key names note"),
        ({"format": "kafka", "sequence_by": "at"}, COLUMNS, "sequence_by needs key"),
        ({"format": "kafka", "key": "user", "sequence_by": "seq"}, COLUMNS, "sequence_by names seq"),
        ({"format": "kafka", "value_format": "debezium-json"}, COLUMNS, "needs key: the columns that identify a row"),
        ({"format": "kafka", "value_format": "debezium"}, COLUMNS, "use one of json, debezium-json, canal-json"),
        ({"format": "json", "value_format": "canal-json"}, COLUMNS, "means nothing for format: json"),
        ({"format": "text", "value_format": "json"}, COLUMNS, "set format to json"),
        (
            {"format": "kafka", "value_format": "canal-json", "key": "user", "value_options": {"mode": "PERMISSIVE"}},
            COLUMNS,
            "value_options means nothing for value_format: canal-json",
        ),
        ({"format": "delta", "key": "user"}, COLUMNS, "declare it as a source without stream"),
        ({"format": "rate", "key": "user"}, COLUMNS, "key needs sequence_by for format: rate"),
        (
            {"format": "delta", "key": "user", "sequence_by": "at", "options": {"ReadChangeFeed": True}},
            COLUMNS,
            "readChangeFeed exclude each other",
        ),
        ({"format": "kafka", "key": "user"}, {**COLUMNS, "_corrupt_record": {"data_type": "string"}}, "exclude each"),
        ({"format": "kafka", "key": "kafka_offset"}, {**COLUMNS, "kafka_offset": {"data_type": "bigint"}}, "another"),
        (
            {"format": "kafka", "key": "source_lsn", "value_format": "debezium-json"},
            {"source_lsn": {"data_type": "bigint"}},
            "does not say what its rows are",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(said: Any, columns: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        declared(said, columns)
    assert message in str(refused.value) and "models/sources.yml" in str(refused.value)
