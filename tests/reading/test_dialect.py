"""Statements are printed as they were meant, by Spark's own functions."""

from __future__ import annotations

import pytest

from dbt_spark_dynamic.dialect import parse, parse_expression, print_sql
from dbt_spark_dynamic.errors import EngineError
from dbt_spark_dynamic.pipeline import compile_model
from tests.reading.test_reading import EVENTS, Events


@pytest.mark.parametrize(
    ("written", "printed"),
    (
        ("first(x, true)", "FIRST(x) IGNORE NULLS"),
        ("last(x, false)", "LAST(x)"),
        ("listagg(x)", "LISTAGG(x, '')"),
        ("log10(x)", "LOG10(x)"),
        ("array_size(x)", "ARRAY_SIZE(x)"),
        ("to_char(x, '9.9')", "TO_CHAR(x, '9.9')"),
        ("parse_json(x)", "PARSE_JSON(x)"),
        ("x:a.b[0]::int", r"CAST(VARIANT_GET(x, '$.a.b[0]', 'variant') AS INT)"),
        ("x:['a b']", r"VARIANT_GET(x, '$[\'a b\']', 'variant')"),
        ("t.x:a:b", "VARIANT_GET(VARIANT_GET(t.x, '$.a', 'variant'), '$.b', 'variant')"),
        ("get_json_object(x, 'a')", "GET_JSON_OBJECT(x, 'a')"),
        ("'it''s'", r"'it\'s'"),
        ("'a' 'b'", "CONCAT('a', 'b')"),
    ),
)
def test_functions_and_strings(written: str, printed: str) -> None:
    assert print_sql(parse_expression(written)) == printed


@pytest.mark.parametrize(("limit", "printed"), (("LIMIT ALL", ""), ("LIMIT 2 * 3 OFFSET 1 + 1", " LIMIT 6 OFFSET 2")))
def test_limits_are_numbers(limit: str, printed: str) -> None:
    assert print_sql(parse(f"SELECT a FROM t {limit}")) == f"SELECT a FROM t{printed}"


class Refused(EngineError):
    condition = "DATATYPE_MISMATCH"


def test_what_spark_refuses_when_it_is_printed_again_is_recomputed() -> None:
    def refused(sql: str):
        raise Refused

    model = compile_model("SELECT id FROM events UNION SELECT 1", EVENTS[:1], Events(), refused)
    assert model.refusal is not None
    assert "DATATYPE_MISMATCH" in model.refusal.reason


def test_a_path_in_a_variant_that_is_not_known_is_recomputed() -> None:
    model = compile_model("SELECT id:a[*] AS id FROM events", EVENTS[:1], Events(), lambda sql: EVENTS[:1])
    assert model.refusal is not None
    assert "no name and no number" in model.refusal.reason


def test_what_cannot_be_printed_is_recomputed() -> None:
    model = compile_model("SELECT max_by(id, ts, 2) AS id FROM events", EVENTS[:1], Events(), lambda sql: EVENTS[:1])
    assert model.refusal is not None
    assert model.refusal.construct == "arg_max() of several rows"
