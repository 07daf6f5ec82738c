"""Where a table is not laid out as its configuration says, and what brings it there.

Only what is configured is compared: a property that Delta, a platform or a hand has set is nobody's drift. What the
contract has asked for before is remembered in a property of the table, so that it can be dropped again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ..sparksql.statements import literal, quoted
from .engine import Table
from .spec import Spec

CHANGE_FEED = "delta.enableChangeDataFeed"

CONSTRAINT = "delta.constraints."
"""Delta keeps a CHECK constraint as a property: this and its name in lower case."""

PROTOCOL = re.compile(r"delta\.(min(Reader|Writer)Version$|feature\.)", re.IGNORECASE)
"""What a table's protocol has, which Delta raises by itself and shows elsewhere than among the properties."""

CONTRACT_PROPERTY = "dbt_spark_dynamic.constraints"
"""The names of the constraints that came from the model's contract."""


@dataclass(frozen=True)
class Drift:
    """One difference. what: for the user; statements: ALTERs that end it, none if only a rebuild does; moves: whether
    even a rebuild in place cannot, because Delta keeps a table where, or clustered as, it once was."""

    what: str
    statements: tuple[str, ...] = ()
    moves: bool = False


def drift(spec: Spec, table: Table) -> list[Drift]:
    """All differences between a dynamic table and its configuration."""
    found = [*_properties(spec, table), *_constraints(spec, table)]
    if spec.cluster_by and _lower(spec.cluster_by) != _lower(table.clustered_by or ()):
        alter = f"ALTER TABLE {spec.target} CLUSTER BY ({', '.join(spec.cluster_by)})"
        what = f"liquid_clustered_by: {_named(table.clustered_by or ())} → {_named(spec.cluster_by)}"
        found.append(Drift(what, () if table.partitioned_by else (alter,)))
    if spec.partition_by and _lower(spec.partition_by) != _lower(table.partitioned_by):
        what = f"partition_by: {_named(table.partitioned_by)} → {_named(spec.partition_by)}"
        found.append(Drift(what, moves=table.clustered_by is not None))
    if spec.location and not same_location(spec.location, table.path):
        found.append(Drift(f"location_root: the table is at {table.path} → {spec.location}", moves=True))
    return found


def created_with(spec: Spec) -> dict[str, str]:
    """The properties of a new table that come from its configuration."""
    known = {CONTRACT_PROPERTY: "\n".join(spec.constraints)} if spec.constraints else {}
    return {**spec.properties, **checked_by(spec.constraints), **known}


def checked_by(constraints: Mapping[str, str]) -> dict[str, str]:
    """Constraints as properties of a new table: the commit that fills it is the first one that Delta checks."""
    return {f"{CONSTRAINT}{name}": condition for name, condition in constraints.items()}


def same_location(configured: str, actual: str) -> bool:
    """Paths as they are configured may lack the scheme of the file system that Spark puts before them."""
    scheme = r"^[A-Za-z][A-Za-z0-9+.-]*:"
    if not re.match(scheme, configured):
        actual = re.sub(scheme, "", actual)
    return _slashes(configured) == _slashes(actual)


def _properties(spec: Spec, table: Table) -> Iterator[Drift]:
    there = {_spelled(k): v for k, v in (table.properties or {}).items()}
    # In one order, whatever order dbt's parser read them in.
    for name, value in sorted(spec.properties.items()):
        held = there.get(_spelled(name))
        if PROTOCOL.match(name) or held == value or (held is not None and held.lower() == value.lower()):
            continue
        alter = f"ALTER TABLE {spec.target} SET TBLPROPERTIES ({literal(name)} = {literal(value)})"
        yield Drift(f"tblproperties {name}: {'not set' if held is None else held} → {value}", (alter,))


def _spelled(name: str) -> str:
    """Delta reads the names of its own properties in any case, and keeps them in one."""
    return name.lower() if name.lower().startswith("delta.") else name


def _constraints(spec: Spec, table: Table) -> Iterator[Drift]:
    there = table.properties or {}
    remembered = [n for n in there.get(CONTRACT_PROPERTY, "").split("\n") if n]
    statements = []
    for name in dict.fromkeys((*remembered, *spec.constraints)):
        held, wanted = there.get(CONSTRAINT + name), spec.constraints.get(name)
        if held is not None and _blank(held) != _blank(wanted or ""):
            statements.append(f"ALTER TABLE {spec.target} DROP CONSTRAINT {quoted(name)}")
            held = None
        if held is None and wanted is not None:
            statements.append(f"ALTER TABLE {spec.target} ADD CONSTRAINT {quoted(name)} CHECK ({wanted})")
    if statements or sorted(remembered) != sorted(spec.constraints):
        names = literal("\n".join(spec.constraints))
        statements.append(f"ALTER TABLE {spec.target} SET TBLPROPERTIES ({literal(CONTRACT_PROPERTY)} = {names})")
        yield Drift(f"constraints: {_named(remembered)} → {_named(spec.constraints)}", tuple(statements))


def _named(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _lower(names: tuple[str, ...]) -> list[str]:
    return [n.strip("` ").lower() for n in names]


def _blank(text: str) -> str:
    return " ".join(text.split())


def _slashes(path: str) -> str:
    return re.sub(r"/+", "/", path).rstrip("/")
