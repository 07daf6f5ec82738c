"""`meta: {stream: …}`: what is read from it, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from dbt_spark_dynamic.errors import ConfigError
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


@pytest.mark.parametrize(
    "said, columns, message",
    [
        ("kafka", COLUMNS, "has no format"),
        ({"options": {}}, COLUMNS, "has no format"),
        ({"format": "kafak"}, COLUMNS, "'kafak' is no format of a stream"),
        ({"format": "json", "option": {}}, COLUMNS, "did you mean options?"),
        ({"format": "json", "checkpoint": "x"}, COLUMNS, "the keys are format, options, value_options"),
        ({"format": "json"}, {"user": {}}, "each with its data_type"),
        ({"format": "kafka"}, {"kafka_offset": {"data_type": "bigint"}}, "does not say what its rows are"),
        ({"format": "rate", "value_options": {"mode": "x"}}, {}, "value_options means nothing for rate"),
    ],
)
def test_what_cannot_be_meant_is_refused(said: Any, columns: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        declared(said, columns)
    assert message in str(refused.value) and "models/sources.yml" in str(refused.value)
