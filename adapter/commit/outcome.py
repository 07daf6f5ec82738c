"""What a refresh did: the line the user reads and the fields `run_results.json` keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any


class Code(Enum):
    CREATED = "CREATED"
    INCREMENTAL = "INCREMENTAL"
    RECOMPUTE = "RECOMPUTE"
    NO_CHANGE = "NO CHANGE"


@dataclass(frozen=True)
class Outcome:
    """rows_in: changed rows of the sources, None if unknown; rows_inserted … rows_deleted: of the result;
    sources: name -> (version before, version after); seconds: wall time; notes: what the user may want to change;
    ignored: events that came too late to count; table, version: what was refreshed, and its version that holds all
    this; volatile: whether its result can change although no source says so; altered: what was changed about the table
    beside its rows; due_in: seconds, from the refresh on, after which its result changes without a commit, None if it
    does not or that is not known; delivered: changed rows that the table's sink was given, None if it has none."""

    code: Code
    technique: str
    reason: str | None = None
    rows_in: int | None = None
    rows_inserted: int = 0
    rows_updated: int = 0
    rows_deleted: int = 0
    sources: Mapping[str, tuple[int | None, int]] = field(default_factory=dict)
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    ignored: int = 0
    table: str = ""
    version: int = -1
    volatile: bool = False
    altered: tuple[str, ...] = ()
    due_in: float | None = None
    delivered: int | None = None

    @property
    def rows_affected(self) -> int:
        return self.rows_inserted + self.rows_updated + self.rows_deleted

    def line(self) -> str:
        """`INCREMENTAL merge: 3 changed in, +2 ~1 -0 out, orders v4→v5, 1.4s`"""
        altered = f"; altered {'; '.join(self.altered)}" if self.altered else ""
        return self._rows() + altered + (f"; {self.delivered} delivered" if self.delivered is not None else "")

    def _rows(self) -> str:
        if self.code is Code.NO_CHANGE:
            late = f"{self.ignored} too late, " if self.ignored else ""
            return f"NO CHANGE: {late}{self._versions() or 'no sources'}, {self.seconds:.1f}s"
        out = f"+{self.rows_inserted} ~{self.rows_updated} -{self.rows_deleted} out"
        if self.code is Code.CREATED:
            because = f" because {self.reason}" if self.reason else ""
            return (
                f"CREATED{because}: {self.rows_inserted} rows, {self._versions() or 'no sources'}, {self.seconds:.1f}s"
            )
        if self.code is Code.RECOMPUTE:
            return f"RECOMPUTE because {self.reason}: {out}, {self._versions() or 'no sources'}, {self.seconds:.1f}s"
        rows_in = "changes" if self.rows_in is None else f"{self.rows_in} changed"
        late = f" ({self.ignored} too late)" if self.ignored else ""
        return f"INCREMENTAL {self.technique}: {rows_in} in{late}, {out}, {self._versions()}, {self.seconds:.1f}s"

    def _versions(self) -> str:
        return ", ".join(
            f"{name.split('.')[-1]} v{after}"
            if before is None or before == after
            else f"{name.split('.')[-1]} v{before}→v{after}"
            for name, (before, after) in self.sources.items()
        )

    def fields(self) -> dict[str, Any]:
        """For run_results.json."""
        kept = asdict(self)
        kept["code"] = self.code.value
        kept["sources"] = {name: list(v) for name, v in self.sources.items()}
        kept["notes"], kept["altered"] = list(self.notes), list(self.altered)
        kept["seconds"] = round(self.seconds, 3)
        return {**kept, "rows_affected": self.rows_affected}
