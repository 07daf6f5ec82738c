"""The classes of dbt-tests-adapter: found in its files, and made into tests."""

from __future__ import annotations

import importlib
import inspect
from functools import cache
from pathlib import Path
from typing import Any

import pytest

PACKAGE = "dbt.tests.adapter"

TARGET: dict[str, Any] = {
    "type": "spark_dynamic",
    "threads": 2,
    "user": "dbt",
    # For tests that create a table by hand, without saying in which format.
    "server_side_parameters": {"spark.sql.sources.default": "delta"},
}
"""What the projects of these tests run on."""


@cache
def base_classes() -> dict[str, type]:
    """`module:Class` below dbt.tests.adapter -> each class with tests that is meant to be inherited from."""
    root = Path(next(iter(importlib.import_module(PACKAGE).__path__)))
    found: dict[str, type] = {}
    for file in sorted(root.rglob("*.py")):
        module = ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        for name, kind in vars(importlib.import_module(f"{PACKAGE}.{module}")).items():
            own = inspect.isclass(kind) and kind.__module__ == f"{PACKAGE}.{module}"
            if own and not name.startswith("Test") and any(member.startswith("test") for member in dir(kind)):
                found[f"{module}:{name}"] = kind
    return found


def as_they_are(module: str, *names: str, mark: pytest.MarkDecorator | None = None) -> dict[str, type]:
    """Test classes that need nothing changed, for the namespace of a test file. names: `module:Class`; mark: of all of
    them."""
    made: dict[str, type] = {}
    for name in names:
        base = base_classes()[name]
        own = {"__module__": module} | ({"pytestmark": mark} if mark is not None else {})
        made[f"Test{base.__name__}"] = type(f"Test{base.__name__}", (base,), own)
    return made


def inherited(namespace: dict[str, Any]) -> set[str]:
    """`module:Class` of all classes of dbt-tests-adapter that the test classes of a file inherit tests from."""
    tests = [kind for name, kind in namespace.items() if inspect.isclass(kind) and name.startswith("Test")]
    ancestors = {base for test in tests for base in test.__mro__}
    return {name for name, base in base_classes().items() if base in ancestors}
