"""`versioned_table` inside dbt: histories as a user configures and sees them."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration_tests.conftest import DbtProject


@pytest.mark.every_connection(pytest.mark.thorough)
def test_a_late_row_splits_the_version_it_falls_into(dbt_project: DbtProject) -> None:
    dbt_project.sql("CREATE TABLE events (k STRING, v INT, at TIMESTAMP, op STRING) USING delta")
    dbt_project.model(
        "m", f"select * from {dbt_project.schema}.events",
        materialized="versioned_table", unique_key="k", updated_at="at", operation="op",
    )  # fmt: skip

    def event(k: str, v: int, at: str, op: str = "insert") -> None:
        dbt_project.sql(f"INSERT INTO events VALUES ('{k}', {v}, TIMESTAMP '2024-05-01 {at}', '{op}')")

    def rows() -> list[tuple]:
        return [tuple(r) for r in dbt_project.sql(
            "SELECT k, v, DATE_FORMAT(dbt_valid_from, 'HH:mm'), DATE_FORMAT(dbt_valid_to, 'HH:mm') FROM m ORDER BY 1, 3"
        )]  # fmt: skip

    event("a", 1, "09:00")
    event("a", 2, "11:00")
    event("b", 1, "09:00")
    dbt_project.dbt("run")
    assert rows() == [("a", 1, "09:00", "11:00"), ("a", 2, "11:00", None), ("b", 1, "09:00", None)]

    event("a", 3, "10:00")
    event("b", 0, "12:00", "delete")
    dbt_project.dbt("run")
    response = dbt_project.responses()["m"]
    assert (response["code"], response["rows_inserted"], response["rows_updated"]) == ("INCREMENTAL", 1, 2)
    assert rows() == [
        ("a", 1, "09:00", "10:00"), ("a", 3, "10:00", "11:00"), ("a", 2, "11:00", None), ("b", 1, "09:00", "12:00"),
    ]  # fmt: skip


HISTORY = "DATE_FORMAT(dbt_valid_from, 'HH:mm'), DATE_FORMAT(dbt_valid_to, 'HH:mm')"


def history(project: DbtProject, columns: str, model: str = "m") -> list[tuple]:
    return sorted((tuple(r) for r in project.sql(f"SELECT {columns}, {HISTORY} FROM {model}")), key=repr)


def at(time: str) -> str:
    return f"TIMESTAMP '2024-05-01 {time}:00'"


def test_every_commit_of_a_table_that_is_written_in_place_is_a_version(dbt_project: DbtProject) -> None:
    """However seldom the model runs. A snapshot sees the last state alone."""
    dbt_project.sql("CREATE TABLE people (id INT, name STRING, city STRING) USING delta")
    dbt_project.model(
        "m", f"select * from {dbt_project.schema}.people where id < 10",
        materialized="versioned_table", unique_key="id", strategy="check", check_cols=["city"],
        hard_deletes="new_record",
    )  # fmt: skip
    dbt_project.sql("INSERT INTO people VALUES (1, 'Ann', 'Wien'), (2, 'Bob', 'Oslo'), (10, 'Zoe', 'Rom')")
    dbt_project.dbt("run")
    assert dbt_project.responses()["m"]["code"] == "CREATED"

    dbt_project.sql("UPDATE people SET city = 'Graz' WHERE id = 1")
    dbt_project.sql("UPDATE people SET name = 'Anne' WHERE id = 1")
    dbt_project.sql("UPDATE people SET city = 'Linz' WHERE id = 1")
    dbt_project.sql("DELETE FROM people WHERE id = 2")
    dbt_project.dbt("run")
    assert dbt_project.responses()["m"]["code"] == "INCREMENTAL"
    shown = "SELECT id, name, city, dbt_is_deleted, dbt_valid_to IS NULL FROM m ORDER BY id, dbt_valid_from"
    assert [tuple(r) for r in dbt_project.sql(shown)] == [
        (1, "Ann", "Wien", "False", False), (1, "Ann", "Graz", "False", False), (1, "Anne", "Linz", "False", True),
        (2, "Bob", "Oslo", "False", False), (2, "Bob", "Oslo", "True", True),
    ]  # fmt: skip
    dbt_project.dbt("run")
    assert dbt_project.responses()["m"]["code"] == "NO CHANGE"
    dbt_project.dbt("run-operation", "explain", "--args", "{model: m}")
    said = "\n".join(dbt_project.lines)
    assert "NO CHANGE, because no source has new data" in said and "m__changelog" in said

    # The journal is not rebuilt, and a new column has no value in the versions before it.
    dbt_project.sql("ALTER TABLE people ADD COLUMNS (age INT)")
    dbt_project.sql("UPDATE people SET age = 40, city = 'Rom' WHERE id = 1")
    dbt_project.dbt("run", "--full-refresh")
    ages = dbt_project.sql("SELECT city, age FROM m WHERE id = 1 ORDER BY dbt_valid_from")
    assert [tuple(r) for r in ages] == [("Wien", None), ("Graz", None), ("Linz", None), ("Rom", 40)]


def test_a_ranking_over_time(dbt_project: DbtProject) -> None:
    """What its changelog keeps are events: who stood there before is not to be taken for who stands there now."""
    dbt_project.sql("CREATE TABLE scores (id INT, score INT) USING delta")
    dbt_project.sql("INSERT INTO scores VALUES (1, 10), (2, 20), (3, 5)")
    best = f"select id, score from {dbt_project.schema}.scores order by score desc limit 2"
    dbt_project.model(
        "m", best, materialized="versioned_table", unique_key="id", strategy="check", check_cols="all"
    )  # fmt: skip
    dbt_project.dbt("run")
    for score in (30, 1, 15):
        dbt_project.sql(f"UPDATE scores SET score = {score} WHERE id = 3")
        dbt_project.dbt("run")
        assert dbt_project.responses()["m"]["code"] == "INCREMENTAL"
        current = dbt_project.sql("SELECT id, score FROM m WHERE dbt_valid_to IS NULL ORDER BY score DESC")
        assert current == dbt_project.sql(best)
    assert dbt_project.sql("SELECT COUNT(*) FROM m WHERE id = 3")[0][0] == 2


def test_a_snapshot_goes_on_as_a_versioned_table(dbt_project: DbtProject) -> None:
    dbt_project.sql("CREATE TABLE orders (id INT, state STRING, at TIMESTAMP) USING delta")
    dbt_project.sql(f"INSERT INTO orders VALUES (1, 'new', {at('09:00')}), (2, 'new', {at('09:00')})")
    select = f"select * from {dbt_project.schema}.orders"
    options = "unique_key='id', strategy='timestamp', updated_at='at'"
    snapshot = dbt_project.write(
        "snapshots/m.sql",
        f"{{% snapshot m %}}{{{{ config({options}, target_schema='{dbt_project.schema}', hard_deletes='invalidate') "
        f"}}}}\n{select}\n{{% endsnapshot %}}",
    )
    dbt_project.dbt("snapshot")
    dbt_project.sql(f"UPDATE orders SET state = 'paid', at = {at('10:00')} WHERE id = 1")
    dbt_project.dbt("snapshot")
    before = history(dbt_project, "id, state, dbt_scd_id")
    snapshot.unlink()

    config = {"materialized": "versioned_table", "unique_key": "id", "strategy": "timestamp", "updated_at": "at"}
    dbt_project.model("m", select, **config)
    said = dbt_project.fails("run")
    assert "holds a history that this model did not make" in said and "history_from=" in said
    assert history(dbt_project, "id, state, dbt_scd_id") == before

    dbt_project.model("m", select, **config, history_from=f"{dbt_project.schema}.m")
    dbt_project.dbt("run")
    assert history(dbt_project, "id, state, dbt_scd_id") == before
    dbt_project.sql(f"UPDATE orders SET state = 'sent', at = {at('11:00')} WHERE id = 1")
    dbt_project.sql("DELETE FROM orders WHERE id = 2")
    dbt_project.dbt("run")
    assert dbt_project.responses()["m"]["code"] == "INCREMENTAL"
    assert history(dbt_project, "id, state")[:3] == [
        (1, "new", "09:00", "10:00"), (1, "paid", "10:00", "11:00"), (1, "sent", "11:00", None),
    ]  # fmt: skip
    assert dbt_project.sql("SELECT COUNT(*) FROM m WHERE id = 2 AND dbt_valid_to IS NOT NULL")[0][0] == 1


def test_a_history_begins_with_what_time_travel_knows_of_a_table(dbt_project: DbtProject) -> None:
    """At the time of each commit the history is the table AS OF that time, and a temporal join meets those rows."""
    dbt_project.sql(
        "CREATE TABLE prices (item INT, price INT) USING delta TBLPROPERTIES (delta.enableChangeDataFeed = false)"
    )
    for statement in (
        "INSERT INTO prices VALUES (1, 10), (2, 20), (3, 30)",
        "ALTER TABLE prices SET TBLPROPERTIES (delta.enableChangeDataFeed = true)",
        "UPDATE prices SET price = price + 1 WHERE item < 3",
        "DELETE FROM prices WHERE item = 2",
        "OPTIMIZE prices",
        "INSERT OVERWRITE prices VALUES (1, 11), (2, 25), (3, 30)",
        "ALTER TABLE prices ADD COLUMNS (unit STRING)",
        "INSERT INTO prices VALUES (4, 40, 'kg')",
    ):
        dbt_project.sql(statement)
    schema = dbt_project.schema
    dbt_project.model(
        "history", f"select item, price, unit from {schema}.prices", materialized="versioned_table",
        unique_key="item", strategy="check", check_cols="all", history_from="time_travel",
    )  # fmt: skip
    dbt_project.sql("CREATE TABLE orders (id INT, item INT, at TIMESTAMP) USING delta")
    dbt_project.model(
        "priced", f"select o.id, o.item, o.at, h.price from {schema}.orders o left join {{{{ ref('history') }}}} "
        "for system_time as of o.at as h on o.item = h.item", materialized="dynamic_table", unique_key="id",
    )  # fmt: skip

    def known() -> list[tuple[int, str]]:
        """Versions since the change feed was turned on, and their times."""
        shown = dbt_project.sql("DESCRIBE HISTORY prices")
        return sorted((r["version"], r["timestamp"].isoformat(sep=" ")) for r in shown if r["version"] >= 2)

    def order(id: int, item: int, at: str) -> None:
        dbt_project.sql(f"INSERT INTO orders VALUES ({id}, {item}, TIMESTAMP '{at}')")

    def compare(versions: list[tuple[int, str]]) -> None:
        columns = {r["col_name"] for r in dbt_project.sql("DESCRIBE prices")}
        assert columns == {"item", "price", "unit"}
        for version, at in versions:
            of_then = {r["item"]: r["price"] for r in dbt_project.sql(f"SELECT * FROM prices VERSION AS OF {version}")}
            valid = f"dbt_valid_from <= '{at}' AND (dbt_valid_to IS NULL OR '{at}' < dbt_valid_to)"
            rows = dbt_project.sql(f"SELECT item, price FROM history WHERE {valid}")
            assert sorted(tuple(r) for r in rows) == sorted(of_then.items()), version
            joined = dbt_project.sql(f"SELECT item, price FROM priced WHERE at = '{at}'")
            assert sorted(tuple(r) for r in joined) == [(i, of_then.get(i)) for i in range(1, 5)], version

    for version, at in known():
        for item in range(1, 5):
            order(10 * version + item, item, at)
    dbt_project.dbt("run")
    assert any("history begins with version 2 of" in line and "no change feed" in line for line in dbt_project.lines)
    compare(before := known())

    dbt_project.sql("UPDATE prices SET price = 99 WHERE item IN (1, 4)")
    dbt_project.sql("DELETE FROM prices WHERE item = 3")
    for version, at in [k for k in known() if k not in before]:
        for item in range(1, 5):
            order(10 * version + item, item, at)
    dbt_project.dbt("run")
    assert {r["code"] for r in dbt_project.responses().values()} == {"INCREMENTAL"}
    compare(known())

    dbt_project.model(
        "history", f"select item, max(price) as price from {schema}.prices group by item",
        materialized="versioned_table", unique_key="item", strategy="check", check_cols="all",
        history_from="time_travel", alias="other",
    )  # fmt: skip
    said = dbt_project.fails("run", "--select", "history")
    assert "history_from='time_travel' needs a SELECT of the rows of one Delta table" in said
    dbt_project.model(
        "history", f"select item, price, current_timestamp() as at from {schema}.prices", alias="other",
        materialized="versioned_table", unique_key="item", updated_at="at", changelog="rows",
        history_from="time_travel",
    )  # fmt: skip
    said = dbt_project.fails("run", "--select", "history")
    assert "is for a table that is written in place" in said and "rows of this SELECT are events" in said


def test_a_history_goes_no_further_back_than_a_vacuum_left_files(dbt_project: DbtProject) -> None:
    dbt_project.sql(
        "CREATE TABLE prices (item INT, price INT) USING delta TBLPROPERTIES (delta.enableChangeDataFeed = true)"
    )
    for price in (1, 2, 3):
        dbt_project.sql(f"INSERT OVERWRITE prices VALUES (1, {price})")
    dbt_project.session.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    dbt_project.sql("VACUUM prices RETAIN 0 HOURS")
    dbt_project.session.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")
    dbt_project.sql("INSERT OVERWRITE prices VALUES (1, 4)")
    dbt_project.model(
        "m", f"select * from {dbt_project.schema}.prices", materialized="versioned_table", unique_key="item",
        strategy="check", check_cols="all", history_from="time_travel",
    )  # fmt: skip
    dbt_project.dbt("run")
    assert any("files of older ones are gone" in line for line in dbt_project.lines)
    shown = dbt_project.sql("SELECT price, dbt_valid_to IS NULL FROM m ORDER BY dbt_valid_from")
    assert [tuple(r) for r in shown] == [(3, False), (4, True)]


def test_a_history_goes_no_further_back_than_the_log(dbt_project: DbtProject) -> None:
    """The log is cleaned up to a checkpoint, of which versions can be read again."""
    dbt_project.sql("CREATE TABLE prices (item INT, price INT) USING delta TBLPROPERTIES (delta.checkpointInterval=4)")
    for price in range(1, 7):
        dbt_project.sql(f"INSERT OVERWRITE prices VALUES (1, {price})")
        if price == 2:
            dbt_project.sql("COMMENT ON TABLE prices IS 'Metadata that no checkpoint comes before.'")
    log = Path(dbt_project.sql("DESCRIBE DETAIL prices")[0]["location"].removeprefix("file:")) / "_delta_log"
    for version in range(2):
        (log / f"{version:020d}.json").unlink()
    dbt_project.model(
        "m", f"select * from {dbt_project.schema}.prices", materialized="versioned_table", unique_key="item",
        strategy="check", check_cols="all", history_from="time_travel",
    )  # fmt: skip
    dbt_project.dbt("run")
    assert any("begins with version 4" in line and "has been cleaned" in line for line in dbt_project.lines)
    shown = dbt_project.sql("SELECT price, dbt_valid_to IS NULL FROM m ORDER BY dbt_valid_from")
    assert [tuple(r) for r in shown] == [(3, False), (4, False), (5, False), (6, True)]


def test_events_older_than_the_watermark(dbt_project: DbtProject) -> None:
    dbt_project.sql("CREATE TABLE events (k STRING, v INT, at TIMESTAMP, op STRING) USING delta")
    for late in ("accept", "ignore", "error"):
        dbt_project.model(
            late, f"select * from {dbt_project.schema}.events", materialized="versioned_table", unique_key="k",
            updated_at="at", operation="op", watermark="1 hour", late_events=late,
        )  # fmt: skip

    def event(v: int, time: str, op: str = "insert") -> None:
        dbt_project.sql(f"INSERT INTO events VALUES ('a', {v}, {at(time)}, '{op}')")

    event(1, "08:00")
    event(2, "12:00")
    event(0, "10:00", "delete")
    dbt_project.dbt("run")
    early = [(1, "08:00", "10:00"), (2, "12:00", None)]
    assert all(history(dbt_project, "v", late) == early for late in ("accept", "ignore", "error"))

    event(3, "11:30")
    event(4, "09:00")
    said = dbt_project.fails("run")
    assert "1 events are older than the watermark" in said
    assert history(dbt_project, "v", "accept") == [
        (1, "08:00", "09:00"), (2, "12:00", None), (3, "11:30", "12:00"), (4, "09:00", "10:00"),
    ]  # fmt: skip
    assert history(dbt_project, "v", "ignore") == [(1, "08:00", "10:00"), (2, "12:00", None), (3, "11:30", "12:00")]
    assert history(dbt_project, "v", "error") == early
    assert dbt_project.responses()["ignore"]["ignored"] == 1
    assert any("(1 too late)" in line for line in dbt_project.lines)


def test_what_a_versioned_table_refuses(dbt_project: DbtProject) -> None:
    dbt_project.sql("CREATE TABLE events (k STRING, v INT, at TIMESTAMP, op STRING) USING delta")
    dbt_project.sql("INSERT INTO events VALUES ('a', 1, NULL, 'insert')")
    select = f"select * from {dbt_project.schema}.events"
    config = {"materialized": "versioned_table", "unique_key": "k", "updated_at": "at", "operation": "op"}
    wrong = {
        "no_key": {"unique_key": None}, "no_time": {"updated_at": None, "operation": None},
        "no_column": {"updated_at": "when"}, "undated": {}, "odd": {"late_events": "ignore"},
    }  # fmt: skip
    for name, change in wrong.items():
        kept = {o: v for o, v in {**config, **change}.items() if v is not None}
        dbt_project.model(name, select, **kept)
    said = dbt_project.fails("run")
    assert "a versioned table needs unique_key" in said
    assert "a versioned table needs the time at which each version began" in said
    assert "updated_at names when, which is not a column of the SELECT" in said
    assert "an event has no at, which dates it; its k: a" in said
    assert "late_events says what becomes of events" in said
    assert {row["tableName"] for row in dbt_project.sql("SHOW TABLES")} <= {"events", "undated"}
