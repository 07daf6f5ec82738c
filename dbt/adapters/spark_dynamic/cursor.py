"""One dbt connection: a Spark session of its own, and cursors on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark.connections import SparkConnectionWrapper
from dbt_common.exceptions import DbtDatabaseError

from dbt.adapters.spark_dynamic.failures import plain_message
from dbt.adapters.spark_dynamic.literals import sql_literal
from dbt_spark_dynamic.embedded.session import end_session, lost

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

logger = AdapterLogger("SparkDynamic")

AFFECTED = "num_affected_rows"


class SessionHandle(SparkConnectionWrapper):
    """The handle of a dbt connection by the session method. `session` is the connection's own Spark session."""

    def __init__(self, session: SparkSession) -> None:
        self.session = session
        self._cursor = SessionCursor(session)

    def cursor(self) -> SessionCursor:
        """A new cursor; the ones given before stay valid."""
        self._cursor = SessionCursor(self.session)
        return self._cursor

    def cancel(self) -> None:
        self.session.interruptAll()

    def close(self) -> None:
        self._cursor.close()
        end_session(self.session)

    def rollback(self) -> None:
        """Every statement is a commit of its own: there is nothing to take back."""

    def fetchall(self) -> list[Row]:
        return self._cursor.fetchall()

    def execute(self, sql: str, bindings: Sequence[Any] | None = None) -> None:
        self._cursor.execute(sql, bindings)

    @property
    def description(self) -> list[tuple[Any, ...]]:
        return self._cursor.description


class SessionCursor:
    """One statement and its rows. Raises DbtDatabaseError with Spark's or Delta's own message."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._frame: DataFrame | None = None
        self._rows: list[Row] | None = None

    def execute(self, sql: str, bindings: Sequence[Any] | None = None) -> None:
        """Run a statement; a query is only planned, and runs when its rows are fetched.

        bindings: values for the %s in `sql`, rendered as literals.
        """
        statement = sql.strip().removesuffix(";")
        if bindings is not None:
            statement %= tuple(sql_literal(value) for value in bindings)
        self._rows = None
        with _plainly():
            self._frame = self._session.sql(statement)

    @property
    def description(self) -> list[tuple[Any, ...]]:
        """Per column the seven fields of PEP 249; the second is Spark's name of the type."""
        if self._frame is None:
            return []
        with _plainly():
            fields = self._frame.schema.fields
        return [(column.name, column.dataType.simpleString(), *[None] * 4, column.nullable) for column in fields]

    @property
    def rows_affected(self) -> int | None:
        """How many rows a MERGE, UPDATE or DELETE changed; None for every other statement."""
        if self._frame is None:
            return None
        with _plainly():
            if AFFECTED not in self._frame.columns:
                return None
        # These statements have run already: fetching reads the one row that they left.
        return sum(row[AFFECTED] for row in self._fetched())

    def fetchall(self) -> list[Row]:
        rows = self._fetched()
        self._rows = []
        return rows

    def fetchmany(self, size: int) -> list[Row]:
        rows = self._fetched()
        self._rows = rows[size:]
        return rows[:size]

    def fetchone(self) -> Row | None:
        return next(iter(self.fetchmany(1)), None)

    def close(self) -> None:
        self._frame = self._rows = None

    def _fetched(self) -> list[Row]:
        if self._rows is None:
            with _plainly():
                self._rows = self._frame.collect() if self._frame is not None else []
        return self._rows


@contextmanager
def _plainly() -> Iterator[None]:
    """Around whatever asks Spark."""
    try:
        yield
    except Exception as error:
        raise failed(error) from error


def failed(error: Exception) -> DbtDatabaseError:
    """The error for dbt's user; the Java stack goes to dbt's debug log only."""
    # A Java that has ended cannot be asked what its error says.
    if said := lost():
        return DbtDatabaseError(said)
    logger.debug(str(error))
    return DbtDatabaseError(plain_message(error))
