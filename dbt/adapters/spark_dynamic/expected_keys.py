"""Which columns a project expects to be unique in its tables and views: by its tests, constraints and keys.

It is taken at its word only as far as that can be verified while a table is refreshed (`commit/apply.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

UNIQUE = {
    "unique": "column_name",
    "unique_combination_of_columns": "combination_of_columns",
    "expect_compound_columns_to_be_unique": "column_list",
    "primary_key": "column_names",
    "unique_key": "column_names",
}
"""Tests that columns are unique, of dbt, dbt_utils, dbt_expectations and dbt_constraints, and which of their arguments
names the columns where `column_name` does not."""

CONSTRAINTS = ("primary_key", "unique")

MERGED = ("incremental", "dynamic_table")
"""Materializations of which `unique_key` is a key of the table's rows."""

Key = tuple[str, ...]


def expected_keys(graph: dict[str, Any]) -> dict[str, Key]:
    """By the name of its relation, the key that is expected of a model, seed, snapshot or source: of several, the first
    one of fewest columns, those that are declared before those that are tested. graph: as Jinja has it."""
    nodes = {**graph.get("nodes", {}), **graph.get("sources", {})}
    found: dict[str, list[Key]] = {}
    for unique_id, node in nodes.items():
        if node.get("resource_type") == "test":
            tested, key = _tested(node)
            if key:
                found.setdefault(tested, []).append(key)
        elif keys := list(_declared(node)):
            # What is declared comes before what is tested.
            found[unique_id] = [min(keys, key=len), *found.get(unique_id, ())]
    named = {nodes[u]["relation_name"]: keys for u, keys in found.items() if nodes.get(u, {}).get("relation_name")}
    return {name: min(keys, key=len) for name, keys in named.items()}


def _tested(test: dict[str, Any]) -> tuple[str, Key]:
    """What is tested, and the columns that are to be unique in it; () if it is another test, or one of some rows."""
    metadata = test.get("test_metadata") or {}
    arguments = metadata.get("kwargs") or {}
    named = UNIQUE.get(metadata.get("name") or "")
    read = (test.get("depends_on") or {}).get("nodes") or []
    tested = test.get("attached_node") or (read[0] if len(read) == 1 else "")
    if named is None or (test.get("config") or {}).get("where"):
        return tested, ()
    return tested, _key(arguments.get(named) or arguments.get("column_name"))


def _declared(node: dict[str, Any]) -> Iterator[Key]:
    config = node.get("config") or {}
    meta = {**(node.get("meta") or {}), **(config.get("meta") or {})}
    if config.get("materialized") in MERGED:
        yield from filter(None, [_key(config.get("unique_key"))])
    elif node.get("resource_type") == "source" and not (config.get("event_time") or meta.get("event_time")):
        # With a time, it is the key of which the rows are versions.
        yield from filter(None, [_key(meta.get("unique_key"))])
    for constraint in node.get("constraints") or ():
        if _kind(constraint) in CONSTRAINTS and (key := _key(constraint.get("columns"))):
            yield key
    for name, column in (node.get("columns") or {}).items():
        if any(_kind(c) in CONSTRAINTS for c in column.get("constraints") or ()):
            yield (name,)


def _kind(constraint: dict[str, Any]) -> str:
    kind = constraint.get("type")
    return str(getattr(kind, "value", kind))


def _key(said: Any) -> Key:
    columns = [said] if isinstance(said, str) else said or ()
    return tuple(str(c).strip('`"') for c in columns)
