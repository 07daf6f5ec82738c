"""What can go wrong, in four kinds, each said with its place, its reason and its remedy.

`Refusal` is not a failure: it says why a SELECT is recomputed instead of maintained. It becomes a `ConfigError`
only where the user asked for `refresh_mode='incremental'`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error, and what it was raised from, on the way down."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


class DynamicTableError(Exception):
    """A refresh that did not happen. Nothing was written.

    what: one sentence that names the object; why: the reason; remedy: what to do; where: model file and line, if known.
    """

    kind = "Error"

    def __init__(self, what: str, *, why: str = "", remedy: str = "", where: str = "") -> None:
        self.what, self.why, self.remedy, self.where = what, why, remedy, where
        super().__init__(self.render())

    def render(self) -> str:
        lines = [self.what]
        if self.where:
            lines.append(f"  where:  {self.where}")
        if self.why:
            lines.append(f"  why:    {self.why}")
        if self.remedy:
            lines.append(f"  remedy: {self.remedy}")
        return "\n".join(lines)


class ConfigError(DynamicTableError):
    """The project says something contradictory or impossible."""

    kind = "Config"


class SourceError(DynamicTableError):
    """A source cannot say what changed since the last refresh."""

    kind = "Source"


class TargetError(DynamicTableError):
    """The table that is to be maintained is not in the state its ledger describes."""

    kind = "Target"


class ConflictError(DynamicTableError):
    """Two refreshes of one table at once; the other one won and this one wrote nothing."""

    kind = "Conflict"


class Bug(DynamicTableError):
    """A promise between two rooms of this project was broken; never the user's fault."""

    kind = "Bug"


class EngineError(Exception):
    """A statement that the engine refused or that failed. condition: the engine's name for what is wrong with the
    statement, empty where that is not it."""

    condition = ""


class Volatility(Enum):
    """Whether a refused SELECT can give another result although none of its inputs changed."""

    STABLE = "stable"
    VOLATILE = "volatile"


@dataclass
class Refusal(Exception):
    """The SELECT has a part for which no law of change is known here: it is recomputed, and says why.

    construct: what it is in the user's words; why: one clause; remedy: what to write instead, if anything;
    line: 1-based line in the compiled SQL; fragment: the text concerned.
    """

    construct: str
    why: str
    remedy: str = ""
    fragment: str = ""
    line: int | None = None
    volatility: Volatility = Volatility.STABLE

    @property
    def reason(self) -> str:
        return f"{self.construct} {self.why}"

    def __str__(self) -> str:
        at = f" (line {self.line})" if self.line else ""
        return self.reason + at


class Impossible(Refusal):
    """A refusal with nothing to fall back on: Spark cannot run the SELECT as it is written either."""
