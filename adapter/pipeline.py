"""The story in order: model SQL -> algebra -> change plan -> Spark SQL. What follows, committing, is in `commit`.

model = compile_model(sql, columns, catalog, types_of)      what the SELECT means, or why it is recomputed
plan(model.node, changed_sources, keys)                     what has to be computed
Renderer(dated(spans)).query(...)                           the same as Spark SQL
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from .algebra.clock import WATERMARK, misplaced, read_by
from .algebra.connect import connected
from .algebra.emission import Emission, emitted
from .algebra.expressions import columns
from .algebra.inner import inner_where_kept
from .algebra.kept import is_kept, ripening
from .algebra.keys import SourceKeys
from .algebra.nodes import Node, Project
from .algebra.prune import prune
from .algebra.show import show
from .dialect import SqlglotError, parse, print_sql
from .errors import Bug, EngineError, Refusal, Volatility
from .reading.functions import declare
from .reading.lower import Lowering
from .reading.refuse import refuse
from .reading.relations import Catalog, Columns, Kind, Relation
from .reading.scalars import is_volatile
from .reading.sources import tables_of
from .reading.temporal import is_temporal, only_maintained
from .reading.windows import settled
from .sparksql.reads import undated
from .sparksql.render import Renderer

TypesOf = Callable[[str], Columns]
"""Columns and types of a query, by Spark's own analysis. No data is read."""


@dataclass(frozen=True)
class Model:
    """A model's SELECT, read.

    columns: names and Spark types of the result; sources: every table it reads, views expanded; node: its algebra,
    None where it is refused; refusal: then why; fingerprint: the same for SELECTs that mean the same to us;
    tree: the SQL, views expanded, for a recompute of what is refused (None if it cannot be parsed); emission: when the
    results of its windows are made, None where they are what the rows are at any time; expected_keys: of its sources,
    as far as the project expects columns of them to be unique.
    """

    sql: str
    columns: Columns
    sources: Mapping[str, Relation]
    fingerprint: str
    node: Node | None = None
    refusal: Refusal | None = None
    tree: exp.Expression | None = None
    emission: Emission | None = None
    expected_keys: SourceKeys = field(default_factory=dict)

    @property
    def kept(self) -> bool:
        """Whether the table holds what the SELECT computed anew does not give: results as they were once made."""
        return self.node is not None and (self.emission is not None or is_kept(self.node))

    @property
    def temporal(self) -> bool:
        """Whether the SQL has a temporal join, so that Spark cannot run it as it is written."""
        return self.tree is not None and is_temporal(self.tree)

    @property
    def volatile(self) -> bool:
        """Whether the result can change although no source says that it did."""
        if self.refusal is None:
            return self.node is not None and bool(read_by(self.node) - {WATERMARK})
        unknown = any(r.kind is not Kind.DELTA for r in self.sources.values())
        return unknown or self.refusal.volatility is Volatility.VOLATILE


def compile_model(
    sql: str,
    result: Columns,
    catalog: Catalog,
    types_of: TypesOf,
    deterministic: frozenset[str] = frozenset(),
    *,
    joined_once: bool = False,
    emission: Emission | None = None,
) -> Model:
    """Reads a SELECT that Spark has accepted. result: the columns Spark says it has; deterministic: the user's own
    functions that give equal values for equal arguments, in lower case; joined_once: its temporal joins at event times
    keep their results, each row being joined when the watermark has passed it; emission: when the results of its
    windows are made.

    Raises Impossible for one with a temporal join that is not maintained: Spark cannot run it as it is written.
    """

    def ask(node: Node) -> tuple[str, ...]:
        return tuple(t for _, t in columns_of(node, types_of))

    try:
        tree = parse(sql)
    except SqlglotError as error:
        first = str(error).splitlines()[0]
        refusal = Refusal("SQL that the parser does not know", f"({first})", volatility=Volatility.VOLATILE)
        return Model(sql, result, {}, digest((sql, result)), refusal=refusal)
    declare(tree, deterministic)
    lowering = Lowering(catalog, ask, deterministic)
    try:
        node = lowering.query(tree, {})
        unmapped = [r for r in lowering.sources.values() if r.kind is not Kind.DELTA]
        if unmapped:
            names = ", ".join(f"{r.name} ({r.provider})" for r in unmapped)
            raise Refusal(
                f"the source {names}", "is not a Delta table and cannot say what changed",
                "make it a Delta table", volatility=Volatility.VOLATILE,
            )  # fmt: skip
        if len(node.columns) != len(result):
            why = f"has {len(result)} columns for Spark and {len(node.columns)} as it is read here"
            raise Refusal("the SELECT", why)
        if _reordered([n for n, _ in result], node.columns):
            raise Refusal("the SELECT", "has its columns in another order for Spark than as it is read here")
        if (moving := misplaced(node)) is not None:
            raise refuse(
                "a condition of a join that reads the clock", "has no law of change here yet", moving.tree,
                "put it into WHERE", volatility=Volatility.VOLATILE,
            )  # fmt: skip
        outputs = tuple(zip((n for n, _ in result), columns(node.columns), strict=True))
        whole = settled(prune(connected(inner_where_kept(Project(node, outputs)))), lowering.typer, dict(result))
        named = ripening(whole) if joined_once else whole
        named = emitted(named, emission) if emission is not None else named
        fingerprint = digest((show(named), result))
        return Model(
            sql, result, dict(lowering.sources), fingerprint, node=named, tree=tree, emission=emission,
            expected_keys=lowering.expected_keys,
        )  # fmt: skip
    except Bug as bug:
        # A table that is computed whole is right, if slow; one that is not there helps nobody.
        refusal = Refusal("the SELECT", f"is read wrongly here ({bug.what})", "please report it")
        return _recomputed(sql, tree, result, catalog, refusal)
    except Refusal as refusal:
        return _recomputed(sql, tree, result, catalog, refusal)


def _recomputed(sql: str, tree: exp.Expression, result: Columns, catalog: Catalog, refusal: Refusal) -> Model:
    if is_temporal(tree):
        raise only_maintained(refusal) from refusal
    sources = tables_of(tree, catalog)
    if any(is_volatile(t) for t in (tree, *sources.trees)):
        refusal.volatility = Volatility.VOLATILE
    try:
        text = print_sql(tree)
    except SqlglotError:
        text = sql
    text += "".join(sorted(r.view.sql for r in sources.views if r.view))
    return Model(sql, result, sources.tables, digest((text, result)), refusal=refusal, tree=tree)


def columns_of(node: Node, types_of: TypesOf) -> Columns:
    """Columns and types of what has been read, printed again. Raises Refusal where that is not SQL that Spark knows."""
    try:
        return types_of(print_sql(Renderer(undated).query(node), copy=False))
    except SqlglotError as error:
        raise Refusal("the SELECT", f"cannot be printed again ({str(error).splitlines()[0]})") from error
    except EngineError as error:
        if not error.condition:
            raise
        raise Refusal(
            "the SELECT", f"is refused by Spark when it is read and printed again ({error.condition})"
        ) from error


def _reordered(names: list[str], read: tuple[str, ...]) -> bool:
    """Whether both have the same names, and not in one order. (Names that are not the user's say nothing.)"""
    wanted, found = [n.lower() for n in names], [n.lower() for n in read]
    return wanted != found and sorted(wanted) == sorted(found)


def digest(said: object) -> str:
    return hashlib.sha256(repr(said).encode()).hexdigest()[:20]
