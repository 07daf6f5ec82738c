"""dbt's tests of contracts, with Spark's types; what Delta is asked to enforce is part of CREATE TABLE."""

from __future__ import annotations

import pytest
from dbt.tests.adapter.constraints import test_constraints as constraints

# The value in SQL, its type in the contract, and that type in dbt's message.
DATA_TYPES = [
    ["1", "int", "int"],
    ["'1'", "string", "string"],
    ["true", "boolean", "boolean"],
    ["timestamp '2013-11-03 00:00:00'", "timestamp", "timestamp"],
    ["array('a', 'b', 'c')", "array<string>", "array<string>"],
    ["cast(1 as decimal(10, 2))", "decimal(10,2)", "decimal(10,2)"],
]


class OfSpark:
    @pytest.fixture
    def string_type(self) -> str:
        return "string"

    @pytest.fixture
    def int_type(self) -> str:
        return "int"

    @pytest.fixture
    def data_types(self) -> list[list[str]]:
        return DATA_TYPES


class TestTableColumnsEqual(OfSpark, constraints.BaseTableConstraintsColumnsEqual):
    pass


class TestViewColumnsEqual(OfSpark, constraints.BaseViewConstraintsColumnsEqual):
    pass


class TestIncrementalColumnsEqual(OfSpark, constraints.BaseIncrementalConstraintsColumnsEqual):
    pass


class Enforced:
    """A violated constraint leaves the table as it was, and the message names it."""

    @pytest.fixture(scope="class")
    def expected_error_messages(self) -> list[str]:
        return ["DELTA_VIOLATE_CONSTRAINT_WITH_VALUES", "id_not_null"]


class TestTableRollback(Enforced, constraints.BaseConstraintsRollback):
    pass


class TestIncrementalRollback(Enforced, constraints.BaseIncrementalConstraintsRollback):
    pass
