"""Every construct that is maintained by change, on real Spark and Delta: equal to its query, and never recomputed."""

from __future__ import annotations

from dbt_spark_dynamic.commit.outcome import Code
from integration_tests.maintained import Maintained
from integration_tests.test_generated import create_sources, run, wrong_after_refresh
from tests.generated.shapes import OF_SPARK, SHAPES
from tests.generated.tables import Script

REFRESHES = 1

MODELS = SHAPES | OF_SPARK


def test_every_construct_is_maintained_incrementally(maintained: Maintained) -> None:
    """One batch of changes for all of them; every third is applied without its key, as exact retractions."""
    for setting in ("spark.sql.shuffle.partitions", "spark.sql.leafNodeDefaultParallelism"):
        # Of a handful of rows: each task costs more than what it does.
        maintained.session.conf.set(setting, "1")
    script = Script.random(7, REFRESHES)
    create_sources(maintained)
    run(maintained, script.rounds[0])
    maintained.models.update(MODELS)
    wrong: list[str] = []
    for i, name in enumerate(MODELS):
        wrong += wrong_after_refresh(maintained, name, {Code.CREATED}, keyless=i % 3 == 2)
    for changes in script.rounds[1:]:
        run(maintained, changes)
        for i, name in enumerate(MODELS):
            wrong += wrong_after_refresh(maintained, name, {Code.INCREMENTAL, Code.NO_CHANGE}, keyless=i % 3 == 2)
    assert not wrong, "\n\n".join(wrong)
