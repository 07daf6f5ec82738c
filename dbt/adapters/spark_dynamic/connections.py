"""Connections: the session method opens the embedded Spark, all other methods are dbt-spark's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dbt.adapters.contracts.connection import (
    AdapterRequiredConfig,
    AdapterResponse,
    Connection,
    ConnectionState,
)
from dbt.adapters.exceptions import FailedToConnectError
from dbt.adapters.spark.connections import SparkConnectionManager, SparkConnectionMethod
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_dynamic.cursor import SessionHandle
from dbt.adapters.spark_dynamic.failures import without_plan
from dbt_spark_dynamic.embedded.session import open_session
from dbt_spark_dynamic.embedded.start_error import StartError


class SparkDynamicConnectionManager(SparkConnectionManager):
    TYPE = "spark_dynamic"

    def __init__(self, profile: AdapterRequiredConfig, mp_context: Any) -> None:
        super().__init__(profile, mp_context)
        profile.credentials.settle_store(profile.profile_name)

    @classmethod
    def open(cls, connection: Connection) -> Connection:
        """Open a dbt connection; by the session method its handle has a `session` of its own.

        Raises FailedToConnectError with one sentence where Spark cannot be started.
        """
        credentials = connection.credentials
        if credentials.method != SparkConnectionMethod.SESSION:
            return super().open(connection)
        if connection.state == ConnectionState.OPEN:
            return connection
        try:
            session = open_session(credentials.embedded_settings())
        except StartError as error:
            connection.state = ConnectionState.FAIL
            raise FailedToConnectError(str(error)) from error
        connection.handle = SessionHandle(session)
        connection.state = ConnectionState.OPEN
        return connection

    @contextmanager
    def exception_handler(self, sql: str) -> Iterator[None]:
        """dbt's own errors pass as errors, with Spark's words and no more: dbt-spark would wrap their text, and a
        server's Java stack, into a second error."""
        try:
            yield
        except DbtRuntimeError as error:
            error.msg = without_plan(error.msg)
            raise
        except Exception:
            with super().exception_handler(sql):
                raise

    @classmethod
    def get_response(cls, cursor: Any) -> AdapterResponse:
        """Says how many rows a MERGE, UPDATE or DELETE changed, where the connection can tell."""
        return AdapterResponse(_message="OK", rows_affected=getattr(cursor, "rows_affected", None))
