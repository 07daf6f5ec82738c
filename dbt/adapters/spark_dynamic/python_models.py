"""Python models in the Spark of this process. dbt-spark sends them to clusters of Databricks alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbt.adapters.base import PythonJobHelper
from dbt.adapters.spark.connections import SparkConnectionMethod
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_dynamic.failures import plain_message
from dbt_spark_dynamic.embedded.session import end_session, lost, open_session

if TYPE_CHECKING:
    from dbt.adapters.spark_dynamic.credentials import SparkDynamicCredentials


class SessionJob(PythonJobHelper):
    """submission_method 'session'."""

    def __init__(self, parsed_model: dict[str, Any], credentials: SparkDynamicCredentials) -> None:
        self._model, self._credentials = parsed_model, credentials

    def submit(self, compiled_code: str) -> None:
        """Run the model and what dbt has added to it, which writes the table. Raises DbtRuntimeError."""
        if self._credentials.method != SparkConnectionMethod.SESSION:
            raise DbtRuntimeError(
                f"A Python model runs where dbt runs, which `method: {self._credentials.method}` has no Spark for.\n"
                f"  where:  {self._model.get('original_file_path', '')}\n"
                "  remedy: use `method: session`, or set submission_method to a cluster's (dbt-spark's documentation)"
            )
        session = open_session(self._credentials.embedded_settings())
        place = self._model.get("original_file_path", "python model")
        try:
            exec(compile(compiled_code, place, "exec"), {"__name__": "dbt_python_model", "spark": session})
        except Exception as error:
            said = lost() or f"{type(error).__name__}: {plain_message(error)}"
            raise DbtRuntimeError(f"{said}\n  where:  {place}") from error
        finally:
            end_session(session)
