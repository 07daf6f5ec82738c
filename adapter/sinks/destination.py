"""A refresh with the delivery that follows it, to the destination that the sink has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ..commit.engine import Engine
from ..commit.outcome import Outcome
from ..errors import ConfigError
from .declaration import Sink
from .delivery import Destination, deliver
from .delta import DeltaSink
from .files import FileSink
from .kafka import KafkaSink


def delivering(
    refreshing: Callable[[Engine, Mapping[str, int]], Outcome],
    sink: Sink,
    target: str,
    key: Sequence[str],
    engine: Engine,
    versions: Mapping[str, int],
) -> Outcome:
    """Refreshes the table, and delivers what the sink does not have yet. key: as the model declares it, () if it does
    not. Raises DynamicTableError; a delivery that failed leaves the refresh as it is, and is made by the next run."""
    # Before anything is written: whether it can be reached at all.
    to = destination_of(sink, engine, target)
    outcome = refreshing(engine, versions)
    return replace(outcome, delivered=deliver(engine, sink, to, target, key))


def destination_of(sink: Sink, engine: Engine, target: str) -> Destination:
    """target: the model's table. Raises ConfigError where it cannot be reached on the connection."""
    if sink.format == "delta":
        return DeltaSink(engine, sink)
    session = getattr(engine, "session", None)
    if session is None:
        raise ConfigError(
            f"a sink in {sink.format} format can be written only by a Spark session in this process.",
            where=sink.where,
            why="over thrift, http, odbc and Spark Connect there is only SQL, and SQL writes no such thing",
            remedy="use `method: session`, or a sink in delta format, which every connection can write",
        )
    if sink.format == "kafka":
        return KafkaSink(session, engine, sink, target)
    return FileSink(session, sink)
