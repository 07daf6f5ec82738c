"""How hard the laws are tried: each with 300 examples that are the same in every run, so that what a run finds is what
a change has done; HYPOTHESIS_PROFILE=long tries each with 5000, other ones each time."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# Plans are large values and a loaded machine is slow: neither says anything about the law under test.
_UNTIMED = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}

settings.register_profile("default", max_examples=300, derandomize=True, **_UNTIMED)
settings.register_profile("long", max_examples=5000, **_UNTIMED)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--pairs", type=int, default=60, help="pairs of a generated query and a change script to try")


@pytest.fixture
def pairs(request: pytest.FixtureRequest) -> int:
    """How many pairs of a generated query and a change script a test tries."""
    return request.config.getoption("--pairs")
