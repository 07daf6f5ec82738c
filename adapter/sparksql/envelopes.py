"""Changes of a database as Debezium and Canal send them in JSON, taken apart by SQL expressions.

Debezium: one change with the row `before` and `after` it, as such or below `payload` beside its schema; a tombstone, a
message of NULL, says nothing more. Canal: the rows of one statement in `data`, and in `old` what their changed columns
were. Both formats: https://nightlies.apache.org/flink/flink-docs-stable/docs/connectors/table/formats/overview/
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from ..errors import ConfigError
from ..names import OPERATION, PREFIX
from ..reading.relations import Columns
from .statements import literal, quoted

MESSAGE, ROW, OLD, AT, DID = (f"{PREFIX}{n}" for n in ("message", "row", "old", "at", "did"))


class Format(Enum):
    DEBEZIUM = "debezium-json"
    CANAL = "canal-json"


DATES = ("db_operation_time", "message_time")
"""When the database carried a change out, and when the message was made: TIMESTAMPs that options can name."""

POSITIONS = {
    Format.DEBEZIUM: ("source_file", "source_pos", "source_row", "source_lsn"),
    Format.CANAL: ("message_id",),
}
"""Where a change stands in the database's own log: the order of changes of one millisecond."""


@dataclass(frozen=True)
class Envelope:
    """payload: the column with the message, a string or binary; types: column of the row -> Spark type; place: file of
    the model or source, for messages; of: what it is the input of, for messages at run time."""

    format: Format
    payload: str
    types: Mapping[str, str]
    place: str
    of: str

    @property
    def hidden(self) -> tuple[str, ...]:
        """What it adds to the row: what was done, when, and where that stands in the database's log."""
        return (OPERATION, *DATES, *POSITIONS[self.format])


def unwrapped(select: str, columns: Columns, key: Sequence[str], e: Envelope) -> str:
    """The changelog in the messages: the columns of the row, the SELECT's other columns, and those of `hidden`.

    key: columns of the row.
    """
    others = [n for n, _ in columns if n != e.payload]
    for name in e.types:
        if name.lower() in (o.lower() for o in (*others, *e.hidden)):
            raise ConfigError(
                f"column_types names {name}, which is a column beside the message, too.",
                where=e.place,
                remedy="leave it out of the SELECT, or give it another name there",
            )
    opened = _debezium if e.format is Format.DEBEZIUM else _canal
    # A NULL is a tombstone.
    messages = f"SELECT *, {_parsed(e)} AS {quoted(MESSAGE)} FROM (\n{select}\n) WHERE {quoted(e.payload)} IS NOT NULL"
    return opened(messages, others, key, e)


def _parsed(e: Envelope) -> str:
    # Every value as its text: it is Spark's CAST then that says what can be a value of which type.
    row = f"STRUCT<{', '.join(f'{quoted(n)}: STRING' for n in e.types)}>"
    if e.format is Format.CANAL:
        schema = f"data ARRAY<{row}>, old ARRAY<{row}>, type STRING, es BIGINT, ts BIGINT, id BIGINT"
    else:
        source = "STRUCT<ts_ms: BIGINT, file: STRING, pos: BIGINT, row: INT, lsn: BIGINT>"
        change = f"before {row}, after {row}, op STRING, ts_ms BIGINT, source {source}"
        inner = f"before: {row}, after: {row}, op: STRING, ts_ms: BIGINT, source: {source}"
        schema = f"{change}, payload STRUCT<{inner}>"
    return f"FROM_JSON(CAST({quoted(e.payload)} AS STRING), {literal(schema)}, MAP('mode', 'FAILFAST'))"


def _debezium(messages: str, others: Sequence[str], key: Sequence[str], e: Envelope) -> str:
    m = quoted(MESSAGE)
    parts = ("before", "after", "op", "ms", "source")
    before, after, op, ms, source = (quoted(f"{PREFIX}{p}") for p in parts)
    fields = zip(("before", "after", "op", "ts_ms", "source"), (before, after, op, ms, source), strict=True)
    change = ", ".join(f"COALESCE({m}.payload.{f}, {m}.{f}) AS {name}" for f, name in fields)
    passed = "".join(f"{quoted(o)}, " for o in others)
    known = _known(op, ("c", "r", "u", "d"), ("m",), "Debezium", e.of)
    moved = " OR ".join(f"NOT {before}.{quoted(k)} <=> {after}.{quoted(k)}" for k in key)
    did, row = quoted(DID), quoted(ROW)
    return (
        f"SELECT {_row(e, row)}, {passed}"
        f"{did} AS {quoted(OPERATION)}, "
        f"TIMESTAMP_MILLIS(COALESCE(NULLIF({source}.ts_ms, 0), {ms})) AS `db_operation_time`, "
        f"TIMESTAMP_MILLIS({ms}) AS `message_time`, "
        + ", ".join(f"{source}.{quoted(n.removeprefix('source_'))} AS {quoted(n)}" for n in POSITIONS[e.format])
        + f"\nFROM (SELECT * FROM (SELECT {passed}{change} FROM (\n{messages}\n)) WHERE {known}) AS c\n"
        f"LATERAL VIEW INLINE(ARRAY(STRUCT('upsert' AS did, {after} AS told), "
        f"STRUCT('delete' AS did, {before} AS told))) e AS {did}, {row}\n"
        # The row of an update that got another key ends under the key it had.
        f"WHERE CASE WHEN {did} = 'upsert' THEN {op} <> 'd' "
        f"WHEN {op} = 'd' THEN TRUE ELSE {op} = 'u' AND {before} IS NOT NULL AND ({moved}) END"
    )


def _canal(messages: str, others: Sequence[str], key: Sequence[str], e: Envelope) -> str:
    m, at, row, old, did = (quoted(n) for n in (MESSAGE, AT, ROW, OLD, DID))
    passed = "".join(f"{quoted(o)}, " for o in others)
    kind = f"UPPER({m}.type)"
    known = _known(
        kind, ("INSERT", "UPDATE", "DELETE"), ("CREATE", "ALTER", "CINDEX", "DINDEX", "QUERY"), "Canal", e.of
    )
    # `old` has only what changed; a key that is not in it stayed as it is.
    values = {n: f"{row}.{quoted(n)}" for n in e.types}
    was = ", ".join(
        f"{f'COALESCE({old}.{quoted(n)}, {v})' if n in key else v} AS {quoted(n)}" for n, v in values.items()
    )
    moved = " OR ".join(f"NOT COALESCE({old}.{quoted(k)}, {row}.{quoted(k)}) <=> {row}.{quoted(k)}" for k in key)
    rows = (
        f"SELECT {passed}{m}, {row}, {m}.old[{at}] AS {old}\nFROM (SELECT * FROM (\n{messages}\n) WHERE {known}) AS c\n"
        f"LATERAL VIEW POSEXPLODE({m}.data) d AS {at}, {row}"
    )
    told = quoted(f"{PREFIX}told")
    now = ", ".join(f"{v} AS {quoted(n)}" for n, v in values.items())
    return (
        f"SELECT {_row(e, told)}, {passed}{did} AS {quoted(OPERATION)}, "
        f"TIMESTAMP_MILLIS({m}.es) AS `db_operation_time`, TIMESTAMP_MILLIS({m}.ts) AS `message_time`, "
        f"{m}.id AS `message_id`\n"
        f"FROM (\n{rows}\n) AS r\n"
        f"LATERAL VIEW INLINE(ARRAY(STRUCT('upsert' AS did, STRUCT({now}) AS told), "
        f"STRUCT('delete' AS did, STRUCT({was}) AS told))) e AS {did}, {told}\n"
        f"WHERE CASE WHEN {did} = 'upsert' THEN {kind} <> 'DELETE' "
        f"WHEN {kind} = 'DELETE' THEN TRUE ELSE {kind} = 'UPDATE' AND ({moved}) END"
    )


def _known(operation: str, changes: Sequence[str], passed: Sequence[str], sender: str, of: str) -> str:
    """A condition that is true for changes of rows, false for what is none, and an error for all else (TRUNCATE)."""

    def strings(values: Sequence[str]) -> str:
        return f"({', '.join(literal(v) for v in values)})"

    told = literal(f"{of}: {sender} sent an operation that changes rows without naming them: ")
    return (
        f"CASE WHEN {operation} IN {strings(changes)} THEN TRUE WHEN {operation} IN {strings(passed)} THEN FALSE "
        f"ELSE RAISE_ERROR(CONCAT({told}, COALESCE({operation}, 'NULL'))) END"
    )


def _row(e: Envelope, row: str) -> str:
    """The columns of the row in their types."""
    return ", ".join(f"{value_of(n, f'{row}.{quoted(n)}', kind, e.of)} AS {quoted(n)}" for n, kind in e.types.items())


def value_of(name: str, text: str, kind: str, of: str) -> str:
    """A text as a value of the type. A text that is none is an error, not NULL. of: what has the column, for errors."""
    plain = kind.strip().lower()
    if plain == "string":
        return text
    if plain.startswith(("struct", "array", "map")):
        return f"FROM_JSON({text}, {literal(kind)}, MAP('mode', 'FAILFAST'))"
    value = f"CAST({text} AS {kind})"
    if plain == "binary":
        value = f"UNBASE64({text})"
    elif plain.startswith("timestamp"):
        # A connector sends milliseconds, microseconds or nanoseconds since 1970, or text.
        n = f"CAST({text} AS BIGINT)"
        digits = f"LENGTH({text})"
        micros = f"CASE WHEN {digits} > 17 THEN {n} DIV 1000 WHEN {digits} > 14 THEN {n} ELSE {n} * 1000 END"
        number = f"CAST(TIMESTAMP_MICROS({micros}) AS {kind})"
        value = f"CASE WHEN {text} RLIKE '^-?[0-9]+$' THEN {number} ELSE {value} END"
    elif plain == "date":
        value = f"CASE WHEN {text} RLIKE '^-?[0-9]+$' THEN DATE_FROM_UNIX_DATE(CAST({text} AS INT)) ELSE {value} END"
    told = literal(f"{of}: the column {name} has a value that is no {kind}: ")
    return f"COALESCE({value}, CASE WHEN NOT {text} IS NULL THEN RAISE_ERROR(CONCAT({told}, {text})) END)"
