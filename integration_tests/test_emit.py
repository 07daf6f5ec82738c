"""Results of windows as they are made and refined, inside dbt.

The example is that of "Calculation of Results and Refinement of Time Sequence" in the design of dynamic tables.
"""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path

import pytest

from dbt_spark_dynamic.algebra.emission import PROCESSING_TIME, Emission
from dbt_spark_dynamic.commit.outcome import Code
from dbt_spark_dynamic.commit.spec import ChangelogMode
from dbt_spark_dynamic.watch.events import Kind
from integration_tests.conftest import DbtProject
from integration_tests.maintained import Maintained
from integration_tests.test_streams import drop_in
from integration_tests.test_watch import until, watching

PER_USER = """
select user, window.start, window.end, count(*) as clicks
from {{ source('shop', 'clicks') }}
group by user, window(time, '30 minutes')
"""

SEED = {
    "first_result_offset": "-15 minutes", "complete_result_offset": "2 minutes", "update_rate": "5 minutes",
}  # fmt: skip


@pytest.fixture
def shop(dbt_project: DbtProject) -> DbtProject:
    dbt_project.write(
        "models/sources.yml", f"sources: [{{name: shop, schema: {dbt_project.schema}, tables: [{{name: clicks}}]}}]"
    )
    dbt_project.sql("create table clicks (user string, time timestamp) using delta")
    return dbt_project


def click(shop: DbtProject, *clicks: tuple[str, str]) -> None:
    rows = ", ".join(f"('{user}', timestamp '2024-01-01 {time}')" for user, time in clicks)
    shop.sql(f"insert into clicks values {rows}")


def shown(shop: DbtProject, model: str, *columns: str) -> list[tuple]:
    listed = ", ".join(columns) or "user, date_format(start, 'HH:mm'), date_format(`end`, 'HH:mm'), clicks"
    return sorted(tuple(row) for row in shop.sql(f"select {listed} from {model}"))


def run(shop: DbtProject, model: str) -> dict:
    shop.dbt("run", "--select", model)
    return shop.responses()[model]


def test_results_are_made_at_the_named_times_and_no_others(shop: DbtProject) -> None:
    """A window that ends at 10:30 has results at 10:15, 10:20, 10:25 and 10:30, and a complete one at 10:32."""
    shop.model("per_user", PER_USER, materialized="dynamic_table", emit=SEED)
    assert run(shop, "per_user")["code"] == "CREATED"
    assert shown(shop, "per_user") == []
    made, before = {}, []
    for n, minute in enumerate((3, 14, 15, 16, 19, 20, 22, 25, 29, 30, 31, 32, 33, 44), 1):
        # Bob's clicks carry the clock on; with each comes another one of Mary's, for her window.
        time = f"10:{minute:02}:00"
        click(shop, ("bob", time), ("mary", f"10:{min(minute, 29):02}:00"))
        assert run(shop, "per_user")["code"] == "INCREMENTAL"
        now = [row for row in shown(shop, "per_user") if row[:2] == ("mary", "10:00")]
        if now != before:
            made[time[:5]] = (now[0][3], n)
        before = now
    # As many of her clicks as had come by then.
    assert made == {"10:15": (3, 3), "10:20": (6, 6), "10:25": (8, 8), "10:30": (10, 10), "10:32": (12, 12)}
    # Of the window that ends at 11:00 nothing is there yet, and what came for the first one after 10:32 was ignored.
    assert {row[1] for row in shown(shop, "per_user")} == {"10:00"}
    click(shop, ("mary", "10:29:59"))
    late = run(shop, "per_user")
    assert (late["ignored"], late["rows_affected"]) == (1, 0)
    assert "1 too late" in "\n".join(shop.lines)
    assert run(shop, "per_user")["code"] == "NO CHANGE"
    shop.write("models/per_user.yml", "models: [{name: per_user, data_tests: [equals_its_query]}]")
    assert "its rows are as they were once made: with emit" in shop.fails("test", "--select", "per_user")
    shop.dbt("run-operation", "explain", "--args", "{model: per_user}")
    said = "\n".join(shop.lines)
    assert "first when the watermark has passed the end of their window less 15 minutes, and again every 5" in said
    assert "results that are due" in said and "the clock, watermark" in said
    # Built anew, it is made of all that there is.
    shop.dbt("run", "--select", "per_user", "--full-refresh")
    assert ("mary", "10:00", "10:30", 15) in shown(shop, "per_user")


def test_what_cannot_be_emitted_is_said(shop: DbtProject) -> None:
    shop.model("per_user", PER_USER.replace("window.start, window.end,", ""), materialized="dynamic_table", emit={})
    said = shop.fails("run")
    assert "does not show which window its rows belong to" in said and "models/per_user.sql" in said
    shop.model("per_user", PER_USER, materialized="dynamic_table", emit={"first_result": "1 minute"})
    assert "did you mean first_result_offset?" in shop.fails("run")


CLICKS = "create table clicks (user string, time timestamp) using delta"


def clicked(tables: Maintained, *clicks: tuple[str, str | None]) -> None:
    times = [f"timestamp '2024-01-01 {time}'" if time else "null" for _, time in clicks]
    rows = [f"('{user}', {time})" for (user, _), time in zip(clicks, times, strict=True)]
    tables.sql(f"insert into clicks values {', '.join(rows)}")


def at(time: str) -> datetime:
    return datetime.fromisoformat(f"2024-01-01 {time}")


WINDOWS = {
    "tumbling": "select user, window.start, window.end, count(*) as n from clicks "
    "group by user, window(time, '5 minutes')",
    "whole": "select window as w, count(*) as n from clicks group by window(time, '1 day', '1 day', '2 hours')",
    "hopping": "select user, window.end as e, count(*) as n from clicks "
    "group by user, window(time, '10 minutes', '4 minutes', '1 minute')",
    "sessions": "select user, session_window.start as s, session_window.end as e, count(*) as n from clicks "
    "group by user, session_window(time, '5 minutes')",
    "by_alias": "select window(time, '5 minutes').end as e, count(*) as n from clicks group by 1 having count(*) > 1",
    "of_dates": "select window.start as s, count(*) as n from clicks group by window(cast(time as date), '1 week')",
    "each": "select user, window(time, '10 minutes', '5 minutes') as w from clicks",
}


def test_windows_are_those_of_spark(maintained: Maintained) -> None:
    maintained.sql(CLICKS)
    clicked(maintained, ("a", "10:00:00"), ("a", "10:05:00"), ("a", "10:10:00.000001"), ("b", None), ("b", "00:00:01"))
    for name, sql in WINDOWS.items():
        assert maintained.refresh(name, sql=sql).code is Code.CREATED
        assert not maintained.missing_and_more(name), name
    clicked(maintained, ("a", "10:15:00"), ("a", "09:55:00"), ("b", "10:00:00"), ("b", None))
    maintained.sql("delete from clicks where time = timestamp '2024-01-01 10:05:00'")
    for name in WINDOWS:
        assert maintained.refresh(name).code is Code.INCREMENTAL
        assert not maintained.missing_and_more(name), name


def test_late_rows_correct_until_the_last_result(maintained: Maintained, large_tables: None) -> None:
    """The state is dropped then: what comes is ignored, and counted."""
    maintained.sql(CLICKS)
    clicked(maintained, ("mary", "10:03:00"), ("bob", "10:06:00"))
    emission = Emission(0, 60_000_000, late=True, last=600_000_000)
    options = {"sql": WINDOWS["tumbling"], "emission": emission, "late_by": "'0' SECOND"}
    assert maintained.refresh("m", **options).code is Code.CREATED
    first = ("mary", at("10:00"), at("10:05"), 1)
    assert maintained.rows("m") == [first]
    # Late, and corrected at once; a click without a time is in no window.
    clicked(maintained, ("mary", "10:04:00"), ("liz", "10:01:00"), ("liz", None))
    outcome = maintained.refresh("m", **options)
    assert (outcome.rows_inserted, outcome.rows_updated, outcome.ignored) == (1, 1, 0)
    assert maintained.rows("m") == [("liz", *first[1:]), (*first[:3], 2)]
    maintained.sql("delete from clicks where user = 'liz'")
    assert maintained.refresh("m", **options).rows_deleted == 1
    # 10:15 is the last time; what comes with the click that says so is in it still, what comes after that is not.
    clicked(maintained, ("bob", "10:15:00"), ("mary", "10:04:30"))
    maintained.refresh("m", **options)
    assert maintained.rows("m") == [("bob", at("10:05"), at("10:10"), 1), (*first[:3], 3)]
    clicked(maintained, ("mary", "10:04:40"), ("mary", "10:04:50"), ("mary", "10:16:00"))
    outcome = maintained.refresh("m", **options)
    assert (outcome.code, outcome.rows_affected, outcome.ignored) == (Code.INCREMENTAL, 0, 2)
    assert "too late" in outcome.line()
    # Of the table behind it, no more is read than the windows that are open.
    assert any("`clicks`.`time` > " in s and "0001-01-01" in s for s in maintained.statements)


def test_sessions_and_running_totals(maintained: Maintained) -> None:
    maintained.sql(CLICKS)
    running = "select user, time, count(*) over (partition by user order by time) as n from clicks"
    sessions = WINDOWS["sessions"]
    # Results that are made once are only ever appended.
    two = {"late_by": "'2' MINUTE", "emission": Emission(), "changelog_mode": ChangelogMode.APPEND}
    early = {"late_by": "'0' SECOND", "emission": Emission(-180_000_000, 0, rows=2)}

    def refresh() -> None:
        for name, sql, options in (("running", running, two), ("sessions", sessions, two), ("early", sessions, early)):
            assert maintained.refresh(name, sql=sql, **options).code in (Code.CREATED, Code.INCREMENTAL)

    clicked(maintained, ("mary", "10:00:00"), ("mary", "10:03:00"))
    refresh()
    assert maintained.rows("running") == [("mary", at("10:00"), 1)]
    assert maintained.rows("sessions") == []
    assert maintained.rows("early") == []
    clicked(maintained, ("bob", "10:05:00"), ("mary", "10:02:00"))
    refresh()
    assert maintained.rows("running") == [("mary", at("10:00"), 1), ("mary", at("10:02"), 2), ("mary", at("10:03"), 3)]
    assert maintained.rows("early") == [("mary", at("10:00"), at("10:08"), 3)]
    # Her session goes on, and is another one: what was shown of it early gives way to it.
    clicked(maintained, ("mary", "10:08:00"), ("bob", "10:14:00"))
    refresh()
    assert maintained.rows("early") == [("bob", at("10:05"), at("10:10"), 1), ("mary", at("10:00"), at("10:13"), 4)]
    assert maintained.rows("sessions") == [("bob", at("10:05"), at("10:10"), 1)]
    clicked(maintained, ("bob", "10:15:00"))
    refresh()
    assert maintained.rows("sessions")[-1] == ("mary", at("10:00"), at("10:13"), 4)


def test_at_processing_time_the_next_result_is_known(maintained: Maintained) -> None:
    # Its day is not to end while it is looked at, and the first result of the day, at its first minute, is behind us.
    if not 60 < (begun := time.time() % 86_400) < 86_400 - 150:
        time.sleep((60 - begun) % 86_400)
    maintained.sql("create table clicks (user string, time timestamp) using delta")
    maintained.sql("insert into clicks select 'mary', current_timestamp()")
    emission = Emission(-1439 * 60_000_000, 0, every=60_000_000, clock=PROCESSING_TIME)
    sql = "select user, window.start, count(*) as n from clicks group by user, window(time, '1 day')"
    created = maintained.refresh("m", sql=sql, emission=emission)
    assert created.due_in is not None and 0 < created.due_in <= 60 and not created.volatile
    # Results are made as minutes begin: none is to begin from here on.
    if created.due_in < 40:
        time.sleep(created.due_in)
    maintained.sql("insert into clicks select 'mary', current_timestamp() - interval 2 days")
    later = maintained.refresh("m", emission=emission)
    assert later.code is Code.INCREMENTAL and later.due_in is not None and later.ignored == 1
    maintained.sql("delete from clicks")
    maintained.sql("insert into clicks select 'mary', current_timestamp() + interval 1 day")
    assert 0 < (maintained.refresh("m", emission=emission).due_in or 0) <= 60
    one = {"sql": sql, "emission": Emission(clock=PROCESSING_TIME)}
    assert 86_400 - 60 < (maintained.refresh("once", **one).due_in or 0) <= 2 * 86_400


def test_a_window_of_a_stream_that_has_ended_is_shown_while_it_is_watched(
    dbt_project: DbtProject, tmp_path: Path
) -> None:
    """No commit says that it has: the loop knows when the next result is due."""
    folder = tmp_path / "in"
    folder.mkdir()
    stream = f"{{format: json, options: {{path: '{folder}'}}}}"
    columns = "[{name: user, data_type: string}, {name: time, data_type: timestamp}]"
    dbt_project.write(
        "models/sources.yml",
        f"sources: [{{name: shop, schema: {dbt_project.schema}, tables: [{{name: clicks, meta: {{stream: {stream}}}, "
        f"columns: {columns}}}]}}]",
    )
    ten_seconds = PER_USER.replace("30 minutes", "10 seconds")
    dbt_project.model("per_user", ten_seconds, materialized="dynamic_table", emit={"clock": "processing_time"})
    with watching(dbt_project) as (_, events):
        until(events, Kind.REFRESHED, "per_user")
        ((soon,),) = dbt_project.sql("select date_format(now() + interval 20 seconds, \"yyyy-MM-dd'T'HH:mm:ss\")")
        drop_in(folder, "1.json", {"user": "mary", "time": soon})
        until(events, Kind.REFRESHED, "per_user", times=2)
        assert dbt_project.sql("select * from per_user") == []
        until(events, Kind.REFRESHED, "per_user", times=3)
    ((user, end, clicks),) = dbt_project.sql("select user, `end` <= now(), clicks from per_user")
    assert (user, end, clicks) == ("mary", True, 1)
