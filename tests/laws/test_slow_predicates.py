"""Which predicates take longer than reading the rows they are asked of."""

from __future__ import annotations

import pytest

from dbt_spark_dynamic.algebra.expressions import Expr
from dbt_spark_dynamic.algebra.slow import is_slow
from dbt_spark_dynamic.dialect import parse_expression


@pytest.mark.parametrize(
    ("predicate", "slow"),
    [
        ("a = 1 AND b LIKE 'x%'", False),
        ("b LIKE '%x%' OR b LIKE '%x' OR b LIKE 'x' OR b LIKE 'x%y'", False),
        ("NOT b LIKE '%x%y%'", True),
        ("b LIKE 'x_'", True),
        ("b LIKE c", True),
        ("b LIKE 'x\\\\%'", True),
        ("b ILIKE '%x%y'", True),
        ("b RLIKE 'x'", True),
        ("a > 1 OR REGEXP_EXTRACT(b, 'x(.)', 1) = 'y'", True),
        ("REGEXP_REPLACE(b, 'x', '') = 'y'", True),
        ("GET_JSON_OBJECT(b, '$.x') = 'y'", True),
        ("SUBSTRING(b, 1, 2) IN ('x', 'y')", False),
    ],
)
def test_patterns_that_text_is_searched_for_are_slow(predicate: str, slow: bool) -> None:
    assert is_slow(Expr.of(parse_expression(predicate))) is slow
