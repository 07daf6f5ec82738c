"""`dbt-dynamic`, the command line beside dbt's own: one file for each command, and a dbt project opened for them.

project.py  the options that name a project, and the project opened
explain.py  dbt-dynamic explain MODEL        watch.py  dbt-dynamic watch
serve.py    dbt-dynamic serve
"""

from __future__ import annotations

import click

from dbt.adapters.spark_dynamic.__version__ import version
from dbt.adapters.spark_dynamic.cli.explain import explain
from dbt.adapters.spark_dynamic.cli.serve import serve
from dbt.adapters.spark_dynamic.cli.watch import watch


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version, prog_name="dbt-dynamic")
def cli() -> None:
    """Dynamic tables of a dbt project on Spark and Delta."""


cli.add_command(explain)
cli.add_command(serve)
cli.add_command(watch)
