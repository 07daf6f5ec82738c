"""The clicks of Mary, Bob and Liz: after each click the tables hold exactly what the story says.

The rows are those of "Dynamic Tables" in the documentation of Apache Flink: one query that updates
its result with every click, one that appends to it with every hour.
"""

from __future__ import annotations

import json
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from integration_tests.demo.project import Project, Refresh

FOLDER = Path(__file__).parent / "clicks"

# Each click, with the result table after it and the rows inserted, updated and deleted by it.
CLICK_BY_CLICK = [
    (("Mary", "12:00:00", "./home"), {("Mary", 1)}, (1, 0, 0)),
    (("Bob", "12:00:00", "./cart"), {("Mary", 1), ("Bob", 1)}, (1, 0, 0)),
    (("Mary", "12:00:05", "./prod?id=1"), {("Mary", 2), ("Bob", 1)}, (0, 1, 0)),
    (("Liz", "12:01:00", "./home"), {("Mary", 2), ("Bob", 1), ("Liz", 1)}, (1, 0, 0)),
    (("Bob", "12:01:30", "./prod?id=3"), {("Mary", 2), ("Bob", 2), ("Liz", 1)}, (0, 1, 0)),
    (("Mary", "12:01:45", "./prod?id=7"), {("Mary", 3), ("Bob", 2), ("Liz", 1)}, (0, 1, 0)),
]

# The clicks of each hour, with the rows that the hour appends: user, end of the window, count.
HOUR_BY_HOUR = [
    (
        [
            ("Mary", "12:00:00", "./home"),
            ("Bob", "12:00:00", "./cart"),
            ("Mary", "12:02:00", "./prod?id=2"),
            ("Mary", "12:55:00", "./home"),
        ],
        {("Mary", "13:00:00", 3), ("Bob", "13:00:00", 1)},
    ),
    (
        [
            ("Bob", "13:01:00", "./prod?id=4"),
            ("Liz", "13:30:00", "./cart"),
            ("Liz", "13:59:00", "./home"),
        ],
        {("Bob", "14:00:00", 1), ("Liz", "14:00:00", 2)},
    ),
    (
        [
            ("Mary", "14:00:00", "./prod?id=1"),
            ("Liz", "14:02:00", "./prod?id=8"),
            ("Bob", "14:30:00", "./prod?id=7"),
            ("Bob", "14:40:00", "./home"),
        ],
        {("Mary", "15:00:00", 1), ("Bob", "15:00:00", 2), ("Liz", "15:00:00", 1)},
    ),
]


class Site:
    """A clicks project in a schema of its own, as one would use it from the command line."""

    def __init__(self, spark: SparkSession, workspace: Path) -> None:
        self.spark = spark
        self.schema = f"clicks_{uuid4().hex[:8]}"
        self.project = Project(FOLDER, workspace, {"clicks_schema": self.schema})
        self.project.invoke("run-operation", "create_clicks")

    def click(self, user: str, time: str, url: str) -> None:
        row = f"'{user}', TIMESTAMP '2024-05-01 {time}', '{url}'"
        self.spark.sql(f"INSERT INTO {self.schema}.clicks VALUES ({row})")

    def run(self, model: str) -> Refresh:
        return self.project.run("--select", model)[model]

    def rows(self, columns: str, model: str) -> set[tuple[object, ...]]:
        found = self.spark.sql(f"SELECT {columns} FROM {self.schema}.{model}").collect()
        rows = {tuple(row) for row in found}
        assert len(rows) == len(found), f"{model} holds equal rows: {found}"
        return rows

    def hourly(self) -> set[tuple[object, ...]]:
        columns = "user, DATE_FORMAT(window_end, 'HH:mm:ss'), cnt"
        return self.rows(columns, "clicks_per_user_hourly")


@pytest.fixture
def site(spark: SparkSession, tmp_path: Path) -> Site:
    return Site(spark, tmp_path)


def test_each_click_updates_the_count_of_its_user(site: Site) -> None:
    assert site.run("clicks_per_user").code == "CREATED"
    assert site.rows("*", "clicks_per_user") == set()
    for click, table, rows_out in CLICK_BY_CLICK:
        site.click(*click)
        refresh = site.run("clicks_per_user")
        assert site.rows("user, cnt", "clicks_per_user") == table
        assert (refresh.code, refresh.rows_in) == ("INCREMENTAL", 1)
        assert refresh.rows_out == rows_out


def test_each_hour_appends_its_windows(site: Site) -> None:
    site.run("clicks_per_user_hourly")
    table: set[tuple[object, ...]] = set()
    for clicks, appended in HOUR_BY_HOUR:
        for click in clicks:
            site.click(*click)
        refresh = site.run("clicks_per_user_hourly")
        table |= appended
        assert site.hourly() == table
        assert (refresh.code, refresh.rows_in) == ("INCREMENTAL", len(clicks))
        assert refresh.rows_out == (len(appended), 0, 0)


def test_a_late_click_and_a_withdrawn_one_correct_the_window(site: Site) -> None:
    for click in HOUR_BY_HOUR[0][0]:
        site.click(*click)
    site.run("clicks_per_user_hourly")

    site.click("Bob", "12:59:59", "./late")
    late = site.run("clicks_per_user_hourly")
    assert site.hourly() == {("Mary", "13:00:00", 3), ("Bob", "13:00:00", 2)}
    assert (late.code, late.rows_out) == ("INCREMENTAL", (0, 1, 0))

    site.spark.sql(f"DELETE FROM {site.schema}.clicks WHERE user = 'Bob'")
    withdrawn = site.run("clicks_per_user_hourly")
    assert site.hourly() == {("Mary", "13:00:00", 3)}
    assert (withdrawn.code, withdrawn.rows_out) == ("INCREMENTAL", (0, 0, 1))


def test_a_url_is_listed_once_and_leaves_with_its_last_click(site: Site) -> None:
    site.click("Mary", "12:00:00", "./home")
    site.run("distinct_urls")

    site.click("Liz", "12:01:00", "./home")
    site.click("Bob", "12:00:00", "./cart")
    visited = site.run("distinct_urls")
    assert site.rows("url", "distinct_urls") == {("./home",), ("./cart",)}
    assert (visited.code, visited.rows_out) == ("INCREMENTAL", (1, 0, 0))

    site.spark.sql(f"DELETE FROM {site.schema}.clicks WHERE user IN ('Mary', 'Bob')")
    left = site.run("distinct_urls")
    assert site.rows("url", "distinct_urls") == {("./home",)}
    assert (left.code, left.rows_out) == ("INCREMENTAL", (0, 0, 1))


def test_the_project_passes_its_own_tests_and_rests_when_nobody_clicks(site: Site) -> None:
    mary = {"user": "Mary", "time": "2024-05-01 12:00:00", "url": "./home"}
    site.project.invoke("run-operation", "click", "--args", json.dumps(mary))
    site.project.run()
    assert site.rows("user, cnt", "clicks_per_user") == {("Mary", 1)}
    site.project.invoke("test")
    assert {refresh.code for refresh in site.project.run().values()} == {"NO CHANGE"}
