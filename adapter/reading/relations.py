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
class Versioning:
    """What is declared of the versions that a relation holds.

    key: the columns that tell its things apart, () if they are not declared; event_time: of a relation that is only
    appended to, the time from which on a row is valid; valid_from, valid_to, is_deleted: what the columns of intervals
    are called, if it has them; open_until: what valid_to holds for a version that is still valid, as SQL, NULL if not
    given; latest_only: rows of a key replace one another.
    """

    key: tuple[str, ...] = ()
    event_time: str = ""
    valid_from: str = "dbt_valid_from"
    valid_to: str = "dbt_valid_to"
    is_deleted: str = "dbt_is_deleted"
    open_until: str = ""
    latest_only: bool = False


@dataclass(frozen=True)
class Relation:
    """name: dotted and complete, the identity of a source; provider: its format, for messages; versioning: as far as
    anything is declared; expected_key: columns that the project expects to be unique in it, () if it does of none."""

    name: str
    kind: Kind
    columns: Columns
    view: View | None = None
    provider: str = ""
    versioning: Versioning | None = None
    expected_key: tuple[str, ...] = ()


class Catalog(Protocol):
    """The session's own resolution of names. Raises ConfigError for a relation that does not exist."""

    def relation(self, parts: tuple[str, ...]) -> Relation: ...


Typer = Callable[[Node], tuple[str, ...]]
"""The Spark types of a plan's columns: needed where rows of several inputs are given one type (UNION)."""
