"""Rows and versions that change in random scripts, temporal joins of them, and what each must give.

Orders come, move in time, and go. Rates are events: (currency, market, time, rate or that the currency ended), late,
repeated, at equal times, corrected and withdrawn. Tables hold them as intervals, like a dbt snapshot, and as they came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from random import Random
from typing import Any

from dbt_spark_dynamic.reading.relations import Versioning

Row = dict[str, Any]

EVENT = (("currency", "STRING"), ("market", "INT"), ("rate", "INT"), ("rate_time", "TIMESTAMP"))

TABLES = {
    "orders": (
        ("id", "INT"), ("currency", "STRING"), ("market", "INT"), ("amount", "INT"), ("order_time", "TIMESTAMP"),
    ),
    "intervals": (
        ("currency", "STRING"), ("market", "INT"), ("rate", "INT"),
        ("dbt_valid_from", "TIMESTAMP"), ("dbt_valid_to", "TIMESTAMP"), ("dbt_is_deleted", "STRING"),
    ),
    "events": EVENT,
    "appended": EVENT,
}  # fmt: skip

NEWEST = (
    "SELECT {shown} FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY currency, market ORDER BY rate_time DESC) AS place "
    "FROM events) WHERE place = 1"
)

VIEWS = {"newest": (EVENT, NEWEST.format(shown="currency, market, rate, rate_time"))}

KEY = ("currency", "market")
VERSIONED = {"intervals": Versioning(KEY), "appended": Versioning(KEY, "rate_time")}

START = datetime(2024, 1, 1, 9)


def minute(n: int | None) -> datetime | None:
    return None if n is None else START + timedelta(minutes=n)


@dataclass(frozen=True)
class World:
    """The states of all tables, from the first build to the last refresh."""

    states: tuple[Mapping[str, tuple[Row, ...]], ...]

    @classmethod
    def random(cls, seed: int, refreshes: int, *, unique: bool = False) -> World:
        """unique: no two orders have one id."""
        random = Random(seed)
        orders = [_order(random) for _ in range(10)]
        events = [_event(random) for _ in range(8)]
        states = [_state(orders, events, unique)]
        for _ in range(refreshes):
            for rows, made in ((orders, _order), (events, _event)):
                _change(random, rows, made)
            states.append(_state(orders, events, unique))
        return cls(tuple(states))

    def rounds(self) -> tuple[tuple[str, ...], ...]:
        """Statements that lead from each state to the next. Every table is written anew: only what differs counts."""
        return tuple(
            tuple(s for name, rows in state.items() for s in (f"DELETE FROM {name}", _insert(name, rows)) if s)
            for state in self.states
        )


def _order(random: Random) -> Row:
    return {
        "id": random.randrange(100), "currency": random.choice(("eur", "usd", "yen", None)),
        "market": random.choice((1, 1, 2)), "amount": random.choice((1, 2, 3, None)),
        "order_time": minute(random.choice((*range(10), None))),
    }  # fmt: skip


def _event(random: Random) -> Row:
    return {
        "currency": random.choice(("eur", "usd", "yen", None)), "market": random.choice((1, 1, 2)),
        "rate": random.choice((1, 2, 3, None)), "rate_time": minute(random.choice((*range(9), None))),
        "ends": random.random() < 0.2,
    }  # fmt: skip


def _change(random: Random, rows: list[Row], made: Callable[[Random], Row]) -> None:
    how = random.randrange(8)
    if how == 0:
        rows.clear()
    for _ in range(random.randrange(4)):
        rows.append(made(random))
    if rows and how % 2:
        rows.append(dict(random.choice(rows)))
    for _ in range(min(len(rows), random.randrange(3))):
        fate, i = random.randrange(3), random.randrange(len(rows))
        if fate == 0:
            rows.pop(i)
            continue
        new = made(random)
        for name in random.sample(sorted(new), 1 if fate == 1 else 2):
            rows[i] = {**rows[i], name: new[name]}


def _state(orders: Sequence[Row], events: Sequence[Row], unique: bool) -> Mapping[str, tuple[Row, ...]]:
    if unique:
        orders = list({o["id"]: o for o in orders}.values())
    plain = tuple({k: v for k, v in e.items() if k != "ends"} for e in events)
    return {"orders": tuple(orders), "events": plain, "appended": plain, "intervals": tuple(_intervals(events))}


def _intervals(events: Iterable[Row]) -> Iterable[Row]:
    """As a dbt snapshot holds them: the last event at a time wins, an end is a row of its own or leaves a gap."""
    keys: dict[tuple, dict[datetime, Row]] = {}
    for e in events:
        if e["rate_time"] is not None:
            keys.setdefault((e["currency"], e["market"]), {})[e["rate_time"]] = e
    for i, versions in enumerate(keys.values()):
        times = sorted(versions)
        for start, end in pairwise([*times, None]):
            e = versions[start]
            if e["ends"] and i % 2:
                continue
            yield {
                "currency": e["currency"], "market": e["market"], "rate": e["rate"],
                "dbt_valid_from": start, "dbt_valid_to": end, "dbt_is_deleted": str(e["ends"]),
            }  # fmt: skip


def _insert(name: str, rows: Sequence[Row]) -> str:
    def literal(value: Any) -> str:
        if value is None:
            return "NULL"
        return f"TIMESTAMP '{value}'" if isinstance(value, datetime) else repr(value)

    values = ", ".join("(" + ", ".join(literal(row[c]) for c, _ in TABLES[name]) + ")" for row in rows)
    return f"INSERT INTO {name} VALUES {values}" if rows else ""


# --- the definition --------------------------------------------------------------------------------------------------

Relation = Mapping[str, tuple[Row, ...]]
ValidAt = Callable[[Relation, tuple, datetime | None], Row | None]
"""The version of a key that is valid at a time, None if there is none."""


def of_intervals(state: Relation, key: tuple, time: datetime | None) -> Row | None:
    if time is None or None in key:
        return None
    valid = [
        v
        for v in state["intervals"]
        if (v["currency"], v["market"]) == key
        and v["dbt_valid_from"] <= time
        and (v["dbt_valid_to"] is None or time < v["dbt_valid_to"])
        and v["dbt_is_deleted"] != "True"
    ]
    assert len(valid) <= 1
    return valid[0] if valid else None


def of_events(state: Relation, key: tuple, time: datetime | None) -> Row | None:
    """The newest row of the key up to the time; of several at one time, the one with the least rate."""
    if time is None or None in key:
        return None
    of_key = (e for e in state["events"] if (e["currency"], e["market"]) == key)
    met = [e for e in of_key if e["rate_time"] is not None and e["rate_time"] <= time]
    newest = max((e["rate_time"] for e in met), default=None)
    tied = (e for e in met if e["rate_time"] == newest)
    return min(tied, key=lambda e: (e["rate"] is not None, e["rate"] or 0), default=None)
