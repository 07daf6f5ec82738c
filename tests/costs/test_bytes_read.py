"""How many bytes of files a refresh reads at the most, by which an engine chooses its way of running it."""

from __future__ import annotations

from dbt_spark_dynamic.algebra.nodes import Named, Scan, Time, UnionAll
from dbt_spark_dynamic.commit.bytes_read import ROW, BytesRead, added
from dbt_spark_dynamic.commit.engine import Table
from dbt_spark_dynamic.commit.history import read_commit
from dbt_spark_dynamic.reading.relations import Kind

TABLES = {
    "a": Table("a", Kind.DELTA, (), size=500, rows=10),
    "b": Table("b", Kind.DELTA, (), size=70, rows=30),
    "unknown": Table("unknown", Kind.DELTA, (), size=70),
    "empty": Table("empty", Kind.DELTA, (), rows=0),
}
SIZES = BytesRead(TABLES, {"changed_keys": 3})


def scan(name: str, time: Time = Time.AFTER) -> Scan:
    return Scan(name, name, (("id", "id"),), time)


def test_a_table_is_counted_once_at_each_time_it_is_read_at_and_rows_that_are_kept_by_their_number() -> None:
    assert SIZES.by(scan("a")) == 500
    both = UnionAll((scan("a"), scan("b")))
    # Of `b` there are more rows than its bytes would let one think.
    assert SIZES.by(both, scan("b"), Named("changed_keys", ("id",))) == 500 + 30 * ROW + 3 * ROW
    assert SIZES.by(scan("a", Time.BEFORE), scan("a")) == 1_000
    assert SIZES.by(scan("empty")) == SIZES.by() == 0


def test_what_does_not_say_its_size_may_have_any() -> None:
    assert SIZES.by(scan("a"), scan("unknown")) is None
    assert SIZES.by(Named("another", ("id",))) is None
    assert added(1, None) is None
    assert added() == 0


def test_the_feed_of_a_commit_is_read_from_its_change_data_or_else_from_the_files_that_came_and_went() -> None:
    came, went, changed = {"add": {"size": 60}}, {"remove": {"size": 50}}, {"cdc": {"size": 7}}
    assert read_commit(1, [came, went]).feed_bytes == 110
    assert read_commit(1, [came, went, changed, changed]).feed_bytes == 14
    assert read_commit(1, [{"remove": {}}]).feed_bytes == 0
    packed = [{"add": {"size": 60, "dataChange": False}}, {"remove": {"size": 50, "dataChange": False}}]
    assert read_commit(1, packed).feed_bytes == 0
