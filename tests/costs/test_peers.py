"""What the benchmark beside peers rests on: a changelog that leads to its end, and sums that tell results apart."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pytest

from benchmarks.peers.flink import expected_sums
from benchmarks.peers.process import family, resident
from benchmarks.peers.shapes import SHAPES, Shape
from benchmarks.peers.workload import ORDER, Workload

SIGN = "CASE WHEN op IN ('INSERT', 'UPDATE_AFTER') THEN 1 ELSE -1 END"


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Workload:
    written = Workload(tmp_path_factory.mktemp("peers") / "workload", rows=500, changes=1000, batches=4)
    written.write()
    return written


def test_the_changelog_leads_from_the_first_orders_to_those_at_the_end(workload: Workload) -> None:
    log = f"SELECT {ORDER}, SUM({SIGN}) AS n FROM '{workload.streams(True)}/*.parquet' GROUP BY ALL"
    rows = duckdb.sql(f"SELECT {ORDER}, n FROM ({log}) WHERE n <> 0 ORDER BY id").fetchall()
    assert rows == duckdb.sql(f"SELECT {ORDER}, 1 FROM '{workload.path('after')}' ORDER BY id").fetchall()
    assert len(rows) == 500 + 1000 * 0.5 - 1000 * 0.1


def test_each_batch_has_its_share_of_inserts_updates_and_deletes(workload: Workload) -> None:
    for n in range(1, 5):
        counted = duckdb.sql(f"SELECT op, COUNT(*) FROM '{workload.path(f'batch_{n}')}' GROUP BY op").fetchall()
        assert dict(counted) == {"INSERT": 125, "UPDATE_BEFORE": 100, "UPDATE_AFTER": 100, "DELETE": 25}


def test_an_order_is_in_one_file_before_and_after_its_changes_in_their_order(workload: Workload) -> None:
    for reader in range(2):
        live = {}
        for op, *row in duckdb.sql(f"SELECT op, {ORDER} FROM '{workload.streams(True)}/{reader}.parquet'").fetchall():
            assert row[0] % 2 == reader
            if op in ("UPDATE_BEFORE", "DELETE"):
                assert live.pop(row[0]) == row
            else:
                assert row[0] not in live
                live[row[0]] = row


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_the_sums_of_a_shape_change_with_the_orders(workload: Workload, shape: Shape) -> None:
    first = Workload(workload.folder.parent / "other", rows=500, changes=1000, batches=2)
    if not first.path("after").exists():
        first.write()
    mine, other = expected_sums(workload, shape), expected_sums(first, shape)
    assert len(mine) == 1 + len(shape.sums) and all(a != b for a, b in zip(mine[1:], other[1:], strict=True))


def test_a_process_and_all_below_it_are_counted() -> None:
    assert family(2, {1: 0, 2: 1, 3: 2, 4: 3, 5: 1}) == {2, 3, 4}
    if Path("/proc/self/stat").exists():
        assert resident(os.getpid()) > 2**20
