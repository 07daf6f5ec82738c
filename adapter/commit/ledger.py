"""The ledger: what a table has consumed and how, written into the Delta commit of the data itself.

It is the commit's `userMetadata`; a transaction identifier beside it makes Delta commit an empty change too and skip
a refresh that another one has already committed. There is no second table and no moment at which the two disagree.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..names import LEDGER, LEDGER_FORMAT, WRITER
from .costs import Past, Took
from .history import Commit

USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
TXN_APP = "spark.databricks.delta.write.txnAppId"
TXN_VERSION = "spark.databricks.delta.write.txnVersion"

CREATE, REWRITE, RECOMPUTE = "create", "rewrite", "recompute"
"""Techniques that compute the whole query: the first two write the whole table too, the last one the difference."""

APPEND, MERGE, RETRACT, ADDITIVE, KEYED, TOP, NO_OP = "append", "merge", "retract", "additive", "keyed", "top", "no_op"
"""Techniques that compute the change. Rows that only came are inserted (append), others merged: by their key, as whole
rows (retract), added up, by groups or partitions that are computed again, by what the table shows of a top; or nothing
changed."""

BY_CHANGE = frozenset({MERGE, RETRACT, ADDITIVE, KEYED, TOP, NO_OP})
"""Those that take longer the more changed. Rows that only came are inserted, whatever the table holds."""


@dataclass(frozen=True)
class Consumed:
    """The state of a source that the table was computed from. types: of its columns that the SELECT reads, as a digest;
    empty where the ledger does not say them."""

    id: str
    version: int
    types: str = ""


@dataclass(frozen=True)
class HeldRows:
    """Rows of γ′ (changes/partials.py) as they are after a refresh. of: what they are rows of, as a digest; rows: their
    values, printed; None where they are not to be kept."""

    of: str
    rows: tuple[tuple[str | int | None, ...], ...] | None


@dataclass(frozen=True)
class ExpectedKey:
    """A key that the project expects the table's rows to have. holds: whether they do, None if nobody has looked since
    rows were inserted; found: whether it is a guess instead, from rows that changed, of no columns where none told them
    apart."""

    columns: tuple[str, ...]
    holds: bool | None = None
    found: bool = False


@dataclass(frozen=True)
class StateTable:
    """Where the groups that a table is made of are kept (changes/apart.py). of: what they are, as a digest; table: its
    complete name; alone: what refreshes took before there was one; ended: the refresh that did without it again, None
    while it is kept."""

    of: str
    table: str
    alone: Past
    ended: int | None = None


@dataclass(frozen=True)
class Entry:
    """One refresh.

    generation: the same from one rebuild to the next; sequence: 1, 2, … within it; base: the version of the table
    that the refresh was computed against (-1 for a rebuild); definition: fingerprint of the SELECT and what it is
    applied with; columns: name and type of the result's columns; rows_in: changed rows of the sources, None if not
    counted; clock: what it read of the session's clock; query: the SELECT as it was maintained, empty where it gives
    another result computed anew; newest: the newest times that its watermark is made of; asked: what was asked for, as
    a digest, empty where the same text may ask for something else the next time.

    For what the next refreshes are expected to take: started: in milliseconds since 1970, by the clock of the client;
    size: bytes of the sources' data files; rows: that the table had before; share: of the rows, those that were new,
    None if unknown; at_sight: whether it was written anew because the plan for these was dear at sight; past: what
    refreshes before this one took. How long this one took, only its commit says. partials: what the next refresh adds
    to, where the table does not show it; None if there is no such thing. expected_key: what the next refresh may tell
    rows apart by; None where they have another key, or none is expected. state: the table of groups that it was made
    from, which is among the sources, as are those that these groups were made from; None if it never had one.
    """

    sources: Mapping[str, Consumed]
    definition: str
    technique: str
    generation: str
    sequence: int
    base: int
    columns: tuple[tuple[str, str], ...]
    reason: str | None = None
    rows_in: int | None = None
    clock: Mapping[str, str] = field(default_factory=dict)
    query: str = ""
    newest: Mapping[str, int] = field(default_factory=dict)
    asked: str = ""
    started: int = 0
    size: int = 0
    rows: int | None = None
    share: float | None = None
    at_sight: bool = False
    past: Past = field(default_factory=Past)
    partials: HeldRows | None = None
    expected_key: ExpectedKey | None = None
    state: StateTable | None = None
    refresh: str = field(default_factory=lambda: uuid.uuid4().hex)
    format: int = LEDGER_FORMAT

    @property
    def read_by_select(self) -> Mapping[str, Consumed]:
        """The sources without the state table."""
        return {n: c for n, c in self.sources.items() if self.state is None or n != self.state.table}

    def settings(self) -> dict[str, str]:
        """The session settings under which the refresh's one write must run."""
        metadata = json.dumps({LEDGER: asdict(self)}, separators=(",", ":"), sort_keys=True)
        return {
            # A client that can only send SQL says SET, in which Spark would take it for a variable.
            USER_METADATA: metadata.replace("${", "\\u0024{"),
            TXN_APP: f"{LEDGER}:{self.generation}",
            TXN_VERSION: str(self.sequence),
        }

    @classmethod
    def read(cls, user_metadata: str | None) -> Entry | None:
        """The entry in a commit's userMetadata; None if there is none of ours, or one of another format."""
        try:
            fields = json.loads(user_metadata or "")[LEDGER]
            if fields["format"] != LEDGER_FORMAT:
                return None
            fields["columns"] = tuple((n, t) for n, t in fields["columns"])
            fields["sources"] = {name: Consumed(**c) for name, c in fields["sources"].items()}
            fields["past"] = _past(fields.get("past", {}))
            if (held := fields.get("partials")) is not None:
                rows = held["rows"]
                fields["partials"] = HeldRows(held["of"], tuple(map(tuple, rows)) if rows is not None else None)
            if (key := fields.get("expected_key")) is not None:
                fields["expected_key"] = ExpectedKey(tuple(key["columns"]), key["holds"], key.get("found", False))
            if (state := fields.get("state")) is not None:
                fields["state"] = StateTable(**{**state, "alone": _past(state["alone"])})
            return cls(**fields)
        except (ValueError, KeyError, TypeError):
            return None


def _past(fields: Mapping[str, Any]) -> Past:
    anew = Took(**fields["anew"]) if fields.get("anew") is not None else None
    return Past(anew, tuple(Took(**took) for took in fields.get("by_change", ())))


def writing_as(materialized: str) -> str:
    """The userMetadata under which a dbt model of another kind writes, so that it can be told from a stranger."""
    return json.dumps({WRITER: materialized})


def written_as(commit: Commit) -> str | None:
    """The kind of dbt model that made a commit, if it said so."""
    try:
        return str(json.loads(commit.user_metadata or "")[WRITER])
    except (ValueError, KeyError, TypeError):
        return None


@dataclass(frozen=True)
class Position:
    """Where the table stands. entry: the newest ledger entry, in the commit `version`; foreign: the first commit
    since the entry's base that changed data and is not the entry's own; commit: the entry's own."""

    entry: Entry | None
    version: int
    foreign: Commit | None = None
    commit: Commit | None = None

    @property
    def rows(self) -> int | None:
        """That the table holds; None if the commits since it was built do not all count theirs."""
        if self.entry is None or self.commit is None or self.foreign is not None:
            return None
        if self.entry.technique in (CREATE, REWRITE):
            return self.commit.rows_written
        more = self.commit.more
        return None if self.entry.rows is None or more is None else self.entry.rows + more

    @property
    def past(self) -> Past:
        """What the refreshes so far took, the last one among them."""
        if self.entry is None or self.commit is None:
            return Past()
        entry = self.entry
        # A difference takes longer than writing anew; where nothing else was timed, it is the best that is known.
        anew = entry.technique in (CREATE, REWRITE) or (entry.technique == RECOMPUTE and entry.past.anew is None)
        if not entry.started or not (anew or (entry.technique in BY_CHANGE and entry.share is not None)):
            return entry.past
        took = Took((self.commit.made - entry.started) / 1000, entry.size, 1.0 if anew else entry.share or 0.0)
        return entry.past.then(took, anew=anew)


def find(latest: int, commit_at: Callable[[int], Commit | None]) -> Position:
    """Looks back from the latest commit to the newest ledger entry, past commits that changed no data.

    A table that was replaced since, by a `table` model of the same name for one, is another table and has no ledger.
    commit_at: the commit of a version, None if its file is gone (then nothing older is known either).
    """
    foreign: Commit | None = None
    for version in range(latest, -1, -1):
        commit = commit_at(version)
        if commit is None:
            return Position(None, -1)
        entry = Entry.read(commit.user_metadata)
        if entry is not None:
            return Position(entry, version, _between(entry, version, commit_at) or foreign, commit)
        if commit.replaces_table:
            return Position(None, -1)
        if commit.changes_data:
            foreign = commit
    return Position(None, -1)


def _between(entry: Entry, version: int, commit_at: Callable[[int], Commit | None]) -> Commit | None:
    """A commit that slipped in between the version the refresh was computed against and its own."""
    if entry.base < 0:
        return None
    for v in range(entry.base + 1, version):
        commit = commit_at(v)
        if commit is not None and commit.changes_data:
            return commit
    return None
