"""Columns that a commit says to have renamed or dropped."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dbt_spark_dynamic.commit.history import read_commit

NAMED = {"configuration": {"delta.columnMapping.mode": "name"}}


@pytest.mark.parametrize(
    ("operation", "parameters", "renamed"),
    [
        ("RENAME COLUMN", {"oldColumnPath": "Price", "newColumnPath": "net"}, {"price", "net"}),
        ("RENAME COLUMN", {"oldColumnPath": "address.city", "newColumnPath": "address.town"}, {"address"}),
        ("RENAME COLUMN", {"oldColumnPath": "`a.b`.c", "newColumnPath": "`a.b`.d"}, {"a.b"}),
        ("RENAME COLUMN", {"oldColumnPath": "[x", "newColumnPath": "y"}, {"[x", "y"}),
        ("RENAME COLUMN", {"oldColumnPath": "x`y", "newColumnPath": "y"}, None),
        ("DROP COLUMNS", {"columns": json.dumps(["x", "`a.b`", "s.t"])}, {"x", "a.b", "s"}),
        ("DROP COLUMNS", {}, None),
        ("REPLACE COLUMNS", {"columns": "[]"}, None),
        ("RESTORE", {"version": "1"}, None),
        ("ADD COLUMNS", {"columns": "[]"}, set()),
        ("SET TBLPROPERTIES", {}, set()),
    ],
)
def test_names_that_may_mean_other_data(operation: str, parameters: dict[str, str], renamed: set[str] | None) -> None:
    info: dict[str, Any] = {"commitInfo": {"operation": operation, "operationParameters": parameters}}
    assert read_commit(1, [info, {"metaData": NAMED}]).renamed == renamed
    # Where files know columns by the names that the table has, they are read by these.
    assert read_commit(1, [info, {"metaData": {"configuration": {}}}]).renamed == frozenset()
    assert read_commit(1, [info]).renamed == frozenset()
