"""Bits tell that no two rows of a table have one key, and never that they have none in common where they have."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dbt_spark_dynamic.commit.classic import ClassicEngine
from dbt_spark_dynamic.commit.measure import Measure
from dbt_spark_dynamic.reading.relations import Columns
from dbt_spark_dynamic.sparksql.key_bits import WORD
from dbt_spark_dynamic.sparksql.unique_keys import PLACES, distinct_keys, in_words, spans_of
from integration_tests.maintained import Maintained

LEAST, MOST = -(2**63), 2**63 - 1
KEY = (("a", "bigint"), ("b c", "smallint"))

Row = tuple[int | None, int | None]


def is_unique(maintained: Maintained, rows: Sequence[Row]) -> bool:
    frame = maintained.session.createDataFrame(list(rows), "a BIGINT, `b c` SMALLINT")
    frame.createOrReplaceTempView("keys")
    return Measure(ClassicEngine(maintained.session)).is_unique("keys", KEY)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(-4, 4), st.integers(-3, 2)), min_size=1, max_size=12),
    st.sampled_from((0, LEAST + 4, MOST - 4)),
)
@example([(0, 0), (0, 1), (1, 0), (1, 1)], 0)
@example([(1, 0), (0, 1), (1, 0)], 0)
@example([(-1, 2), (1, -2)], 0)
def test_rows_that_are_close_together_are_told_apart(
    maintained: Maintained, near: list[tuple[int, int]], by: int
) -> None:
    rows = [(a + by, b) for a, b in near]
    assert is_unique(maintained, rows) == (len(set(rows)) == len(rows))


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([], id="no rows"),
        pytest.param([(1, 1), (None, 2)], id="no value"),
        pytest.param([(LEAST, 1), (MOST, 1)], id="far apart"),
        pytest.param([(0, 0), (2 * PLACES, 0)], id="too far apart"),
    ],
)
def test_of_others_nothing_is_told(maintained: Maintained, rows: list[Row]) -> None:
    assert not is_unique(maintained, rows)
    assert is_unique(maintained, [(0, 0), (2 * PLACES - 1, 0)])


def test_only_integers_have_places() -> None:
    assert spans_of("t", (("a", "int"), ("b", "string"))) is None
    assert distinct_keys("t", KEY[:1], (0, 0, None, None)) is None


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.integers(-2, 2), st.sampled_from((-WORD - 1, -WORD, -1, 0, 1, WORD - 1, WORD))), max_size=12),
    st.sampled_from((0, LEAST + 2, MOST - 2)),
)
@example([(0, -1), (0, WORD - 1)], 0)
@example([(0, 1), (1, 1), (0, 1)], MOST - 2)
def test_rows_of_a_query_are_told_apart_wherever_they_are(
    maintained: Maintained, near: list[tuple[int, int]], by: int
) -> None:
    rows = [(a + by, b) for a, b in near]
    unique = len(set(rows)) == len(rows)
    assert told_apart(maintained, rows, "SELECT * FROM keys", KEY) == unique
    named = "SELECT CAST(a AS STRING) AS bits, `b c` AS copies FROM keys"
    assert told_apart(maintained, rows, named, (("bits", "string"), ("copies", "smallint"))) == unique


def test_without_a_value_or_an_integer_nothing_is_told(maintained: Maintained) -> None:
    assert not told_apart(maintained, [(None, 1), (1, 1)], "SELECT * FROM keys", KEY)
    assert told_apart(maintained, [(1, None), (1, 1)], "SELECT * FROM keys", KEY)
    assert not told_apart(maintained, [(1, None), (1, None)], "SELECT * FROM keys", KEY)
    assert in_words("SELECT * FROM keys", (("a", "string"), ("b", "date"))) is None


def told_apart(maintained: Maintained, rows: Sequence[Row], query: str, key: Columns) -> bool:
    frame = maintained.session.createDataFrame(list(rows), "a BIGINT, `b c` SMALLINT")
    frame.createOrReplaceTempView("keys")
    return Measure(ClassicEngine(maintained.session)).told_apart(query, key)
