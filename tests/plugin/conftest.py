"""What a machine may have set is not there for the tests of this folder."""

from __future__ import annotations

import pytest

from dbt_spark_dynamic.embedded.java import VARIABLES


@pytest.fixture(autouse=True)
def no_java_options(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
