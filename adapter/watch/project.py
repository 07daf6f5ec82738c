"""What the loop asks of dbt and Spark."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from ..commit.outcome import Outcome
from .graph import Watched


@dataclass(frozen=True)
class Built:
    """What a dbt run has left. models: everything that is maintained now; not_built: of what was to be run, what failed
    or was skipped; elsewhere: models that another watcher on this machine has."""

    models: tuple[Watched, ...]
    not_built: frozenset[str] = frozenset()
    elsewhere: frozenset[str] = frozenset()


class Project(Protocol):
    def build(self) -> Built:
        """dbt run of what is selected, as the project's files are now: at first of all, later of what an edit changed.

        Raises DynamicTableError for a project that dbt cannot parse; then everything is as it was."""
        ...

    def build_again(self, names: Collection[str]) -> Built:
        """dbt run of these alone."""
        ...

    def edited(self) -> bool:
        """Whether files have changed since the last build was begun, and are not being changed any more."""
        ...

    def free(self) -> bool:
        """Whether another watcher has let go of a model that is selected here."""
        ...

    def versions(self, tables: Collection[str]) -> Mapping[str, int]:
        """The latest version of each table, schedule.GONE for one that is not there. Raises where Spark is not."""
        ...

    def notes(self) -> list[str]:
        """What has gone wrong in the background since last asked."""
        ...

    def refresh(self, name: str, versions: Mapping[str, int]) -> Outcome:
        """One refresh up to these versions of what the table reads. Called from several threads. Raises
        DynamicTableError, of which ConflictError says that another run was faster."""
        ...
