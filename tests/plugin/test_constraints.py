"""A contract as CHECK constraints."""

from __future__ import annotations

from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_dynamic.constraints import constraints_of
from dbt.adapters.spark_dynamic.impl import SparkDynamicAdapter


def model(*, enforced: bool = True, constraints: Any = (), columns: Any = ()) -> dict[str, Any]:
    return {
        "name": "m",
        "original_file_path": "models/m.sql",
        "config": {"contract": {"enforced": enforced}},
        "constraints": list(constraints),
        "columns": {c["name"]: c for c in columns},
    }


def test_names_and_conditions() -> None:
    columns = [
        {"name": "id", "constraints": [{"type": "not_null"}, {"type": "check", "expression": "id > 0", "name": "Pos"}]},
        {"name": "from", "quote": True, "constraints": [{"type": "not_null"}]},
    ]
    whole = [
        {"type": "not_null", "columns": ["a", "b"]},
        {"type": "check", "expression": "a < b"},
        {"type": "unique", "columns": ["a"], "warn_unsupported": False},
    ]
    found = constraints_of(model(constraints=whole, columns=columns), SparkDynamicAdapter)
    (generated,) = (name for name, condition in found.items() if condition == "a < b")
    assert generated.startswith("check_")
    assert found == {
        "a_not_null": "a IS NOT NULL",
        "b_not_null": "b IS NOT NULL",
        generated: "a < b",
        "id_not_null": "id IS NOT NULL",
        "pos": "id > 0",
        "from_not_null": "`from` IS NOT NULL",
    }
    again = constraints_of(model(constraints=whole, columns=columns), SparkDynamicAdapter)
    assert list(again) == list(found)


def test_only_of_a_contract_that_is_enforced() -> None:
    columns = [{"name": "id", "constraints": [{"type": "not_null"}]}]
    assert constraints_of(model(enforced=False, columns=columns), SparkDynamicAdapter) == {}
    assert constraints_of({"config": {}}, SparkDynamicAdapter) == {}


def test_a_check_of_nothing() -> None:
    with pytest.raises(DbtRuntimeError, match="expression"):
        constraints_of(model(columns=[{"name": "id", "constraints": [{"type": "check"}]}]), SparkDynamicAdapter)
