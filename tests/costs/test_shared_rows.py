"""Rows that several models ask a table for are read once, as soon as it is known that they are several."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from dbt_spark_dynamic.commit import shared_rows
from dbt_spark_dynamic.commit.shared_rows import Asked, Rows, SharedRows

FEED = ("orders", 1, 2)


class Session:
    """An engine that notes what it is given, and reads rows of a table."""

    def __init__(self, count: int = 10, slow: float = 0.0) -> None:
        self.count, self.slow = count, slow
        self.borrowed: list[Any] = []
        self.released: list[Any] = []
        self.read: list[str] = []
        self.again: list[bool] = []

    def borrow(self, name: str, lent: Any) -> None:
        self.borrowed.append(lent)

    def release(self, lent: Any) -> None:
        self.released.append(lent)


def asked(
    who: str, columns: str, *, version: int = 2, by: str = "k", netted: str = "k", table: str = "items",
    slow: bool = False,
) -> Asked:  # fmt: skip
    of = {(FEED, c): frozenset(netted) for c in by}
    return Asked(who, table, version, "k", frozenset(columns), of, slow)


def pin(rows: SharedRows, session: Session, wanted: Asked, among: bool = False) -> int | None:
    """among: whether the values are among those that others have asked for."""

    def read(again: bool) -> Rows | None:
        session.again.append(again)
        columns, _ = rows.wider(wanted)
        time.sleep(session.slow)
        session.read.append("".join(sorted(columns)))
        return Rows(columns, wanted.by, session.count, session.read[-1], "keys")

    return rows.pin(session, "met", wanted, read, lambda lent: among)  # type: ignore[arg-type]


def test_the_first_model_reads_for_itself() -> None:
    rows = SharedRows()
    assert not rows.wish(asked("one", "ka"), 5)
    assert not rows.wish(asked("one", "ka", version=3), 5), "the same model again"
    assert not rows.wish(asked("other", "kb", table="parts"), 5), "another table"
    assert rows.models(asked("two", "kb")) == 1
    assert rows.wish(asked("two", "kb"), 5) and rows.models(asked("two", "kb")) == 2
    assert rows.wish(asked("one", "ka", version=4), 5), "from then on, for all"


def test_who_asks_no_more_is_not_read_for() -> None:
    """Such as a model that is made of a state table by now. That it has not come yet says nothing."""
    rows = SharedRows()

    def wish(who: str, day: int, columns: str) -> Asked:
        return replace(asked(who, columns), refresh=frozenset({("orders", day, day + 1)}))

    assert not rows.wish(wish("one", 1, "ka"), 5) and rows.wish(wish("two", 1, "kb"), 5)
    assert rows.wish(wish("one", 2, "ka"), 5), "the other one may still come"
    assert rows.wish(wish("one", 2, "kc"), 5) and rows.wider(wish("one", 2, "k"))[0] == frozenset("kabc")
    assert not rows.wish(wish("one", 3, "ka"), 5) and rows.models(wish("one", 3, "ka")) == 1
    assert rows.wider(wish("one", 3, "k"))[0] == frozenset("ka")
    assert rows.wish(wish("two", 3, "kb"), 5), "it asks again"


def test_the_second_reads_for_all() -> None:
    rows, session = SharedRows(), Session()
    first, second = asked("one", "ka"), asked("two", "kb")
    rows.wish(first, 5)
    rows.wish(second, 5)
    assert pin(rows, session, second) == 10 and session.read == ["abk"]
    assert pin(rows, session, first) == 10 and session.borrowed == ["abk"]
    assert pin(rows, session, asked("one", "ka", version=3)) == 10 and session.read == ["abk", "abk"]


def test_every_second_that_needs_more_reads_for_all() -> None:
    rows, session = SharedRows(), Session()
    found = []
    for which in "abcdefg":
        rows.wish(asked(which, "k" + which), 5)
        if which > "a":
            found.append(pin(rows, session, asked(which, "k" + which)))
    assert found == [10, None, 10, None, 10, None]
    assert session.read == ["abk", "abcdk", "abcdefk"] and session.again == [False, True, True]
    assert session.released == ["abk", "keys", "abcdk", "keys"]
    assert pin(rows, session, asked("c", "kc")) == 10 and session.borrowed == ["abcdefk"]


def test_what_takes_longer_than_reading_is_done_with_rows_that_are_met() -> None:
    """A model that filters all rows by patterns where it reads them itself reads them for all instead."""
    rows, session = SharedRows(), Session()
    for which in "abc":
        rows.wish(asked(which, "k" + which, slow=which == "c"), 5)
    assert pin(rows, session, asked("a", "ka")) == 10
    assert pin(rows, session, asked("c", "kcd", slow=True)) == 10 and session.again == [False, True]


@pytest.mark.parametrize("more", [{"by": "kx"}, {"netted": "ky"}])
def test_other_values_are_looked_for(more: dict[str, Any]) -> None:
    """Other columns of feeds may have others; and a feed that was netted by more columns may have more."""
    rows, session = SharedRows(), Session()
    wanted = asked("two", "ka", **more)
    assert pin(rows, session, asked("one", "ka")) == 10
    assert pin(rows, session, wanted, among=False) is None and not session.borrowed
    assert pin(rows, session, wanted, among=True) == 10 and session.borrowed == ["ak"]
    assert pin(rows, session, wanted, among=False) == 10, "that is known from then on"
    assert pin(rows, session, asked("three", "k"), among=False) == 10
    assert len(session.read) == 1
    other = asked("two", "ka", version=3, **more)
    assert pin(rows, session, other) == 10 and len(session.read) == 2


def test_too_many_are_not_asked_for_again() -> None:
    rows = SharedRows()
    for who in ("one", "two"):
        rows.wish(asked(who, "ka"), 60)
    wanted = asked("two", "ka")
    assert rows.may_be_read(wanted, 60, "bigint")
    rows.too_many(wanted, 60)
    assert rows.wish(wanted, 60) is None and not rows.may_be_read(wanted, 60, "bigint")
    assert rows.wish(wanted, 20) and rows.may_be_read(wanted, 20, "bigint"), "of few there may be fewer"


@pytest.mark.parametrize(("kind", "most"), [("bigint", 400_000), ("decimal(10,0)", 400_000), ("string", 100_000)])
def test_no_more_values_than_spark_sends_to_every_task(kind: str, most: int) -> None:
    rows, wanted = SharedRows(), asked("one", "ka")
    assert rows.may_be_read(wanted, most, kind) and not rows.may_be_read(wanted, most + 1, kind)


def test_what_was_read_first_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_rows, "MOST_ROWS", 25)
    rows, session = SharedRows(), Session()
    for version in (2, 3, 4, 4, 3, 2):
        pin(rows, session, asked("one", "ka", version=version))
    assert len(session.read) == 4 and session.released == ["ak", "keys"] * 2
    rows.forget()
    pin(rows, session, asked("one", "ka"))
    assert len(session.read) == 5


def test_what_is_not_to_be_had() -> None:
    rows, session = SharedRows(), Session()
    found = rows.pin(session, "met", asked("one", "ka"), lambda again: None, lambda lent: True)  # type: ignore[arg-type]
    assert found is None
    assert pin(rows, session, asked("one", "ka")) == 10


def test_what_is_only_wanted_if_it_is_kept_is_not_read() -> None:
    """For a model that is alone with what it asks for."""
    rows, session = SharedRows(), Session()
    for who in ("one", "two", "three"):
        rows.wish(asked(who, "k" + who), 5)
    wanted = asked("one", "kone")
    assert rows.pin(session, "met", wanted, None, lambda lent: True) is None  # type: ignore[arg-type]
    rows.withdraw(wanted)
    assert pin(rows, session, asked("two", "kt")) == 10
    assert session.read == ["".join(sorted(set("kttwothree")))], "nor is what it alone needs"
    assert rows.pin(session, "met", asked("three", "kt"), None, lambda lent: True) == 10  # type: ignore[arg-type]
    rows.pin(session, "met", wanted, None, lambda lent: True)  # type: ignore[arg-type]
    assert len(session.read) == 1 and rows.wish(wanted, 5), "another time they may be more"


def test_what_others_need_may_not_be_there() -> None:
    rows = SharedRows()
    for who in ("one", "two"):
        rows.wish(asked(who, "k" + who), 5)
    rows.only(asked("two", "kb"))
    assert rows.wider(asked("two", "kb")) == (frozenset("kb"), frozenset({("orders", "k")}))
    assert not rows.wish(asked("two", "kb"), 5)


def test_of_two_that_come_at_once_one_waits() -> None:
    rows, sessions = SharedRows(), [Session(slow=0.05) for _ in range(3)]
    threads = [threading.Thread(target=pin, args=(rows, s, asked("one", "ka"))) for s in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(len(s.read) for s in sessions) == 1 and sum(len(s.borrowed) for s in sessions) == 2
