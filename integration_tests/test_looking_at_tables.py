"""What both engines know of a table, and for how long they may go on knowing it."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from urllib.parse import urlparse

import pytest

from dbt_spark_dynamic.commit.classic import STALENESS, ClassicEngine
from dbt_spark_dynamic.commit.engine import Engine, Table
from dbt_spark_dynamic.commit.outcome import Code
from dbt_spark_dynamic.reading.relations import Kind
from integration_tests.maintained import Maintained, sql_engine

WIDE = ", ".join(f"'f{n}', k + {n}" for n in range(40))

TABLES = {
    "types": (
        "(a INT NOT NULL COMMENT 'first', v VARCHAR(10), c CHAR(3), d DECIMAL(12,2), g BIGINT, b BOOLEAN, y BINARY, "
        "s STRUCT<x: INT, `x.y`: ARRAY<MAP<STRING, TIMESTAMP_NTZ>>>, l ARRAY<VARCHAR(3)>, `q``r` STRING, j VARIANT) "
        "{delta}"
    ),
    "partitioned": "(a INT, b DATE, c STRING) {delta} PARTITIONED BY (c, b)",
    "clustered": "(a INT, s STRUCT<x: INT>) {delta} CLUSTER BY (a, s.x)",
    "once_clustered": "(a INT) {delta} CLUSTER BY (a)",
    "mapped": "(`a b` INT) {delta} TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'of, ours' = '=')",
    "generated": "(a INT DEFAULT 1, b INT GENERATED ALWAYS AS (a + 1)) {delta} "
    "TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')",
    "wide": "{delta} AS SELECT NAMED_STRUCT(" + WIDE + ") AS w FROM VALUES (1) AS (k)",
    "`9lives`": "(a INT) {delta}",
}


def engines(maintained: Maintained) -> tuple[ClassicEngine, Engine]:
    return ClassicEngine(maintained.session), sql_engine(maintained.session)


def test_both_engines_see_the_same(maintained: Maintained) -> None:
    for name, made in TABLES.items():
        maintained.sql(f"CREATE TABLE {name} {made.format(delta='USING delta')}")
    maintained.sql("ALTER TABLE once_clustered CLUSTER BY NONE")
    maintained.sql("INSERT INTO clustered VALUES (1, NULL)")
    maintained.sql("CREATE VIEW seen AS SELECT * FROM wide")
    for name in [*TABLES, "seen", *(f"{maintained.schema}.{n}" for n in TABLES), "missing"]:
        here, there = (engine.table(name) for engine in engines(maintained))
        assert here == there, name
        assert (here is None) is (name == "missing")


def test_a_temporary_view_comes_before_a_table(maintained: Maintained) -> None:
    maintained.sql("CREATE TABLE t (a INT) USING delta")
    maintained.session.sql("SELECT 1 AS b").createOrReplaceTempView("t")
    for engine in engines(maintained):
        found = engine.table("t")
        assert found is not None and [n for n, _ in found.columns] == ["b"]
        assert engine.glance("t") is None
        assert (found := engine.table(f"{maintained.schema}.t")) is not None and found.kind is Kind.DELTA


@pytest.mark.parametrize("sql_alone", [pytest.param(False, marks=pytest.mark.thorough), True])
def test_a_struct_of_many_fields(maintained: Maintained, sql_alone: bool) -> None:
    """Spark shows 25 of them."""
    if sql_alone:
        maintained.wrap = lambda _: sql_engine(maintained.session, maintained.statements.append)
    maintained.sql("CREATE TABLE t USING delta AS SELECT CAST(id AS INT) AS k FROM RANGE(5)")
    maintained.refresh("m", sql=f"SELECT k, NAMED_STRUCT({WIDE}) AS w FROM t")
    schema = maintained.schema
    maintained.refresh("n", sql=f"SELECT w, w.f39 AS last, COUNT(*) AS n FROM {schema}.m GROUP BY w")
    for change in ("INSERT INTO t VALUES (7), (NULL)", "UPDATE t SET k = 9 WHERE k = 1", "DELETE FROM t WHERE k = 0"):
        maintained.sql(change)
        for name in ("m", "n"):
            assert maintained.refresh(name).code is Code.INCREMENTAL
            assert not maintained.missing_and_more(name)


def test_a_table_is_looked_at_once_in_a_refresh(maintained: Maintained) -> None:
    """And again in the next, whoever committed: here a commit is made as by another process, behind Delta's back."""
    maintained.sql("CREATE TABLE t (k INT) USING delta")
    engine, _ = engines(maintained)
    table = engine.table("t")
    assert table is not None

    def seen() -> int:
        found = engine.table("t")
        assert found is not None
        return found.version

    maintained.session.conf.set(STALENESS, "1ms")
    with engine.steady():
        assert seen() == 0
        _commit_of_another(table, 1)
        assert seen() == 0
        engine.write("INSERT INTO t VALUES (1)", {})
        assert seen() == 2
        assert engine.rows("SELECT * FROM t") == [(1,)]
        _commit_of_another(table, 3)
        with engine.steady():
            assert seen() == 3
        _commit_of_another(table, 4)
    assert seen() == 4
    assert maintained.session.conf.get(STALENESS) == "1ms"


def test_the_latest_version_is_found_without_a_list_of_all(maintained: Maintained) -> None:
    """Watching asks for it many times in a second, of logs that may have thousands of files."""
    engine, _ = engines(maintained)
    for name, rows in {"t": 1, "another": 2}.items():
        maintained.sql(f"CREATE TABLE {name} (k INT) USING delta")
        for k in range(rows):
            maintained.sql(f"INSERT INTO {name} VALUES ({k})")
    table, other = engine.table("t"), engine.table("another")
    assert table is not None and other is not None
    log = engine._delta_log(table.path)

    def asked() -> tuple[int, bool]:
        """The version, and whether Delta looked for it."""
        before = log.currentSnapshot().updateTimestamp()
        time.sleep(0.002)
        version, glanced = engine.version(table), engine.glance("t")
        assert glanced is not None and glanced.version == version
        return version, log.currentSnapshot().updateTimestamp() != before

    assert asked() == (1, False)
    maintained.sql("INSERT INTO t VALUES (7)")
    assert asked() == (2, False)
    _commit_of_another(table, 3)
    assert asked() == (3, True)
    assert asked() == (3, False)
    # Made anew at the same place by another process, with as many commits as it had, or fewer.
    for commits in (3, 2):
        for n in range(engine.version(other) + 1, commits + 1):
            _commit_of_another(other, n)
        _put_in_place(other, table, commits)
        assert asked() == (commits, True)
        assert asked() == (commits, False)


def test_what_another_process_committed_is_refreshed(maintained: Maintained) -> None:
    maintained.sql("CREATE TABLE t (k INT) USING delta")
    maintained.refresh("m", sql="SELECT k, COUNT(*) AS n FROM t GROUP BY k")
    maintained.sql("INSERT INTO t VALUES (1)")
    maintained.refresh("m")
    table = engines(maintained)[0].table("t")
    assert table is not None
    _commit_of_another(table, 2)
    assert maintained.refresh("m").sources == {table.name: (1, 2)}
    assert maintained.difference("m") == 0
    assert maintained.session.conf.get(STALENESS, None) is None


def _put_in_place(other: Table, table: Table, version: int) -> None:
    """The other table up to a version, in the place of the table."""
    there, here = (Path(urlparse(t.path).path) for t in (other, table))
    shutil.rmtree(here)
    shutil.copytree(there, here, copy_function=shutil.copyfile)
    for file in (here / "_delta_log").glob("*.json"):
        if int(file.name[:20]) > version:
            file.unlink()


def _commit_of_another(table: Table, version: int) -> None:
    """The rows of the last commit once more, or none where it has none."""
    folder = Path(urlparse(table.path).path)
    log = folder / "_delta_log"
    actions = [json.loads(line) for line in (log / f"{version - 1:020d}.json").read_text().splitlines()]
    for action in actions:
        if "add" in action:
            again = f"{version}-{action['add']['path']}"
            shutil.copyfile(folder / action["add"]["path"], folder / again)
            action["add"]["path"] = again
    (log / f"{version:020d}.json").write_text("\n".join(map(json.dumps, actions)))
