"""Messages of Debezium and Canal, as connectors of several databases send them, taken apart by the SQL alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dbt_spark_dynamic.sparksql.envelopes import unwrapped
from dbt_spark_dynamic.versions.envelope import envelope_of
from integration_tests.maintained import Maintained

TYPES = {
    "id": "bigint", "price": "decimal(10,2)", "at": "timestamp", "day": "date", "tags": "array<string>",
    "ok": "boolean",
}  # fmt: skip
FULL = {"id": 1, "price": "1.50", "at": 1714554000000, "day": 19844, "tags": ["a"], "ok": True}
SHOWN = "id, CAST(price AS STRING), CAST(at AS STRING), CAST(day AS STRING), tags[0], ok, dbt_operation"
ROW = (1, "1.50", "2024-05-01 09:00:00", "2024-05-01", "a", True)


def events(maintained: Maintained, form: str, messages: list[Any], shown: str = SHOWN) -> list[tuple]:
    """What the messages say. A text is sent as it is."""
    texts = [m if isinstance(m, str | None) else json.dumps(m) for m in messages]
    listed = ", ".join(f"({i}, {'NULL' if t is None else 'X' + repr(t.encode().hex())})" for i, t in enumerate(texts))
    maintained.sql(f"CREATE OR REPLACE TEMPORARY VIEW topic AS SELECT * FROM VALUES {listed} AS t(part, value)")
    columns = (("part", "int"), ("value", "binary"))
    envelope = envelope_of({"format": form, "column_types": TYPES}, columns, "models/m.sql")
    assert envelope is not None
    changelog = unwrapped("SELECT part, value FROM topic", columns, ["id"], envelope)
    maintained.session.conf.set("spark.sql.session.timeZone", "UTC")
    return [tuple(r) for r in maintained.sql(f"SELECT {shown} FROM (\n{changelog}\n) ORDER BY part, dbt_operation")]


def test_debezium(maintained: Maintained) -> None:
    source = {"file": "bin.000003", "pos": 154, "row": 0, "ts_ms": 1714554000000, "connector": "mysql"}
    text = {**FULL, "at": "2024-05-01T09:00:00Z", "day": "2024-05-01", "price": 1.5}
    assert events(maintained, "debezium-json", [
        {"before": None, "after": FULL, "op": "r", "ts_ms": 1714554000007, "source": source, "transaction": None},
        {"schema": {"name": "Envelope"}, "payload": {"before": FULL, "after": text, "op": "u", "ts_ms": 1714554000007}},
        {"before": FULL, "after": None, "op": "d", "ts_ms": 1714554000007},
        None,
        {"op": "m", "ts_ms": 1714554000007, "message": {"prefix": "x"}},
        {"before": {"id": 1}, "after": {**FULL, "id": 2, "at": 1714554000000000}, "op": "u", "ts_ms": 1},
    ]) == [
        (*ROW, "upsert"), (*ROW, "upsert"), (*ROW, "delete"),
        (1, None, None, None, None, None, "delete"), (2, *ROW[1:], "upsert"),
    ]  # fmt: skip
    places = "CAST(db_operation_time AS STRING), CAST(message_time AS STRING), source_file, source_pos, source_lsn"
    created = {"before": None, "after": FULL, "op": "c", "ts_ms": 1714554001000}
    assert events(maintained, "debezium-json", [{**created, "source": source}, created], places) == [
        ("2024-05-01 09:00:00", "2024-05-01 09:00:01", "bin.000003", 154, None),
        ("2024-05-01 09:00:01", "2024-05-01 09:00:01", None, None, None),
    ]


def test_canal(maintained: Maintained) -> None:
    texts = {"id": "1", "price": "1.50", "at": "2024-05-01 09:00:00", "day": "2024-05-01", "tags": '["a"]', "ok": "1"}
    common = {"es": 1714554000000, "ts": 1714554000007, "id": 9, "isDdl": False, "pkNames": ["id"], "sql": ""}
    assert events(maintained, "canal-json", [
        {**common, "type": "INSERT", "data": [texts, {**texts, "id": "2"}], "old": None},
        {**common, "type": "UPDATE", "data": [texts, {**texts, "id": "3"}], "old": [{"price": "1.00"}, {"id": "2"}]},
        {**common, "type": "DELETE", "data": [texts], "old": None},
        {**common, "type": "CREATE", "data": None, "old": None, "isDdl": True, "sql": "create table t (id int)"},
    ]) == [
        (*ROW, "upsert"), (2, *ROW[1:], "upsert"),
        (2, *ROW[1:], "delete"), (*ROW, "upsert"), (3, *ROW[1:], "upsert"),
        (*ROW, "delete"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("form", "message", "said"),
    [
        ("debezium-json", {"op": "t", "ts_ms": 1}, "sent an operation that changes rows without naming them: t"),
        ("canal-json", {"type": "TRUNCATE", "es": 1, "data": None}, "changes rows without naming them: TRUNCATE"),
        ("debezium-json", {"op": "c", "after": {"id": "x"}}, "the column id has a value that is no bigint: x"),
        ("debezium-json", "{half", "MALFORMED_RECORD"),
    ],
)
def test_a_message_that_cannot_be_understood_is_an_error(maintained: Maintained, form: str, message, said: str) -> None:
    with pytest.raises(Exception, match=said.replace("(", r"\(")):
        events(maintained, form, [message])
