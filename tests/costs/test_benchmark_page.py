"""docs/benchmarks.md says what was measured."""

from __future__ import annotations

from benchmarks.report import page
from benchmarks.tpch import PAGE, measured


def test_the_page_is_printed_from_what_was_measured() -> None:
    assert PAGE.read_text() == page(measured()), "run `python -m benchmarks.tpch` and commit what it wrote"
