"""Clicks that come out of order, repeat, change, go, and have no time or no user, in random scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random

TABLES = {"clicks": (("id", "INTEGER"), ("user", "VARCHAR"), ("time", "TIMESTAMP"), ("n", "INTEGER"))}

START = datetime(2024, 1, 1, 10)


@dataclass(frozen=True)
class Click:
    id: int
    user: str | None
    time: datetime | None
    n: int | None


def minute(n: float) -> datetime:
    return START + timedelta(minutes=n)


State = tuple[Click, ...]


def click_scripts(random: Random, refreshes: int) -> tuple[tuple[State, ...], tuple[tuple[str, ...], ...]]:
    """The states of the table, from the first build to the last refresh, and the statements that make each of the one
    before. Time goes on from state to state, now by little and now by much, and clicks come late."""
    clicks: list[Click] = []
    states, rounds, now = [], [], 0
    for _ in range(refreshes + 1):
        now += random.choice((0, 1, 2, 5, 20))
        for _ in range(random.randrange(5)):
            clicks.append(_click(random, now))
        if clicks and random.random() < 0.5:
            clicks.append(random.choice(clicks))
        for _ in range(min(len(clicks), random.randrange(3))):
            i = random.randrange(len(clicks))
            how = random.randrange(4)
            if how == 0:
                clicks.pop(i)
            elif how == 1:
                clicks[i] = replace(clicks[i], n=random.choice((1, 2, None)))
            elif how == 2:
                clicks[i] = replace(clicks[i], time=_click(random, now).time)
        if random.random() < 0.1:
            clicks.clear()
        states.append(tuple(clicks))
        rounds.append(("DELETE FROM clicks", *([_insert(clicks)] if clicks else [])))
    return tuple(states), tuple(rounds)


def _click(random: Random, now: int) -> Click:
    late = random.choice((0, 0, 0, 1, 2, 6, 15))
    time = None if random.random() < 0.1 else minute(now - late + random.choice((0, 0.25, 0.5)))
    return Click(random.randrange(1000), random.choice(("mary", "bob", "bob", None)), time, random.choice((1, 2, None)))


def _insert(clicks: Sequence[Click]) -> str:
    def literal(value: object) -> str:
        if value is None:
            return "NULL"
        return f"TIMESTAMP '{value}'" if isinstance(value, datetime) else repr(value)

    rows = ", ".join(f"({', '.join(literal(v) for v in (c.id, c.user, c.time, c.n))})" for c in clicks)
    return f"INSERT INTO clicks VALUES {rows}"
