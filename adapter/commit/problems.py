"""What can be wrong with a model, its configuration or the moment, in the words the user reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..algebra.clock import reads
from ..algebra.emission import Lack, has_groups_of_time, lack_of
from ..algebra.kept import beside, event_times, joined_once, key_of_joined
from ..algebra.nodes import Filter, Node
from ..dialect import without_as_of
from ..errors import ConfigError, ConflictError, DynamicTableError, Impossible, Refusal, SourceError
from ..names import is_reserved
from ..pipeline import Model
from .engine import DESCRIBE, SqlError
from .history import is_mapped
from .sources import is_too_long
from .spec import ChangelogMode, RefreshMode, Spec

UNORDERED = ("INVALID_ORDERING_TYPE", "GROUP_EXPRESSION_TYPE_IS_NOT_ORDERABLE", "SET_OPERATION_ON_")
"""Spark's refusals to compare values, and to group by them."""

UNPLANNED = r"key not found: \S+#\d+|PLAN_VALIDATION_FAILED|INTERNAL_ERROR_ATTRIBUTE_NOT_FOUND"
"""What Spark says where its optimizer has made a plan that it cannot go on with."""

INCOMPARABLE = re.compile(r"\b(map|variant|interval)\b", re.IGNORECASE)

UNSTORABLE = frozenset(" ,;{}()\n\t=")
"""What Delta has in no name of a column, unless the table maps names."""

CONFLICTS = (
    "DELTA_CONCURRENT",
    "DELTA_METADATA_CHANGED",
    "ConcurrentAppend",
    "ConcurrentTransaction",
    "MetadataChanged",
)


def explained(error: SqlError, spec: Spec) -> DynamicTableError:
    """Spark's refusal of the model's SQL, with the line it is about."""
    if violated := re.search(r"(CHECK|NOT NULL) constraint [\s\S]*", str(error)):
        return ConfigError(
            "a row of the result violates the table's constraints.",
            where=spec.place,
            why=" ".join(violated.group(0).split("SQLSTATE")[0].split())[:500],
            remedy="correct the SELECT, its sources, or the contract; no row was written",
        )
    if is_too_long(error):
        return SourceError(
            "the change feed of a table that this SELECT reads cannot be read.",
            where=spec.place,
            why="Delta can list 64 KB of rows that one commit deleted from a file which had lost rows before, and a "
            "commit deleted more (https://github.com/delta-io/delta/issues/5662)",
            remedy="begin with a later version: changelog(ref('…'), since=…); nothing was written",
        )
    first = str(error).splitlines()[0]
    sentence = re.sub(r"\s*;?\s*line \d+ pos \d+;?\s*$", "", first)
    where = spec.place + _line(error, spec.sql)
    return ConfigError(sentence, where=where, remedy="correct the model's SQL; nothing was written")


def _line(error: SqlError, sql: str) -> str:
    """The line of the model's SQL that the error is about, if it is about that SQL and not about what we made of it."""
    at = re.search(r"line (\d+),? pos (\d+)", str(error))
    written = without_as_of(sql)
    text = error.statement.removeprefix(DESCRIBE).strip()
    begin = written.find(text) if text else -1
    if at is None or begin < 0:
        return ""
    above = written[:begin].split("\n")
    number, column = int(at.group(1)), int(at.group(2))
    if number == 1:
        column += len(above[-1]) - len(DESCRIBE)
    number += len(above) - 1
    lines = sql.split("\n")
    if number > len(lines):
        return ""
    return f", line {number} of the compiled SQL:\n            {lines[number - 1]}\n            {' ' * column}^"


def check_properties(spec: Spec) -> None:
    for name, value in spec.properties.items():
        if name.lower() == "delta.enablechangedatafeed" and value.lower() == "false":
            raise ConfigError(
                f"tblproperties turns {name} off, and a dynamic table has a change feed.",
                where=spec.place,
                why="the tables above it are maintained by what its feed says",
                remedy="remove the property",
            )


def may_not_be_rebuilt(reason: str | None, spec: Spec) -> ConfigError:
    return ConfigError(
        f"{spec.target} would be rebuilt because {reason}, and `full_refresh: false` forbids that.",
        where=spec.place,
        why="nothing was written",
        remedy="undo what asks for the rebuild, or take `full_refresh: false` out for one run"
        + (
            "; on_schema_change='sync_all_columns' changes the columns in place"
            if (reason or "").startswith("the columns")
            else ""
        ),
    )


def _place(refusal: Refusal, spec: Spec) -> str:
    where = spec.place
    if refusal.line:
        where += f", line {refusal.line} of the compiled SQL"
    if refusal.fragment:
        where += f": {refusal.fragment}"
    return where


def impossible(refusal: Impossible, spec: Spec) -> ConfigError:
    return ConfigError(
        "the temporal join cannot be made.", where=_place(refusal, spec), why=refusal.reason, remedy=refusal.remedy
    )


def not_maintainable(refusal: Refusal, spec: Spec) -> ConfigError:
    return ConfigError(
        "the SELECT cannot be maintained by change, and refresh_mode='incremental' asks for just that.",
        where=_place(refusal, spec),
        why=refusal.reason,
        remedy=refusal.remedy
        or "rewrite that part, or set refresh_mode='auto' to have it recomputed and applied as a difference",
    )


def existing(key: tuple[str, ...], names: list[str], spec: Spec) -> tuple[str, ...]:
    """The declared key in the spelling of the result's columns."""
    by_lower = {n.lower(): n for n in names}
    missing = [k for k in key if k.lower() not in by_lower]
    if missing:
        raise ConfigError(
            f"unique_key names {missing[0]}, which is not a column of the SELECT.",
            where=spec.place,
            why=f"existing columns: {', '.join(names)}",
            remedy="name columns of the result",
        )
    return tuple(by_lower[k.lower()] for k in key)


def check_names(names: list[str], spec: Spec) -> None:
    """Raises ConfigError for column names that a table cannot have, or that are ours."""
    seen: set[str] = set()
    for name in names:
        if is_reserved(name):
            raise ConfigError(f"the column {name} has a reserved name.", where=spec.place, remedy="rename it")
        if name.lower() in seen:
            raise ConfigError(
                f"the SELECT has two columns named {name}.",
                where=spec.place,
                why="a table's columns have different names",
                remedy="give one of them another name with AS, or list the columns instead of using *",
            )
        seen.add(name.lower())


def check_storable(names: list[str], properties: Mapping[str, str], spec: Spec) -> None:
    """Raises ConfigError for column names that a Delta table with these properties refuses: what Spark calls an
    expression without a name, most often."""
    if is_mapped(properties):
        return
    for name in names:
        if UNSTORABLE & set(name):
            raise ConfigError(
                f"the column {name} has a name that a Delta table cannot have.",
                where=spec.place,
                why="there are no spaces and none of ,;{}()= in the names of its columns",
                remedy=f"give it a name with AS: {name} AS …",
            )


def upsert_without_key(names: list[str], spec: Spec) -> ConfigError:
    return ConfigError(
        "changelog_mode='upsert' needs a key, and the SELECT has none that can be derived.",
        where=spec.place,
        why="an upsert replaces the row of a key; without one there is no telling which row an update replaces",
        remedy=f"set unique_key to columns that are unique in the result ({', '.join(names)}), "
        "or changelog_mode='retract'",
    )


def sink_without_key(names: list[str], spec: Spec) -> ConfigError:
    return ConfigError(
        "a sink with mode: upsert needs a table that has a unique key or is append-only, and this one has neither.",
        where=spec.place,
        why="a message takes the place of the row of its key; without one there is no telling which row it replaces",
        remedy=f"set unique_key to columns that are unique in the result ({', '.join(names)}), or mode: retract, "
        "or changelog_mode='append' for a table that is only appended to",
    )


def check_kept(node: Node, key: tuple[str, ...] | None, spec: Spec) -> None:
    """Raises ConfigError for joins that keep their results where that cannot be done."""
    what, why, remedy = "", "", ""
    of = "a join at processing time" if spec.late_by is None else "a temporal join with late_versions='ignore'"
    if joined_once(node) is None:
        what = f"the result of {of} is joined or grouped further."
        why = "what its rows met in the past stands in this table alone, so nothing can be computed from it again"
        remedy = "leave the temporal join in a model of its own, and do the rest in another that selects from it"
    elif key is None or key_of_joined(node, key) is None:
        what = f"{of} needs a key of the rows that it joins."
        why = "past results are kept, so a row that changes or goes has to be found in the table by its own columns"
        remedy = "set unique_key to columns of the result that come from the left side and are unique there"
        if spec.changelog_mode in (ChangelogMode.RETRACT, ChangelogMode.APPEND):
            remedy = "leave out changelog_mode, and " + remedy
    elif None in event_times(node):
        what = f"{of} is at a time that is not of the rows that are joined."
        why = "rows are joined when the watermark has passed them, and an earlier temporal join may add another time"
        remedy = "leave the earlier temporal join in a model of its own, and join that"
    elif any(isinstance(n, Filter) and reads(n.predicate) for n in beside(node)):
        what = f"a condition on the result or the versions of {of} reads the clock."
        why = "past results are kept, so no row would come or go as the clock moves"
        remedy = "put the condition into a subquery of the left side, or into another model that selects from this one"
    elif spec.refresh_mode is RefreshMode.FULL:
        what = f"refresh_mode='full' and {of} exclude each other."
        why, remedy = "every refresh would compute past results again", "leave out refresh_mode"
    if what:
        raise ConfigError(what[0].upper() + what[1:], where=spec.place, why=why, remedy=remedy)


NOT_EMITTED = {
    Lack.NO_WINDOW: (
        "emit needs windows of event time, and the SELECT has none.",
        "results are made by the end of their window",
        "GROUP BY window(event_time, '30 minutes') or session_window(event_time, '5 minutes'), use an OVER window with "
        "ORDER BY event_time, or leave emit out",
    ),
    Lack.ABOVE: (
        "the results of the windows that emit is about are joined, grouped or put together further.",
        "which rows of the table belong to a window can then not be told",
        "leave the windows in a model of its own, and do the rest in another that selects from it",
    ),
    Lack.NOT_SHOWN: (
        "the SELECT does not show which window its rows belong to.",
        "results of the past stay as they were made, so those of a window have to be found in the table",
        "show all that is grouped by, with window.start or window.end, of a session both; of an OVER window show what "
        "it is partitioned and ordered by",
    ),
    Lack.NOT_BY_TIME: (
        "emit needs OVER windows that are all ordered by one column, the event time, ascending.",
        "a row is shown when the clock has passed its time",
        "write OVER (PARTITION BY … ORDER BY event_time)",
    ),
    Lack.CLOCK: (
        "a condition of a SELECT with emit reads the session's clock.",
        "results stay as they were made, so no row would come or go as time passes",
        "put the condition into another model that selects from this one",
    ),
}
"""What is wrong, why, and what to do."""


def check_emitted(model: Model, spec: Spec) -> None:
    """Raises ConfigError for a SELECT whose results cannot be made by the end of their windows."""
    assert spec.emission is not None
    if model.refusal is not None:
        raise not_emitted(model.refusal, spec)
    assert model.node is not None
    lack = lack_of(model.node)
    if lack is not None:
        what, why, remedy = NOT_EMITTED[lack]
        raise ConfigError(what, where=spec.place, why=why, remedy=remedy)
    if spec.emission.rows is not None and not has_groups_of_time(model.node):
        raise ConfigError(
            "emit.update_rate is a number of rows, and the results of an OVER window are single rows.",
            where=spec.place,
            why="it is the rows of a result that are counted",
            remedy="write a time, for example '5 minutes'",
        )


def not_emitted(refusal: Refusal, spec: Spec) -> ConfigError:
    return ConfigError(
        "emit needs a SELECT that is maintained by change.",
        where=_place(refusal, spec),
        why=refusal.reason,
        remedy=refusal.remedy or "rewrite that part, or leave emit out",
    )


def untimed(time: str, kind: str, spec: Spec) -> ConfigError:
    if spec.emission is not None:
        return ConfigError(
            f"emit needs an event time that is a timestamp or a date: {time} is of type {kind}.",
            where=spec.place,
            why="results are made when the watermark has passed them, which is a time",
            remedy="convert it where the windows are made: ORDER BY to_timestamp(event_time)",
        )
    return ConfigError(
        f"late_versions='ignore' needs times that are timestamps or dates: {time} is of type {kind}.",
        where=spec.place,
        why="rows are joined when the watermark has passed them, which is a time",
        remedy="convert it, in FOR SYSTEM_TIME AS OF to_timestamp(o.order_time) or where the versions are made",
    )


def append_retracts(rows: list[tuple[Any, ...]], spec: Spec) -> ConfigError:
    return ConfigError(
        "changelog_mode='append' was set, but this change takes rows away from the result.",
        where=spec.place,
        why=f"a table that is only appended to cannot update or delete; for example {_sample(rows)}",
        remedy="set changelog_mode to 'upsert' (with a key) or 'retract', or leave it out",
    )


def not_unique(rows: list[tuple[Any, ...]], key: tuple[str, ...], spec: Spec) -> ConfigError:
    return ConfigError(
        f"unique_key ({', '.join(key)}) is not unique in the result.",
        where=spec.place,
        why=f"for example {_counted(rows, key)}",
        remedy="declare columns that are unique together, deduplicate in the SELECT, or leave unique_key out",
    )


def unexpected(spec: Spec, key: tuple[str, ...], rows: list[tuple[Any, ...]] | None = None) -> str:
    """What the user is told of a key that the project expects and the table has not. rows: some that share one, with
    how many they are."""
    example = f", for example {_counted(rows, key)}" if rows else ""
    return (
        f"({', '.join(key)}) is not unique in {spec.target}{example}, although a test, a constraint or a unique_key of "
        "the project says so. Its rows are merged as a whole until it is rebuilt, which is right and takes longer."
    )


def _counted(rows: list[tuple[Any, ...]], key: tuple[str, ...]) -> str:
    return "; ".join(
        f"({', '.join(f'{k}={v!r}' for k, v in zip(key, row, strict=False))}) has {row[-1]} rows" for row in rows
    )


def raced(spec: Spec) -> ConflictError:
    return ConflictError(
        f"another run refreshed {spec.target} at the same time, and this one wrote nothing.",
        where=spec.place,
        why="two refreshes from one state would apply the same changes twice",
        remedy="run again: it goes on from what the other run committed",
    )


def overtaken(spec: Spec, source: str, consumed: int, asked: int) -> ConflictError:
    return ConflictError(
        f"another run has already brought {spec.target} further than this one would.",
        where=spec.place,
        why=f"version {consumed} of {source} was consumed, and this refresh is to consume version {asked}",
        remedy="refresh it together with the tables that it reads",
    )


def altered(spec: Spec, source: str) -> ConflictError:
    return ConflictError(
        f"the source {source} of {spec.target} was altered after the version that is to be consumed.",
        where=spec.place,
        why="its columns or properties are those of the latest version",
        remedy="consume its latest version",
    )


def is_conflict(error: SqlError) -> bool:
    return any(sign in str(error) for sign in CONFLICTS)


def beyond_spark(error: SqlError) -> str | None:
    """Why a change was refused that the query alone may not be, if that is how it is."""
    if any(sign in str(error) for sign in UNORDERED):
        return "Spark cannot compare values that the change goes by: of a VARIANT, or of a MAP as a key"
    return "Spark cannot plan the statement of its change" if is_unplanned(error) else None


def is_unplanned(error: SqlError) -> bool:
    """Whether Spark lost its own way in planning a statement, and says so in terms of its plans alone: the query by
    itself may well be one that it can run. A correlated subquery with LIMIT below a UNION ALL is such (Spark 4.2)."""
    return re.search(UNPLANNED, str(error)) is not None


def comparable(data_type: str) -> bool:
    """Whether values of a type can be compared, so that rows of it can be matched."""
    return INCOMPARABLE.search(data_type) is None


def _sample(rows: list[tuple[Any, ...]]) -> str:
    return ", ".join(repr(r) for r in rows[:3])
