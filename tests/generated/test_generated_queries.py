"""R = q(A) for generated queries and change scripts: after each of five refreshes the table is its query, row for row.

`--pairs 3000` tries so many pairs of a query and a script; a failing one is shrunk, and kept in REGRESSIONS.
"""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from .duck import Duck
from .maintained import Maintained
from .queries import random_query
from .shapes import SHAPES
from .tables import Script

REFRESHES = 5

REGRESSIONS: tuple[tuple[str, int, bool], ...] = (
    ("SELECT store, SUM(-(2)) AS s, COUNT(*) AS n FROM sales GROUP BY store", 4, True),
    (
        "SELECT t.store, c.size FROM stores t LEFT JOIN"
        " (SELECT id, CASE WHEN qty > 1 THEN 'many' ELSE 'few' END AS size FROM sales) c ON t.store = c.id",
        1,
        False,
    ),
    (
        "WITH c AS (SELECT t5.store AS store, SUM(YEAR(t1.last_day)) AS c11,"
        " CASE WHEN COUNT(DISTINCT t1.store) > 1 THEN 'many' ELSE 'few' END AS c12 FROM day_totals AS t1,"
        " (SELECT t2.store AS store FROM day_totals AS t2 WHERE t2.sold IS NULL) AS t5"
        " WHERE t1.store = t5.store GROUP BY t5.store)"
        " SELECT COUNT(*) AS n, t14.last_day AS last_day FROM day_totals AS t14"
        " LEFT JOIN c AS t15 ON t14.sold = t15.c11 WHERE t15.c12 IS NOT NULL GROUP BY t14.last_day",
        1,
        False,
    ),
    (
        "SELECT a.qty FROM sales a RIGHT JOIN sales b USING (store)"
        " WHERE b.id NOT IN (SELECT c.qty FROM sales c WHERE c.qty = a.id) OR a.qty <=> b.store",
        3,
        False,
    ),
    (
        "SELECT DISTINCT (SELECT CAST(SORT_ARRAY(COLLECT_SET(t2.kind)) AS STRING) FROM items AS t2"
        " WHERE t2.kind = t1.id AND t2.item = t2.item) AS c3, t1.id FROM sales AS t1",
        0,
        False,
    ),
    (
        "SELECT COALESCE(t1.id, 0) AS c5, t1.id FROM sales AS t1 WHERE t1.id = t1.id GROUP BY 1, 2"
        " HAVING COUNT(*) >= (SELECT COUNT_IF(t2.id = 1) FILTER (WHERE t2.id < t2.id) FROM sales AS t2)",
        0,
        False,
    ),
)
"""(query, script, by key) of pairs that once failed."""


@pytest.fixture(scope="module")
def duck() -> Duck:
    return Duck()


def maintain(duck: Duck, sql: str, script: int, by_key: bool) -> None:
    duck.enter(f"{script}_{REFRESHES}", Script.random(script, REFRESHES).rounds)
    try:
        table = Maintained(duck, sql, by_key=by_key)
    except duckdb.BinderException:
        reject()
    for version in range(1, REFRESHES + 1):
        table.refresh(version)
        assert table.differences() == [], f"after refresh {version}"


def test_the_table_equals_its_query(duck: Duck, pairs: int) -> None:
    scripts = max(12, pairs // 25)

    @settings(max_examples=pairs)
    @given(
        st.builds(random_query, st.randoms(use_true_random=False)),
        st.integers(0, scripts - 1),
        st.booleans(),
    )
    def holds(sql: str, script: int, by_key: bool) -> None:
        maintain(duck, sql, script, by_key)

    holds()


@pytest.mark.parametrize("shape", SHAPES)
def test_each_construct(duck: Duck, shape: str) -> None:
    for script in range(2):
        for by_key in (True, False):
            maintain(duck, SHAPES[shape], script, by_key)


@pytest.mark.parametrize("shape", sorted(n for n, sql in SHAPES.items() if "JOIN" in sql or "GROUP BY" in sql))
def test_slices_that_turn_out_long(duck: Duck, shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their older rows are read again, and what they are joined with is read whole."""
    monkeypatch.setattr("dbt_spark_dynamic.commit.computed.LONG", 3)
    maintain(duck, SHAPES[shape], 0, by_key=False)


@pytest.mark.parametrize(("sql", "script", "by_key"), REGRESSIONS)
def test_a_pair_that_once_failed(duck: Duck, sql: str, script: int, by_key: bool) -> None:
    maintain(duck, sql, script, by_key)
