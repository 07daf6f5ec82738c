"""A dbt project for a command: the options that name it, as dbt has them, and the adapter that speaks to its Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

import click
from dbt_common.exceptions import DbtBaseException

if TYPE_CHECKING:
    from dbt.adapters.spark_dynamic.impl import SparkDynamicAdapter

OPTIONS = {
    "project-dir": "Which directory to look in for the dbt_project.yml file.",
    "profiles-dir": "Which directory to look in for the profiles.yml file.",
    "profile": "Which existing profile to load.",
    "target": "Which target to load for the given profile.",
    "vars": "Variables of the project, as YAML.",
}
"""dbt's own options, passed on to it as they are."""


def project_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command that takes these options, and gets them as one mapping `project`."""

    @wraps(command)
    def gathered(*args: Any, **kwargs: Any) -> Any:
        project = {name: kwargs.pop(name.replace("-", "_")) for name in OPTIONS}
        return command(*args, project=project, **kwargs)

    for name, text in reversed(OPTIONS.items()):
        gathered = click.option(f"--{name}", help=text)(gathered)
    return gathered


@contextmanager
def opened(project: dict[str, str | None]) -> Iterator[SparkDynamicAdapter]:
    """The adapter of the project, its manifest parsed and a connection open.

    Raises click.ClickException, with dbt's own words, for a project that dbt refuses and for whatever dbt raises while
    it is open."""
    adapter = adapter_of(project)
    try:
        with adapter.connection_named("dbt-dynamic"):
            yield adapter
    except DbtBaseException as error:
        raise click.ClickException(str(error)) from error
    finally:
        adapter.cleanup_connections()


def adapter_of(project: dict[str, str | None]) -> SparkDynamicAdapter:
    """The adapter of the project, its manifest parsed. Raises click.ClickException as `opened` does."""
    from dbt.adapters.factory import FACTORY
    from dbt.cli.main import dbtRunner

    given = [part for name, value in project.items() if value is not None for part in (f"--{name}", value)]
    parsed = dbtRunner().invoke(["--quiet", "--log-level", "error", "parse", *given])
    if not parsed.success:
        raise click.ClickException(str(parsed.exception or "the project could not be parsed"))
    adapter = FACTORY.adapters.get("spark_dynamic")
    if adapter is None:
        raise click.ClickException("the project's target is not of type spark_dynamic: choose one with --target")
    return adapter
