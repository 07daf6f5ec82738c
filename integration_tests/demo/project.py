"""A dbt project run inside this process, so that dbt and the caller share one Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dbt.cli.main import dbtRunner, dbtRunnerResult

FAILED = ("error", "fail", "runtime error", "skipped")


class ProjectError(Exception):
    """A dbt command failed; the text names every node that did and says why."""


@dataclass(frozen=True)
class Refresh:
    """What one `dbt run` did to one dynamic table.

    Attributes:
        model: the model's name.
        relation: the table, with its schema, as SQL.
        query: the compiled SELECT.
        response: the `adapter_response` of the model in run_results.json.
    """

    model: str
    relation: str
    query: str
    response: Mapping[str, Any]

    @property
    def code(self) -> str:
        """CREATED, INCREMENTAL, RECOMPUTE or NO CHANGE."""
        return self.response["code"]

    @property
    def technique(self) -> str:
        """By which technique the table was refreshed, such as merge or keyed."""
        return self.response["technique"]

    @property
    def reason(self) -> str | None:
        """Why the table was recomputed, if it was."""
        return self.response.get("reason")

    @property
    def rows_in(self) -> int | None:
        """How many changed rows of the inputs were read, where that is known."""
        return self.response.get("rows_in")

    @property
    def rows_out(self) -> tuple[int, int, int]:
        """How many rows of the table were inserted, updated and deleted."""
        counted = ("rows_inserted", "rows_updated", "rows_deleted")
        inserted, updated, deleted = (self.response.get(name) or 0 for name in counted)
        return inserted, updated, deleted

    @property
    def seconds(self) -> float:
        """How long the refresh took, without dbt's own compiling."""
        return float(self.response["seconds"])


@dataclass(frozen=True)
class Project:
    """A dbt project and what every command on it is given.

    Attributes:
        folder: where dbt_project.yml and profiles.yml are.
        workspace: where dbt may write its target and logs; nothing is written beside the project.
        variables: dbt's --vars.
    """

    folder: Path
    workspace: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    def run(self, *arguments: str, on_model: Callable[[str], None] = lambda model: None) -> dict[str, Refresh]:
        """Do `dbt run` with further arguments.

        Args:
            arguments: such as "--select", "customer_orders".
            on_model: called with the name of each model once it is done.

        Returns:
            The refresh of each dynamic table, by model name, in the order of the run.

        Raises:
            ProjectError: at least one model failed.
        """
        outcome = self.invoke("run", *arguments, on_model=on_model)
        return {
            result.node.name: Refresh(
                model=result.node.name,
                relation=result.node.relation_name,
                query=result.node.compiled_code,
                response=result.adapter_response,
            )
            for result in outcome.result.results
            if result.node.config.materialized == "dynamic_table"
        }

    def invoke(
        self, command: str, *arguments: str, on_model: Callable[[str], None] = lambda model: None
    ) -> dbtRunnerResult:
        """Do any dbt command; raises ProjectError if it fails."""

        def listen(event: Any) -> None:
            if event.info.name == "NodeFinished":
                on_model(event.data.node_info.node_name)

        outcome = dbtRunner(callbacks=[listen]).invoke([command, *arguments, *self._settings()])
        if not outcome.success:
            raise ProjectError(f"dbt {command} failed in {self.folder.name}:\n{_reasons(outcome)}")
        return outcome

    def _settings(self) -> list[str]:
        return [
            *("--project-dir", str(self.folder), "--profiles-dir", str(self.folder)),
            *("--target-path", str(self.workspace / "target")),
            *("--log-path", str(self.workspace / "logs")),
            *("--vars", json.dumps(dict(self.variables))),
            # Failures are raised with dbt's messages, and dbt.log has the rest.
            *("--log-level", "none", "--log-level-file", "debug"),
            *("--no-version-check", "--no-send-anonymous-usage-stats"),
        ]


def _reasons(outcome: dbtRunnerResult) -> str:
    if outcome.exception is not None:
        return str(outcome.exception)
    failed = [r for r in getattr(outcome.result, "results", ()) if str(r.status) in FAILED]
    return "\n".join(f"{_name(result)}: {result.status}: {result.message}" for result in failed)


def _name(result: Any) -> str:
    node = getattr(result, "node", None)
    return node.name if node is not None else getattr(result, "unique_id", "operation")
