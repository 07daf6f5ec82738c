"""dbt-dynamic serve: the Spark of a profile kept running, for every dbt process that uses the same store."""

from __future__ import annotations

from contextlib import closing

import click
from dbt.adapters.spark.connections import SparkConnectionMethod

from dbt.adapters.spark_dynamic.cli.project import adapter_of, project_options
from dbt.adapters.spark_dynamic.cli.watch import stopping
from dbt_spark_dynamic.embedded.serve import BROKEN, Server
from dbt_spark_dynamic.embedded.start_error import StartError

LAST_GUESTS = "It ends when the dbt processes that are using it have; a second Ctrl-C or kill ends it at once."


@click.command()
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="On 127.0.0.1; by default any that is free.")
@click.option(
    "--idle-timeout", "idle", default=240.0, show_default=True, type=click.FloatRange(0), metavar="MINUTES",
    help="Ends when no dbt process has used it for so long; 0 for never.",
)  # fmt: skip
@project_options
def serve(port: int, idle: float, project: dict[str, str | None]) -> None:
    """Keeps the profile's Spark running, so that dbt, and the other commands, need not start one each time.

    They find it by the profile's store, without a change to the profile. SIGTERM or Ctrl-C ends it after the dbt
    processes that are using it; a second one ends it at once.
    """
    credentials = adapter_of(project).config.credentials
    if credentials.method != SparkConnectionMethod.SESSION:
        raise click.ClickException(
            f"the profile's `method: {credentials.method}` reaches a Spark that runs already: there is nothing to serve"
        )
    try:
        server = Server(credentials.embedded_settings(), port)
    except StartError as error:
        raise click.ClickException(str(error)) from error
    # From here on: pyspark has taken Ctrl-C for itself.
    with closing(server), stopping() as stop:
        click.echo(f"The Spark of the store {credentials.store} is served by {server.served.place}.")
        click.echo(f"dbt uses it from now on. Ctrl-C or `kill {server.served.pid}` ends it{_alone(idle)}.")
        why = server.run(stop, idle * 60 or None, lambda: click.echo(LAST_GUESTS))
    if why == BROKEN:
        raise click.ClickException(f"{why}: see {credentials.store}/spark.log")
    click.echo(f"Ended, because {why}.")


def _alone(minutes: float) -> str:
    return f", and so do {minutes:g} minutes without use" if minutes else ""
