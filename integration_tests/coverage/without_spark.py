"""The queries of TPC-H and TPC-DS without Spark: DuckDB says the types that Spark would."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb

from dbt_spark_dynamic.algebra.keys import unique_key
from dbt_spark_dynamic.changes.additive import Own
from dbt_spark_dynamic.changes.change_plan import ChangePlan
from dbt_spark_dynamic.changes.plan import plan
from dbt_spark_dynamic.pipeline import Model
from dbt_spark_dynamic.reading.relations import Columns
from dbt_spark_dynamic.sparksql.reads import Span, dated
from dbt_spark_dynamic.sparksql.render import Renderer
from dbt_spark_dynamic.sparksql.statements import explained
from tests.generated.duck import SPARK_SUMS, SPARK_TYPES, Duck

from .queries import SCALES, generated, texts

TARGET = "models.target"


def read_by_duck(suite: str) -> tuple[Duck, dict[int, str]]:
    """An engine that has the suite's tables, empty; number -> query."""
    folder = generated(suite, SCALES[suite])
    duck = Duck({file.stem: _columns(str(file)) for file in sorted(folder.glob("*.parquet"))}, {})
    duck.enter(suite, [[]])
    duck.at(0)
    return duck, texts(folder)


def change_plan_of(model: Model) -> ChangePlan:
    """For a change of every table."""
    assert model.node is not None, model.refusal
    own = Own(TARGET, {name: SPARK_SUMS.get(kind, kind) for name, kind in model.columns})
    by_key = unique_key(model.node, {}) is not None
    return plan(model.node, frozenset(model.sources), {}, own, by_key=by_key)


def printed(derived: ChangePlan, model: Model) -> list[str]:
    spans: Mapping[str, Span] = dict.fromkeys((*model.sources, TARGET), Span(1, 2))
    renderer = Renderer(dated(spans))
    texts = [explained(b.why, renderer.query(b.node)) for b in (*derived.bindings, derived.result)]
    if derived.additions is not None:
        texts.append(explained("", renderer.query(derived.additions.rows)))
    return texts


def _columns(file: str) -> Columns:
    described = duckdb.sql(f"DESCRIBE SELECT * FROM '{file}'").fetchall()
    return tuple((name, SPARK_TYPES.get(kind, kind)) for name, kind, *_ in described)
