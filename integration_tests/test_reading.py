"""What reads little is interpreted, what may read much is compiled, and nobody's settings change by it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dbt_spark_dynamic.commit.classic import INTERPRETED, ClassicEngine
from dbt_spark_dynamic.commit.engine import SqlError
from dbt_spark_dynamic.commit.refresh import refresh
from dbt_spark_dynamic.commit.spec import Spec
from integration_tests.maintained import Maintained

WHOLE_STAGE, ADAPTIVE = "spark.sql.codegen.wholeStage", "spark.sql.adaptive.enabled"
OF_THE_USER = {WHOLE_STAGE: "true", ADAPTIVE: "true", "spark.sql.shuffle.partitions": "3"}
"""What a session has set; the rest of INTERPRETED it leaves at whatever Spark was started with."""


@pytest.fixture
def compiling(maintained: Maintained) -> Iterator[Maintained]:
    for name, value in OF_THE_USER.items():
        maintained.session.conf.set(name, value)
    yield maintained
    for name in OF_THE_USER:
        maintained.session.conf.unset(name)


def settings(tables: Maintained) -> dict[str, str | None]:
    return {name: tables.session.conf.get(name, None) for name in INTERPRETED}


def ran_under(tables: Maintained, name: str, sql: str) -> list[tuple[dict[str, str], str]]:
    """The statements of one refresh that compute or write, each with the settings under which it runs."""
    sent: list[tuple[dict[str, str], str]] = []

    def note(statement: str) -> None:
        sent.append(({s: tables.session.conf.get(s) for s in INTERPRETED}, statement))

    tables.models[name] = sql
    before = settings(tables)
    refresh(Spec(target=f"{tables.schema}.{name}", sql=sql, place=name), ClassicEngine(tables.session, note))
    assert settings(tables) == before
    return [(under, statement) for under, statement in sent if not statement.startswith("DESCRIBE")]


def interpreted(tables: Maintained, name: str, sql: str) -> list[tuple[bool, str]]:
    """The same, each with whether it is interpreted."""
    return [(under[WHOLE_STAGE] == "false", statement) for under, statement in ran_under(tables, name, sql)]


def planned_once(tables: Maintained, name: str, sql: str) -> list[tuple[bool, str]]:
    """Those that are compiled, each with whether it is planned once."""
    sent = ran_under(tables, name, sql)
    return [(under[ADAPTIVE] == "false", statement) for under, statement in sent if under[WHOLE_STAGE] == "true"]


def looked_at_sales(sent: list[tuple[bool, str]]) -> list[bool]:
    """What is said of the statements that read the table itself, and not its change feed."""
    return [how for how, statement in sent if "VERSION AS OF" in statement and "`sales`" in statement]


def test_of_small_tables_everything_is_interpreted(compiling: Maintained) -> None:
    compiling.sql("CREATE TABLE sales USING delta AS SELECT id, id % 5 AS customer FROM RANGE(100)")
    sql = "SELECT customer, COUNT(*) AS n, MAX(id) AS latest FROM sales GROUP BY customer"
    assert {how for how, _ in interpreted(compiling, "m", sql)} == {True}
    for change in ("INSERT INTO sales VALUES (900, 1)", "DELETE FROM sales WHERE id >= 99", "UPDATE sales SET id = 1"):
        compiling.sql(change)
        assert {how for how, _ in interpreted(compiling, "m", sql)} == {True}
        assert compiling.difference("m") == 0


def test_what_may_read_a_large_table_is_compiled(compiling: Maintained, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a refresh that otherwise reads what changed, and a table that is small."""
    compiling.sql("CREATE TABLE sales USING delta AS SELECT id, id % 5 AS customer, UUID() AS note FROM RANGE(5000)")
    monkeypatch.setattr("dbt_spark_dynamic.commit.classic.LITTLE", 50_000)
    sql = "SELECT customer, COUNT(*) AS n, MAX(id) AS latest, MAX(note) AS note FROM sales GROUP BY customer"
    assert {how for how, _ in interpreted(compiling, "m", sql)} == {False}
    compiling.sql("INSERT INTO sales VALUES (9000, 1, 'new')")
    assert {how for how, _ in interpreted(compiling, "m", sql)} == {True}
    # The customer's latest row leaves: its others are looked at.
    compiling.sql("UPDATE sales SET id = 0 WHERE id = 9000")
    sent = interpreted(compiling, "m", sql)
    assert set(looked_at_sales(sent)) == {False}
    assert sent[-1][0] and sent[-1][1].startswith("MERGE")
    assert compiling.difference("m") == 0


def test_a_large_table_is_merged_into_by_compiled_statements(
    compiling: Maintained, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiling.sql("CREATE TABLE sales USING delta AS SELECT id, UUID() AS note FROM RANGE(5000)")
    monkeypatch.setattr("dbt_spark_dynamic.commit.classic.LITTLE", 50_000)
    sql = "SELECT id, note FROM sales WHERE id >= 0"
    interpreted(compiling, "m", sql)
    compiling.sql("INSERT INTO sales VALUES (9000, 'new')")
    assert {how for how, _ in interpreted(compiling, "m", sql)} == {True}
    compiling.sql("DELETE FROM sales WHERE id = 9000")
    sent = interpreted(compiling, "m", sql)
    assert not sent[-1][0] and sent[-1][1].startswith("MERGE")
    assert compiling.difference("m") == 0


def test_what_was_computed_from_a_large_table_is_written_by_interpreted_statements(
    compiling: Maintained, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiling.sql("CREATE TABLE sales USING delta AS SELECT id, UUID() AS note FROM RANGE(5000)")
    compiling.sql("CREATE TABLE claims USING delta AS SELECT id, id AS sale FROM RANGE(10)")
    monkeypatch.setattr("dbt_spark_dynamic.commit.classic.LITTLE", 50_000)
    sql = "SELECT c.id, s.note FROM claims AS c JOIN sales AS s ON c.sale = s.id"
    interpreted(compiling, "m", sql)
    compiling.sql("INSERT INTO claims VALUES (10, 900)")
    sent = interpreted(compiling, "m", sql)
    assert set(looked_at_sales(sent)) == {False}
    assert sent[-1][0] and sent[-1][1].startswith("INSERT")
    assert compiling.difference("m") == 0


@pytest.mark.parametrize(("some", "many"), [(None, 0), (60_000, 0), (60_000, 100)])
def test_what_reads_neither_little_nor_much_or_moves_few_rows_is_planned_once(
    compiling: Maintained, monkeypatch: pytest.MonkeyPatch, some: int | None, many: int
) -> None:
    compiling.sql("CREATE TABLE sales USING delta AS SELECT id, id % 5 AS customer, UUID() AS note FROM RANGE(5000)")
    compiling.sql("CREATE TABLE customers USING delta AS SELECT id, UUID() AS name FROM RANGE(5)")
    monkeypatch.setattr("dbt_spark_dynamic.commit.classic.LITTLE", 50_000)
    if some is not None:
        monkeypatch.setattr("dbt_spark_dynamic.commit.classic.SOME", some)
    monkeypatch.setattr("dbt_spark_dynamic.commit.classic.MANY", many)
    sql = (
        "SELECT c.name, MAX(s.note) AS latest FROM sales AS s JOIN customers AS c ON s.customer = c.id GROUP BY c.name"
    )
    assert set(looked_at_sales(planned_once(compiling, "m", sql))) == {some is None}
    # The latest of a customer leaves: the others are looked at.
    ((latest,),) = compiling.sql("SELECT MAX_BY(id, note) FROM sales")
    compiling.sql(f"UPDATE sales SET note = '' WHERE id = {latest}")
    assert set(looked_at_sales(planned_once(compiling, "m", sql))) == {some is None or many > 0}
    assert compiling.difference("m") == 0


def test_settings_are_as_they_were_after_a_statement_that_fails(compiling: Maintained) -> None:
    engine, before = ClassicEngine(compiling.session), settings(compiling)
    with pytest.raises(SqlError), engine.reading(1):
        assert compiling.session.conf.get(WHOLE_STAGE) == "false"
        with engine.reading(None):
            assert settings(compiling) == before
        assert compiling.session.conf.get(WHOLE_STAGE) == "false"
        engine.rows("SELECT RAISE_ERROR('no')")
    assert settings(compiling) == before
