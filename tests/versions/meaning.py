"""What the history of a changelog is, event by event and without SQL: the definition the SQL is held to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

Key = tuple[int | None, int | None]


@dataclass(frozen=True)
class Event:
    """One row of a changelog: at time t, in order n among the events of that time, op was done to a row of the key."""

    a: int | None
    b: int | None
    t: int
    n: int
    v: int | None
    w: int | None
    op: str
    done: int

    @property
    def key(self) -> Key:
        return (self.a, self.b)


@dataclass(frozen=True)
class Kept:
    """check: a version only where a tracked value is another; tracked: of v and w; in_place: the rest shows its last
    value; deletes: invalidate, ignore or new_record; operation_time: deletes happen at `done`."""

    check: bool
    tracked: tuple[str, ...]
    in_place: bool
    deletes: str
    sequence: bool
    operation_time: bool


Version = tuple[Key, int | None, int | None, int, int | None, bool]
"""(key, v, w, from, to, deleted)"""


def versions(changelog: Iterable[Event], kept: Kept) -> set[Version]:
    """Every version of every key."""
    passed_over = ("update_before", "delete") if kept.deletes == "ignore" else ("update_before",)
    events = [e for e in changelog if e.op not in passed_over]
    return {v for key in {e.key for e in events} for v in _of_key(key, [e for e in events if e.key == key], kept)}


def is_delete(event: Event) -> bool:
    return event.op == "delete"


def time_of(event: Event, kept: Kept) -> int:
    return event.done if is_delete(event) and kept.operation_time else event.t


def _of_key(key: Key, events: list[Event], kept: Kept) -> list[Version]:
    history: list[list] = []
    for t in sorted({time_of(e, kept) for e in events}):
        last = _last([e for e in events if time_of(e, kept) == t], kept)
        gone = not history or history[-1][5]
        if is_delete(last):
            if not gone:
                history[-1][4] = t
                history.append([key, history[-1][1], history[-1][2], t, None, True])
        elif not gone and kept.check and all(getattr(last, c) == history[-1][1 + "vw".index(c)] for c in kept.tracked):
            if kept.in_place:
                history[-1][1:3] = last.v, last.w
        else:
            if history:
                history[-1][4] = t
            history.append([key, last.v, last.w, t, None, False])
    return [tuple(v) for v in history if kept.deletes == "new_record" or not v[5]]


def _last(events: list[Event], kept: Kept) -> Event:
    """Of the events of one key and time."""

    def rank(e: Event):
        def nulls_first(x: int | None) -> tuple[bool, int]:
            return (x is not None, x or 0)

        return (e.n if kept.sequence else 0, not is_delete(e), e.t, *map(nulls_first, (e.v, e.w)), e.done)

    return max(events, key=rank)
