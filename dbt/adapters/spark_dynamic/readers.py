"""Whose changes a project reads: the tables that other tables are maintained from, through views or not."""

from __future__ import annotations

from typing import Any

MAINTAINED = ("dynamic_table", "versioned_table", "temporal_join")
SEEN_THROUGH = ("view", "ephemeral")


def read_by_change(graph: dict[str, Any]) -> frozenset[str]:
    """The unique ids of the nodes and sources of which the change is read. graph: as Jinja has it."""
    nodes = graph.get("nodes", {})
    found: set[str] = set()
    read = [parent for node in nodes.values() if _kind(node) in MAINTAINED for parent in _parents(node)]
    while read:
        unique_id = read.pop()
        if unique_id not in found:
            found.add(unique_id)
            node = nodes.get(unique_id, {})
            read.extend(_parents(node) if _kind(node) in SEEN_THROUGH else ())
    return frozenset(found)


def _kind(node: dict[str, Any]) -> str:
    return (node.get("config") or {}).get("materialized") or ""


def _parents(node: dict[str, Any]) -> list[str]:
    return (node.get("depends_on") or {}).get("nodes") or []
