"""A history that is there already, a dbt snapshot's, as events that a versioned table goes on from."""

from __future__ import annotations

from dataclasses import dataclass

from ..commit.engine import Table
from ..dialect import print_sql
from ..errors import ConfigError
from ..reading.relations import Columns, Kind
from ..sparksql.reads import at_version, table
from ..sparksql.statements import quoted
from .options import History


@dataclass(frozen=True)
class Adopted:
    """Queries. events: what happened, in the columns of the journal; current: the rows that no event has ended."""

    events: str
    current: str


def adopted(snapshot: Table | None, name: str, columns: Columns, asked: History) -> Adopted:
    """columns: of the journal. Each version is an event when it began; one that ended is an event then, too, which
    does not count where the next version of its key begins at that time. Raises ConfigError."""
    valid_from, valid_to, deleted = (asked.names[n] for n in ("dbt_valid_from", "dbt_valid_to", "dbt_is_deleted"))
    known = {n.lower(): n for n, _ in snapshot.columns} if snapshot is not None else {}
    needed = [valid_from, valid_to, *asked.key]
    if snapshot is None or any(n.lower() not in known for n in needed):
        raise ConfigError(
            f"history_from names {name}, which is no history of this key.",
            where=asked.place,
            why=f"it needs the columns {', '.join(needed)}, and "
            + (f"has {', '.join(known.values())}" if known else "there is no such table"),
            remedy="name a dbt snapshot or another table with a validity interval (snapshot_meta_column_names says "
            "how its columns are called)",
        )
    # As it is now: it may be the very table that the history is going to be written into.
    at = at_version(snapshot.name, snapshot.version) if snapshot.kind is Kind.DELTA else table(snapshot.name)
    source = print_sql(at)
    written = f"NOT {quoted(deleted)} <=> 'True'" if deleted.lower() in known else "TRUE"
    current = f"{quoted(valid_to)} IS NULL"
    if asked.valid_to_current is not None:
        current = f"({current} OR {quoted(valid_to)} = {asked.valid_to_current})"

    def event(operation: str, when: str) -> str:
        of = {asked.operation: f"'{operation}'", asked.operation_time: quoted(when), asked.time: quoted(when)}
        shown = (
            f"CAST({of.get(n) or (quoted(known[n.lower()]) if n.lower() in known else 'NULL')} AS {t}) AS {quoted(n)}"
            for n, t in columns
        )
        return f"SELECT {', '.join(shown)} FROM {source} WHERE {written}"

    begun = event("upsert", valid_from)
    return Adopted(f"{begun}\nUNION ALL\n{event('delete', valid_to)} AND NOT {current}", f"{begun} AND {current}")
