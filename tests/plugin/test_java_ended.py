"""A Java that ends while it is asked whether it does is one that has ended, and is asked nothing more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import SparkContext

from dbt.adapters.spark_dynamic import cursor
from dbt_spark_dynamic.embedded import launch


@pytest.mark.parametrize(
    "error",
    [Py4JError("inShutdown does not exist in the JVM"), Py4JNetworkError("Answer is empty"), ConnectionRefusedError()],
)
def test_java_that_gives_no_answer_has_ended(error: Exception, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def asked(*_: object) -> None:
        raise error

    java = subprocess.Popen([sys.executable, "-c", "import sys, time; time.sleep(0.2); sys.exit(7)"])
    monkeypatch.setattr(launch, "java_class", asked)
    monkeypatch.setattr(launch, "_store", SimpleNamespace(log=tmp_path / "spark.log"))
    monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=java))
    assert launch.ended().startswith(f"Spark's Java process has ended (exit code 7): see {tmp_path / 'spark.log'}")


def test_a_java_that_has_ended_is_not_asked_what_its_error_says(monkeypatch: pytest.MonkeyPatch) -> None:
    class JavaError(Exception):
        """As py4j's, of which only Java has the text."""

        def __str__(self) -> str:
            raise ConnectionRefusedError

    monkeypatch.setattr(cursor, "lost", lambda: "it has ended")
    assert str(cursor.failed(JavaError()).msg) == "it has ended"
