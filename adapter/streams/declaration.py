"""`meta: {stream: …}` of a source in sources.yml: where the rows come from and what they look like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from ..errors import ConfigError
from ..sparksql.statements import literal, quoted

FILES = ("json", "csv", "parquet", "orc", "text", "avro")
FORMATS = ("kafka", *FILES, "rate", "delta")

KAFKA_PREFIX = "kafka_"
KAFKA = {
    "kafka_key": "CAST(key AS STRING)",
    "kafka_topic": "topic",
    "kafka_partition": "partition",
    "kafka_offset": "offset",
    "kafka_timestamp": "timestamp",
}
"""Columns that a record of Kafka has beside those of its value: taken where they are declared."""

CORRUPT = "_corrupt_record"
KEYS = ("format", "options", "value_options")


@dataclass(frozen=True)
class Stream:
    """source: unique id in dbt; table: complete name of the table that it lands in; columns: (name, type) as declared;
    options: of the format; value_options: of from_json, for the value of a Kafka record."""

    source: str
    table: str
    format: str
    columns: tuple[tuple[str, str], ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    value_options: Mapping[str, str] = field(default_factory=dict)

    @property
    def schema(self) -> str | None:
        """For formats that have to be told what they read."""
        return _ddl(self.columns) if self.format in FILES else None

    @property
    def projection(self) -> tuple[str, ...]:
        """Expressions over what the format reads that give the table's columns; empty for all of them."""
        if self.format != "kafka":
            return ()
        value = tuple((n, t) for n, t in self.columns if n not in KAFKA)
        parsed = f"FROM_JSON(CAST(value AS STRING), {literal(_ddl(value))}, {_map(self._json_options())})"
        return tuple(
            f"{KAFKA[n]} AS {quoted(n)}" if n in KAFKA else f"{parsed}.{quoted(n)} AS {quoted(n)}"
            for n, _ in self.columns
        )

    def _json_options(self) -> dict[str, str]:
        """What is no JSON stops the stream, unless there is a column for it or it is said what to do."""
        kept = any(n == CORRUPT for n, _ in self.columns)
        mode = {"columnNameOfCorruptRecord": CORRUPT, "mode": "PERMISSIVE"} if kept else {"mode": "FAILFAST"}
        return {**mode, **self.value_options}


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
        source, table, form, declared, _texts(said.get("options")), _texts(said.get("value_options"))
    )  # fmt: skip
    _check(stream, place)
    return stream


def _check_keys(said: Mapping[str, Any], table: str, place: str) -> None:
    for key in said:
        if key not in KEYS:
            near = get_close_matches(key, KEYS, 1)
            remedy = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(KEYS)}"
            raise ConfigError(f"the stream of {table} has an unknown key {key}.", where=place, remedy=remedy)


def _check(stream: Stream, place: str) -> None:
    needs = stream.format in FILES or stream.format == "kafka"
    if needs and not any(n not in KAFKA for n, _ in stream.columns):
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


def _texts(options: Mapping[str, Any] | None) -> dict[str, str]:
    return {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in (options or {}).items()}


def _ddl(columns: tuple[tuple[str, str], ...]) -> str:
    return ", ".join(f"{quoted(n)} {t}" for n, t in columns)


def _map(options: Mapping[str, str]) -> str:
    return f"MAP({', '.join(f'{literal(k)}, {literal(v)}' for k, v in options.items())})"
