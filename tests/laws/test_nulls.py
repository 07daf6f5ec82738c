"""What is said of an expression where columns are NULL is so whatever the others are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbt_spark_dynamic.algebra.evaluate import value
from dbt_spark_dynamic.algebra.expressions import Expr
from dbt_spark_dynamic.algebra.nulls import is_never_true, is_null, is_zero
from dbt_spark_dynamic.dialect import parse_expression

from .plans import NAMES, predicates, scalars
from .states import VALUES

ROWS = st.fixed_dictionaries({name: st.sampled_from(VALUES) for name in NAMES})


@given(scalars(NAMES) | predicates(NAMES, 2), st.sets(st.sampled_from(NAMES), min_size=1), ROWS)
def test_it_is_so(e: Expr, absent: set[str], row: dict[str, int | None]) -> None:
    missing = row | dict.fromkeys(absent)
    if is_null(e, absent):
        assert value(e.tree, (missing,)) is None
    if is_never_true(e, absent):
        assert value(e.tree, (missing,)) is not True
    if is_zero(e, absent):
        assert value(e.tree, (missing,)) == 0 and value(e.tree, (row,)) is not None


@pytest.mark.parametrize(
    ("text", "null", "never_true", "zero"),
    [
        ("r", True, True, False),
        ("r + l", True, True, False),
        ("r > l", True, True, False),
        ("NOT (r > l)", True, True, False),
        ("r IS NULL", False, False, False),
        ("NOT r IS NULL", False, True, False),
        ("r <=> 1", False, True, False),
        ("r <=> NULL", False, False, False),
        ("r IS TRUE", False, True, False),
        ("r = 1 AND l = 1", False, True, False),
        ("r = 1 OR l = 1", False, False, False),
        ("r = 1 OR s = 1", True, True, False),
        ("r IN (1, 2)", True, True, False),
        ("r BETWEEN 1 AND 2", True, True, False),
        ("l BETWEEN r AND 2", False, False, False),
        ("r LIKE 'a%'", True, True, False),
        ("UPPER(r) = 'A'", True, True, False),
        ("CAST(r AS BIGINT) > 0", True, True, False),
        ("CAST(DATE_TRUNC('MONTH', r) AS DATE) = l", True, True, False),
        ("COALESCE(r, s)", True, True, False),
        ("COALESCE(r, 0)", False, False, True),
        ("COALESCE(r, 0.0)", False, False, True),
        ("COALESCE(r, l, 0)", False, False, False),
        ("COALESCE(r, 1)", False, False, False),
        ("COALESCE(r, 0) = 0", False, False, False),
        ("CASE WHEN r = 1 THEN 1 ELSE 0 END", False, False, True),
        ("CASE WHEN r = 1 THEN l ELSE 0 END", False, False, False),
        ("CASE WHEN r IS NULL THEN 0 ELSE 1 END", False, False, True),
        ("CASE r WHEN 1 THEN 1 ELSE 0 END", False, False, True),
        ("CASE l WHEN 1 THEN r ELSE 0 END", False, False, False),
        ("CASE WHEN r = 1 THEN l END", True, True, False),
        ("IF(r = 1, 1, 0)", False, False, True),
        ("IF(l = 1, r, 0)", False, False, False),
        ("some_function(r)", False, False, False),
        ("l = 1", False, False, False),
        ("0", False, False, False),
    ],
)
def test_of_which_expressions(text: str, null: bool, never_true: bool, zero: bool) -> None:
    e, absent = Expr.of(parse_expression(text)), {"r", "s"}
    assert (is_null(e, absent), is_never_true(e, absent), is_zero(e, absent)) == (null, never_true, zero)
