"""A view that keeps the last row of each key is read as the changelog below it, and its history is that of all rows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbt_spark_dynamic.pipeline import compile_model
from dbt_spark_dynamic.versions.deduplicated import Unwrapped, changelog_of
from dbt_spark_dynamic.versions.history import history
from dbt_spark_dynamic.versions.options import history_of
from tests.generated.maintained import Maintained

from .meaning import Event, Kept, versions
from .test_histories import Changelogs, arriving, shown

COUNTED = "ROW_NUMBER() OVER (PARTITION BY a, b ORDER BY t DESC, n DESC)"
VIEWS = {
    "subquery": f"SELECT a, b, v, w, t FROM (SELECT *, {COUNTED} AS rn FROM events) WHERE rn = 1",
    "qualify": f"SELECT a, b, v, w, t FROM events QUALIFY {COUNTED} = 1",
    "cte": f"WITH c AS (SELECT *, {COUNTED} AS rn FROM events) SELECT t AS at, b, v, w, a FROM c WHERE 1 = rn",
    "time_not_shown": f"SELECT a, b, v, w FROM (SELECT *, {COUNTED} AS rn FROM events) WHERE rn = 1",
}
ASKING = {
    "with_rn": f"SELECT a, b, v, w, t FROM (SELECT *, {COUNTED} AS rn FROM events) WHERE rn = 1 AND v = 1",
    "above": f"SELECT * FROM (SELECT a, b, v, w FROM events QUALIFY {COUNTED} = 1) WHERE v > 0",
}
"""Where the last row does not pass, the key is not there: its version ends."""

NO_CHANGELOG = {
    "the_first_row": "SELECT a, v FROM events QUALIFY ROW_NUMBER() OVER (PARTITION BY a ORDER BY t) = 1",
    "the_last_two": "SELECT a, v FROM events QUALIFY ROW_NUMBER() OVER (PARTITION BY a ORDER BY t DESC) <= 2",
    "key_not_shown": "SELECT v, t FROM events QUALIFY ROW_NUMBER() OVER (PARTITION BY a ORDER BY t DESC) = 1",
    "rank": "SELECT a, v FROM events QUALIFY RANK() OVER (PARTITION BY a ORDER BY t DESC) = 1",
    "groups": "SELECT a, COUNT(*) AS n FROM (SELECT * FROM events QUALIFY ROW_NUMBER() OVER (PARTITION BY a "
    "ORDER BY t DESC) = 1) GROUP BY a",
}


@pytest.fixture(scope="module")
def duck() -> Changelogs:
    return Changelogs()


def unwrapped(duck: Changelogs, view: str) -> Unwrapped | None:
    model = compile_model(view, duck.columns(view), duck, duck.columns)
    assert model.node is not None
    return changelog_of(model.node)


@pytest.mark.parametrize("name", [*VIEWS, *ASKING])
def test_the_history_of_the_view_is_that_of_all_rows(duck: Changelogs, name: str, pairs: int) -> None:
    kept = Kept(False, (), False, "invalidate", True, False)

    @settings(max_examples=max(5, pairs // 25))
    @given(st.integers(0, 10**6))
    def holds(seed: int) -> None:
        batches = arriving(seed)
        duck.fill(batches)
        duck.at(0)
        view = unwrapped(duck, (VIEWS | ASKING)[name])
        assert view is not None
        options = {
            "unique_key": list(view.key), "updated_at": view.time, "operation": view.operation,
            "sequence_by": list(view.sequence),
        }  # fmt: skip
        columns = duck.columns(view.sql)
        asked = history_of(options, [c for c, _ in columns], "m", view.hidden)
        table = Maintained(duck, history(view.sql, columns, asked), by_key=True)
        for n in range(len(batches)):
            if n:
                table.refresh(n)
            assert shown(duck, kept) == versions([_told(e, name) for b in batches[: n + 1] for e in b], kept)

    holds()


def _told(event: Event, name: str) -> Event:
    return replace(event, op="delete" if name in ASKING and event.v != 1 else "insert")


@pytest.mark.parametrize("name", NO_CHANGELOG)
def test_other_views_are_not_taken_for_one(duck: Changelogs, name: str) -> None:
    duck.fill([[]])
    duck.at(0)
    assert unwrapped(duck, NO_CHANGELOG[name]) is None
