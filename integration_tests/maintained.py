"""Dynamic tables without dbt around them: a schema, its tables, and the refresh itself, for tests that need many."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dbt_spark_dynamic.commit.classic import ClassicEngine
from dbt_spark_dynamic.commit.engine import Engine
from dbt_spark_dynamic.commit.outcome import Outcome
from dbt_spark_dynamic.commit.refresh import refresh
from dbt_spark_dynamic.commit.remote import SqlEngine
from dbt_spark_dynamic.commit.spec import Spec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def sql_engine(session: SparkSession, sent: Callable[[str], None] = lambda _: None) -> SqlEngine:
    """The engine that has nothing but SQL, over a session. sent: told every statement before it runs."""

    def execute(statement: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        frame = session.sql(statement)
        return frame.columns, [tuple(row) for row in frame.collect()]

    return SqlEngine(execute, sent)


@dataclass
class Maintained:
    """models: name -> SELECT over tables of the schema, unqualified names meaning this schema; statements: sent by the
    last refresh; wrap: what a test puts around the engine."""

    session: SparkSession
    schema: str
    models: dict[str, str] = field(default_factory=dict)
    statements: list[str] = field(default_factory=list)
    wrap: Callable[[Engine], Engine] | None = None

    def sql(self, statement: str) -> list[Any]:
        return self.session.sql(statement).collect()

    def refresh(self, name: str, **options: Any) -> Outcome:
        """One refresh. options: fields of Spec, and `until` as refresh has it."""
        until = options.pop("until", None)
        sql = options.pop("sql", self.models.get(name, ""))
        self.models[name] = sql
        self.statements.clear()
        spec = Spec(target=f"{self.schema}.{name}", sql=sql, place=f"models/{name}.sql", **options)
        engine: Engine = ClassicEngine(self.session, self.statements.append)
        return refresh(spec, self.wrap(engine) if self.wrap else engine, until)

    def refresh_side_by_side(self, models: Mapping[str, str]) -> dict[str, str]:
        """Name -> what kind of refresh it was, each in a session of its own, as dbt's threads have them."""
        found: dict[str, str] = {}

        def bring(name: str, sql: str) -> None:
            session = self.session.newSession()
            session.sql(f"USE {self.schema}")
            spec = Spec(target=f"{self.schema}.{name}", sql=sql, place=name)
            found[name] = refresh(spec, ClassicEngine(session)).code.value

        threads = [threading.Thread(target=bring, args=model) for model in models.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return found

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        return sorted((tuple(r) for r in self.session.table(name).collect()), key=repr)

    def difference(self, name: str) -> int:
        """Rows that the table and its query do not have in common, copies counted: EXCEPT ALL, both ways. So Spark
        evaluates that, counting each row with a sign; counted once, it takes half of the time."""
        both = f"SELECT *, 1 AS `a sign` FROM {name} UNION ALL SELECT *, -1 FROM ({self.models[name]})"
        rows = f"SELECT * EXCEPT (`a sign`), SUM(`a sign`) AS `signs` FROM ({both}) GROUP BY ALL"
        return sum(abs(row[0]) for row in self.sql(f"SELECT `signs` FROM ({rows}) WHERE `signs` <> 0"))

    def missing_and_more(self, name: str, asked: SparkSession | None = None) -> Counter[tuple[Any, ...]]:
        """The same, row by row, for small tables: Spark cannot optimize EXCEPT ALL over some queries (it looks for a
        column that a union below has dropped). asked: a session of `in_memory`, for the query's rows."""
        different = Counter(_row(row) for row in (asked or self.session).sql(self.models[name]).collect())
        different.subtract(Counter(_row(row) for row in self.sql(f"SELECT * FROM {name}")))
        return Counter({row: n for row, n in different.items() if n})

    def in_memory(self, tables: Iterable[str], views: Mapping[str, str]) -> SparkSession:
        """Another session, where these tables are rows that they have now: a query is answered there without Delta,
        and several times sooner. views: name -> query."""
        other = self.session.newSession()
        for setting in ("spark.sql.shuffle.partitions", "spark.sql.leafNodeDefaultParallelism"):
            # Of a handful of rows: each task costs more than what it does.
            other.conf.set(setting, "1")
        for name in tables:
            rows, schema = (frame := self.session.table(name)._jdf).collectAsList(), frame.schema()
            other._jsparkSession.createDataFrame(rows, schema).createOrReplaceTempView(name)
        for name, query in views.items():
            other.sql(f"CREATE TEMPORARY VIEW {name} AS {query}")
        return other

    def version(self, name: str) -> int:
        return int(self.sql(f"DESCRIBE HISTORY {name} LIMIT 1")[0]["version"])


def shorter_log(table: str, kept_for: str) -> str:
    """The statement after which a table keeps its log so long: 'interval 1 hour'. Delta keeps a log at least
    as long as files that nobody reads any more."""
    said = ", ".join(f"'delta.{what}RetentionDuration' = '{kept_for}'" for what in ("deletedFile", "log"))
    return f"ALTER TABLE {table} SET TBLPROPERTIES ({said})"


def _row(values: Iterable[Any]) -> tuple[Any, ...]:
    """A row that can be counted, arrays and all."""
    return tuple(_row(v) if isinstance(v, list | tuple) else v for v in values)
