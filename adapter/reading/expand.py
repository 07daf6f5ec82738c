"""A view as the query it stands for, its names made complete in the namespace where it was written."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from ..dialect import SqlglotError, parse
from ..errors import Refusal
from .relations import Relation


@dataclass(frozen=True)
class View:
    """tree: the view's query; outputs: the query's columns in the order of the view's own."""

    tree: exp.Expression
    outputs: tuple[str, ...]


def expand(relation: Relation) -> View:
    """Raises Refusal if the text of the view cannot be read."""
    assert relation.view is not None
    try:
        tree = parse(relation.view.sql)
    except SqlglotError as error:
        reason = str(error).splitlines()[0]
        raise Refusal(f"the view {relation.name}", f"could not be read ({reason})") from error
    defined = {c.alias.lower() for c in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        if not table.db and table.name.lower() not in defined and isinstance(table.this, exp.Identifier):
            namespace = relation.view.namespace
            table.set("db", exp.to_identifier(namespace[-1], quoted=True))
            if len(namespace) > 1 and namespace[0] != "spark_catalog":
                table.set("catalog", exp.to_identifier(namespace[0], quoted=True))
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))
    return View(tree, relation.view.outputs)
