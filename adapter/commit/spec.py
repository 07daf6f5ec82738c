"""What the user asked for: the model's SELECT and the configuration it is maintained under."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from ..algebra.emission import Emission
from ..errors import ConfigError
from ..reading.relations import Versioning


class RefreshMode(Enum):
    AUTO = "auto"
    INCREMENTAL = "incremental"
    FULL = "full"


class ChangelogMode(Enum):
    """How changes reach the table (seeds 001 and 003). AUTO: the cheapest that is right."""

    AUTO = "auto"
    APPEND = "append"
    UPSERT = "upsert"
    RETRACT = "retract"


class ChangeFeedPolicy(Enum):
    """What to do with a Delta source that has no change feed: turn it on, insist that somebody does, or compare two
    versions of the table at every refresh."""

    ENABLE = "enable"
    REQUIRE = "require"
    COMPARE = "compare"


class LostHistoryPolicy(Enum):
    """What to do when a source can no longer say what changed: stop, or recompute and apply the difference."""

    FAIL = "fail"
    RECOMPUTE = "recompute"


class SchemaChange(Enum):
    """What to do when the SELECT has other columns than the table. IGNORE, which is what dbt says where a model says
    nothing: no more than for any other edit, so the table is rebuilt with them; APPEND, SYNC: in place."""

    IGNORE = "ignore"
    FAIL = "fail"
    APPEND = "append_new_columns"
    SYNC = "sync_all_columns"


class ConfigurationChange(Enum):
    """What to do when the table is not laid out as the configuration says: see to it, warn, or stop."""

    APPLY = "apply"
    CONTINUE = "continue"
    FAIL = "fail"


@dataclass(frozen=True)
class Spec:
    """One dynamic table.

    target: its name in Spark SQL; sql: the compiled SELECT; place: model file, for messages; layout: clauses of its
    CREATE TABLE but for properties, of which partition_by, cluster_by and location are also given apart, () and ""
    where nothing is configured; constraints: name in lower case -> condition that every row meets; unique_key: as
    declared, () if not; may_rebuild: whether a table that is there may be replaced; deterministic: functions of the
    user's own that give equal values for equal arguments, in lower case; versionings: what the relations it reads
    declare of their versions, by dotted name; late_by: None where late versions correct what was joined, else how late
    rows and versions may come before they are ignored, as an interval in SQL; emission: when the results of windows are
    made, None where they are what the rows are at any time; with it, late_by is how late rows may come before a window
    is taken to be complete, and None at processing time; sink_by_key: whether a sink takes its changes by key;
    expected_keys: by dotted name, columns that the project expects to be unique in a table or view, in this one too;
    is_read: whether others are maintained by the changes of the table.
    """

    target: str
    sql: str
    place: str = ""
    layout: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    location: str = ""
    constraints: Mapping[str, str] = field(default_factory=dict)
    unique_key: tuple[str, ...] = ()
    refresh_mode: RefreshMode = RefreshMode.AUTO
    changelog_mode: ChangelogMode = ChangelogMode.AUTO
    source_change_feed: ChangeFeedPolicy = ChangeFeedPolicy.ENABLE
    on_lost_history: LostHistoryPolicy = LostHistoryPolicy.FAIL
    on_schema_change: SchemaChange = SchemaChange.IGNORE
    on_configuration_change: ConfigurationChange = ConfigurationChange.APPLY
    full_refresh: bool = False
    deterministic: frozenset[str] = frozenset()
    versionings: Mapping[str, Versioning] = field(default_factory=dict)
    late_by: str | None = None
    emission: Emission | None = None
    may_rebuild: bool = True
    sink_by_key: bool = False
    expected_keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    is_read: bool = False


UNITS = ("second", "minute", "hour", "day", "week")


def interval(text: object, option: str, place: str) -> str:
    """'2 hours' as Spark SQL has it behind INTERVAL. Raises ConfigError."""
    words = str(text).split()
    unit = words[-1].lower().removesuffix("s") if words else ""
    if len(words) != 2 or not words[0].isdigit() or unit not in UNITS:
        raise ConfigError(
            f"{option}: '{text}' is not an interval.",
            where=place,
            remedy="write a number and a unit, for example '30 seconds', '2 hours' or '1 day'",
        )
    return f"'{words[0]}' {unit.upper()}"


def choice(kind: type[Enum], value: object, option: str, place: str) -> Enum:
    """The member with this value. Raises ConfigError that lists the values there are."""
    try:
        return kind(str(value).lower())
    except ValueError:
        allowed = ", ".join(f"'{m.value}'" for m in kind)
        raise ConfigError(
            f"{option}: '{value}' is not a value it can have.", where=place, remedy=f"use one of {allowed}"
        ) from None
