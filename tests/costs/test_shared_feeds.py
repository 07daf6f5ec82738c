"""A change feed is read once for all models of a process, whatever columns each of them needs."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbt_spark_dynamic.commit import shared_feeds
from dbt_spark_dynamic.commit.engine import SqlError
from dbt_spark_dynamic.commit.shared_feeds import MOST_ASKED, SharedFeeds, Wanted
from dbt_spark_dynamic.names import WEIGHT

COLUMNS = "abcd"


class Session:
    """An engine over rows that stand for a table's: pinned is name -> columns. turned: those of which a value both came
    and left; asked: about which it was asked."""

    def __init__(self, rows: int = 10, lacks: str = "", slow: float = 0.0, turned: str = COLUMNS) -> None:
        self.many, self.lacks, self.slow, self.turned = rows, lacks, slow, turned
        self.asked: list[str] = []
        self.narrowed: list[str] = []
        self.pinned: dict[str, frozenset[str]] = {}
        self.read: list[str] = []
        self.released: list[frozenset[str]] = []

    def pin(self, name: str, sql: str, *, few: bool) -> int:
        kind, _, columns = sql.partition(" ")
        if kind == "FILES":
            time.sleep(self.slow)
            if set(columns) & set(self.lacks):
                raise SqlError("there is no such column")
            self.read.append(columns)
        else:
            assert set(columns) <= self.pinned[kind], "the wider relation has these"
            self.narrowed.append(columns)
        self.pinned[name] = frozenset(columns)
        return self.many

    def rows(self, sql: str) -> list[tuple[bool]]:
        relation, _, column = sql.partition(" ")
        assert column in self.pinned[relation]
        self.asked.append(column)
        return [(column in self.turned,)]

    def unpin(self, name: str) -> None:
        self.pinned.pop(name, None)

    def lend(self, name: str) -> Any:
        return self.pinned[name]

    def borrow(self, name: str, lent: Any, columns: Collection[str] | None = None) -> None:
        assert columns is None or set(columns) <= lent | {WEIGHT}
        self.pinned[name] = lent if columns is None else frozenset(columns) - {WEIGHT}

    def release(self, lent: Any) -> None:
        self.released.append(lent)


def wanted(columns: str, after: int = 2, table: str = "t", only_came: bool = False) -> Wanted:
    def query(of: frozenset[str]) -> str:
        return "FILES " + "".join(sorted(of))

    def narrowed(relation: str) -> str:
        return f"{relation} {columns}"

    return Wanted(
        table, 1, after, frozenset(columns), only_came, query, narrowed, tuple(sorted(columns)), "{} {}".format
    )


SETS = st.text(COLUMNS, max_size=4)


@given(st.lists(st.tuples(SETS, st.integers(2, 4)), max_size=8))
def test_each_session_gets_its_columns_and_none_are_read_twice(asked: list[tuple[str, int]]) -> None:
    feeds, seen, needed = SharedFeeds(), dict[int, set[str]](), set[str]()
    for columns, after in asked:
        session = Session()
        assert feeds.pin(session, "feed", wanted(columns, after), few=True) == 10
        assert session.pinned == {"feed": frozenset(columns)}
        known = seen.get(after)
        if known is not None and set(columns) <= known:
            assert not session.read
        else:
            needed |= set(columns)
            seen[after] = set(needed)
            assert session.read == ["".join(sorted(needed))]


def test_whoever_needs_one_more_reads_what_anybody_has_needed() -> None:
    feeds, session = SharedFeeds(), Session()
    for columns in ("ab", "bc", "ac", "abc", ""):
        feeds.pin(session, columns, wanted(columns), few=True)
    assert session.read == ["ab", "abc"]
    assert session.released == [frozenset("ab")]
    feeds.pin(session, "next", wanted("a", after=3), few=True)
    feeds.pin(session, "other", wanted("a", table="u"), few=True)
    assert session.read[2:] == ["abc", "a"]


def test_a_column_that_is_not_there_any_more_is_not_read() -> None:
    feeds, session = SharedFeeds(), Session()
    feeds.pin(session, "one", wanted("abc"), few=True)
    session.lacks = "c"
    feeds.pin(session, "two", wanted("ab", after=3), few=True)
    feeds.pin(session, "three", wanted("b", after=4), few=True)
    assert session.read == ["abc", "ab", "ab"]
    with pytest.raises(SqlError):
        feeds.pin(session, "four", wanted("c", after=5), few=True)


def test_a_feed_of_many_rows_is_everybody_s_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_feeds, "MOST_ROWS", 25)
    feeds, session = SharedFeeds(), Session(rows=26)
    for columns in ("ab", "b", "c"):
        assert feeds.pin(session, columns, wanted(columns), few=False) == 26
    assert session.read == ["ab", "b", "c"] and not session.released


def test_what_was_read_first_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_feeds, "MOST_ROWS", 25)
    feeds, session = SharedFeeds(), Session()
    for after in (2, 3, 4, 4, 3, 2):
        feeds.pin(session, "feed", wanted("a", after), few=True)
    assert len(session.read) == 4 and len(session.released) == 2
    feeds.forget()
    feeds.pin(session, "feed", wanted("a", 2), few=True)
    assert len(session.read) == 5


def test_where_nothing_cancels_columns_are_taken_as_they_are() -> None:
    feeds, session = SharedFeeds(), Session(turned="acd")
    for columns in ("abcd", "ab", "bd", "b", "a", "d"):
        feeds.pin(session, columns, wanted(columns), few=True)
        assert session.pinned[columns] == frozenset(columns)
    assert session.asked == ["a", "b", "d"], "each once, and none where one is known that tells rows apart"
    assert session.narrowed == ["a", "d"], "which do not"
    feeds.pin(session, "next", wanted("ab", after=3), few=True)
    assert session.asked[3:] == ["a", "b"], "of each feed"
    assert len(session.read) == 2 and not session.released


def test_a_feed_of_updated_rows_is_not_asked_about_for_ever() -> None:
    feeds, session = SharedFeeds(), Session()
    for columns in (COLUMNS, *COLUMNS):
        feeds.pin(session, columns, wanted(columns), few=True)
    assert session.asked == list(COLUMNS[:MOST_ASKED]) and session.narrowed == list(COLUMNS)


def test_of_no_rows_none_cancel() -> None:
    feeds, session = SharedFeeds(), Session(rows=0)
    for columns in ("ab", "a"):
        assert feeds.pin(session, columns, wanted(columns), few=True) == 0
    assert not session.asked and not session.narrowed


def test_of_rows_that_only_came_none_cancel() -> None:
    feeds, session = SharedFeeds(), Session(turned="ab")
    for columns in ("ab", "a", "b"):
        feeds.pin(session, columns, wanted(columns, only_came=True), few=True)
        assert session.pinned[columns] == frozenset(columns)
    assert session.read == ["ab"] and not session.asked and not session.narrowed


@settings(max_examples=5, deadline=None)
@given(st.lists(SETS, min_size=2, max_size=4))
def test_of_two_that_come_at_once_one_waits(asked: list[str]) -> None:
    feeds = SharedFeeds()
    sessions = [Session(slow=0.01) for _ in asked]
    threads = [
        threading.Thread(target=feeds.pin, args=(session, "feed", wanted(columns)), kwargs={"few": True})
        for session, columns in zip(sessions, asked, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [s.pinned for s in sessions] == [{"feed": frozenset(columns)} for columns in asked]
    if len({frozenset(columns) for columns in asked}) == 1:
        assert sum(len(s.read) for s in sessions) == 1
