"""Python values as Spark SQL: nothing is lost on the way."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from dbt.adapters.spark_dynamic.literals import sql_literal

UTC = datetime.UTC


@pytest.mark.parametrize(
    ("value", "sql"),
    [
        (None, "NULL"),
        (True, "TRUE"),
        (9007199254740993, "9007199254740993"),
        (Decimal("1E+3"), "1000"),
        (Decimal("-0.10"), "-0.10"),
        (Decimal("1." + "1" * 38), "'1." + "1" * 38 + "'"),
        (Decimal("NaN"), "'NaN'"),
        (0.1, "0.1D"),
        (float("inf"), "CAST('inf' AS DOUBLE)"),
        ("O'Brien", "'O\\'Brien'"),
        ("a\\b", "'a\\\\b'"),
        (datetime.datetime(2024, 1, 2, 3, 4, 5, 6), "'2024-01-02 03:04:05.000006'"),
        (datetime.datetime(2024, 1, 2, tzinfo=UTC), "'2024-01-02 00:00:00.000000+00:00'"),
        (datetime.date(2024, 1, 2), "'2024-01-02'"),
        (b"\x00\xff", "X'00ff'"),
    ],
)
def test_literal(value, sql):
    assert sql_literal(value) == sql


@given(st.text())
def test_every_text_reads_back_as_itself(value):
    literal = sqlglot.parse_one(f"SELECT {sql_literal(value)}", dialect="spark").expressions[0]
    assert isinstance(literal, exp.Literal)
    assert literal.this == value


@given(st.integers() | st.decimals(allow_nan=False, allow_infinity=False, places=5))
def test_every_number_reads_back_as_itself(value):
    assert Decimal(sql_literal(value).strip("'")) == value


def test_a_type_without_a_literal_is_refused():
    with pytest.raises(TypeError, match="no SQL literal for a value of type dict"):
        sql_literal({})
