"""What a table is made of: its model's SELECT over the versions of its sources that a refresh consumes."""

from __future__ import annotations

from sqlglot import exp

from ..algebra.nodes import Node, Time
from ..dialect import SqlglotError, print_sql
from ..errors import Refusal
from ..reading.relations import Columns, Kind, Relation
from ..reading.sources import pinned
from ..sparksql.reads import Span, at_version, dated, table, undated
from ..sparksql.render import Renderer
from ..sparksql.unpadded import has_text, unpadded
from .engine import Engine
from .look import Seen
from .measure import Measure
from .spec import Spec
from .temporal_plans import choose


def after(seen: Seen) -> dict[str, Span]:
    """The Delta tables among the sources, as they are once the refresh is done."""
    return {n: Span(t.version, t.version) for n, t in seen.catalog.tables.items() if t.kind is Kind.DELTA}


def content_of(seen: Seen, spec: Spec, engine: Engine, measure: Measure) -> str:
    """The SELECT's SQL: as it was understood, or as it is written, where it was not."""
    if seen.model.node is not None:
        return printed(seen.content, seen, engine, measure)
    if seen.model.tree is None:
        return spec.sql
    versions = after(seen)

    def read(relation: Relation) -> exp.Expression:
        if relation.name in versions:
            return at_version(relation.name, versions[relation.name].after)
        return table(relation.name)

    try:
        return print_sql(pinned(seen.model.tree, seen.catalog, read), pretty=True)
    except (Refusal, SqlglotError):
        return spec.sql


def storable(query: str, columns: Columns, engine: Engine) -> str:
    """The same rows, of which a table can be made that Delta merges into: not one with a column of CHAR(n), as CREATE
    TABLE AS would give it, because the padding that Spark puts over such a column is more than MERGE knows of.

    columns: of the SELECT, to which the query may add some."""
    return unpadded(query, engine.columns(query)) if has_text(columns) and engine.pads(query) else query


def printed(content: Node, seen: Seen, engine: Engine, measure: Measure) -> str:
    """The SQL of a relation of the sources."""
    reads, clock = dated(after(seen)), {Time.UNDATED: seen.clock, Time.AFTER: seen.clock}
    temporal = choose(content, engine, measure, Renderer(reads, clock=clock))
    return print_sql(Renderer(reads, clock=clock, temporal=temporal).query(content), pretty=True)


def recorded(seen: Seen, spec: Spec) -> str:
    """The SELECT as Spark can run it again, over the tables as they are then; empty if that gives other rows."""
    model = seen.model
    if model.kept:
        return ""
    if model.node is None or not model.temporal:
        return spec.sql
    return print_sql(Renderer(undated).query(model.node))
