"""What a model's FROM can name, and the questions that reading asks about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from ..algebra.nodes import Node

Columns = tuple[tuple[str, str], ...]
"""(column name, Spark type) in order."""


class Kind(Enum):
    DELTA = "delta"
    VIEW = "view"
    OTHER = "other"


@dataclass(frozen=True)
class View:
    """sql: its text as written; namespace: where its unqualified names are looked up; outputs: the columns of the
    text, in the order of the view's own columns."""

    sql: str
    namespace: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Relation:
    """name: dotted and complete, the identity of a source; provider: its format, for messages."""

    name: str
    kind: Kind
    columns: Columns
    view: View | None = None
    provider: str = ""


class Catalog(Protocol):
    """The session's own resolution of names. Raises ConfigError for a relation that does not exist."""

    def relation(self, parts: tuple[str, ...]) -> Relation: ...


Typer = Callable[[Node], tuple[str, ...]]
"""The Spark types of a plan's columns: needed where rows of several inputs are given one type (UNION)."""
