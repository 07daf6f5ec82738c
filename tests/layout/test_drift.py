"""What counts as a difference between a table and its configuration, and what ends it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dbt_spark_dynamic.commit.describe import DeltaState, described
from dbt_spark_dynamic.commit.drift import CONTRACT_PROPERTY, created_with, drift, same_location
from dbt_spark_dynamic.commit.engine import Table
from dbt_spark_dynamic.commit.evolve import evolution
from dbt_spark_dynamic.commit.spec import SchemaChange, Spec
from dbt_spark_dynamic.errors import ConfigError
from dbt_spark_dynamic.reading.relations import Kind

COLUMNS = (("id", "int"), ("v", "string"))
TABLE = Table("s.m", Kind.DELTA, COLUMNS, "x", 3, "file:/w/s.db/m", {"delta.appendOnly": "false", "theirs": "1"})
SPEC = Spec("s.m", "SELECT 1", "models/m.sql")


def statements(table: Table = TABLE, **configured: Any) -> list[str]:
    return [s for d in drift(replace(SPEC, **configured), table) for s in d.statements]


def test_what_is_not_configured_is_not_compared() -> None:
    assert drift(SPEC, TABLE) == []
    assert drift(SPEC, replace(TABLE, partitioned_by=("v",), clustered_by=("id",))) == []


def test_properties_as_delta_reads_them() -> None:
    assert statements(properties={"DELTA.appendonly": "FALSE", "theirs": "1", "delta.minReaderVersion": "3"}) == []
    assert statements(properties={"a'b": "x\\y"}) == [r"ALTER TABLE s.m SET TBLPROPERTIES ('a\'b' = 'x\\y')"]


@pytest.mark.parametrize(
    ("partitions", "clusters", "configured", "rebuilt", "moves"),
    [
        ((), None, {"cluster_by": ("id",)}, False, False),
        ((), ("v",), {"cluster_by": ("ID",)}, False, False),
        (("v",), None, {"cluster_by": ("id",)}, True, False),
        ((), None, {"partition_by": ("v",)}, True, False),
        ((), (), {"partition_by": ("v",)}, True, True),
        ((), None, {"location": "/elsewhere/m"}, True, True),
    ],
)
def test_layouts(partitions: Any, clusters: Any, configured: Any, rebuilt: bool, moves: bool) -> None:
    table = replace(TABLE, partitioned_by=partitions, clustered_by=clusters)
    (found,) = drift(replace(SPEC, **configured), table)
    assert (not found.statements, found.moves) == (rebuilt, moves)


def test_layouts_that_are_there_already() -> None:
    table = replace(TABLE, partitioned_by=("v",), clustered_by=None, path="s3://bucket/root/m")
    assert drift(replace(SPEC, partition_by=("`V`",), location="s3://bucket/root//m/"), table) == []


@pytest.mark.parametrize(
    ("configured", "actual", "same"),
    [
        ("/w/m", "file:/w/m", True),
        ("/w//m/", "file:///w/m", True),
        ("file:/w/m", "file:/w/m", True),
        ("s3://b/m", "s3://b/m", True),
        ("s3://b/m", "s3://c/m", False),
        ("/w/other", "file:/w/m", False),
    ],
)
def test_locations(configured: str, actual: str, same: bool) -> None:
    assert same_location(configured, actual) is same


def test_constraints_come_change_and_go() -> None:
    created = created_with(replace(SPEC, constraints={"a": "id > 0", "b": "v <> ''"}))
    table = replace(TABLE, properties={**created, "delta.constraints.by_hand": "true"})
    assert statements(table, constraints={"b": "v  <>  ''", "a": "id > 0"}) == []
    changed = statements(table, constraints={"a": "id > 1", "c": "TRUE"})
    assert changed[:-1] == [
        "ALTER TABLE s.m DROP CONSTRAINT `a`",
        "ALTER TABLE s.m ADD CONSTRAINT `a` CHECK (id > 1)",
        "ALTER TABLE s.m DROP CONSTRAINT `b`",
        "ALTER TABLE s.m ADD CONSTRAINT `c` CHECK (TRUE)",
    ]
    assert CONTRACT_PROPERTY in changed[-1]


def evolved(now: Any, mode: SchemaChange, before: Any = COLUMNS, table: Table = TABLE) -> Any:
    return evolution(replace(SPEC, on_schema_change=mode), table, before, now)


def test_columns_in_place() -> None:
    found = evolved((("id", "int"), ("w x", "date")), SchemaChange.SYNC)
    assert not found.rebuild
    assert found.adding == ("ALTER TABLE s.m ADD COLUMNS (`w x` date)",)
    assert found.dropping[-1] == "ALTER TABLE s.m DROP COLUMNS (`v`)" and "columnMapping" in found.dropping[0]
    mapped = replace(TABLE, properties={"delta.columnMapping.mode": "name"})
    assert len(evolved((("id", "int"),), SchemaChange.SYNC, table=mapped).dropping) == 1


def test_columns_that_are_no_change_or_need_a_rebuild() -> None:
    assert evolved((("ID", "INT"), ("v", "string")), SchemaChange.FAIL) is None
    turned = (("v", "string"), ("id", "int"))
    assert evolved(turned, SchemaChange.SYNC) is None
    assert evolved(turned, SchemaChange.IGNORE).rebuild
    assert evolved((("id", "bigint"), ("v", "string")), SchemaChange.SYNC).rebuild
    with pytest.raises(ConfigError, match=r"id int → bigint"):
        evolved((("id", "bigint"), ("v", "string")), SchemaChange.FAIL)


def test_a_death_after_the_columns_were_added() -> None:
    now = (*COLUMNS, ("n", "int"))
    # Nothing is left to do about the columns; that the SELECT is another one has its rows recomputed.
    assert evolved(now, SchemaChange.APPEND, table=replace(TABLE, columns=now)) is None


def test_partitions_and_clustering_as_spark_describes_them() -> None:
    rows = [
        ("id", "int", None), ("v", "string", None),
        ("# Partition Information", "", ""), ("# col_name", "data_type", "comment"), ("v", "string", None),
        ("", "", ""),
        ("# Detailed Table Information", "", ""), ("Database", "s", ""), ("Table", "m", ""), ("Provider", "delta", ""),
        ("Location", "file:/w", ""), ("Table Properties", '[clusteringColumns=[["a"],["b","c"]],x=1]', ""),
    ]  # fmt: skip

    def state(_: str) -> DeltaState:
        return DeltaState("x", 1, {}, 0)

    table = described("s.m", rows, state)
    assert (table.partitioned_by, table.clustered_by) == (("v",), ("a", "b.c"))
    assert [n for n, _ in table.columns] == ["id", "v"]
    rows[-1] = ("Table Properties", "[clusteringColumns=[],x=1]", "")
    assert described("s.m", rows, state).clustered_by == ()
    rows[-1] = ("Table Properties", "[x=1]", "")
    assert described("s.m", rows, state).clustered_by is None
