"""Bad input: one clear error that says what, where, why and what to do, with nothing written."""

from __future__ import annotations

import shutil
from pathlib import Path
from urllib.parse import urlparse

import pytest

from dbt_spark_dynamic.commit.spec import ChangeFeedPolicy, ChangelogMode, RefreshMode
from dbt_spark_dynamic.errors import ConfigError, ConflictError, DynamicTableError, SourceError, TargetError
from integration_tests.maintained import Maintained

COUNT = "SELECT k, COUNT(*) AS n FROM t GROUP BY k"


@pytest.fixture
def tables(maintained: Maintained) -> Maintained:
    maintained.sql("CREATE TABLE t (k INT, v STRING) USING delta")
    maintained.sql("INSERT INTO t VALUES (1, 'a'), (1, 'b'), (2, 'c')")
    return maintained


def refused(tables: Maintained, kind: type[DynamicTableError], **options) -> str:
    """The message of a refresh that must fail; the table, if there is one, has no new version."""
    exists = bool(tables.sql("SHOW TABLES LIKE 'm'"))
    before = tables.version("m") if exists else None
    with pytest.raises(kind) as caught:
        tables.refresh("m", **options)
    after = tables.version("m") if tables.sql("SHOW TABLES LIKE 'm'") else None
    assert before == after
    text = str(caught.value)
    assert "models/m.sql" in text
    assert "JVM" not in text
    return text


def test_unknown_column(tables: Maintained) -> None:
    text = refused(tables, ConfigError, sql="SELECT k,\n  nope\nFROM t")
    assert "`nope`" in text and "line 2 of the compiled SQL" in text and "  nope\n" in text


def test_a_line_is_counted_as_it_is_written(tables: Maintained) -> None:
    text = refused(tables, ConfigError, sql="\n  SELECT k,\n    nope FROM t -- nope\n")
    assert "line 3 of the compiled SQL:\n                nope FROM t -- nope\n                ^" in text
    text = refused(tables, ConfigError, sql="\n  SELECT nope FROM t")
    assert "line 2 of the compiled SQL:\n              SELECT nope FROM t\n                     ^" in text


def test_unknown_table(tables: Maintained) -> None:
    text = refused(tables, ConfigError, sql="SELECT k\nFROM missing_table")
    assert "missing_table" in text and "line 2" in text


def test_syntax_error(tables: Maintained) -> None:
    assert "PARSE_SYNTAX_ERROR" in refused(tables, ConfigError, sql="SELEC k FROM t")


def test_a_command_is_not_run(tables: Maintained) -> None:
    refused(tables, ConfigError, sql="DROP TABLE t")
    assert tables.sql("SHOW TABLES LIKE 't'")


def test_two_columns_of_one_name(tables: Maintained) -> None:
    assert "two columns named k" in refused(tables, ConfigError, sql="SELECT a.k, b.k FROM t a JOIN t b ON a.k = b.k")


def test_a_column_without_a_name(tables: Maintained) -> None:
    said = refused(tables, ConfigError, sql="SELECT k, COUNT(*) FROM t GROUP BY k")
    assert "count(1) has a name that a Delta table cannot have" in said and "count(1) AS …" in said


def test_a_target_that_is_not_delta(tables: Maintained) -> None:
    tables.sql("CREATE TABLE m USING parquet AS SELECT 1 AS k")
    with pytest.raises(TargetError, match="parquet format, not a Delta table"):
        tables.refresh("m", sql=COUNT)
    assert tables.rows("m") == [(1,)]


@pytest.mark.parametrize("when", ["created", "refreshed"])
def test_a_key_that_is_not_unique(tables: Maintained, when: str) -> None:
    sql = "SELECT k, v FROM t"
    if when == "refreshed":
        tables.sql("DELETE FROM t WHERE v = 'b'")
        tables.refresh("m", sql=sql, unique_key=("k",))
        tables.sql("INSERT INTO t VALUES (1, 'b')")
    text = refused(tables, ConfigError, sql=sql, unique_key=("k",))
    assert "unique_key (k) is not unique" in text and "k=1" in text and "2 rows" in text


def test_a_key_that_does_not_exist(tables: Maintained) -> None:
    text = refused(tables, ConfigError, sql=COUNT, unique_key=("nope",))
    assert "nope" in text and "existing columns: k, n" in text


def test_append_on_a_query_that_updates(tables: Maintained) -> None:
    tables.refresh("m", sql=COUNT, changelog_mode=ChangelogMode.APPEND)
    tables.sql("INSERT INTO t VALUES (2, 'x')")
    text = refused(tables, ConfigError, sql=COUNT, changelog_mode=ChangelogMode.APPEND)
    assert "'append'" in text and "(2, 1)" in text


def test_upsert_without_a_key(tables: Maintained) -> None:
    text = refused(tables, ConfigError, sql="SELECT v FROM t", changelog_mode=ChangelogMode.UPSERT)
    assert "unique_key" in text


def test_a_source_without_change_feed_that_may_not_be_altered(tables: Maintained) -> None:
    tables.sql("ALTER TABLE t SET TBLPROPERTIES (delta.enableChangeDataFeed = false)")
    text = refused(tables, SourceError, sql=COUNT, source_change_feed=ChangeFeedPolicy.REQUIRE)
    assert "ALTER TABLE" in text and "delta.enableChangeDataFeed = true" in text
    (note,) = tables.refresh("m", source_change_feed=ChangeFeedPolicy.COMPARE).notes
    assert "t has no change feed" in note and "ALTER TABLE" in note
    tables.sql("INSERT INTO t VALUES (7, 'x')")
    assert tables.refresh("m", source_change_feed=ChangeFeedPolicy.COMPARE).rows_inserted == 1
    assert tables.difference("m") == 0


def test_a_source_without_change_feed_is_given_one(tables: Maintained) -> None:
    tables.sql("ALTER TABLE t SET TBLPROPERTIES (delta.enableChangeDataFeed = false)")
    tables.refresh("m", sql=COUNT)
    tables.sql("DELETE FROM t WHERE k = 2")
    tables.refresh("m")
    assert tables.difference("m") == 0
    assert any("readChangeFeed" in s for s in tables.statements)


@pytest.mark.parametrize("longer", [False, True])
def test_a_source_that_was_dropped_and_recreated(tables: Maintained, longer: bool) -> None:
    tables.refresh("m", sql=COUNT)
    tables.sql("DROP TABLE t")
    tables.sql("CREATE TABLE t (k INT, v STRING) USING delta")
    for _ in range(3 if longer else 0):
        tables.sql("INSERT INTO t VALUES (5, 'z')")
    text = refused(tables, SourceError, sql=COUNT)
    assert "recreated" in text and "--full-refresh" in text
    tables.refresh("m", full_refresh=True)
    assert tables.difference("m") == 0


def test_a_source_vacuumed_past_the_ledger(tables: Maintained) -> None:
    tables.refresh("m", sql=COUNT)
    tables.sql("UPDATE t SET k = 3 WHERE v = 'c'")
    tables.sql("UPDATE t SET k = 4 WHERE v = 'c'")
    tables.session.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    tables.sql("VACUUM t RETAIN 0 HOURS")
    text = refused(tables, SourceError, sql=COUNT)
    assert "vacuumed" in text and "--full-refresh" in text


def test_a_source_whose_log_was_cleaned(tables: Maintained) -> None:
    tables.refresh("m", sql=COUNT)
    for i in range(11):
        tables.sql(f"INSERT INTO t VALUES ({i}, 'y')")
    log = urlparse(tables.sql("DESCRIBE DETAIL t")[0]["location"]).path + "/_delta_log/"
    for version in range(6):
        for file in Path(log).glob(f"*{version:020d}.json*"):
            file.unlink()
    tables.session._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    assert "cannot say what changed" in refused(tables, SourceError, sql=COUNT)


def test_a_source_restored_to_an_older_copy(tables: Maintained) -> None:
    path = urlparse(tables.sql("DESCRIBE DETAIL t")[0]["location"]).path
    shutil.copytree(path, path + "_copy")
    tables.sql("INSERT INTO t VALUES (9, 'z')")
    tables.refresh("m", sql=COUNT)
    shutil.rmtree(path)
    shutil.move(path + "_copy", path)
    tables.session._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    text = refused(tables, SourceError, sql=COUNT)
    assert "its version is 1, but version 2 was consumed" in text


def test_a_source_restored_by_delta_goes_on_by_change(tables: Maintained) -> None:
    tables.sql("INSERT INTO t VALUES (9, 'z')")
    tables.refresh("m", sql=COUNT)
    tables.sql("RESTORE TABLE t TO VERSION AS OF 1")
    assert tables.refresh("m").code.value == "INCREMENTAL"
    assert tables.difference("m") == 0


def test_a_target_changed_by_somebody_else(tables: Maintained) -> None:
    tables.refresh("m", sql=COUNT)
    tables.sql("INSERT INTO m VALUES (77, 1)")
    text = refused(tables, TargetError, sql=COUNT)
    assert "WRITE in its version 2" in text and "RESTORE TABLE" in text
    tables.refresh("m", full_refresh=True)
    assert tables.difference("m") == 0


def test_what_cannot_be_maintained_is_refused_in_incremental_mode(tables: Maintained) -> None:
    sql = "SELECT k,\n  HISTOGRAM_NUMERIC(k, 2) AS r\nFROM t GROUP BY k"
    text = refused(tables, ConfigError, sql=sql, refresh_mode=RefreshMode.INCREMENTAL)
    assert "histogram_numeric()" in text and "line 2" in text and "no law of change" in text


def test_two_runs_at_once(tables: Maintained) -> None:
    """The other run commits between this one's reading and its writing."""
    tables.refresh("m", sql=COUNT)
    tables.sql("INSERT INTO t VALUES (5, 'n')")
    other = Maintained(tables.session.newSession(), tables.schema, dict(tables.models))
    other.sql(f"USE {tables.schema}")

    class Racing:
        def __init__(self, engine) -> None:
            self._engine = engine

        def __getattr__(self, name: str):
            return getattr(self._engine, name)

        def write(self, sql, settings):
            other.refresh("m")
            return self._engine.write(sql, settings)

    tables.wrap = Racing
    with pytest.raises(ConflictError, match="another run"):
        tables.refresh("m")
    tables.wrap = None
    assert tables.refresh("m").code.value == "NO CHANGE"
    assert tables.difference("m") == 0


def test_a_select_that_is_created_over_a_view(tables: Maintained) -> None:
    tables.sql("CREATE VIEW m AS SELECT 1 AS x")
    tables.refresh("m", sql=COUNT)
    assert tables.difference("m") == 0
