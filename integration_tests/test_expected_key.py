"""Rows that have a key if the project is right: merged by it while they have, and as a whole where they have not."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from dbt_spark_dynamic.commit.outcome import Code, Outcome
from integration_tests.conftest import DbtProject
from integration_tests.maintained import Maintained, sql_engine

LINES = (
    "SELECT l.id, l.v AS came, p.name AS `t.gone` FROM lines AS l JOIN parts AS p ON l.part = p.part "
    "WHERE l.v IS NULL OR l.v < 90"
)


@pytest.fixture(params=["classic"])
def lines(request: pytest.FixtureRequest, maintained: Maintained) -> Maintained:
    """Lines of parts, their model built, over either engine."""
    if request.param == "sql":
        maintained.wrap = lambda _: sql_engine(maintained.session, maintained.statements.append)
    maintained.sql("CREATE TABLE lines (id INT, part INT, v INT) USING delta")
    maintained.sql("CREATE TABLE parts (part INT, name STRING) USING delta")
    maintained.sql("INSERT INTO parts VALUES (1, 'bolt'), (2, 'nut'), (NULL, 'none')")
    maintained.sql("INSERT INTO lines VALUES (1, 1, 10), (2, 2, NULL), (3, 1, 30), (NULL, 2, 40), (5, 9, 50)")
    return maintained


def refreshed(lines: Maintained, statements: Iterable[str] = ()) -> Outcome:
    """Of a refresh after statements: how it came about. The table is what its query is."""
    for statement in statements:
        lines.sql(statement)
    expected = {f"{lines.schema}.lines": ("ID",), f"spark_catalog.{lines.schema}.parts": ("part",)}
    outcome = lines.refresh("m", sql=LINES, expected_keys=expected)
    assert not lines.missing_and_more("m")
    return outcome


def looked(lines: Maintained) -> bool:
    """Whether the last refresh looked through the whole table for rows of one key."""
    return any("ORDER BY NULL" in s or "BITMAP_COUNT" in s for s in lines.statements)


def test_changes_are_merged_by_a_key_that_holds(lines: Maintained) -> None:
    refreshed(lines)
    first = refreshed(lines, ["UPDATE lines SET v = 11 WHERE id = 1"])
    assert (first.technique, first.rows_inserted, first.rows_updated, first.rows_deleted) == ("merge", 0, 1, 0)
    assert looked(lines) and not any("how many the table holds" in s for s in lines.statements)
    for batch in (
        ["DELETE FROM lines WHERE id IS NULL", "INSERT INTO lines VALUES (6, 2, 60), (NULL, 1, 1)"],
        # Rows that change places, one that goes and comes again, one that is filtered out and then no longer is.
        ["UPDATE lines SET id = 3 - id WHERE id IN (1, 2)"],
        [
            "DELETE FROM lines WHERE id = 3",
            "INSERT INTO lines VALUES (3, 2, 31)",
            "UPDATE lines SET v = 99 WHERE id = 6",
        ],
        ["UPDATE lines SET v = 60 WHERE id = 6", "UPDATE parts SET name = 'screw' WHERE part = 1"],
        ["DELETE FROM parts WHERE part = 2", "INSERT INTO parts VALUES (2, 'nail'), (9, 'pin')"],
        ["DELETE FROM lines"],
        ["INSERT INTO lines VALUES (1, 1, 10)", "DELETE FROM parts WHERE part = 2"],
    ):
        outcome = refreshed(lines, batch)
        assert outcome.code is Code.INCREMENTAL and outcome.technique in ("merge", "append") and not outcome.notes
        assert not looked(lines)


TWICE = {
    "in the table": (["INSERT INTO lines VALUES (1, 2, 12)"], []),
    "one more": ([], ["INSERT INTO lines VALUES (2, 1, 12)"]),
    "two that come": ([], ["INSERT INTO lines VALUES (7, 1, 12), (7, 2, 12)"]),
    "two that come and are equal": ([], ["INSERT INTO lines VALUES (7, 1, 12), (7, 1, 12)"]),
    "a part of two names": ([], ["INSERT INTO parts VALUES (1, 'another')"]),
    "no key": ([], ["INSERT INTO lines VALUES (NULL, 1, 12)"]),
    "another's key": ([], ["UPDATE lines SET id = 3 WHERE id = 2"]),
}
ALWAYS = {"in the table", "one more", "two that come", "another's key"}
"""Those of TWICE that are not left to `make thorough`."""


@pytest.mark.parametrize(
    ("case", "known", "appended"),
    [
        *(pytest.param(c, True, False, marks=() if c in ALWAYS else pytest.mark.thorough) for c in TWICE),
        *(pytest.param("one more", *found, marks=pytest.mark.thorough) for found in ((False, False), (True, True))),
        ("one more", False, True),
    ],
)
def test_rows_are_merged_as_a_whole_where_it_does_not_hold(
    lines: Maintained, case: str, known: bool, appended: bool
) -> None:
    before, twice = TWICE[case]
    change = [] if appended else ["UPDATE lines SET v = 31 WHERE id = 3"]
    for statement in before:
        lines.sql(statement)
    refreshed(lines)
    if known and not before:
        assert refreshed(lines, ["UPDATE lines SET v = v + 1 WHERE id = 1"]).technique == "merge"
    outcome = refreshed(lines, [*twice, *change])
    assert outcome.technique == ("append" if appended else "retract")
    # Rows that only come are not looked at.
    assert bool(outcome.notes) == (not appended)
    if outcome.notes:
        assert f"(id) is not unique in {lines.schema}.m" in outcome.notes[0]
    later = refreshed(lines, ["UPDATE lines SET v = 32 WHERE id = 3"])
    assert later.technique == "retract" and bool(later.notes) == looked(lines) == (not outcome.notes)


def test_a_large_table_is_looked_through_by_bits(lines: Maintained, large_tables: None) -> None:
    """And, where these tell that rows share a key, once more for which do."""
    lines.sql("DELETE FROM lines WHERE id IS NULL")
    refreshed(lines)
    first = refreshed(lines, ["UPDATE lines SET v = 11 WHERE id = 1"])
    assert first.technique == "merge" and looked(lines)
    assert not any("ORDER BY NULL" in s for s in lines.statements)
    refreshed(lines, ["INSERT INTO lines VALUES (1, 2, 12)"])
    second = refreshed(lines, ["UPDATE lines SET v = 31 WHERE id = 3"])
    assert second.technique == "retract" and any("ORDER BY NULL" in s for s in lines.statements)
    assert "(id=1) has 2 rows" in second.notes[0]


def test_a_rebuild_looks_again(lines: Maintained) -> None:
    refreshed(lines, ["INSERT INTO lines VALUES (1, 2, 12)"])
    assert refreshed(lines, ["UPDATE lines SET v = 31 WHERE id = 3"]).technique == "retract"
    assert refreshed(lines, ["DELETE FROM lines WHERE v = 12"]).technique == "retract" and not looked(lines)
    lines.refresh("m", full_refresh=True)
    assert refreshed(lines, ["UPDATE lines SET v = 32 WHERE id = 3"]).technique == "merge"


@pytest.mark.parametrize(
    ("lines", "seed"), [("classic", 0), pytest.param("sql", 1, marks=pytest.mark.thorough)], indirect=["lines"]
)
def test_batches_of_conflicting_changes(lines: Maintained, seed: int) -> None:
    rng = random.Random(seed)
    lines.sql("DELETE FROM lines")
    refreshed(lines)
    techniques = set()
    for batch in range(6):
        statements = []
        for _ in range(rng.randint(1, 4)):
            one, other, v = rng.randint(1, 12), rng.randint(1, 12), rng.randint(1, 100)
            statements.append(
                rng.choice(
                    [
                        f"INSERT INTO lines SELECT {one}, {1 + one % 2}, {v} WHERE {one} NOT IN (SELECT id FROM lines)",
                        f"INSERT INTO lines SELECT {one} + id, 2, {v} FROM RANGE(20, 25)",
                        f"UPDATE lines SET v = {v} WHERE id % 5 = {one % 5}",
                        f"DELETE FROM lines WHERE id % 7 = {other % 7}",
                        f"UPDATE parts SET name = CONCAT(name, '{v}') WHERE part = {1 + one % 2}",
                    ]
                )
                if batch < 5 or rng.random() < 0.5
                else f"INSERT INTO lines VALUES ({one}, 1, {v})"
            )
        techniques.add(refreshed(lines, statements).technique)
    assert techniques & {"merge", "retract"}


FOUND = "SELECT a.part, a.id, a.v, b.name FROM a JOIN b ON a.part = b.part"


@pytest.fixture
def nobody_says(maintained: Maintained, large_tables: None) -> Maintained:
    """A model of rows with a key of two columns that nobody declares."""
    maintained.sql("CREATE TABLE a USING delta AS SELECT id % 5 AS part, id DIV 5 AS id, id % 50 AS v FROM RANGE(1000)")
    maintained.sql("CREATE TABLE b USING delta AS SELECT id AS part, CONCAT('p', id % 3) AS name FROM RANGE(5)")
    maintained.refresh("m", sql=FOUND)
    return maintained


def after(tables: Maintained, *statements: str) -> str:
    """The technique of a refresh after statements. The table is what its query is, and nobody is told of a guess."""
    for statement in statements:
        tables.sql(statement)
    outcome = tables.refresh("m")
    assert outcome.code is Code.INCREMENTAL and not outcome.notes and not tables.missing_and_more("m")
    return outcome.technique


def test_a_key_is_found_in_the_rows_of_a_change(nobody_says: Maintained) -> None:
    assert after(nobody_says, "UPDATE a SET v = -v WHERE id = 7") == "retract"
    # Columns that are equal in few rows only are no reason to take others.
    assert after(nobody_says, "UPDATE a SET v = -v WHERE id < 60", "DELETE FROM a WHERE id = 9") == "merge"
    assert looked(nobody_says)
    assert after(nobody_says, "UPDATE a SET part = 4 - part, v = v + 1 WHERE id < 90") == "merge"
    assert after(nobody_says, "DELETE FROM b WHERE part = 3") == "merge"
    assert not looked(nobody_says)


def test_what_only_seemed_to_be_a_key_is_none(nobody_says: Maintained) -> None:
    assert after(nobody_says, "UPDATE a SET v = -v WHERE id < 60") == "merge"
    # Two rows of one part and id, beside a row that changes.
    twice = ("INSERT INTO a VALUES (1, 100, -1)", "UPDATE a SET v = 0 WHERE id = 5 AND part = 1")
    assert after(nobody_says, *twice) == "retract"
    assert after(nobody_says, "UPDATE a SET v = -v WHERE id < 60") == "retract"
    assert not any("COUNT(DISTINCT" in s for s in nobody_says.statements)


def test_rows_that_nothing_tells_apart(nobody_says: Maintained) -> None:
    nobody_says.sql("INSERT INTO a SELECT part, id, v FROM a WHERE id < 60")
    nobody_says.refresh("m", full_refresh=True)
    assert after(nobody_says, "UPDATE a SET v = -v WHERE id < 60") == "retract"
    assert any("COUNT(DISTINCT" in s for s in nobody_says.statements)
    assert after(nobody_says, "UPDATE a SET v = -v WHERE id BETWEEN 60 AND 120") == "retract"
    assert not any("COUNT(DISTINCT" in s for s in nobody_says.statements)


MODELS = {
    "models/sources.yml": """
version: 2
sources:
  - name: shop
    schema: "{{ target.schema }}"
    tables:
      - name: orders
        columns:
          - name: order_id
            data_tests: [unique, not_null]
models:
  - name: stg_parts
    columns:
      - name: part_id
        data_tests: [unique]
""",
    "models/stg_orders.sql": "{{ config(materialized='view') }} select * from {{ source('shop', 'orders') }}",
    "models/stg_parts.sql": "{{ config(materialized='view') }} select id as part_id, name from parts_raw where id > 0",
    "models/named.sql": """
{{ config(materialized='dynamic_table') }}
select o.order_id, o.amount, p.name from {{ ref('stg_orders') }} o join {{ ref('stg_parts') }} p using (part_id)
""",
    "models/large.sql": "{{ config(materialized='dynamic_table') }} select * from {{ ref('named') }} where amount > 5",
    "models/large.yml": """
version: 2
models:
  - name: large
    columns:
      - name: order_id
        data_tests:
          - unique
""",
}


def test_the_tests_of_a_project_say_what_is_expected(dbt_project: DbtProject) -> None:
    for name, text in MODELS.items():
        dbt_project.write(name, text.replace("parts_raw", f"{dbt_project.schema}.parts_raw"))
    dbt_project.sql("create table orders (order_id int, part_id int, amount int) using delta")
    dbt_project.sql("create table parts_raw (id int, name string) using delta")
    dbt_project.sql("insert into orders values (1, 1, 10), (2, 1, 20), (3, 2, 30)")
    dbt_project.sql("insert into parts_raw values (1, 'bolt'), (2, 'nut')")
    dbt_project.dbt("build")
    dbt_project.sql("update orders set amount = amount + 1 where order_id < 3")
    dbt_project.dbt("run")
    ran = dbt_project.responses()
    assert ran["named"]["technique"] == ran["large"]["technique"] == "merge"
    dbt_project.dbt("run-operation", "explain", "--args", "{model: named}")
    assert "(order_id), as the project expects by a test" in "\n".join(dbt_project.lines)
