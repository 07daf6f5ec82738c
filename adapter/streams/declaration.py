"""`meta: {stream: …}` of a source in sources.yml: where the rows come from, what they look like, and their key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from ..errors import ConfigError
from ..sparksql.envelopes import DATES, POSITIONS, Format
from ..sparksql.statements import defined, literal, quoted

FILES = ("json", "csv", "parquet", "orc", "text", "avro")
UNORDERED = ("rate", "delta")
"""Formats whose rows stand nowhere: of two of one batch, none is before the other."""
FORMATS = ("kafka", *FILES, *UNORDERED)

KAFKA_PREFIX = "kafka_"
KAFKA = {
    "kafka_key": "CAST(key AS STRING)",
    "kafka_topic": "topic",
    "kafka_partition": "partition",
    "kafka_offset": "offset",
    "kafka_timestamp": "timestamp",
}
"""Columns that a record of Kafka has beside those of its value: taken where they are declared."""

CHANGE_FEED = ("readchangefeed", "readchangedata")
"""Options under which a Delta table is read as its changes."""

CORRUPT = "_corrupt_record"
KEYS = ("format", "options", "value_options", "value_format", "key", "sequence_by")

PLAIN = "json"
VALUE_FORMATS = (PLAIN, *(f.value for f in Format))


@dataclass(frozen=True)
class Stream:
    """source: unique id in dbt; table: complete name of the table that it lands in; columns: (name, type) as declared;
    options: of the format; value_options: of from_json, for the value of a Kafka record; value_format: how the changes
    of a database are said in it, None if records are rows; key: columns by which a record takes the place of the one
    before, () if all are kept; sequence_by: columns that say which of two is the later; place: the file."""

    source: str
    table: str
    format: str
    columns: tuple[tuple[str, str], ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    value_options: Mapping[str, str] = field(default_factory=dict)
    value_format: Format | None = None
    key: tuple[str, ...] = ()
    sequence_by: tuple[str, ...] = ()
    place: str = ""

    @property
    def schema(self) -> str | None:
        """For formats that have to be told what they read."""
        if self.format not in FILES:
            return None
        return "value STRING" if self.value_format is not None else defined(self.columns)

    @property
    def projection(self) -> tuple[str, ...]:
        """Expressions over what the format reads that give the columns of a table that records are appended to; empty
        for all of them."""
        if self.format != "kafka":
            return ()
        value = parsed(self, "CAST(value AS STRING)")
        return tuple(
            f"{KAFKA[n]} AS {quoted(n)}" if n in KAFKA else f"{value}.{quoted(n)} AS {quoted(n)}"
            for n, _ in self.columns
        )

    @property
    def about(self) -> tuple[str, ...]:
        """Columns that a record has beside those of its row: taken where they are declared."""
        of_kafka = tuple(KAFKA) if self.format == "kafka" else ()
        return of_kafka if self.value_format is None else (*of_kafka, *DATES, *POSITIONS[self.value_format])


def parsed(stream: Stream, text: str) -> str:
    """The value of a Kafka record as a struct. text: an expression.

    What is no JSON stops the stream, unless there is a column for it or it is said what to do."""
    kept = any(n == CORRUPT for n, _ in stream.columns)
    mode = {"columnNameOfCorruptRecord": CORRUPT, "mode": "PERMISSIVE"} if kept else {"mode": "FAILFAST"}
    fields = tuple((n, t) for n, t in stream.columns if n not in KAFKA)
    return f"FROM_JSON({text}, {literal(defined(fields))}, {_map({**mode, **stream.value_options})})"


def stream_of(
    source: str, table: str, meta: Mapping[str, Any], columns: Mapping[str, Any], place: str
) -> Stream | None:
    """The stream that a source is declared to be, None if it is a table. Raises ConfigError.

    meta: of the source; columns: name -> its entry in sources.yml; place: the file."""
    said = meta.get("stream")
    if said is None:
        return None
    if not isinstance(said, Mapping) or "format" not in said:
        remedy = f"say meta: {{stream: {{format: …}}}} with one of {', '.join(FORMATS)}"
        raise ConfigError(f"the stream of {table} has no format.", where=place, remedy=remedy)
    _check_keys(said, table, place)
    form = str(said["format"])
    if form not in FORMATS:
        raise ConfigError(f"'{form}' is no format of a stream.", where=place, remedy=f"use one of {', '.join(FORMATS)}")
    declared = tuple((n, str(c.get("data_type"))) for n, c in columns.items() if c.get("data_type"))
    stream = Stream(
        source, table, form, declared, _texts(said.get("options")), _texts(said.get("value_options")),
        _value_format(said, form, place), _columns(said, "key", declared, place),
        _columns(said, "sequence_by", declared, place), place,
    )  # fmt: skip
    _check(stream, place)
    _check_by_key(stream, place)
    return stream


def _check_keys(said: Mapping[str, Any], table: str, place: str) -> None:
    for key in said:
        if key not in KEYS:
            near = get_close_matches(key, KEYS, 1)
            remedy = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(KEYS)}"
            raise ConfigError(f"the stream of {table} has an unknown key {key}.", where=place, remedy=remedy)


def _value_format(said: Mapping[str, Any], form: str, place: str) -> Format | None:
    """None for records that are rows."""
    name = said.get("value_format")
    if name is None:
        return None
    if str(name) not in VALUE_FORMATS:
        remedy = f"use one of {', '.join(VALUE_FORMATS)}"
        raise ConfigError(f"value_format: '{name}' is not one that can be read.", where=place, remedy=remedy)
    if form != "kafka" and (form != "text" or name == PLAIN):
        raise ConfigError(
            f"value_format: '{name}' means nothing for format: {form}.",
            where=place,
            why="it says what is in the value of a Kafka record, or in a line of text",
            remedy="set format to json" if name == PLAIN else "set format to kafka, or to text for files of messages",
        )
    return None if name == PLAIN else Format(name)


def _columns(
    said: Mapping[str, Any], option: str, declared: tuple[tuple[str, str], ...], place: str
) -> tuple[str, ...]:
    """The columns that an option names, as they are declared. Raises ConfigError."""
    value = said.get(option) or ()
    by_lower, found = {n.lower(): n for n, _ in declared}, []
    for name in (value,) if isinstance(value, str) else value:
        if str(name).lower() not in by_lower:
            raise ConfigError(
                f"{option} names {name}, which is not a column of the stream.",
                where=place,
                why=f"columns with a data_type: {', '.join(by_lower.values()) or 'none'}",
                remedy="list it among the source's columns with its data_type",
            )
        found.append(by_lower[str(name).lower()])
    return tuple(found)


def _check(stream: Stream, place: str) -> None:
    needs = stream.format in FILES or stream.format == "kafka"
    if needs and not any(n not in stream.about for n, _ in stream.columns):
        raise ConfigError(
            f"the stream {stream.table} does not say what its rows are.",
            where=place,
            why=f"{stream.format} has no schema of its own that could be relied on",
            remedy="list the source's columns, each with its data_type",
        )
    if stream.value_options and stream.format != "kafka":
        raise ConfigError(
            f"value_options means nothing for {stream.format}.", where=place, remedy="give them as options"
        )


def _check_by_key(stream: Stream, place: str) -> None:
    """What only means something, or nothing, where a record takes the place of another one."""
    form = stream.value_format.value if stream.value_format is not None else ""
    if form and not stream.key:
        raise ConfigError(
            f"value_format: {form} needs key: the columns that identify a row of the replicated table.",
            where=place,
            why="its messages say which rows were written, changed and deleted; appended one after the other they "
            "would be no table",
            remedy="set key to the primary key of the table in the database; or, to keep the messages as they are, "
            "leave value_format out and list the columns before, after and op",
        )
    if form and stream.value_options:
        raise ConfigError(
            f"value_options means nothing for value_format: {form}.",
            where=place,
            why="values of a message are taken apart as text, and become what data_type says",
            remedy="leave value_options out",
        )
    if stream.sequence_by and not stream.key:
        raise ConfigError(
            "sequence_by needs key.",
            where=place,
            why="it says which of two records of one key is the later; without a key all records are kept",
            remedy="set key, or leave sequence_by out",
        )
    if not stream.key:
        return
    follow = "follow the changes of the table itself: declare it as a source without stream"
    if stream.format in UNORDERED and not stream.sequence_by:
        beside = f"; or {follow}" if stream.format == "delta" else ""
        raise ConfigError(
            f"key needs sequence_by for format: {stream.format}.",
            where=place,
            why="its rows come in no order, so that none is the last of its key by itself",
            remedy=f"set sequence_by to the columns that say which of two rows is the later{beside}",
        )
    if any(n.lower() in CHANGE_FEED and v.lower() == "true" for n, v in stream.options.items()):
        raise ConfigError(
            "key and the option readChangeFeed exclude each other.",
            where=place,
            why="rows of a change feed are what a row was, is and is no more, not records that say what it is",
            remedy=follow,
        )
    if any(n == CORRUPT for n, _ in stream.columns):
        raise ConfigError(
            f"key and the column {CORRUPT} exclude each other.",
            where=place,
            why="what cannot be read has no key to be kept by",
            remedy=f"leave {CORRUPT} out: what cannot be read then stops the stream; or leave key out",
        )
    if beside := [k for k in stream.key if k in stream.about and k != "kafka_key"]:
        raise ConfigError(
            f"{beside[0]} cannot be a key.", where=place, why="it is another one in every record",
            remedy="name columns of the row",
        )  # fmt: skip


def _texts(options: Mapping[str, Any] | None) -> dict[str, str]:
    return {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in (options or {}).items()}


def _map(options: Mapping[str, str]) -> str:
    return f"MAP({', '.join(f'{literal(k)}, {literal(v)}' for k, v in options.items())})"
