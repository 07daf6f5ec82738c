"""Whether a key that is only declared tells the rows of a table apart, before they are written."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

from ..algebra.nodes import scans
from ..names import PREFIX
from ..sparksql.statements import duplicates_in
from . import problems
from .decide import size_of_sources
from .engine import Engine
from .look import Seen, is_large
from .measure import Measure
from .spec import Spec

CONTENT = f"{PREFIX}content"
"""The session's name for what a table is written anew from, where that is looked at first."""

SOON_KEPT = 128 * 2**20
"""Bytes of a table's files up to which all of its rows are soon kept. Measured on two cores with 3.6 M rows in 47 MB,
to keep a join takes a second more than to compute it; not to compute it twice spares a temporal join 6 s of 16."""

LOOKED_AT = 1_000
"""Rows of a table, for each one that changes, up to which all of them are looked at for two of one key. Measured on two
cores, of six million rows the look takes 3 s, and a merge of whole rows that lie all over the table four times that."""


class ToldApart:
    """Of one refresh. All that is asked is answered at once where no key has to be checked."""

    def __init__(self, seen: Seen, spec: Spec, engine: Engine, measure: Measure) -> None:
        self._seen, self._spec, self._engine, self._measure = seen, spec, engine, measure

    @contextmanager
    def written_anew(self, query: str) -> Iterator[str]:
        """What the table is to be made of, once it is known that the key holds in it: computed once to see that and to
        be written, where computing it is more than to read and where it is soon kept. Raises ConfigError."""
        node = self._seen.model.node
        is_read = node is not None and not node.has_groups and len(scans(node)) == 1
        if not self._seen.checked or is_read or not self._is_soon_kept():
            self.check(query)
            yield query
            return
        try:
            self._engine.pin(CONTENT, query, few=False)
            query = f"SELECT * FROM {CONTENT}"
            self.check(query)
            yield query
        finally:
            self._engine.unpin(CONTENT)

    def check(self, query: str) -> None:
        """Raises ConfigError where two rows of a query have one key."""
        checked = self._seen.checked
        if not checked:
            return
        types = dict(self._seen.model.columns)
        if self._is_soon_kept() and self._measure.told_apart(query, tuple((c, types[c]) for c in checked)):
            return
        self.refuse(duplicates_in(query, checked))

    def refuse(self, duplicates: str) -> None:
        """Raises ConfigError where a query of rows that have a key of another one finds some."""
        if rows := self._measure.examples(duplicates):
            raise problems.not_unique(rows, self._seen.checked, self._spec)

    def worth_looking(self, changed: int) -> bool:
        """Whether all rows of the table are looked at because so many change. Few may lie together, where bounds find
        them: then they cost little in however large a table."""
        target = self._seen.target
        assert target is not None
        return not is_large(target) or changed * LOOKED_AT >= (self._seen.rows or math.inf)

    def _is_soon_kept(self) -> bool:
        """Whether the rows of the table are expected to be so few that they, or their keys, are soon in memory."""
        target = self._seen.target
        size = target.size if target is not None else size_of_sources(self._seen)
        return 0 < size <= SOON_KEPT
