"""Averages and ratios of few groups: what they are made of is kept in the ledger, and only the change is read."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from dbt_spark_dynamic.commit.classic import ClassicEngine
from dbt_spark_dynamic.commit.held import worth_keeping
from dbt_spark_dynamic.commit.look import look
from dbt_spark_dynamic.commit.outcome import Code
from dbt_spark_dynamic.commit.spec import Spec
from dbt_spark_dynamic.dialect import print_sql
from dbt_spark_dynamic.names import LEDGER
from dbt_spark_dynamic.sparksql.reads import undated
from dbt_spark_dynamic.sparksql.render import Renderer
from integration_tests.maintained import Maintained

pytestmark = pytest.mark.usefixtures("large_tables")

MODELS = {
    "averages": "SELECT g, AVG(i) AS i, AVG(b) AS b, AVG(d) AS d, AVG(d * f) AS df, "
    "ROUND(100 * SUM(d) / NULLIF(SUM(f), 0), 1) AS r, COUNT(*) AS n FROM facts GROUP BY g",
    "hours": "SELECT at, AVG(i) FILTER (WHERE i > 2) AS i, MIN(at) AS first, DATEDIFF(MAX(day), MIN(day)) AS days, "
    "COALESCE(MAX(name), '-') AS name FROM facts GROUP BY at",
    "one_row": "SELECT AVG(d) AS d, SUM(f) / NULLIF(COUNT(f), 0) AS f FROM facts WHERE i < 9",
    "shares": "SELECT g, SUM(d) / NULLIF(SUM(SUM(d)) OVER (), 0) AS share, COUNT(*) AS n, "
    "RANK() OVER (ORDER BY AVG(i) DESC) AS place FROM facts GROUP BY g",
    "unnamed": "SELECT AVG(d) AS d, MAX(name) AS name FROM facts GROUP BY g",
    "largest": "SELECT at, SUM(d) AS d FROM facts GROUP BY at ORDER BY d DESC, at LIMIT 2",
    "having": "SELECT g, i, n FROM (SELECT g, AVG(i) AS i, COUNT(*) AS n FROM facts GROUP BY g HAVING COUNT(d) > 2)",
    "joined": "SELECT k.name AS g, AVG(d) AS d, SUM(i) / COUNT(*) AS i FROM facts JOIN k ON g = k.id GROUP BY k.name",
}


def row(r: random.Random) -> str:
    """g, i INT, b BIGINT, d DECIMAL(12,2), f DECIMAL(8,4), day, at, name"""
    values = (
        ("1", "2", "3", "4"),
        ("-7", "0", "3", "2147483647"),
        ("-900000000000", "5", "0"),
        ("0.01", "-12.35", "9999999999.99", "0"),
        ("1.0001", "-1.0001", "3.3333"),
        ("DATE '2024-02-29'", "DATE '1969-12-31'"),
        ("TIMESTAMP '2026-10-25 00:30:00Z'", "TIMESTAMP '2026-10-25 01:30:00Z'"),
        ("'it''s \\\\ \"so\"'", "'ä\n'", "''"),
    )
    return f"({', '.join(r.choice((*of_one, 'NULL')) for of_one in values)})"


@pytest.fixture
def facts(maintained: Maintained) -> Maintained:
    # Where 02:30 comes twice on 2026-10-25.
    maintained.session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    maintained.sql(
        "CREATE TABLE facts (g INT, i INT, b BIGINT, d DECIMAL(12,2), f DECIMAL(8,4), day DATE, at TIMESTAMP, "
        "name STRING) USING delta"
    )
    maintained.sql("CREATE TABLE k (id INT, name STRING) USING delta")
    maintained.sql("INSERT INTO k VALUES (1, 'x'), (2, 'x'), (3, NULL), (5, 'y')")
    return maintained


def test_an_average_of_operands_is_that_of_spark(maintained: Maintained) -> None:
    """To the last digit, in 20,000 groups of one to sixty values each."""
    kinds = (
        "SMALLINT",
        "INT",
        "BIGINT",
        *(f"DECIMAL({p},{s})" for p, s in ((7, 7), (5, 0), (12, 2), (21, 6), (17, 9))),
    )
    value = "(id * 7919 % 20011 - 9000) / IF({} = 3, 100000, 7)"
    values = ", ".join(
        f"CAST(IF(id % 13 = {i}, NULL, {value.format(i)}) AS {kind}) AS v{i}" for i, kind in enumerate(kinds)
    )
    rows = f"SELECT FLOOR(SQRT(id * 31 % 400000000)) AS g, {values} FROM RANGE(400000)"
    maintained.sql(f"CREATE TABLE facts USING delta AS {rows}")
    averages = ", ".join(f"AVG(v{i}) AS v{i}" for i in range(len(kinds)))
    filtered = ", ".join(f"AVG(v{i}) FILTER (WHERE v2 > 0) AS f{i}" for i in range(len(kinds)))
    maintained.refresh("m", sql=f"SELECT g, {averages}, {filtered} FROM facts GROUP BY g")
    engine = ClassicEngine(maintained.session)
    spec = Spec(target=f"{maintained.schema}.m", sql=maintained.models["m"], place="m")
    model = look(spec, engine).model
    assert model.node is not None
    found = worth_keeping(model.node, engine, 1)
    assert found is not None
    told = print_sql(Renderer(undated).query(found.made_of(found.aggregate)))
    both = f"((TABLE m) EXCEPT ALL ({told})) UNION ALL (({told}) EXCEPT ALL (TABLE m))"
    assert maintained.sql(f"SELECT * FROM ({both}) LIMIT 3") == []


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """By change, a refresh took nearly as long as computing anew."""
    monkeypatch.setattr("dbt_spark_dynamic.commit.costs.Past.is_slow_by_change", True)


def held(of: Maintained, name: str) -> Any:
    """What the last commit's ledger holds."""
    metadata = of.sql(f"DESCRIBE HISTORY {name} LIMIT 1")[0]["userMetadata"]
    return json.loads(metadata)[LEDGER]["partials"]


@pytest.mark.usefixtures("slow")
def test_the_table_equals_its_query_after_every_change(facts: Maintained) -> None:
    r = random.Random(0)
    facts.sql(f"INSERT INTO facts VALUES {', '.join(row(r) for _ in range(30))}")
    for name, sql in MODELS.items():
        facts.refresh(name, sql=sql)
    changes = [
        [f"INSERT INTO facts VALUES {row(r)}, {row(r)}", "UPDATE facts SET d = -d, i = NULL WHERE g = 1"],
        ["DELETE FROM facts WHERE g = 2 OR day IS NULL", "UPDATE k SET name = 'z' WHERE id = 3"],
        ["UPDATE facts SET g = 5, at = NULL WHERE g IS NULL", f"INSERT INTO facts VALUES {row(r)}, {row(r)}"],
        ["DELETE FROM facts"],
        [f"INSERT INTO facts VALUES {', '.join(row(r) for _ in range(9))}"],
        ["UPDATE facts SET f = -f, name = CONCAT(name, name)", "DELETE FROM k WHERE id = 1"],
    ]
    for statements in changes:
        for statement in statements:
            facts.sql(statement)
        for name in MODELS:
            outcome = facts.refresh(name)
            assert outcome.code in (Code.INCREMENTAL, Code.NO_CHANGE)
            assert not facts.missing_and_more(name), (name, statements)


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize(
    "name",
    [
        *("averages", "shares"),
        *(pytest.param(name, marks=pytest.mark.thorough) for name in ("hours", "one_row", "joined")),
    ],
)
def test_nothing_but_the_change_is_read(facts: Maintained, name: str) -> None:
    """Once the ledger has the rows, as it has after the first change."""
    facts.sql("INSERT INTO facts SELECT id % 4, id, id, id, id, DATE '2024-01-01', TIMESTAMP '2024-01-01', id "
              "FROM RANGE(40)")  # fmt: skip
    facts.refresh(name, sql=MODELS[name])
    facts.sql("INSERT INTO facts VALUES (1, 1, 1, 1, 1, DATE '2024-01-01', TIMESTAMP '2024-01-01', '1')")
    assert (facts.refresh(name).technique, held(facts, name) is not None) == ("keyed", True)
    facts.sql("INSERT INTO facts VALUES (1, 2, 2, 2, 2, DATE '2024-01-01', TIMESTAMP '2024-01-01', '2')")
    outcome = facts.refresh(name)
    assert (outcome.technique, outcome.rows_in) == ("additive", 1)
    read = [s for s in facts.statements if "facts VERSION AS OF" in s or ".facts`" in s]
    assert not [s for s in read if "table_changes" not in s], read
    assert facts.difference(name) == 0


def test_a_table_that_is_written_anew_begins_again(facts: Maintained) -> None:
    """The rows are those of one state of the table: none are left of another."""
    facts.sql("INSERT INTO facts SELECT id % 4, id, id, id, id, NULL, NULL, NULL FROM RANGE(40)")
    facts.refresh("averages", sql=MODELS["averages"])
    for again in ({}, {"full_refresh": True}, {}):
        facts.sql("UPDATE facts SET i = i + 1 WHERE g = 1")
        facts.refresh("averages", **again)
        assert (held(facts, "averages") is None) == bool(again)
        assert facts.difference("averages") == 0
    other = MODELS["averages"].replace("AVG(i)", "AVG(i + 1)")
    assert facts.refresh("averages", sql=other).code is Code.RECOMPUTE
    assert held(facts, "averages") is None
    facts.sql("DELETE FROM facts WHERE g = 2")
    facts.refresh("averages")
    assert held(facts, "averages") is not None
    assert facts.difference("averages") == 0


def test_a_change_that_cancels_keeps_what_is_held(facts: Maintained) -> None:
    facts.sql("INSERT INTO facts SELECT id % 4, id, id, id, id, NULL, NULL, NULL FROM RANGE(40)")
    facts.refresh("averages", sql=MODELS["averages"])
    facts.sql("DELETE FROM facts WHERE i = 1")
    facts.refresh("averages")
    before = held(facts, "averages")
    facts.sql("INSERT INTO facts VALUES (1, 1, 1, 1, 1, NULL, NULL, 'gone')")
    facts.sql("DELETE FROM facts WHERE name = 'gone'")
    assert facts.refresh("averages").technique == "no_op"
    assert held(facts, "averages") == before
    facts.sql("DELETE FROM facts WHERE i = 2")
    assert facts.refresh("averages").code is Code.INCREMENTAL
    assert facts.difference("averages") == 0


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param("SELECT 1, 1, POWER(2, 52) + id, 1, 1, NULL, NULL, NULL FROM RANGE(3)", id="large integers"),
        pytest.param(
            "SELECT 1, 1, 1, 1, 1, NULL, NULL, REPEAT('x', 300) FROM RANGE(3)",
            id="long texts",
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            "SELECT 1, 1, 1, 1, 1, NULL, NULL, '$' || '{env:HOME}' FROM RANGE(3)",
            id="variables",
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_what_cannot_be_kept_is_computed_from_the_rows(facts: Maintained, rows: str) -> None:
    """That is found out once."""
    facts.refresh("m", sql="SELECT g, AVG(b) AS b, MAX(name) || '' AS name FROM facts GROUP BY g")
    facts.sql(f"INSERT INTO facts {rows}")
    outcome = facts.refresh("m")
    assert (outcome.code, outcome.technique) == (Code.INCREMENTAL, "keyed")
    assert held(facts, "m")["rows"] is None and facts.difference("m") == 0
    facts.sql("INSERT INTO facts VALUES (2, 2, 2, 2, 2, NULL, NULL, '2')")
    outcome = facts.refresh("m")
    assert (outcome.code, outcome.technique) == (Code.INCREMENTAL, "keyed")
    assert facts.difference("m") == 0


def test_a_group_that_comes_back_has_no_part_of_what_it_was(facts: Maintained) -> None:
    facts.sql("INSERT INTO facts SELECT id % 3, id, id, id, id, NULL, NULL, NULL FROM RANGE(30)")
    facts.refresh("spread", sql="SELECT g, MAX(i) - MIN(i) AS i, AVG(d) AS d FROM facts GROUP BY g")
    for change in (
        "INSERT INTO facts VALUES (1, 100, 1, 1, 1, NULL, NULL, NULL)",
        "DELETE FROM facts WHERE g = 1",
        "INSERT INTO facts VALUES (1, 50, 1, NULL, 1, NULL, NULL, NULL), (1, 60, 1, NULL, 1, NULL, NULL, NULL)",
    ):
        facts.sql(change)
        assert facts.refresh("spread").code is Code.INCREMENTAL
        assert facts.difference("spread") == 0
    found = held(facts, "spread")
    assert found is not None and len(found["rows"]) == 3


def test_more_groups_than_are_kept(facts: Maintained, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbt_spark_dynamic.commit.held.MOST_GROUPS", 3)
    facts.sql("INSERT INTO facts SELECT id % 3, id, id, id, id, NULL, NULL, NULL FROM RANGE(9)")
    facts.refresh("averages", sql=MODELS["averages"])
    for group, kept in ((1, True), (7, False), (1, False)):
        facts.sql(f"INSERT INTO facts VALUES ({group}, 1, 1, 1, 1, NULL, NULL, NULL)")
        outcome = facts.refresh("averages")
        found = held(facts, "averages")
        assert (found is not None and found["rows"] is not None) == kept
        assert facts.difference("averages") == 0
    assert outcome.technique == "keyed"


def test_groups_that_are_hidden_are_not_kept_before_it_is_worth_a_look(facts: Maintained) -> None:
    facts.sql("INSERT INTO facts SELECT id % 4, id, id, id, id, NULL, NULL, NULL FROM RANGE(40)")
    facts.refresh("having", sql=MODELS["having"])
    facts.sql("UPDATE facts SET d = d + 1 WHERE g = 1")
    assert facts.refresh("having").code is Code.INCREMENTAL
    assert held(facts, "having") is None


@pytest.mark.usefixtures("slow")
def test_where_more_groups_changed_than_can_be_kept_they_are_not_computed(
    facts: Maintained, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("held", "apply"):
        monkeypatch.setattr(f"dbt_spark_dynamic.commit.{place}.MOST_GROUPS", 5)
    facts.sql("INSERT INTO facts SELECT id, id, id, id, id, NULL, NULL, NULL FROM RANGE(40)")
    facts.sql("INSERT INTO facts SELECT 1, id, id, id, id, NULL, NULL, NULL FROM RANGE(3)")
    facts.refresh("having", sql=MODELS["having"])
    facts.sql("UPDATE facts SET i = i + 1 WHERE g < 30")
    assert facts.refresh("having").code is Code.INCREMENTAL
    sent = "\n".join(facts.statements)
    assert "groups of the changed rows" in sent and "what the aggregates are made of" not in sent
    assert (held(facts, "having")["rows"], facts.difference("having")) == (None, 0)


FALL = (
    "UPDATE facts SET d = d - 100 WHERE g = 39",
    "DELETE FROM facts WHERE g = 38",
    "UPDATE facts SET d = 1 WHERE g = 37",
)
"""Each time one of the two largest groups is so no more, and it is a third one that the table does not show."""


def test_first_rows_are_made_of_what_is_kept_once_they_had_to_be_found_again(facts: Maintained) -> None:
    facts.sql("INSERT INTO facts SELECT id, id, id, id, id, NULL, TIMESTAMP_SECONDS(id), NULL FROM RANGE(40)")
    facts.refresh("largest", sql=MODELS["largest"])
    facts.sql("UPDATE facts SET d = d + 1 WHERE g IN (3, 39)")
    assert (facts.refresh("largest").technique, held(facts, "largest")) == ("top", None)
    for n, change in enumerate(FALL):
        facts.sql(change)
        assert (facts.refresh("largest").code, facts.difference("largest")) == (Code.INCREMENTAL, 0)
        assert len(held(facts, "largest")["rows"]) in (40, 39)
        sent = "\n".join(facts.statements).replace("`", "")
        assert ("what the aggregates are made of" in sent) == (n == 0)
        assert (f"{facts.schema}.facts VERSION AS OF" in sent) == (n == 0)


def test_first_rows_of_partitions_are_found_again_among_the_rows_of_these(
    facts: Maintained, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To compute all groups for the ledger would take far more than a search among those of one partition."""
    monkeypatch.setattr("dbt_spark_dynamic.commit.costs.Past.is_slow_by_change", False)
    facts.sql("INSERT INTO facts SELECT id, id, id, id, id, NULL, TIMESTAMP_SECONDS(id), NULL FROM RANGE(40)")
    facts.refresh(
        "largest_of_each",
        sql="SELECT i, at, d FROM (SELECT i % 2 AS i, at, SUM(d) AS d FROM facts GROUP BY i % 2, at) "
        "QUALIFY ROW_NUMBER() OVER (PARTITION BY i ORDER BY d DESC, at) <= 2",
    )
    for change in FALL:
        facts.sql(change)
        assert facts.refresh("largest_of_each").code is Code.INCREMENTAL
        assert (facts.difference("largest_of_each"), held(facts, "largest_of_each")) == (0, None)
        sent = "\n".join(facts.statements)
        assert "partitions that are computed again" in sent and "what the aggregates are made of" not in sent


@pytest.mark.parametrize("changed", [1, 30])
def test_more_groups_than_can_be_kept_are_looked_at_once(
    facts: Maintained, monkeypatch: pytest.MonkeyPatch, changed: int
) -> None:
    """What is made of the first of them is not written: the same change reaches the table in another way. Where more
    than can be kept have changed, it is known before."""
    for place in ("held", "apply", "refresh"):
        monkeypatch.setattr(f"dbt_spark_dynamic.commit.{place}.MOST_GROUPS", 5)
    facts.sql("INSERT INTO facts SELECT id, id, id, id, id, NULL, TIMESTAMP_SECONDS(id), NULL FROM RANGE(40)")
    facts.refresh("largest", sql=MODELS["largest"])
    for n, change in enumerate(FALL):
        facts.sql(f"UPDATE facts SET d = d - 1 WHERE g < {changed}")
        facts.sql(change)
        assert facts.refresh("largest").code is Code.INCREMENTAL
        assert facts.difference("largest") == 0
        tried = "what the aggregates are made of" in "\n".join(facts.statements)
        assert tried == (changed == 1 and n == 0)
        found = held(facts, "largest")
        assert found["rows"] is None if changed == 1 else found is None
