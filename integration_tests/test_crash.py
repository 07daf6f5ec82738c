"""A refresh that dies between any two of its steps: run again, the table is its query and no change counts twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dbt_spark_dynamic.commit.engine import Engine
from dbt_spark_dynamic.commit.outcome import Code
from integration_tests.maintained import Maintained
from integration_tests.own_process import SHORT_LIVED

STEPS = ("table", "columns", "setting", "rows", "pin", "write", "log")
"""What a refresh asks of its engine. `unpin` is left out: a process that dies forgets its relations by itself."""


class Died(BaseException):
    """Stands for the end of the process: no handler of the refresh may take it for an error of Spark."""


class Dying:
    """An engine that ends the process at its n-th step: before it, or after what it wrote is committed."""

    def __init__(self, engine: Engine, step: int, *, after_writing: bool = False) -> None:
        self._engine, self._left, self._after_writing = engine, step, after_writing
        self.taken = 0

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._engine, name)
        return self._step(name, attribute) if name in STEPS else attribute

    def _step(self, name: str, action: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **options: Any) -> Any:
            if self._after_writing:
                done = action(*args, **options)
                if name == "write":
                    raise Died
                return done
            self.taken += 1
            if self.taken > self._left:
                raise Died
            return action(*args, **options)

        return step


MODELS = {
    "keyed": "SELECT k, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY k",
    "keyless": "SELECT t.k, u.name FROM t JOIN u ON t.k = u.k",
    "recomputed": "SELECT k, ROW_NUMBER() OVER (ORDER BY k, x) AS place FROM t"
    " CROSS JOIN (SELECT HISTOGRAM_NUMERIC(k, 2) AS h FROM t)",
}
EXPECTED = {"keyed": Code.INCREMENTAL, "keyless": Code.INCREMENTAL, "recomputed": Code.RECOMPUTE}


@pytest.fixture
def tables(maintained: Maintained) -> Maintained:
    maintained.sql("CREATE TABLE t (k INT, x INT) USING delta")
    maintained.sql("CREATE TABLE u (k INT, name STRING) USING delta")
    maintained.sql("INSERT INTO t VALUES (1, 10), (1, 10), (2, 20), (NULL, 5)")
    maintained.sql("INSERT INTO u VALUES (1, 'one'), (1, 'uno'), (2, 'two')")
    return maintained


def _change(tables: Maintained, n: int) -> None:
    """Inserts, an update that moves a key, a delete, and a duplicate, on both sides of the join."""
    tables.sql(f"INSERT INTO t VALUES (2, {n}), (3, {n}), (3, {n})")
    tables.sql(f"UPDATE t SET k = 1, x = x + 1 WHERE x = {n - 1}")
    tables.sql("DELETE FROM u WHERE name = 'two'" if n % 2 else "INSERT INTO u VALUES (2, 'two'), (3, 'drei')")


def _dies(tables: Maintained, model: str, **when: Any) -> bool:
    """Whether the refresh died; False if it was over before the step came."""
    tables.wrap = lambda engine: Dying(engine, when.get("step", 0), after_writing=when.get("after_writing", False))
    try:
        tables.refresh(model, sql=MODELS[model])
    except Died:
        return True
    finally:
        tables.wrap = None
    return False


@pytest.mark.parametrize("model", MODELS)
def test_dead_before_any_step(tables: Maintained, model: str) -> None:
    """The table of step n's refresh holds all earlier changes exactly once, and the next run applies its own."""
    tables.refresh(model, sql=MODELS[model])
    step = 0
    while True:
        version = tables.version(model)
        # A refresh that died before it wrote leaves its change to the next one: one change serves three steps.
        if step % 3 == 0:
            _change(tables, 100 + step)
        if not _dies(tables, model, step=step):
            break
        written = tables.version(model) > version
        assert not written or tables.difference(model) == 0
        step += 1
        if step % 3 == 0:
            outcome = tables.refresh(model)
            assert outcome.code in ((Code.NO_CHANGE,) if written else (EXPECTED[model],))
            assert tables.difference(model) == 0
    assert step > 8
    assert tables.difference(model) == 0


@pytest.mark.parametrize("model", MODELS)
def test_dead_right_after_the_commit(tables: Maintained, model: str) -> None:
    tables.refresh(model, sql=MODELS[model])
    _change(tables, 100)
    assert _dies(tables, model, after_writing=True)
    version = tables.version(model)
    assert tables.difference(model) == 0
    outcome = tables.refresh(model)
    assert (outcome.code, outcome.rows_affected) == (Code.NO_CHANGE, 0)
    assert tables.version(model) == version


def test_dead_in_the_first_build(tables: Maintained) -> None:
    step = 0
    while _dies(tables, "keyed", step=step):
        step += 1
    assert step > 5
    assert tables.difference("keyed") == 0
    _change(tables, 100)
    assert tables.refresh("keyed").code is Code.INCREMENTAL
    assert tables.difference("keyed") == 0


CHILD = """
import sys
from pathlib import Path
from dbt_spark_dynamic.commit.classic import ClassicEngine
from dbt_spark_dynamic.commit.refresh import refresh
from dbt_spark_dynamic.commit.spec import Spec
from dbt_spark_dynamic.embedded.session import open_session
from dbt_spark_dynamic.embedded.settings import EmbeddedSettings

spark = open_session(EmbeddedSettings(store=Path(sys.argv[1])))
SPEC = Spec("default.m", "SELECT id % 1000 AS k, COUNT(*) AS n, SUM(id) AS s FROM t GROUP BY id % 1000")

def refreshed(sent=lambda statement: None):
    return refresh(SPEC, ClassicEngine(spark, sent)).code.name
"""
FIRST = """
spark.sql("CREATE TABLE t USING delta AS SELECT id FROM RANGE(200000)")
refreshed()
spark.sql("INSERT INTO t SELECT id FROM RANGE(200000, 400000)")

def sent(statement):
    if statement.startswith("MERGE"):
        print("JAVA", spark._jvm.java.lang.ProcessHandle.current().pid(), flush=True)

refreshed(sent)
print("NOT KILLED", flush=True)
"""
SECOND = """
history = spark.sql("DESCRIBE HISTORY m").select("operation").collect()
print("MERGES", sum(row[0] == "MERGE" for row in history))
print("CODE", refreshed())
query = SPEC.sql
both = f"((TABLE m) EXCEPT ALL ({query})) UNION ALL (({query}) EXCEPT ALL (TABLE m))"
print("DIFFERENT", spark.sql(f"SELECT COUNT(*) FROM ({both})").collect()[0][0])
print("AGAIN", refreshed())
"""


def test_killed_in_the_middle_of_the_write(tmp_path: Path) -> None:
    """A process of its own, killed with its Java process while the MERGE runs; another process goes on."""
    command = [sys.executable, "-c"]
    environment = os.environ | SHORT_LIVED
    first = subprocess.Popen(
        [*command, CHILD + FIRST, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert first.stdout is not None
    java = next(line.split()[1] for line in first.stdout if line.startswith("JAVA"))
    os.kill(int(java), signal.SIGKILL)
    first.kill()
    assert "NOT KILLED" not in first.communicate()[0]
    second = subprocess.run(
        [*command, CHILD + SECOND, str(tmp_path)], capture_output=True, text=True, check=True, env=environment
    )
    said = dict(line.split() for line in second.stdout.splitlines())
    assert said == {"MERGES": "0", "CODE": "INCREMENTAL", "DIFFERENT": "0", "AGAIN": "NO_CHANGE"}
