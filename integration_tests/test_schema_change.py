"""A SELECT that gets other columns, another key, or a table that something else has written to."""

from __future__ import annotations

import pytest

from dbt_spark_dynamic.commit.ledger import USER_METADATA, writing_as
from dbt_spark_dynamic.commit.outcome import Code
from dbt_spark_dynamic.commit.spec import SchemaChange
from dbt_spark_dynamic.errors import ConfigError, TargetError
from integration_tests.maintained import Maintained

FIRST = "SELECT k, v FROM t"
WIDER = "SELECT k, v, k * 2 AS twice FROM t"
OTHER = "SELECT k, k * 2 AS twice FROM t"
WIDER_TYPE = "SELECT CAST(k AS BIGINT) AS k, v FROM t"


@pytest.fixture
def tables(maintained: Maintained) -> Maintained:
    """t, the table m over it, and n over m, which follows m's changes."""
    maintained.sql("CREATE TABLE t (k INT, v STRING) USING delta")
    maintained.sql("INSERT INTO t VALUES (1, 'a'), (1, 'a'), (2, NULL)")
    maintained.refresh("m", sql=FIRST)
    maintained.refresh("n", sql="SELECT k, COUNT(*) AS n FROM m GROUP BY k")
    maintained.sql("INSERT INTO t VALUES (3, 'c')")
    return maintained


@pytest.mark.parametrize(
    ("mode", "sql", "code"),
    [
        (SchemaChange.IGNORE, WIDER, Code.CREATED),
        (SchemaChange.IGNORE, OTHER, Code.CREATED),
        (SchemaChange.APPEND, WIDER, Code.RECOMPUTE),
        (SchemaChange.SYNC, OTHER, Code.RECOMPUTE),
        (SchemaChange.SYNC, WIDER_TYPE, Code.CREATED),
    ],
)
def test_columns_follow_the_select(tables: Maintained, mode: SchemaChange, sql: str, code: Code) -> None:
    outcome = tables.refresh("m", sql=sql, on_schema_change=mode)
    assert outcome.code is code
    assert (outcome.reason or "").startswith("the columns of the SELECT changed (")
    assert not tables.missing_and_more("m")
    replaced = [row for row in tables.sql("DESCRIBE HISTORY m")[:-2] if "REPLACE" in row["operation"]]
    assert bool(replaced) == (code is Code.CREATED)
    # Whoever follows the table goes on, across columns that came and went.
    tables.refresh("n")
    assert not tables.missing_and_more("n")
    tables.sql("DELETE FROM t WHERE k = 1")
    tables.sql("INSERT INTO t VALUES (2, 'z')")
    for name in ("m", "n"):
        assert tables.refresh(name, on_schema_change=mode).code is Code.INCREMENTAL
        assert not tables.missing_and_more(name)


def test_columns_that_are_not_to_change(tables: Maintained) -> None:
    version = tables.version("m")
    with pytest.raises(ConfigError, match=r"\+twice"):
        tables.refresh("m", sql=WIDER, on_schema_change=SchemaChange.FAIL)
    with pytest.raises(ConfigError, match="lost v"):
        tables.refresh("m", sql=OTHER, on_schema_change=SchemaChange.APPEND)
    with pytest.raises(ConfigError, match="full_refresh: false"):
        tables.refresh("m", sql=WIDER, may_rebuild=False)
    assert tables.version("m") == version


def test_a_death_between_new_columns_and_their_rows(tables: Maintained) -> None:
    tables.sql("ALTER TABLE m ADD COLUMNS (twice INT)")
    assert tables.refresh("m", sql=WIDER, on_schema_change=SchemaChange.SYNC).code is Code.RECOMPUTE
    assert not tables.missing_and_more("m")


def test_an_edit_that_changes_the_key(tables: Maintained) -> None:
    """By the new key old rows would meet each other, and whoever reads the table would take the old one for granted."""
    tables.refresh("g", sql="SELECT k, v FROM t GROUP BY k, v")
    tables.sql("INSERT INTO t VALUES (1, 'b')")
    tables.refresh("g")
    outcome = tables.refresh("g", sql="SELECT k, MAX(v) AS v FROM t GROUP BY k")
    assert (outcome.code, outcome.reason) == (Code.CREATED, "the key of the SELECT's rows changed")
    assert not tables.missing_and_more("g")
    tables.refresh("above", sql="SELECT k, v FROM g")
    tables.refresh("g", sql="SELECT k, v FROM t GROUP BY k, v")
    tables.refresh("above")
    tables.sql("DELETE FROM t WHERE v = 'a'")
    for name in ("g", "above"):
        tables.refresh(name)
        assert not tables.missing_and_more(name)


def test_what_a_model_of_another_kind_wrote_is_taken_back(tables: Maintained) -> None:
    tables.refresh("m")
    tables.session.conf.set(USER_METADATA, writing_as("incremental"))
    tables.sql("INSERT INTO m VALUES (7, 'theirs')")
    tables.session.conf.unset(USER_METADATA)
    outcome = tables.refresh("m")
    assert (outcome.code, outcome.reason) == (Code.RECOMPUTE, "its model was incremental and wrote to it")
    assert not tables.missing_and_more("m")
    tables.sql("INSERT INTO m VALUES (8, 'a stranger')")
    with pytest.raises(TargetError, match="somebody else"):
        tables.refresh("m")


def test_the_key_of_a_table_that_somebody_wrote_to_is_not_believed(tables: Maintained) -> None:
    tables.refresh("g", sql="SELECT k, MAX(v) AS v FROM t GROUP BY k")
    tables.sql("INSERT INTO g VALUES (1, 'again')")
    tables.refresh("above", sql="SELECT k, v FROM g")
    tables.sql("DELETE FROM g WHERE v = 'again'")
    tables.refresh("above")
    assert not tables.missing_and_more("above")
