"""What a project's tests, constraints and keys say is unique."""

from __future__ import annotations

from typing import Any

import pytest

from dbt.adapters.spark_dynamic.expected_keys import expected_keys


def node(name: str = "m", **fields: Any) -> dict[str, Any]:
    return {"resource_type": "model", "relation_name": f"`s`.`{name}`", "config": {}, **fields}


def a_test(name: str, of: str = "model.m", **fields: Any) -> dict[str, Any]:
    arguments = fields.pop("arguments", {})
    return {
        "resource_type": "test",
        "test_metadata": {"name": name, "namespace": None, "kwargs": arguments},
        "depends_on": {"nodes": [of]},
        "config": {},
        **fields,
    }


def key(node: dict[str, Any], *tests: dict[str, Any]) -> tuple[str, ...] | None:
    nodes = {**{f"test.{i}": t for i, t in enumerate(tests)}, "model.m": node}
    return expected_keys({"nodes": nodes, "sources": {}}).get("`s`.`m`")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("unique", {"column_name": "id"}),
        ("unique", {"column_name": "`id`"}),
        ("unique_combination_of_columns", {"combination_of_columns": ["id"]}),
        ("expect_compound_columns_to_be_unique", {"column_list": ["id"]}),
        ("primary_key", {"column_name": "id"}),
        ("unique_key", {"column_names": ["id"]}),
    ],
)
def test_tests_that_columns_are_unique(name: str, arguments: dict[str, Any]) -> None:
    assert key(node(), a_test(name, arguments=arguments)) == ("id",)


def test_other_tests_say_nothing() -> None:
    assert key(node(), a_test("not_null", arguments={"column_name": "id"})) is None
    some = a_test("unique", arguments={"column_name": "id"}, config={"where": "id > 0"})
    assert key(node(), some) is None
    # One that reads two models does not say of which it is.
    both = a_test("unique", arguments={"column_name": "id"}, depends_on={"nodes": ["model.m", "model.n"]})
    assert key(node(), both) is None
    assert key(node(), {**both, "attached_node": "model.m"}) == ("id",)
    assert key(node(), {"resource_type": "test", "config": {}, "depends_on": {"nodes": ["model.m"]}}) is None


def test_what_is_declared_comes_before_what_is_tested_and_few_columns_before_many() -> None:
    tested = a_test("unique", arguments={"column_name": "mail"})
    many = a_test("unique_combination_of_columns", arguments={"combination_of_columns": ["a", "b"]})
    assert key(node(), many, tested) == ("mail",)
    merged = node(config={"materialized": "incremental", "unique_key": "id"})
    assert key(merged, tested) == ("id",)
    assert key({**merged, "config": {"materialized": "table", "unique_key": "id"}}, tested) == ("mail",)
    constrained = node(
        constraints=[{"type": "primary_key", "columns": ["a", "b"]}, {"type": "check", "columns": ["c"]}]
    )
    assert key(constrained) == ("a", "b")
    assert key(constrained, tested) == ("mail",)
    by_column = node(columns={"id": {"constraints": [{"type": "not_null"}, {"type": "unique"}]}, "b": {}})
    assert key(by_column) == ("id",)


def test_a_source_says_it_in_meta_unless_its_rows_are_versions() -> None:
    source = node(resource_type="source", config={"meta": {"unique_key": ["a", "b"]}})
    assert expected_keys({"sources": {"source.s": source}}) == {"`s`.`m`": ("a", "b")}
    versions = node(resource_type="source", config={"meta": {"unique_key": "a", "event_time": "at"}})
    assert expected_keys({"sources": {"source.s": versions}}) == {}
    assert expected_keys({"nodes": {"model.e": node(relation_name=None, config=source["config"])}}) == {}
