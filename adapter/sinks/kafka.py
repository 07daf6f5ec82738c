"""A Kafka topic of messages: at least once. What is written again after a process died is equal, headers and all.

A delivery is recorded before its first message and after its last, in a Delta table beside the model's. So one that was
cut off is written again over the same versions of the table: a message that comes twice has the key, the `version` and
the `sequence` of the first time, by which a consumer can drop it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..commit.engine import Engine
from ..commit.spec import ChangelogMode
from ..errors import ConflictError
from ..names import FLAG, PREFIX, SINK_SUFFIX, beside
from ..sparksql.statements import create_empty, insert, listed, quoted
from .declaration import Sink
from .delivery import Messages
from .record import Delivery, newest

RECORDED = (("version", "bigint"), ("delivered", "boolean"))
KEY, VALUE, SEQUENCE, ADDS = (quoted(f"{PREFIX}{n}") for n in ("record_key", "value", "sequence", "adds"))


@dataclass(frozen=True)
class KafkaSink:
    """session: a Spark session in this process, started with Kafka's package; target: the model's table."""

    session: Any
    engine: Engine
    sink: Sink
    target: str

    @property
    def record(self) -> str:
        """The table beside the model's that remembers what was delivered. No rebuild of the model's touches it."""
        return beside(self.target, SINK_SUFFIX)

    def last(self) -> Delivery | None:
        found = self.engine.table(self.record)
        return newest(self.engine, found, over=True) if found is not None else None

    def begun(self) -> Delivery | None:
        found = self.engine.table(self.record)
        delivery = newest(self.engine, found) if found is not None else None
        return delivery if delivery is not None and not delivery.over else None

    def write(self, messages: Messages, delivery: Delivery) -> None:
        self.engine.write(create_empty(self.record, RECORDED, ""), {})
        self._note(replace(delivery, over=False))
        begun = self.begun()
        if begun is None or begun.version != delivery.version:
            raise ConflictError(
                f"another run delivers to {self.sink.name} at the same time, and this one delivered nothing.",
                where=self.sink.where,
                remedy="run again: it goes on from what the other run delivered",
            )
        rows = self.session.sql(records(messages, delivery.version))
        rows.write.format("kafka").options(**self.sink.options).option("topic", self.sink.place).save()
        self._note(replace(delivery, over=True))

    def _note(self, delivery: Delivery) -> None:
        row = f"(SELECT CAST({delivery.version} AS BIGINT) AS version, {str(delivery.over).upper()} AS delivered)"
        self.engine.write(insert(self.record, row, [n for n, _ in RECORDED]), delivery.settings())


def records(messages: Messages, version: int) -> str:
    """SELECT key, value, headers: JSON of the key's columns, else of a row that is taken back or may be, else nothing;
    JSON of the message, in an upsert of the row, NULL if the key has none any more; and the headers `version`, of the
    table, and `sequence`, from 1, of the messages of one key and version, what is taken back before what is added."""
    names = tuple(n for n, _ in messages.columns)
    retracts, upserts = messages.mode is ChangelogMode.RETRACT, messages.mode is ChangelogMode.UPSERT
    key = _json(messages.key) if messages.key else _json(names) if retracts else "CAST(NULL AS STRING)"
    value = _json((FLAG, *names) if retracts else names)
    adds = quoted(FLAG) if retracts or upserts else "TRUE"
    if upserts:
        value = f"CASE WHEN {adds} THEN {value} END"
    told = f"SELECT {key} AS {KEY}, {value} AS {VALUE}, {adds} AS {ADDS} FROM (\n{messages.sql}\n)"
    group = f"COALESCE({KEY}, {VALUE})"
    numbered = (
        f"SELECT *, ROW_NUMBER() OVER (PARTITION BY {group} ORDER BY {ADDS}, {VALUE}) AS {SEQUENCE} FROM (\n{told}\n)"
    )
    headers = ", ".join(
        f"STRUCT('{name}' AS key, CAST(CAST({found} AS STRING) AS BINARY) AS value)"
        for name, found in (("version", str(version)), ("sequence", SEQUENCE))
    )
    # One task writes all messages of a key, in this order.
    return (
        f"SELECT {KEY} AS key, {VALUE} AS value, ARRAY({headers}) AS headers FROM (\n"
        f"SELECT * FROM (\n{numbered}\n) DISTRIBUTE BY {group} SORT BY {group}, {SEQUENCE}\n)"
    )


def _json(names: tuple[str, ...]) -> str:
    return f"TO_JSON(STRUCT({listed(names)}), MAP('ignoreNullFields', 'false'))"
