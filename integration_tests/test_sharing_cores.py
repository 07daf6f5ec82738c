"""Jobs side by side share the cores: a small one does not wait until a large one has no more tasks to begin."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

TASKS, SECONDS = 80, 0.1
"""Of a job that takes some seconds on many cores, and keeps each of them busy for a short while at a time."""


def slow(rows: Iterator[Any]) -> Iterator[int]:
    time.sleep(SECONDS)
    yield sum(1 for _ in rows)


def test_a_small_job_ends_before_a_large_one_that_came_first(
    spark: SparkSession, request: pytest.FixtureRequest
) -> None:
    if request.config.getoption("--connection") != "session":
        pytest.skip("how a cluster shares its cores is the cluster's own setting")
    context = spark.sparkContext
    large = threading.Thread(target=lambda: context.parallelize(range(TASKS), TASKS).mapPartitions(slow).collect())
    large.start()
    tracker = context.statusTracker()
    while not (stages := tracker.getActiveStageIds()):
        time.sleep(0.01)
    assert context.parallelize(range(4), 4).count() == 4
    stage = tracker.getStageInfo(stages[0])
    assert stage is not None and stage.numCompletedTasks < TASKS / 2
    large.join()
