"""The tables a query reads, found without understanding it: for a SELECT that is recomputed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.optimizer.scope import traverse_scope

from ..errors import Refusal
from .expand import expand
from .relations import Catalog, Kind, Relation


@dataclass
class Tables:
    """tables: by name, views followed to what they read; views, trees: every view on the way, and its query."""

    tables: dict[str, Relation] = field(default_factory=dict)
    views: list[Relation] = field(default_factory=list)
    trees: list[exp.Expression] = field(default_factory=list)


def tables_of(tree: exp.Expression, catalog: Catalog) -> Tables:
    """All base tables below the query. A view that cannot be read counts as a source of unknown content."""
    found = Tables()
    _gather(tree, catalog, found)
    return found


def _gather(tree: exp.Expression, catalog: Catalog, found: Tables) -> None:
    for table in base_tables(tree):
        relation = catalog.relation(tuple(p.name for p in table.parts))
        if relation.kind is not Kind.VIEW:
            found.tables[relation.name] = relation
            continue
        if relation in found.views:
            continue
        found.views.append(relation)
        try:
            found.trees.append(expand(relation).tree)
            _gather(found.trees[-1], catalog, found)
        except Refusal:
            found.tables[relation.name] = Relation(relation.name, Kind.OTHER, relation.columns, provider="view")


def base_tables(tree: exp.Expression) -> list[exp.Table]:
    """Tables in FROM that are not names of a WITH clause in scope."""
    inner = tree if isinstance(tree, exp.Query) else tree.find(exp.Query)
    if inner is None:
        return []
    return [
        source
        for scope in traverse_scope(inner)
        for source in scope.sources.values()
        if isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier)
    ]


def pinned(tree: exp.Expression, catalog: Catalog, read: Callable[[Relation], exp.Expression]) -> exp.Expression:
    """A copy of the query with every table replaced by what `read` gives for it, and every view by its definition."""
    copy = tree.copy()
    for table in base_tables(copy):
        if table.args.get("version") is not None:
            continue  # Time travel is to the version that it names.
        relation = catalog.relation(tuple(p.name for p in table.parts))
        alias = exp.TableAlias(this=exp.to_identifier(table.alias or table.name, quoted=True))
        new = _view(relation, catalog, read) if relation.kind is Kind.VIEW else read(relation)
        new.set("alias", alias)
        new.set("joins", table.args.get("joins"))
        table.replace(new)
    return copy


def _view(relation: Relation, catalog: Catalog, read: Callable[[Relation], exp.Expression]) -> exp.Expression:
    expanded = expand(relation)
    inner = exp.Subquery(this=pinned(expanded.tree, catalog, read), alias=exp.TableAlias(this=exp.to_identifier("v")))
    shown = expanded.outputs or tuple(name for name, _ in relation.columns)
    listed = [
        exp.alias_(exp.column(s, quoted=True), name, quoted=True)
        for s, (name, _) in zip(shown, relation.columns, strict=True)
    ]
    return exp.Subquery(this=exp.Select(expressions=listed, from_=exp.From(this=inner)))
