"""Every construct that is maintained by change, on real Spark and Delta: equal to its query, and never recomputed.

tests/generated maintains all that DuckDB answers too through five refreshes. Here are first as many queries as have
between them nearly all that all have, and then the others.
"""

from __future__ import annotations

import pytest

from dbt_spark_dynamic.algebra.nodes import Node
from dbt_spark_dynamic.commit.catalog import SessionCatalog
from dbt_spark_dynamic.commit.classic import ClassicEngine
from dbt_spark_dynamic.commit.outcome import Code
from dbt_spark_dynamic.pipeline import compile_model
from integration_tests.maintained import Maintained
from integration_tests.test_generated import create_sources, run, wrong_after_rounds
from tests.generated.covering import covering
from tests.generated.shapes import OF_SPARK, SHAPES
from tests.generated.tables import Script

REFRESHES = 1


@pytest.mark.parametrize("others", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_every_construct_is_maintained_incrementally(maintained: Maintained, others: bool) -> None:
    """One batch of changes for all of them."""
    script = Script.random(7, REFRESHES)
    create_sources(maintained)
    run(maintained, script.rounds[0])
    queries = SHAPES | OF_SPARK
    chosen = covering(queries, lambda sql: read(maintained, sql), elsewhere=SHAPES)
    if others:
        chosen = {name: sql for name, sql in queries.items() if name not in chosen}
    wrong = wrong_after_rounds(maintained, chosen, script)
    assert not wrong, "\n\n".join(wrong)


def read(maintained: Maintained, sql: str) -> Node:
    engine = ClassicEngine(maintained.session)
    model = compile_model(sql, engine.columns(sql), SessionCatalog(engine), engine.columns)
    assert model.node is not None, f"{model.refusal}\n{sql}"
    return model.node


def test_a_left_join_lateral_without_a_condition(maintained: Maintained) -> None:
    """An inner join to Spark 4.2. Where this fails, it is none any more, and need not be recomputed."""
    maintained.sql("CREATE TABLE t (k INT, v ARRAY<INT>) USING delta")
    maintained.sql("INSERT INTO t VALUES (1, NULL), (2, ARRAY(1))")
    maintained.refresh("m", sql="SELECT k, x FROM t LEFT JOIN LATERAL EXPLODE(v) AS g (x)")
    assert maintained.rows("m") == [(2, 1)]
    maintained.sql("INSERT INTO t VALUES (3, NULL), (4, ARRAY(2))")
    assert maintained.refresh("m").code is Code.RECOMPUTE
    assert maintained.difference("m") == 0
