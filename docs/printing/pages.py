"""Every page that is printed from the code."""

from __future__ import annotations

from .limits_page import limits_page
from .operator_pages import operator_pages


def pages() -> dict[str, str]:
    """Path below docs/ -> text."""
    return {**operator_pages(), "limits.md": limits_page()}
