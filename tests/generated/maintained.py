"""One model maintained through a script of changes: created whole, then refreshed by its change plan alone."""

from __future__ import annotations

from collections.abc import Mapping

from dbt_spark_dynamic.algebra.clock import Reading
from dbt_spark_dynamic.algebra.emission import Emission
from dbt_spark_dynamic.algebra.keys import unique_key
from dbt_spark_dynamic.algebra.nodes import Join, Time, walk
from dbt_spark_dynamic.changes.additive import Own
from dbt_spark_dynamic.changes.change_plan import Shape
from dbt_spark_dynamic.changes.derivation import Derivation
from dbt_spark_dynamic.changes.emitted import next_instant
from dbt_spark_dynamic.changes.plan import plan
from dbt_spark_dynamic.commit.apply import Applier
from dbt_spark_dynamic.commit.incremental import Incremental
from dbt_spark_dynamic.commit.ledger import Entry
from dbt_spark_dynamic.commit.measure import Measure
from dbt_spark_dynamic.commit.sources import Change
from dbt_spark_dynamic.commit.spec import Spec
from dbt_spark_dynamic.commit.temporal_plans import Technique
from dbt_spark_dynamic.commit.watermark import sides_of, watermark
from dbt_spark_dynamic.dialect import print_sql, without_as_of
from dbt_spark_dynamic.names import WEIGHT
from dbt_spark_dynamic.pipeline import Model, compile_model
from dbt_spark_dynamic.reading.relations import Columns
from dbt_spark_dynamic.sparksql.bins import Bins
from dbt_spark_dynamic.sparksql.reads import Span, dated, undated
from dbt_spark_dynamic.sparksql.render import Renderer
from dbt_spark_dynamic.sparksql.statements import difference

from .duck import SPARK_SUMS, TARGET, Duck


class OnDuck(Measure):
    """Without what DuckDB lacks: variables of the session, and COUNT(DISTINCT a, b)."""

    def told_by_bits(self, rows: int, columns: Columns) -> bool:
        return False

    def key_of(self, change: str, columns: Columns) -> None:
        return None


class Maintained:
    """by_key=False: applied as exact multiset changes even where a key is known; additive: whether any refresh added to
    the table's own rows; declared: a key that is known of the result; technique: by which temporal joins are
    made, also where a refresh would not choose it; late_by: as in `Spec`; columns: what Spark says the
    SELECT has, where DuckDB does not know its functions;
    emission: as in `Spec`; too_late: changed rows so far that no result was made of any more."""

    def __init__(
        self,
        duck: Duck,
        sql: str,
        *,
        by_key: bool,
        declared: tuple[str, ...] | None = None,
        technique: Technique | None = None,
        late_by: str | None = None,
        columns: Columns | None = None,
        emission: Emission | None = None,
    ) -> None:
        self._duck, self._sql, self._late_by = duck, sql, late_by
        duck.at(0)
        duck.forget(TARGET)
        self.model: Model = compile_model(
            sql,
            columns or duck.columns(without_as_of(sql)),
            duck,
            duck.columns,
            joined_once=late_by is not None and emission is None,
            emission=emission,
        )
        assert self.model.refusal is None, self.model.refusal
        assert self.model.node is not None
        # Of a temporal join, no engine has the SQL that the user wrote.
        node = self.model.node
        met = {n.as_of for n in walk(node) if isinstance(n, Join) and n.as_of is not None and n.as_of.time is not None}
        if isinstance(technique, Bins):
            met |= {as_of.changed() for as_of in met}
        self._temporal = {as_of: technique for as_of in met if technique is not None}
        self.key = declared or (unique_key(node, {}) if by_key else None)
        self._newest: Mapping[str, int] = {}
        self._clock = self._reading(0)
        renderer = Renderer(undated, clock={Time.UNDATED: self._clock}, temporal=self._temporal)
        first = sql if without_as_of(sql) == sql and columns is None else print_sql(renderer.query(node))
        duck.write(f"CREATE TABLE {TARGET} AS {first}", {})
        self.additive, self.too_late = False, 0

    def refresh(self, version: int) -> None:
        """From the version before to this one."""
        duck, spec = self._duck, Spec(TARGET, self._sql)
        duck.at(version)
        span = Span(version - 1, version)
        changes = {name: Change(span, None, feed=False) for name in self.model.sources}
        clock = {Time.BEFORE: self._clock, Time.AFTER: self._reading(version)}
        work = Incremental(duck, self.model, changes, spec, clock_moved=clock[Time.AFTER] != self._clock)
        self._clock = clock[Time.AFTER]
        try:
            assert work.read_feeds() is None
            if not work.changed:
                return
            own = Own(TARGET, {name: SPARK_SUMS.get(kind, kind) for name, kind in self.model.columns})
            relations = {name: duck.relation((name,)).columns for name in self.model.sources}
            types = {name: {c.lower(): kind for c, kind in found} for name, found in relations.items()}
            # Every second refresh takes its tables for large ones.
            assert self.model.node is not None
            by_change = plan(
                self.model.node,
                work.changed,
                {},
                own,
                by_key=self.key is not None,
                declared=self.key,
                emission=self.model.emission,
                large=self.model.sources if version % 2 else (),
                types=types,
                grown=self._grown(work),
            )
            self.additive |= by_change.shape is Shape.ADDITIVE
            entry = Entry(
                sources={}, definition="", technique="", generation="", sequence=1, base=0,
                columns=self.model.columns,
            )  # fmt: skip
            applier = Applier(
                duck, spec, self.model.columns, self.key, (), entry, lambda sql, _: duck.write(sql, {}), _unused,
                OnDuck(duck), small=(), types=types,
                # Whether the MERGE is to find out that an extremum left: in three of five refreshes.
                fell=False if version % 4 < 2 else None,
            )  # fmt: skip
            spans = dict.fromkeys((*self.model.sources, TARGET), span)
            renderer = Renderer(dated(spans), work.relation, clock, self._temporal)
            self.too_late += applier.plan(by_change, work, renderer).too_late
        finally:
            work.forget()

    def _grown(self, work: Incremental) -> frozenset[str]:
        """The changed sources that no row left."""
        assert self.model.node is not None
        feeds = Derivation(self.model.node, work.changed).feeds.values()
        lost = f"SELECT 1 FROM {{}} WHERE {WEIGHT} < 0 LIMIT 1"
        changed = (f for f in feeds if f.source in work.changed)
        return frozenset(f.source for f in changed if not self._duck.rows(lost.format(work.name(f.name))))

    def next_due(self, version: int) -> int | None:
        """Microseconds from the clock to the next result, as far as it is known."""
        assert self.model.node is not None and self.model.emission is not None
        spans = dict.fromkeys((*self.model.sources, TARGET), Span(version, version))
        renderer = Renderer(dated(spans), clock=dict.fromkeys(Time, self._clock))
        waiting = next_instant(self.model.node, self.model.emission, Own(TARGET, dict(self.model.columns)))
        ((micros,),) = self._duck.rows(print_sql(renderer.query(waiting)))
        return micros

    def _reading(self, version: int) -> Reading:
        """The watermark in this version of the sources, none if the model has none."""
        if self._late_by is None:
            return {}
        spans = dict.fromkeys(self.model.sources, Span(-1, version))
        reached = watermark(sides_of(self.model), self._late_by, spans, self._newest, self._duck)
        self._newest = reached.newest
        return reached.reading()

    def rows(self) -> list[tuple]:
        return self._duck.rows(f"SELECT * FROM {TARGET}")

    def differences(self) -> list[tuple]:
        """Rows by which the table is not its query evaluated from scratch, each with how many copies are missing."""
        return self._duck.rows(difference(self._sql, TARGET, self.model.columns))


def _unused(sql: str) -> None:
    raise AssertionError("no key is declared, so none is checked")
