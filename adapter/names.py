"""Every name this project reserves in a user's tables, sessions and logs, each with its reason."""

from __future__ import annotations

from collections.abc import Collection
from itertools import count

PREFIX = "__dynamic_"

WEIGHT = f"{PREFIX}weight"
"""Signed multiplicity of a row in a change: +n rows came, -n rows left."""

OLDER = f"{PREFIX}older"
"""Signed multiplicity of a row of an older state, made of the newer one and what is taken back from it."""

PRESENT = f"{PREFIX}present"
"""In an upsert: true where the key has a row now, false where it has none any more."""

REPLACES = f"{PREFIX}replaces"
"""In an upsert by a key that is only expected: whether the table must have a row of the key, or must have none."""

NOT_UNIQUE = f"{PREFIX}not_unique"
"""What such an upsert fails with where it is otherwise."""

FALLEN = f"{PREFIX}fallen"
"""What a MERGE that adds to the table's rows fails with where a group has to be computed again."""

OP = f"{PREFIX}op"
"""In a retraction: 'D' removes every copy of a row, 'I' adds one copy."""

COPIES = f"{PREFIX}copies"
"""How many copies of a row the target holds before it is retracted."""

CHANGELOG_SUFFIX = "__changelog"
"""Ends the name of the table beside a versioned table in which the events are kept that nothing else keeps."""

SINK_SUFFIX = "__sink"
"""Ends the name of the table beside a dynamic table that remembers what was delivered to a sink that cannot."""

STATE_SUFFIX = "__state"
"""Ends the name of the table beside a dynamic table in which groups are kept that it is made of."""

OPERATION, OPERATION_TIME = "dbt_operation", "dbt_operation_time"
"""Columns that a changelog of events gets from here: what an event did, and when."""

FLAG = "_flag"
"""In a changelog: true adds a row, false takes it back."""

COMMIT_VERSION, COMMIT_TIMESTAMP = "_commit_version", "_commit_timestamp"
"""Delta's own columns of a change feed, kept in a changelog."""

MESSAGE_VERSION = "_version"
"""In a message of a sink: the version of the table that it leads to. Delta keeps `_commit_version` to itself."""

LEDGER = "dbt_spark_dynamic"
"""The key of our entry in a Delta commit's userMetadata."""

DELIVERY = "dbt_spark_dynamic_delivery"
"""The key, in a Delta commit's userMetadata, of what a sink was given by it."""

LEDGER_FORMAT = 1
"""Raised when the ledger's fields change their meaning; a table with another format is rebuilt."""


WRITER = "dbt_spark_dynamic_writer"
"""The key, in a Delta commit's userMetadata, of the kind of dbt model that made it: `incremental`."""


def is_reserved(column: str) -> bool:
    """True if a user's column would collide with one of ours."""
    return column.lower().startswith(PREFIX)


def beside(table: str, suffix: str) -> str:
    """The name of a table that belongs to another one. table: quoted where it must be."""
    return f"{table[:-1]}{suffix}`" if table.endswith("`") else table + suffix


def aside(table: str) -> str:
    """The name under which a table is built that takes the place of another one."""
    return beside(table, "__dbt_tmp")


def free_name(name: str, taken: Collection[str]) -> str:
    """The name, or the name with the first number that makes it free. taken: lower-case names."""
    if name.lower() not in taken:
        return name
    return next(f"{name}_{n}" for n in count(2) if f"{name}_{n}".lower() not in taken)
