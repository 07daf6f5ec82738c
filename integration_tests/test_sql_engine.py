"""The engine that has nothing but SQL (thrift, http, odbc, Spark Connect) keeps all promises of the other one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dbt_spark_dynamic.commit.classic import ClassicEngine
from dbt_spark_dynamic.commit.costs import OF_TABLES
from dbt_spark_dynamic.commit.engine import Engine
from dbt_spark_dynamic.commit.outcome import Code
from dbt_spark_dynamic.commit.remote import SqlEngine
from dbt_spark_dynamic.commit.spec import ChangeFeedPolicy
from dbt_spark_dynamic.errors import ConfigError, ConflictError
from integration_tests.maintained import Maintained, sql_engine


@pytest.fixture
def tables(maintained: Maintained) -> Maintained:
    maintained.wrap = lambda _: sql_engine(maintained.session, maintained.statements.append)
    maintained.sql("CREATE TABLE t (k INT, x DECIMAL(10,2)) USING delta")
    maintained.sql("INSERT INTO t VALUES (1, 10), (1, 10), (2, NULL), (NULL, 5)")
    return maintained


@pytest.mark.parametrize(
    ("sql", "technique"),
    [
        ("SELECT k, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY k", "additive"),
        ("SELECT k, SUM(x) AS s FROM t GROUP BY k", "keyed"),
        pytest.param("SELECT COUNT(*) AS n FROM t", "additive", marks=pytest.mark.thorough),
        ("SELECT a.k, b.x FROM t a JOIN t b ON a.k = b.k", "retract"),
        pytest.param(
            "SELECT k, ROW_NUMBER() OVER (ORDER BY k, x) AS place FROM t", "retract", marks=pytest.mark.thorough
        ),
        ("SELECT k, x FROM t WHERE x > 0 ORDER BY k DESC, x LIMIT 3", "top"),
        ("SELECT k, x FROM t CROSS JOIN (SELECT HISTOGRAM_NUMERIC(k, 2) AS h FROM t)", "recompute"),
    ],
)
def test_a_table_is_maintained_by_sql_alone(tables: Maintained, sql: str, technique: str) -> None:
    expected = Code.RECOMPUTE if technique == "recompute" else Code.INCREMENTAL
    assert tables.refresh("m", sql=sql).code is Code.CREATED
    tables.sql("INSERT INTO t VALUES (1, 10), (3, 1)")
    tables.sql("UPDATE t SET k = 2 WHERE k IS NULL")
    tables.sql("DELETE FROM t WHERE x IS NULL")
    outcome = tables.refresh("m")
    assert (outcome.code, outcome.technique) == (expected, technique)
    assert tables.difference("m") == 0
    assert tables.refresh("m").code is Code.NO_CHANGE


@pytest.mark.parametrize("sql_alone", [False, True])
def test_what_is_pinned_is_computed_once(tables: Maintained, sql_alone: bool) -> None:
    """Spark does not find a cached query that has a WITH in one that has another."""
    engine: Engine = sql_engine(tables.session) if sql_alone else ClassicEngine(tables.session)
    ids = "WITH r AS (SELECT id, id % 7 AS x FROM RANGE(6000)) SELECT a.id, b.x FROM r a JOIN r b ON a.id = b.id"
    nested = "WITH p AS (SELECT * FROM pinned), q AS (SELECT * FROM p) SELECT p.x FROM p JOIN q ON p.id = q.id"
    assert engine.pin("pinned", ids, few=False) == 6000
    assert engine.pin("nested", nested, few=False) == 6000
    for name in ("pinned", "nested"):
        summed = f"WITH again AS (SELECT x FROM {name}) SELECT SUM(x) AS s FROM again"
        assert engine.rows(summed) == [(17_997,)]
        ((plan,),) = engine.rows(f"EXPLAIN {summed}")
        read = plan.split("InMemoryRelation")[0]
        assert "InMemoryTableScan" in read or f"Scan In-memory table {name}" in read
    for name in ("nested", "pinned"):
        engine.unpin(name)
    assert not tables.session.catalog.tableExists("pinned")


def test_an_append(tables: Maintained) -> None:
    tables.refresh("m", sql="SELECT k, x FROM t WHERE x > 1")
    tables.sql("INSERT INTO t VALUES (4, 4), (4, 4)")
    outcome = tables.refresh("m")
    assert (outcome.technique, outcome.rows_inserted, tables.difference("m")) == ("append", 2, 0)


def test_a_table_is_written_anew(tables: Maintained, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbt_spark_dynamic.commit.costs.LARGE", 1)
    monkeypatch.setattr("dbt_spark_dynamic.commit.costs.OF_TABLES", replace(OF_TABLES, saved=0.0))
    tables.sql("SET spark.sql.sources.partitionOverwriteMode = dynamic")
    partitioned = {"layout": "PARTITIONED BY (k)", "partition_by": ("k",)}
    tables.refresh("m", sql="SELECT k, AVG(x) AS x FROM t GROUP BY k", **partitioned)
    tables.sql("DELETE FROM t WHERE k IS NULL")
    tables.sql("UPDATE t SET x = 7")
    outcome = tables.refresh("m", **partitioned)
    assert (outcome.code, outcome.technique, tables.difference("m")) == (Code.RECOMPUTE, "rewrite", 0)
    assert tables.session.conf.get("spark.sql.sources.partitionOverwriteMode") == "dynamic"
    assert tables.refresh("m", **partitioned).code is Code.NO_CHANGE


def test_settings_do_not_outlive_the_commit(tables: Maintained) -> None:
    tables.refresh("m", sql="SELECT k, x FROM t")
    for name in ("commitInfo.userMetadata", "write.txnAppId", "write.txnVersion"):
        assert tables.session.conf.get(f"spark.databricks.delta.{name}", None) is None
    assert not [row for row in tables.sql("SHOW VIEWS") if row["isTemporary"]]


def test_the_feed_is_turned_on_and_a_missing_one_compared(tables: Maintained) -> None:
    tables.sql("ALTER TABLE t SET TBLPROPERTIES (delta.enableChangeDataFeed = false)")
    tables.refresh("m", sql="SELECT k, x FROM t", source_change_feed=ChangeFeedPolicy.COMPARE)
    tables.sql("INSERT INTO t VALUES (7, 7)")
    assert tables.refresh("m").code is Code.INCREMENTAL
    assert tables.difference("m") == 0


def test_a_commit_was_made_when_the_change_feed_says(tables: Maintained) -> None:
    tables.sql("INSERT INTO t VALUES (7, 7)")
    tables.sql("ALTER TABLE t SET TBLPROPERTIES (delta.enableInCommitTimestamps = true)")
    tables.sql("INSERT INTO t VALUES (8, 8)")
    time = "UNIX_MILLIS(_commit_timestamp)"
    feed = f"SELECT DISTINCT _commit_version, {time} FROM table_changes('{tables.schema}.t', 1) ORDER BY 1"
    of_the_feed = [tuple(row) for row in tables.sql(feed)]
    assert len(of_the_feed) == 3
    classic = ClassicEngine(tables.session)
    assert tables.wrap is not None
    for engine in (classic, tables.wrap(classic)):
        table = engine.table(f"{tables.schema}.t")
        assert table is not None
        assert [(v, engine.committed_at(table, v)) for v, _ in of_the_feed] == of_the_feed
        assert engine.committed_at(table, 1000) == 0


def test_an_unknown_column_is_said_with_its_line(tables: Maintained) -> None:
    with pytest.raises(ConfigError, match="line 2") as caught:
        tables.refresh("m", sql="SELECT k,\n  nope\nFROM t")
    assert "`nope`" in str(caught.value)


def test_another_run_committed_first(tables: Maintained) -> None:
    sql = "SELECT k, COUNT(*) AS n FROM t GROUP BY k"
    tables.refresh("m", sql=sql)
    tables.sql("INSERT INTO t VALUES (7, 7)")
    other = Maintained(tables.session.newSession(), tables.schema, dict(tables.models))
    other.sql(f"USE {tables.schema}")
    by_sql = tables.wrap

    class Racing(SqlEngine):
        def write(self, sql: str, settings: Any) -> Any:
            other.refresh("m")
            return super().write(sql, settings)

    def racing(engine: Engine) -> Engine:
        made = by_sql(engine)
        made.__class__ = Racing
        return made

    tables.wrap = racing
    with pytest.raises(ConflictError, match="another run"):
        tables.refresh("m")
    tables.wrap = by_sql
    assert tables.refresh("m").code is Code.NO_CHANGE
    assert tables.difference("m") == 0
