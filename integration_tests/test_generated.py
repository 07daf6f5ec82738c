"""Generated queries over generated changes, maintained on real Spark and Delta by the refresh itself.

All queries share one script of changes, so that the changes are paid for once. GENERATED_PAIRS=200 tries more queries,
GENERATED_SEED=1 others.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from random import Random

import pytest
from pyspark.sql import SparkSession

from dbt_spark_dynamic.commit.outcome import Code
from dbt_spark_dynamic.commit.spec import ChangelogMode
from integration_tests.maintained import Maintained
from tests.generated.queries import random_query
from tests.generated.tables import TABLES, VIEW, VIEW_SQL, Script

PAIRS = int(os.environ.get("GENERATED_PAIRS", "4"))
SEED = int(os.environ.get("GENERATED_SEED", "0"))
REFRESHES = 5


@pytest.mark.usefixtures("large_tables")
def test_generated_queries_are_maintained_incrementally(maintained: Maintained) -> None:
    """After each of five rounds every table is its query, row for row, and none was recomputed."""
    script = Script.random(SEED, REFRESHES)
    create_sources(maintained)
    run(maintained, script.rounds[0])
    models = {f"m{i}": query_of_spark(maintained, Random(f"{SEED}/{i}")) for i in range(PAIRS)}
    wrong = wrong_after_rounds(maintained, models, script)
    assert not wrong, "\n\n".join(wrong)


def query_of_spark(maintained: Maintained, random: Random) -> str:
    """A query that Spark can plan by itself, as it cannot one in a hundred of those that the generator makes."""
    while True:
        query = random_query(random)
        if "Error occurred during query planning" not in maintained.sql(f"EXPLAIN {query}")[0][0]:
            return query


def create_sources(maintained: Maintained) -> None:
    for name, columns in TABLES.items():
        listed = ", ".join(f"{c} {kind}" for c, kind in columns)
        maintained.sql(f"CREATE TABLE {name} ({listed}) USING delta")
    maintained.sql(f"CREATE VIEW {VIEW} AS {VIEW_SQL}")


def run(maintained: Maintained, statements: tuple[str, ...]) -> None:
    for statement in statements:
        maintained.sql(statement)


def wrong_after_rounds(maintained: Maintained, models: Mapping[str, str], script: Script) -> list[str]:
    """What is wrong with the models after each round, of which the first has run. Every third is applied without its
    key, as exact retractions."""
    maintained.models.update(models)
    mode = {name: ChangelogMode.RETRACT if i % 3 == 2 else ChangelogMode.AUTO for i, name in enumerate(models)}
    wrong: list[str] = []
    expected = {Code.CREATED}
    for changes in ((), *script.rounds[1:]):
        run(maintained, changes)
        answers = maintained.in_memory(TABLES, {VIEW: VIEW_SQL})
        for name in models:
            wrong += wrong_after_refresh(maintained, name, expected, mode[name], answers)
        expected = {Code.INCREMENTAL, Code.NO_CHANGE}
    return wrong


def wrong_after_refresh(
    maintained: Maintained, name: str, expected: set[Code], mode: ChangelogMode, answers: SparkSession
) -> list[str]:
    """answers: the session that is asked for the query's rows first."""
    sql = maintained.models[name]
    try:
        outcome = maintained.refresh(name, changelog_mode=mode)
    except Exception as error:
        return [f"{name} failed: {error}\n{sql}"]
    if outcome.code not in expected:
        return [f"{name}: {outcome.line()}\n{sql}"]
    if not maintained.missing_and_more(name, answers):
        return []
    # In memory rows are added up in another order, to other last digits, and what an EXCEPT of NULLs gives is wrong.
    different = sum(map(abs, maintained.missing_and_more(name).values()))
    return [f"{name}: {different} rows differ after {outcome.line()}\n{sql}"] if different else []
