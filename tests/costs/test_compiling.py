"""What compiling costs grows with the SQL and not with its square: counted in calls, which no machine makes slower.

Twice the SQL may take a little more than twice the calls.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from dbt_spark_dynamic.algebra.keys import unique_key
from dbt_spark_dynamic.changes.additive import Own
from dbt_spark_dynamic.changes.plan import plan
from dbt_spark_dynamic.pipeline import Model, compile_model
from dbt_spark_dynamic.reading.relations import Columns
from dbt_spark_dynamic.sparksql.reads import Span, dated
from dbt_spark_dynamic.sparksql.render import Renderer
from dbt_spark_dynamic.sparksql.statements import explained
from tests.generated.duck import Duck

MOST = 2.3
"""How many times the calls twice the SQL may take."""

MOST_OF_TERMS = 4.3
"""The same of a plan with a term for each join, in which all of the joins stand."""

COLUMNS = tuple((f"c{i}", "INT") for i in range(64))
TABLE = "facts"
TARGET = "models.target"


def columns(n: int) -> str:
    listed = ", ".join(f"f.c{i} + 1 AS d{i}" for i in range(n))
    return f"SELECT {listed} FROM facts f WHERE f.c0 > 1"


def aggregates(n: int) -> str:
    return f"SELECT c0, {', '.join(f'SUM(c{i}) AS s{i}' for i in range(n))} FROM facts GROUP BY c0"


def windows(n: int) -> str:
    calls = ", ".join(f"SUM(c{i}) OVER (PARTITION BY c0 ORDER BY c1, c{i}) AS w{i}" for i in range(n))
    return f"SELECT c0, {calls} FROM facts"


def joins(n: int) -> str:
    joined = "".join(f" JOIN facts t{i} ON t{i}.c0 = t{i - 1}.c1" for i in range(1, n))
    return f"SELECT t0.c2, t{n - 1}.c3 FROM facts t0{joined}"


def outer_joins(n: int) -> str:
    joined = "".join(f" LEFT JOIN facts t{i} ON t{i}.c0 = t0.c{i}" for i in range(1, n))
    return f"SELECT t0.c2, t{n - 1}.c3 FROM facts t0{joined}"


def unions(n: int) -> str:
    return " UNION ALL ".join(f"SELECT c{i} AS a, c{i} + 1 AS b FROM facts WHERE c{i} > {i}" for i in range(n))


def conditions(n: int) -> str:
    return f"SELECT c0 FROM facts WHERE {' AND '.join(f'c{i} > {i}' for i in range(n))}"


def ctes(n: int) -> str:
    """Each reads the one before."""
    chain = ["t0 AS (SELECT c0, c1 FROM facts)"]
    chain += [f"t{i} AS (SELECT c1 AS c0, c0 AS c1 FROM t{i - 1} WHERE c1 > {i})" for i in range(1, n)]
    return f"WITH {', '.join(chain)} SELECT * FROM t{n - 1}"


def ctes_of_groups(n: int) -> str:
    chain = ["t0 AS (SELECT c0, c1 FROM facts)"]
    chain += [f"t{i} AS (SELECT c0, SUM(c1) AS c1 FROM t{i - 1} GROUP BY c0)" for i in range(1, n)]
    return f"WITH {', '.join(chain)} SELECT * FROM t{n - 1}"


def subqueries(n: int) -> str:
    tests = " AND ".join(f"EXISTS (SELECT 1 FROM facts g WHERE g.c0 = f.c{i})" for i in range(n))
    return f"SELECT f.c0 FROM facts f WHERE {tests}"


TERMS = (joins, outer_joins, subqueries)
GROWING = (columns, aggregates, windows, joins, outer_joins, unions, conditions, ctes, ctes_of_groups, subqueries)


class Types:
    """The engine's answers, of which the second time none costs anything."""

    def __init__(self, duck: Duck) -> None:
        self._duck, self._known = duck, dict[str, Columns]()

    def __call__(self, sql: str) -> Columns:
        if sql not in self._known:
            self._known[sql] = self._duck.columns(sql)
        return self._known[sql]


@pytest.fixture(scope="module")
def duck() -> Duck:
    duck = Duck({TABLE: COLUMNS}, {})
    duck.enter("columns", [[]])
    duck.at(0)
    return duck


@pytest.mark.parametrize("shape", GROWING, ids=lambda shape: shape.__name__)
@pytest.mark.parametrize("step", ("read", "derived", "printed"))
def test_twice_the_sql_takes_about_twice_the_calls(duck: Duck, shape: Callable[[int], str], step: str) -> None:
    small, large = (calls_of(step, shape(n), duck) for n in (12, 24))
    most = MOST_OF_TERMS if shape in TERMS and step != "read" else MOST
    assert large / small < most, f"{small} calls became {large}"


def calls_of(step: str, sql: str, duck: Duck) -> int:
    types = Types(duck)
    result = types(sql)
    model = compile_model(sql, result, duck, types)
    assert model.node is not None, model.refusal
    if step == "read":
        return calls(lambda: compile_model(sql, result, duck, types))
    # A model of its own each time: what a plan knows of itself is kept with it.
    model = compile_model(sql, result, duck, types)
    derived = derive(model)
    if step == "printed":
        return calls(lambda: write(derived))
    model = compile_model(sql, result, duck, types)
    return calls(lambda: derive(model))


def derive(model: Model):
    assert model.node is not None
    by_key = unique_key(model.node, {}) is not None
    return plan(model.node, frozenset(model.sources), {}, Own(TARGET, dict(model.columns)), by_key=by_key)


def write(derived) -> list[str]:
    renderer = Renderer(dated({name: Span(1, 2) for name in (TABLE, TARGET)}))
    return [explained(b.why, renderer.query(b.node)) for b in (*derived.bindings, derived.result)]


def calls(work: Callable[[], object]) -> int:
    """How many functions of Python are called."""
    found = 0

    def count(_frame, event: str, _arg) -> None:
        nonlocal found
        found += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return found
