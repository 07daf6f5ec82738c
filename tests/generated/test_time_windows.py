"""Windows of event time are maintained like any other groups: tumbling, hopping, sessions, under HAVING."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest

from dbt_spark_dynamic.algebra.times import length
from dbt_spark_dynamic.errors import Refusal
from dbt_spark_dynamic.pipeline import compile_model

from .clicks import TABLES, Click, click_scripts, minute
from .duck import Duck
from .maintained import Maintained

Windows = Callable[[Sequence[Click]], Iterable[tuple[datetime, datetime, list[Click]]]]
"""Of the clicks of one user, those of each window, with its start and end."""


def hopping(size: int, slide: int, first: int = 0) -> Windows:
    """By definition: every window of the grid that holds a click."""

    def windows(clicks: Sequence[Click]) -> Iterable[tuple[datetime, datetime, list[Click]]]:
        starts = (minute(m) for m in range(-120, 360) if (m - first) % slide == 0)
        for start in starts:
            end = start + timedelta(minutes=size)
            if held := [c for c in clicks if c.time is not None and start <= c.time < end]:
                yield start, end, held

    return windows


def sessions(gap: int) -> Windows:
    """By definition: clicks no further apart than the gap, and the gap behind the last of them."""

    def windows(clicks: Sequence[Click]) -> Iterable[tuple[datetime, datetime, list[Click]]]:
        held: list[Click] = []
        for c in sorted((c for c in clicks if c.time is not None), key=lambda c: c.time):
            if held and c.time - held[-1].time > timedelta(minutes=gap):
                yield held[0].time, held[-1].time + timedelta(minutes=gap), held
                held = []
            held.append(c)
        if held:
            yield held[0].time, held[-1].time + timedelta(minutes=gap), held

    return windows


Shown = Callable[[Any, datetime, datetime, list[Click]], tuple | None]

QUERIES: dict[str, tuple[str, Windows, Shown]] = {
    "tumbling": (
        "SELECT user, window.start, window.end, COUNT(*) AS n FROM clicks GROUP BY user, WINDOW(time, '5 minutes')",
        hopping(5, 5),
        lambda user, start, end, clicks: (user, start, end, len(clicks)),
    ),
    "end alone": (
        "SELECT user, window.end AS until, SUM(n) AS n FROM clicks GROUP BY user, WINDOW(time, '5 minutes')",
        hopping(5, 5),
        lambda user, start, end, clicks: (user, end, total(clicks)),
    ),
    "whole": (
        "SELECT user, window, MAX(n) AS n FROM clicks GROUP BY user, WINDOW(time, '5 minutes') HAVING COUNT(*) > 1",
        hopping(5, 5),
        lambda user, start, end, clicks: (
            (user, {"start": start, "end": end}, max((c.n for c in clicks if c.n is not None), default=None))
            if len(clicks) > 1
            else None
        ),
    ),
    "hopping": (
        "SELECT user, window.start, window.end, COUNT(n) AS n FROM clicks "
        "GROUP BY user, WINDOW(time, '7 minutes', '3 minutes', '1 minute')",
        hopping(7, 3, 1),
        lambda user, start, end, clicks: (user, start, end, sum(c.n is not None for c in clicks)),
    ),
    "sessions": (
        "SELECT user, session_window.start AS since, session_window.end AS until, COUNT(*) AS n, SUM(n) AS total "
        "FROM clicks GROUP BY user, SESSION_WINDOW(time, '2 minutes')",
        sessions(2),
        lambda user, start, end, clicks: (user, start, end, len(clicks), total(clicks)),
    ),
    "by place": (
        "SELECT user AS who, WINDOW(time, '5 minutes').end AS until, COUNT(*) AS n FROM clicks GROUP BY 1, 2",
        hopping(5, 5),
        lambda user, start, end, clicks: (user, end, len(clicks)),
    ),
}

TIME, STRUCT = "timestamp", "struct<start:timestamp,end:timestamp>"
COLUMNS = {
    "tumbling": (("user", "string"), ("start", TIME), ("end", TIME), ("n", "bigint")),
    "end alone": (("user", "string"), ("until", TIME), ("n", "bigint")),
    "whole": (("user", "string"), ("window", STRUCT), ("n", "int")),
    "hopping": (("user", "string"), ("start", TIME), ("end", TIME), ("n", "bigint")),
    "sessions": (("user", "string"), ("since", TIME), ("until", TIME), ("n", "bigint"), ("total", "bigint")),
    "by place": (("who", "string"), ("until", TIME), ("n", "bigint")),
}
"""As Spark says them: DuckDB has no such windows."""


def total(clicks: Sequence[Click]) -> int | None:
    known = [c.n for c in clicks if c.n is not None]
    return sum(known) if known else None


@pytest.fixture(scope="module")
def duck() -> Duck:
    return Duck(TABLES, {})


def held(query: str, clicks: Sequence[Click]) -> Counter[str]:
    _, windows, shown = QUERIES[query]
    users = dict.fromkeys(c.user for c in clicks)
    rows = [shown(user, *window) for user in users for window in windows([c for c in clicks if c.user == user])]
    return Counter(repr(row) for row in rows if row is not None)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("query", QUERIES)
def test_windows_are_maintained(duck: Duck, query: str, seed: int) -> None:
    states, rounds = click_scripts(Random(seed), refreshes=5)
    duck.enter(f"clicks_{seed}", rounds)
    table = Maintained(duck, QUERIES[query][0], by_key=seed % 2 == 0, columns=COLUMNS[query])
    for version, clicks in enumerate(states):
        if version:
            table.refresh(version)
        assert Counter(map(repr, table.rows())) == held(query, clicks), f"version {version}"


@pytest.mark.parametrize(
    ("query", "columns", "why"),
    [
        ("SELECT COUNT(*) AS n FROM clicks GROUP BY WINDOW(n, '5 minutes')", "n", "of what is no TIMESTAMP"),
        ("SELECT COUNT(*) AS n FROM clicks GROUP BY WINDOW(time, user)", "n", "not a constant"),
        ("SELECT COUNT(*) AS n FROM clicks GROUP BY WINDOW(time, '1 month')", "n", "not a constant"),
        (
            "SELECT COUNT(*) AS n FROM clicks GROUP BY WINDOW(time, '5 minutes'), WINDOW(time, '9 minutes')", "n",
            "more than one window",
        ),
        ("SELECT SESSION_WINDOW(time, '5 minutes') AS w FROM clicks", "w", "not an element of GROUP BY"),
    ],
)  # fmt: skip
def test_what_is_no_window_of_time_is_refused(duck: Duck, query: str, columns: str, why: str) -> None:
    model = compile_model(query, ((columns, "bigint"),), duck, lambda sql: (("at", "int"),))
    assert isinstance(model.refusal, Refusal) and why in model.refusal.reason


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30 minutes", 1_800_000_000), ("1 hour 30 minutes", 5_400_000_000), ("interval 1 week", 604_800_000_000),
        ("-1 second", -1_000_000), ("1 month", None), ("5", None), ("", None), ("five minutes", None),
    ],
)  # fmt: skip
def test_lengths(text: str, expected: int | None) -> None:
    assert length(text) == expected
