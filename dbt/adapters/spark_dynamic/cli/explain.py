"""dbt-dynamic explain MODEL: the text of `dbt run-operation explain`, in colour where there is a terminal."""

from __future__ import annotations

import click
from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from dbt.adapters.spark_dynamic.cli.project import opened, project_options
from dbt_spark_dynamic.explain.text import Section, heading, sections


@click.command()
@click.argument("model")
@project_options
def explain(model: str, project: dict[str, str | None]) -> None:
    """How MODEL is maintained: its algebra, the law at each node, its key and sources, and the SQL of a refresh.

    Reads descriptions of tables and runs nothing.
    """
    with opened(project) as adapter:
        explanation = adapter.explanation(model)
    console = Console(highlight=False)
    console.print(Text(heading(explanation), "bold"), soft_wrap=True)
    for section in sections(explanation):
        console.print()
        console.print(Text(section.title.upper(), "bold cyan"), soft_wrap=True)
        console.print(_body(section, console.is_terminal), soft_wrap=True)


def _body(section: Section, terminal: bool) -> Text:
    if section.sql and terminal:
        # As text, which keeps long lines whole for whoever copies them.
        return Syntax("", "sql", background_color="default").highlight(section.body)
    return Text(section.body)
