"""A batch of a stream that has a key, as SQL: what it says last of each key.

A record writes the row of its key, or deletes it: a message of a database's changes that says so, or a record of Kafka
with a key and no value. The order of a key's records is the one in which they stand in one partition or file; where
several hold records of one key, their times decide first: those of the database's log, else of the record or file.
With `sequence_by` these columns decide before all that, but for a delete that does not have them: it deletes what came
before it, and what comes after it is compared with nothing. Of rows that stand nowhere, of another Delta table, they
alone do.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..names import OPERATION, PREFIX, PRESENT
from ..sparksql.envelopes import DATES, POSITIONS, Envelope, unwrapped, value_of
from ..sparksql.statements import listed, literal, quoted
from .declaration import KAFKA, UNORDERED, Stream, parsed

VALUE, KEY = f"{PREFIX}value", f"{PREFIX}record_key"
"""Of a record: its value and, of Kafka, its key, as texts."""

WITHIN, TIME, POSITION, ROW = (f"{PREFIX}{n}" for n in ("within", "time", "position", "row_in_batch"))
"""Where a record stands: the partition or file that it came in, the time of the record or file, the offset of the
record or of the part of the file, and its row as Spark read it."""

STANDING = (WITHIN, TIME, POSITION, ROW)

ANEW = f"{PREFIX}anew"
"""True where the table's row of the key was deleted before, so that nothing is compared with it."""

_ORDER, _PLACE, _CLEARED, _RANK = (f"{PREFIX}{n}" for n in ("order", "place", "cleared", "rank"))


def recorded(stream: Stream) -> tuple[str, ...]:
    """Expressions over what the format reads: the records of a stream with a key, and where each stands."""
    if stream.format == "kafka":
        beside = tuple(f"{KAFKA[n]} AS {quoted(n)}" for n, _ in stream.columns if n in KAFKA)
        return (
            f"CAST(value AS STRING) AS {quoted(VALUE)}", f"CAST(key AS STRING) AS {quoted(KEY)}", *beside,
            f"CAST(partition AS STRING) AS {quoted(WITHIN)}", f"timestamp AS {quoted(TIME)}",
            f"offset AS {quoted(POSITION)}",
        )  # fmt: skip
    if stream.format in UNORDERED:
        # sequence_by decides. Rows that are equal in it are taken as Spark read them.
        return (
            *(quoted(n) for n, _ in stream.columns), f"'' AS {quoted(WITHIN)}",
            f"CAST(NULL AS TIMESTAMP) AS {quoted(TIME)}", f"0L AS {quoted(POSITION)}",
        )  # fmt: skip
    read = (f"value AS {quoted(VALUE)}",) if stream.value_format else tuple(quoted(n) for n, _ in stream.columns)
    return (
        *read, f"_metadata.file_path AS {quoted(WITHIN)}", f"_metadata.file_modification_time AS {quoted(TIME)}",
        f"_metadata.file_block_start AS {quoted(POSITION)}",
    )  # fmt: skip


def last_of_each_key(stream: Stream, batch: str) -> str:
    """SELECT the stream's columns, PRESENT and ANEW: one row per key. batch: a relation with what `recorded` gives."""
    numbered = f"SELECT *, MONOTONICALLY_INCREASING_ID() AS {quoted(ROW)} FROM {batch}"
    key, order, place, cleared = listed(stream.key), quoted(_ORDER), quoted(_PLACE), quoted(_CLEARED)
    within, standing = quoted(WITHIN), f"{quoted(WITHIN)}, {quoted(POSITION)}, {quoted(ROW)}"
    several = f"MIN({within}) OVER (PARTITION BY {key}) <> MAX({within}) OVER (PARTITION BY {key})"
    ordered = (
        f"SELECT *, STRUCT(CASE WHEN {several} THEN {place} END, {standing}) AS {order} FROM (\n"
        f"{_events(stream, numbered)}\n)"
    )
    silent = " AND ".join(f"{quoted(c)} IS NULL" for c in stream.sequence_by)
    clearing = f"NOT {quoted(PRESENT)} AND {silent}" if silent else "FALSE"
    last = f"MAX(CASE WHEN {clearing} THEN {order} END) OVER (PARTITION BY {key})"
    known = f"SELECT *, {last} AS {cleared} FROM (\n{ordered}\n)"
    # Of one message that takes a key from one row and gives it to another, the row that has it now counts.
    ranked = ", ".join(f"{c} DESC" for c in (*sequence_of(stream.sequence_by), order, quoted(PRESENT)))
    return (
        f"SELECT {listed(n for n, _ in stream.columns)}, {quoted(PRESENT)}, {cleared} IS NOT NULL AS {quoted(ANEW)}\n"
        "FROM (\n"
        f"SELECT *, ROW_NUMBER() OVER (PARTITION BY {key} ORDER BY {ranked}) AS {quoted(_RANK)} FROM (\n{known}\n)\n"
        f"WHERE {cleared} IS NULL OR {order} >= {cleared}\n) WHERE {quoted(_RANK)} = 1"
    )


def kept_by_the_table(stream: Stream) -> str:
    """A condition on the table's row `t` and the batch's `s` under which the former is the later one; or nothing."""
    if not stream.sequence_by:
        return ""
    (theirs,), (ours,) = (sequence_of(stream.sequence_by, side) for side in ("s.", "t."))
    return f"NOT s.{quoted(ANEW)} AND {theirs} < {ours}"


def sequence_of(columns: Sequence[str], side: str = "") -> tuple[str, ...]:
    """The columns as one value that can be compared, NULL being before all else; nothing for none."""
    return (f"STRUCT({listed(columns, side)})",) if columns else ()


def _events(stream: Stream, records: str) -> str:
    """SELECT the stream's columns, PRESENT, where the record stands, and what is compared between partitions."""
    if stream.value_format is not None:
        return _changes(stream, records)
    if stream.format != "kafka":
        return f"SELECT *, TRUE AS {quoted(PRESENT)}, {quoted(TIME)} AS {quoted(_PLACE)} FROM (\n{records}\n)"
    value, there = parsed(stream, quoted(VALUE)), f"{quoted(VALUE)} IS NOT NULL"
    keys = _keys(stream)
    shown = []
    for name, _ in stream.columns:
        if name in KAFKA:
            shown.append(quoted(name))
        elif name in stream.key:
            shown.append(f"CASE WHEN {there} THEN {value}.{quoted(name)} ELSE {keys[name]} END AS {quoted(name)}")
        else:
            shown.append(f"{value}.{quoted(name)} AS {quoted(name)}")
    return (
        f"SELECT {', '.join(shown)}, {there} AS {quoted(PRESENT)}, "
        f"{listed(STANDING)}, {quoted(TIME)} AS {quoted(_PLACE)}\nFROM (\n{records}\n)"
    )


def _changes(stream: Stream, records: str) -> str:
    """The rows of a database's changes. Columns that the envelope has beside the row are there under its names."""
    assert stream.value_format is not None
    row = {n: t for n, t in stream.columns if n not in stream.about}
    envelope = Envelope(stream.value_format, VALUE, row, stream.place, f"stream {stream.table}")
    beside = [n for n, _ in stream.columns if stream.format == "kafka" and n in KAFKA]
    columns = tuple((n, "") for n in (VALUE, *beside, *STANDING))
    opened = unwrapped(f"SELECT {listed(n for n, _ in columns)} FROM (\n{records}\n)", columns, stream.key, envelope)
    place = f"STRUCT({listed((*DATES, *POSITIONS[stream.value_format], TIME))})"
    there = f"{quoted(OPERATION)} <> 'delete'"
    return f"SELECT *, {there} AS {quoted(PRESENT)}, {place} AS {quoted(_PLACE)} FROM (\n{opened}\n)"


def _keys(stream: Stream) -> dict[str, str]:
    """Column of the key -> its value in the key of a Kafka record: a field of a JSON object, also below `payload`
    beside its schema, or for one column the whole key as it is."""
    of, types = f"stream {stream.table}", dict(stream.columns)
    fields = ", ".join(f"{quoted(k)} STRING" for k in stream.key)
    inner = ", ".join(f"{quoted(k)}: STRING" for k in stream.key)
    schema = literal(f"{fields}, payload STRUCT<{inner}>")
    # Not read as JSON unless it looks like an object: a plain key may be any text.
    text, value = quoted(KEY), f"FROM_JSON({quoted(KEY)}, {schema}, MAP('mode', 'FAILFAST'))"
    told = literal(f"{of}: a record without a value deletes a row, and its key does not say which: ")
    missing = f"CAST(RAISE_ERROR(CONCAT({told}, COALESCE({text}, 'NULL'))) AS STRING)"
    found = {}
    for k in stream.key:
        named = f"COALESCE({value}.payload.{quoted(k)}, {value}.{quoted(k)})"
        plain = text if len(stream.key) == 1 else "NULL"
        said = f"CASE WHEN LTRIM({text}) LIKE '{{%' THEN {named} ELSE {plain} END"
        found[k] = value_of(k, f"COALESCE({said}, {missing})", types[k], of)
    return found
