"""Every query of TPC-H and TPC-DS is understood, and its change plan can be printed: none falls back to recomputing.

`make coverage` maintains them all on Spark, which takes too long to be done each time.
"""

from __future__ import annotations

import pytest

from dbt_spark_dynamic.pipeline import compile_model
from integration_tests.coverage.report import NAMES, QUERIES
from integration_tests.coverage.without_spark import change_plan_of, printed, read_by_duck


@pytest.mark.parametrize("suite", NAMES)
def test_every_query_is_maintained_by_change(suite: str) -> None:
    duck, queries = read_by_duck(suite)
    assert len(queries) == QUERIES[suite]
    refused = {}
    for number, sql in queries.items():
        model = compile_model(sql, duck.columns(sql), duck, duck.columns)
        if model.node is None:
            refused[number] = str(model.refusal)
        else:
            assert printed(change_plan_of(model), model)
    assert not refused
