"""The generic tests that come with the adapter: what they find, on versioned tables and on tables of any other kind."""

from __future__ import annotations

import json

import yaml

from integration_tests.conftest import DbtProject

OF_VERSIONS = ("versions_do_not_overlap", "versions_are_contiguous", "one_current_version")


def results(project: DbtProject) -> dict[str, tuple[str, int]]:
    """Test -> (status, failures)."""
    found = json.loads((project.folder / "target/run_results.json").read_text())["results"]
    return {r["unique_id"].split(".")[2]: (r["status"], r["failures"]) for r in found}


def test_what_the_generic_tests_find(dbt_project: DbtProject) -> None:
    dbt_project.sql("CREATE TABLE events (k STRING, v INT, at INT) USING delta")
    dbt_project.sql("INSERT INTO events VALUES ('a', 1, 1), ('a', 2, 3), ('b', 1, 2)")
    # Neither contiguous nor free of overlaps, with two current versions and an empty one.
    dbt_project.model(
        "broken",
        "select * from values ('a', 1, 5), ('a', 3, null), ('a', 9, null), ('b', 1, 2), ('b', 4, 4), ('b', 4, 6), "
        "('c', 1, null) as t(k, dbt_valid_from, dbt_valid_to)",
        materialized="table",
    )
    dbt_project.model(
        "m", f"select * from {dbt_project.schema}.events", materialized="versioned_table", unique_key="k",
        updated_at="at", changelog="rows",
    )  # fmt: skip
    keyed = {"unique_key": "k"}
    good = [*({t: {"arguments": keyed}} for t in OF_VERSIONS), "valid_from_before_valid_to", "equals_its_query",
            {"equals_its_query": {"name": "equal_where", "config": {"where": "k = 'a'"}}},
            {"fresh_within": {"arguments": {"versions": 0}}},
            {"fresh_within": {"name": "fresh_in_time", "arguments": {"count": 1, "period": "hour"}}}]  # fmt: skip
    bad = [
        {"versions_do_not_overlap": {"name": "overlap", "arguments": keyed, "config": {"store_failures": True}}},
        {"versions_are_contiguous": {"name": "gap", "arguments": keyed, "config": {"severity": "warn"}}},
        {"one_current_version": {"name": "current", "arguments": keyed}},
        {"one_current_version": {"name": "current_or_none", "arguments": {**keyed, "allow_none": True}}},
        {"valid_from_before_valid_to": {"name": "empty"}},
        {"versions_do_not_overlap": {"name": "overlap_b", "arguments": keyed, "config": {"where": "k = 'b'"}}},
    ]
    models = [{"name": "m", "data_tests": good}, {"name": "broken", "data_tests": bad}]
    dbt_project.write("models/models.yml", yaml.safe_dump({"models": models}))
    dbt_project.dbt("run")
    dbt_project.dbt("test", "--select", "m")

    dbt_project.invoke("test", "--select", "broken")
    assert results(dbt_project) == {
        "overlap": ("fail", 2), "gap": ("warn", 3), "current": ("fail", 2), "current_or_none": ("fail", 1),
        "empty": ("fail", 1), "overlap_b": ("pass", 0),
    }  # fmt: skip

    # New events that the table has not seen: it still is its query over what it has, and is behind.
    dbt_project.sql("INSERT INTO events VALUES ('a', 7, 2)")
    dbt_project.invoke("test", "--select", "m")
    failed = {name for name, (status, _) in results(dbt_project).items() if status != "pass"}
    assert failed == {"fresh_within_m_0"}
    dbt_project.sql("UPDATE m SET v = 0 WHERE k = 'b'")
    dbt_project.invoke("test", "--select", "m")
    failed = {name: n for name, (status, n) in results(dbt_project).items() if status != "pass"}
    assert failed["equals_its_query_m_"] == 2 and "equal_where" not in failed
