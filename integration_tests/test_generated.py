"""Generated queries over generated changes, maintained on real Spark and Delta by the refresh itself.

All queries share one script of changes, so that the changes are paid for once. GENERATED_PAIRS=200 tries more queries,
GENERATED_SEED=1 others.
"""

from __future__ import annotations

import os
from random import Random

import pytest

from dbt_spark_dynamic.commit.outcome import Code
from dbt_spark_dynamic.commit.spec import ChangelogMode
from integration_tests.maintained import Maintained
from tests.generated.queries import random_query
from tests.generated.tables import TABLES, VIEW, VIEW_SQL, Script

PAIRS = int(os.environ.get("GENERATED_PAIRS", "6"))
SEED = int(os.environ.get("GENERATED_SEED", "0"))
REFRESHES = 5


@pytest.mark.usefixtures("large_tables")
def test_generated_queries_are_maintained_incrementally(maintained: Maintained) -> None:
    """After each of five rounds every table is its query, row for row, and none was recomputed."""
    script = Script.random(SEED, REFRESHES)
    create_sources(maintained)
    run(maintained, script.rounds[0])
    wrong: list[str] = []
    for i in range(PAIRS):
        maintained.models[f"m{i}"] = query_of_spark(maintained, Random(f"{SEED}/{i}"))
        wrong += wrong_after_refresh(maintained, f"m{i}", {Code.CREATED}, keyless=i % 3 == 2)
    for changes in script.rounds[1:]:
        run(maintained, changes)
        for i in range(PAIRS):
            expected = {Code.INCREMENTAL, Code.NO_CHANGE}
            wrong += wrong_after_refresh(maintained, f"m{i}", expected, keyless=i % 3 == 2)
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


def wrong_after_refresh(maintained: Maintained, name: str, expected: set[Code], *, keyless: bool) -> list[str]:
    """What is wrong with a model after a refresh. keyless: applied without its key, as exact retractions."""
    sql, mode = maintained.models[name], ChangelogMode.RETRACT if keyless else ChangelogMode.AUTO
    try:
        outcome = maintained.refresh(name, changelog_mode=mode)
    except Exception as error:
        return [f"{name} failed: {error}\n{sql}"]
    if outcome.code not in expected:
        return [f"{name}: {outcome.line()}\n{sql}"]
    different = sum(map(abs, maintained.missing_and_more(name).values()))
    return [f"{name}: {different} rows differ after {outcome.line()}\n{sql}"] if different else []
