"""Which tables of a project others are maintained from."""

from __future__ import annotations

from typing import Any

from dbt.adapters.spark_dynamic.readers import read_by_change


def node(kind: str, *parents: str) -> dict[str, Any]:
    return {"config": {"materialized": kind}, "depends_on": {"nodes": list(parents)}}


def test_through_views_and_models_that_are_no_relation() -> None:
    nodes = {
        "a": node("dynamic_table", "source.s"),
        "b": node("table"),
        "over_b": node("view", "b"),
        "over_view": node("ephemeral", "over_b", "c"),
        "c": node("versioned_table", "a"),
        "last": node("temporal_join", "over_view"),
        "rebuilt": node("table", "last", "d"),
        "d": node("dynamic_table"),
        "tested": {"resource_type": "test", "depends_on": {"nodes": ["last"]}},
        "seed": {"resource_type": "seed"},
    }
    assert read_by_change({"nodes": nodes, "sources": {}}) == {"source.s", "a", "b", "over_b", "over_view", "c"}
    assert read_by_change({}) == frozenset()


def test_views_over_one_another_end() -> None:
    assert read_by_change({"nodes": {"a": node("view", "b"), "b": node("view", "a")}}) == frozenset()
    nodes = {"a": node("view", "b"), "b": node("view", "a"), "c": node("dynamic_table", "a")}
    assert read_by_change({"nodes": nodes}) == {"a", "b"}
