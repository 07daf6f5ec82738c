"""The pages of docs/ that are printed from the code are what the code prints now."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from dbt_spark_dynamic.algebra import nodes
from docs.printing.examples import OPERATORS
from docs.printing.pages import pages

ROOT = Path(__file__).parents[2]
OF_CHANGE_PLANS = {nodes.Named, nodes.Semi}
PAGES = pages()


@pytest.mark.parametrize("path", PAGES)
def test_the_committed_page_is_what_the_code_prints(path: str) -> None:
    assert (ROOT / "docs" / path).read_text() == PAGES[path], "run `make docs` and commit what it wrote"


def test_no_page_is_left_of_an_operator_that_is_gone() -> None:
    assert {f"operators/{p.name}" for p in (ROOT / "docs/operators").glob("*.md")} <= PAGES.keys()


def test_every_operator_has_a_page() -> None:
    known = [n for n in vars(nodes).values() if isinstance(n, type) and issubclass(n, nodes.Node)]
    assert {*known} - {nodes.Node, *OF_CHANGE_PLANS} == {o.node for o in OPERATORS}


@pytest.mark.parametrize("test", sorted({test for o in OPERATORS for test in o.tests}))
def test_the_property_tests_that_pages_name_exist(test: str) -> None:
    file, name = test.split("::")
    assert hasattr(import_module(file.removesuffix(".py").replace("/", ".")), name)
