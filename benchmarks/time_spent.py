"""An engine with a stopwatch: what the statements of a refresh take, by what they are for."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dbt_spark_dynamic.commit.shared_feeds import WIDE
from dbt_spark_dynamic.names import PREFIX

if TYPE_CHECKING:
    from dbt_spark_dynamic.commit.engine import Engine, Written

FEEDS, QUESTIONS, WRITING = "feeds", "questions", "writing"


class TimedEngine:
    """spent: seconds of the change feeds, of what is asked for values or types, of what is written, and of each
    relation of the change plan by its name."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.spent: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def pin(self, name: str, sql: str, *, few: bool) -> int:
        with self._timing(FEEDS if "'readChangeFeed'" in sql or WIDE in sql else name.removeprefix(PREFIX)):
            return self._engine.pin(name, sql, few=few)

    def pin_at_most(self, name: str, sql: str, most: int | None, *, few: bool) -> int | None:
        with self._timing(name.removeprefix(PREFIX)):
            return self._engine.pin_at_most(name, sql, most, few=few)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self._timing(QUESTIONS):
            return self._engine.rows(sql)

    def columns(self, sql: str) -> Any:
        with self._timing(QUESTIONS):
            return self._engine.columns(sql)

    def write(self, sql: str, settings: Mapping[str, str]) -> Written:
        with self._timing(WRITING):
            return self._engine.write(sql, settings)

    @contextmanager
    def _timing(self, what: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self.spent[what] += time.perf_counter() - started  # type: ignore[assignment]
