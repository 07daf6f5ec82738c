"""Every class of dbt-tests-adapter is run, or excluded with a reason: no Spark is needed to know."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from integration_tests.conformance.excluded import EXCLUDED, FAILING
from integration_tests.conformance.suite import base_classes, inherited

HERE = Path(__file__).parent


def run() -> set[str]:
    """The classes whose tests this folder runs."""
    files = [f.stem for f in HERE.glob("test_*.py") if f.stem != Path(__file__).stem]
    return set().union(*(inherited(vars(importlib.import_module(f"{__package__}.{file}"))) for file in files))


def test_every_class_is_run_or_excluded_with_a_reason(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run()
    with capsys.disabled():
        print(f"\n{len(ran)} classes of dbt-tests-adapter are run, {len(EXCLUDED)} are not:")
        for name, reason in sorted(EXCLUDED.items(), key=lambda item: (item[1], item[0])):
            print(f"  {name}: {reason}")
        print(f"{len(FAILING)} tests of those that are run are expected to fail:")
        for name, reason in sorted(FAILING.items()):
            print(f"  {name}: {reason}")
    assert set(EXCLUDED) <= set(base_classes()), "excluded, but not in dbt-tests-adapter any more"
    assert not set(EXCLUDED) & ran, "run, and excluded too"
    assert set(base_classes()) - ran - set(EXCLUDED) == set(), "neither run nor excluded"
