"""`DESCRIBE TABLE EXTENDED` as a Table: the same answer on every way to reach Spark."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ..reading.relations import Kind, View
from .engine import Engine, SqlError, Table, under

SPARK_CATALOG = "spark_catalog"

MOST_FIELDS = "spark.sql.debug.maxToStringFields"

CUT_SHORT = re.compile(r"\.\.\. \d+ more fields")


class DeltaState(NamedTuple):
    """id: of the table; size: bytes of its data files; rows: in these, None where nothing says it."""

    id: str
    version: int
    properties: dict[str, str]
    size: int
    rows: int | None = None


def in_full(engine: Engine, statement: str) -> list[tuple[Any, ...]]:
    """The rows of a DESCRIBE, in which Spark cuts a struct of more than 25 fields short unless it is told not to."""
    rows = engine.rows(statement)
    if not any(CUT_SHORT.search(row[1] or "") for row in rows):
        return rows
    with under(engine, {MOST_FIELDS: str(2**31 - 1)}):
        return engine.rows(statement)


def look_up(name: str, engine: Engine, delta: Callable[[str], DeltaState]) -> Table | None:
    """The relation of that name, None if there is none.

    delta: the state of the Delta table at a path. Raises SqlError."""
    try:
        rows = in_full(engine, f"DESCRIBE TABLE EXTENDED {name}")
    except SqlError as error:
        if error.is_missing:
            return None
        raise
    return described(name, rows, delta)


def described(name: str, rows: list[tuple[Any, ...]], delta: Callable[[str], DeltaState]) -> Table:
    """rows: (col_name, data_type, comment) as Spark gives them: columns first, then the sections of its description."""
    columns: list[tuple[str, str]] = []
    partitions: list[str] = []
    detail: dict[str, str] = {}
    section = "columns"
    for key, value, *_ in rows:
        if key == "# col_name":
            continue
        if key.startswith("#") or not key:
            section = key or "between"
        elif section == "columns":
            columns.append((key, value))
        elif section == "# Partition Information":
            partitions.append(key)
        else:
            detail.setdefault(key, value)
    complete = complete_name(detail.get("Catalog"), detail.get("Database"), detail.get("Table")) or name
    if detail.get("Type") in ("VIEW", "METRIC_VIEW"):
        view = View(
            detail.get("View Text", ""),
            _parts(detail.get("View Catalog and Namespace", "")),
            tuple(_listed(detail.get("View Query Output Columns", ""))),
        )
        return Table(complete, Kind.VIEW, tuple(columns), view=view, provider="view")
    if detail.get("Provider", "").lower() != "delta":
        return Table(complete, Kind.OTHER, tuple(columns), provider=detail.get("Provider", "unknown format"))
    path, clustered_by = detail["Location"], _shown_clustering(detail.get("Table Properties", ""))
    now = delta(path)
    return Table(
        complete, Kind.DELTA, tuple(columns), now.id, now.version, path, now.properties, provider="delta",
        size=now.size, rows=now.rows, partitioned_by=tuple(partitions), clustered_by=clustered_by,
    )  # fmt: skip


def _shown_clustering(properties: str) -> tuple[str, ...] | None:
    """Delta shows the columns of liquid clustering among the properties."""
    found = re.search(r"clusteringColumns=(\[(?:\[[^]]*\],?)*\])", properties)
    return clustering(found.group(1)) if found else None


def clustering(written: str) -> tuple[str, ...]:
    """The columns of liquid clustering, which Delta writes as a list of the paths of fields."""
    return tuple(".".join(path) for path in json.loads(written))


def complete_name(catalog: str | None, *parts: str | None) -> str:
    """What a relation is called here: as it is written in SQL, in Spark's own catalog without the catalog."""
    named = parts if catalog == SPARK_CATALOG else (catalog, *parts)
    return ".".join(_identifier(p) for p in named if p)


def _identifier(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z_0-9]*", name) else "`" + name.replace("`", "``") + "`"


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(p.replace("``", "`").strip("`") for p in re.findall(r"`(?:[^`]|``)*`|[^.]+", dotted))


def _listed(text: str) -> list[str]:
    return [p.replace("``", "`")[1:-1] for p in re.findall(r"`(?:[^`]|``)*`", text)]
