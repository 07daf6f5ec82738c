"""Streams as sources: landed once by whatever runs the models on them, nothing lost and nothing twice."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dbt_spark_dynamic.watch.events import Kind
from integration_tests.conftest import DbtProject
from integration_tests.test_watch import until, until_settled, watching


def drop_in(folder: Path, name: str, *rows: dict[str, Any]) -> None:
    """A file as a stream of files wants it: there at once."""
    draft = folder.parent / name
    draft.write_text("\n".join(json.dumps(r) for r in rows) + "\n")
    draft.rename(folder / name)


@pytest.fixture
def clicks(dbt_project: DbtProject, tmp_path: Path) -> tuple[DbtProject, Path]:
    """A stream of JSON files, a view over it, and a dynamic table over the view."""
    folder = tmp_path / "in"
    folder.mkdir()
    stream = f"{{format: json, options: {{path: '{folder}', mode: FAILFAST}}}}"
    columns = "[{name: user, data_type: string}, {name: n, data_type: int}]"
    dbt_project.write(
        "models/sources.yml",
        f"sources: [{{name: shop, schema: {dbt_project.schema}, tables: [{{name: clicks, meta: {{stream: {stream}}}, "
        f"columns: {columns}}}]}}]",
    )
    dbt_project.model("large", "select * from {{ source('shop', 'clicks') }} where n > 1", materialized="view")
    dbt_project.model(
        "per_user", "select user, sum(n) as n from {{ ref('large') }} group by user", materialized="dynamic_table"
    )
    return dbt_project, folder


def two_streams(project: DbtProject, folder: Path) -> None:
    """Visits of pages, and readings of sensors: the sources of the examples of seed 002."""
    columns = {
        "pageviews": "{name: user, data_type: string}, {name: page, data_type: string}",
        "sensors": "{name: id, data_type: int}, {name: loc, data_type: string}, {name: temp, data_type: int}",
    }
    tables = []
    for name, own in columns.items():
        (folder / name).mkdir()
        stream = f"{{format: json, options: {{path: '{folder / name}', mode: FAILFAST}}}}"
        listed = f"[{own}, {{name: rowtime, data_type: timestamp}}]"
        tables.append(f"{{name: {name}, meta: {{stream: {stream}}}, columns: {listed}}}")
    project.write(
        "models/sources.yml",
        f"sources: [{{name: shop, schema: {project.schema}, tables: [{', '.join(tables)}]}}]",
    )


def rows(project: DbtProject, name: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(r) for r in project.sql(f"SELECT * FROM {name}"))


def test_a_run_lands_what_is_there_and_ends(clicks: tuple[DbtProject, Path]) -> None:
    project, folder = clicks
    project.dbt("run")
    assert rows(project, "per_user") == [] and project.responses()["per_user"]["code"] == "CREATED"
    drop_in(folder, "1.json", {"user": "mary", "n": 2}, {"user": "bob", "n": 1})
    drop_in(folder, "2.json", {"user": "mary", "n": 3})
    project.dbt("run", "--select", "per_user")
    assert rows(project, "per_user") == [("mary", 5)]
    assert any("3 rows landed from json" in line for line in project.lines)
    assert project.responses()["per_user"]["code"] == "INCREMENTAL"
    project.dbt("run", "--select", "per_user")
    assert project.responses()["per_user"]["code"] == "NO CHANGE"

    # A crash after the commit of the table and before that of the checkpoint: the batch is played again.
    location = Path(project.sql("DESCRIBE DETAIL clicks")[0]["location"].removeprefix("file:"))
    commits = sorted((location / "_checkpoint/commits").glob("[0-9]*"), key=lambda p: int(p.name))
    for path in (commits[-1], commits[-1].with_name(f".{commits[-1].name}.crc")):
        path.unlink(missing_ok=True)
    drop_in(folder, "3.json", {"user": "liz", "n": 9})
    project.dbt("run", "--select", "per_user")
    assert rows(project, "clicks") == [("bob", 1), ("liz", 9), ("mary", 2), ("mary", 3)]
    assert rows(project, "per_user") == [("liz", 9), ("mary", 5)]

    # The table holds the stream from its beginning, whatever became of the files since.
    (folder / "1.json").unlink()
    project.dbt("run", "--full-refresh")
    assert rows(project, "per_user") == [("liz", 9), ("mary", 5)]

    (folder / "4.json").write_text("no json\n")
    said = project.fails("run", "--select", "per_user")
    assert "clicks could not be landed" in said and "what has landed is not read again" in said
    assert "4.json" in said and "MALFORMED_RECORD" in said, said


def test_what_grows_for_ever_and_what_time_bounds(dbt_project: DbtProject, tmp_path: Path) -> None:
    """The examples of seed 002. It refuses the first one, whose state grows with users and pages; here that state is
    the table itself, and no other is kept. The second drops what is older than an hour as time goes."""
    project, day = dbt_project, datetime.now(UTC).replace(microsecond=0)
    two_streams(project, tmp_path)
    counted = "select user, page, count(page) as n from {{ source('shop', 'pageviews') }} {} group by user, page"
    last_hour = "where rowtime between now() - interval '1' hour and now()"
    models = {
        "visited": counted.replace("{}", ""),
        "visited_lately": counted.replace("{}", last_hour),
        "warmth": "select loc, avg(temp) as mean from {{ source('shop', 'sensors') }} group by loc",
        # Two streams joined within a bound of time: no row waits in a state for its partner.
        "felt": "select p.user, p.page, s.id, s.temp from {{ source('shop', 'pageviews') }} p left join "
        "{{ source('shop', 'sensors') }} s on p.page = s.loc "
        "and s.rowtime between p.rowtime - interval '10' minutes and p.rowtime",
    }
    for name, sql in models.items():
        project.model(name, sql, materialized="dynamic_table")
    project.dbt("run")

    def at(minutes: int) -> str:
        return (day - timedelta(minutes=minutes)).isoformat()

    view, sensor = tmp_path / "pageviews", tmp_path / "sensors"
    drop_in(
        view,
        "1.json",
        {"user": "mary", "page": "a", "rowtime": at(30)},
        {"user": "mary", "page": "a", "rowtime": at(90)},
    )
    drop_in(view, "2.json", {"user": "bob", "page": "b", "rowtime": at(120)})
    drop_in(sensor, "1.json", {"id": 1, "loc": "a", "temp": 10, "rowtime": at(35)})
    project.dbt("run")
    # Out of order: partners of rows that came before, too early, and too late for the bound.
    drop_in(
        sensor,
        "2.json",
        {"id": 2, "loc": "a", "temp": 20, "rowtime": at(100)},
        {"id": 3, "loc": "b", "temp": 7, "rowtime": at(131)},
    )
    drop_in(view, "3.json", {"user": "mary", "page": "a", "rowtime": at(29)})
    project.dbt("run")
    assert {code for name, r in project.responses().items() for code in [r["code"]]} == {"INCREMENTAL"}
    assert rows(project, "visited") == [("bob", "b", 1), ("mary", "a", 3)]
    assert rows(project, "visited_lately") == [("mary", "a", 2)]
    assert rows(project, "warmth") == [("a", 15.0), ("b", 7.0)]
    felt = {("bob", "b", None, None), ("mary", "a", 1, 10), ("mary", "a", 2, 20)}
    assert {tuple(r) for r in project.sql("SELECT * FROM felt")} == felt and len(rows(project, "felt")) == 4


def test_what_comes_is_landed_and_maintained_while_it_is_watched(clicks: tuple[DbtProject, Path]) -> None:
    project, folder = clicks
    drop_in(folder, "1.json", {"user": "mary", "n": 2})
    with watching(project) as (loop, events):
        until(events, Kind.REFRESHED, "per_user")
        for i in range(2, 6):
            drop_in(folder, f"{i}.json", {"user": "mary", "n": 2}, {"user": f"u{i}", "n": i})
        until(events, Kind.REFRESHED, "per_user", times=2)
        deadline = time.monotonic() + 120
        while project.sql("SELECT COUNT(*) FROM clicks")[0][0] < 9 and time.monotonic() < deadline:
            time.sleep(0.1)
        until_settled(loop, events)
    assert rows(project, "per_user") == [("mary", 10), *((f"u{i}", i) for i in range(2, 6))]


def test_the_table_of_somebody_else_is_not_landed_in(clicks: tuple[DbtProject, Path]) -> None:
    project, _ = clicks
    project.sql("CREATE TABLE clicks (user STRING, n INT) USING delta")
    assert "is not the table of a stream" in project.fails("run", "--select", "per_user")
    assert rows(project, "clicks") == []
