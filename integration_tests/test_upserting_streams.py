"""Streams with a key: the table is what the records say last of each key, whatever their order and number of runs."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dbt_spark_dynamic.streams.declaration import stream_of
from dbt_spark_dynamic.streams.landing import land
from dbt_spark_dynamic.watch.events import Kind
from integration_tests.conftest import DbtProject
from integration_tests.maintained import Maintained
from integration_tests.own_process import SHORT_LIVED
from integration_tests.test_streams import drop_in, rows
from integration_tests.test_watch import until, until_settled, watching

PRICES = {"id": "int", "price": "int", "seq": "int"}


class Topic:
    """A folder as a stream. columns: name -> type; options: of the stream's declaration."""

    def __init__(self, tables: Maintained, folder: Path, columns: dict[str, str], form: str = "json", **options: Any):
        self.tables, self.folder, self.files = tables, folder, 0
        folder.mkdir(exist_ok=True)
        said = {"format": form, "options": {"path": str(folder)}, **options}
        listed = {n: {"data_type": t} for n, t in columns.items()}
        table = f"{tables.schema}.prices"
        self.stream = stream_of("source.p.shop.prices", table, {"stream": said}, listed, "models/sources.yml")

    def send(self, *messages: dict[str, Any]) -> None:
        """One file, later than all before it."""
        self.files += 1
        drop_in(self.folder, f"{self.files}.json", *messages)
        os.utime(self.folder / f"{self.files}.json", (1_700_000_000 + self.files,) * 2)

    def land(self, *messages: dict[str, Any]) -> list[tuple[Any, ...]]:
        if messages:
            self.send(*messages)
        assert self.stream is not None
        land(self.tables.session, self.stream)
        return self.tables.rows("prices")

    def forget_the_last_batch(self) -> None:
        """As a process does that dies after the commit of the table, and before that of the checkpoint."""
        location = self.tables.sql("DESCRIBE DETAIL prices")[0]["location"].removeprefix("file:")
        commits = sorted((Path(location) / "_checkpoint/commits").glob("[0-9]*"), key=lambda p: int(p.name))
        for path in (commits[-1], commits[-1].with_name(f".{commits[-1].name}.crc")):
            path.unlink(missing_ok=True)


def price(id: int, price: int, seq: int = 0) -> dict[str, int]:
    return {"id": id, "price": price, "seq": seq}


def test_the_last_record_of_a_key_is_its_row(maintained: Maintained, tmp_path: Path) -> None:
    topic = Topic(maintained, tmp_path / "in", PRICES, key="ID")
    assert topic.land() == []
    # Within a file the order of its rows, and a later file after an earlier one.
    topic.send(price(1, 10), price(2, 20), price(1, 11))
    assert topic.land(price(2, 21), price(3, 30), price(2, 22)) == [(1, 11, 0), (2, 22, 0), (3, 30, 0)]
    assert topic.land(price(1, 12), {"price": 7}) == [(1, 12, 0), (2, 22, 0), (3, 30, 0), (None, 7, None)]
    version = maintained.version("prices")
    topic.forget_the_last_batch()
    assert len(topic.land()) == 4 and maintained.version("prices") == version
    # A row that says what the table has is no change.
    topic.land(price(1, 12))
    changed = maintained.sql(f"SELECT * FROM table_changes('prices', {version + 1})")
    assert changed == []


def test_a_late_record_does_not_overwrite_a_later_one(maintained: Maintained, tmp_path: Path) -> None:
    topic = Topic(maintained, tmp_path / "in", PRICES, key=["id"], sequence_by="seq")
    assert topic.land(price(1, 12, 2), price(1, 11, 1), price(2, 20, 5)) == [(1, 12, 2), (2, 20, 5)]
    assert topic.land(price(1, 9, 1), price(2, 21, 5), {"id": 2, "price": 8}) == [(1, 12, 2), (2, 21, 5)]
    assert topic.land(price(1, 13, 3)) == [(1, 13, 3), (2, 21, 5)]


def test_rows_that_stand_in_no_order_are_told_by_their_sequence(maintained: Maintained, tmp_path: Path) -> None:
    fed = tmp_path / "fed"

    def append(*values: str) -> None:
        maintained.sql(f"INSERT INTO delta.`{fed}` VALUES {', '.join(values)}")

    maintained.sql(f"CREATE TABLE delta.`{fed}` (id INT, price INT, seq INT) USING delta")
    topic = Topic(maintained, fed, PRICES, "delta", key="id", sequence_by="seq")
    append("(1, 11, 2)", "(2, 20, 1)", "(1, 10, 1)", "(NULL, 7, NULL)")
    assert topic.land() == [(1, 11, 2), (2, 20, 1), (None, 7, None)]
    append("(1, 9, 0)", "(2, 21, 1)")
    append("(3, 30, 5)")
    append("(3, 29, 4)")
    expected = [(1, 11, 2), (2, 21, 1), (3, 30, 5), (None, 7, None)]
    assert topic.land() == expected
    version = maintained.version("prices")
    topic.forget_the_last_batch()
    assert topic.land() == expected and maintained.version("prices") == version


def test_columns_that_come_and_keys_that_change(maintained: Maintained, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    Topic(maintained, folder, {"id": "int", "price": "int"}, key="id").land(price(1, 10))
    wider = Topic(maintained, folder, PRICES, key="id")
    wider.files = 1
    assert wider.land(price(2, 20, 3)) == [(1, 10, None), (2, 20, 3)]
    with pytest.raises(Exception, match=r"has another key than its table(.|\n)*by the key id(.|\n)*DROP TABLE"):
        Topic(maintained, folder, PRICES, key=["id", "seq"]).land()
    with pytest.raises(Exception, match="has another key than its table"):
        Topic(maintained, folder, PRICES).land()
    maintained.sql("DROP TABLE prices")
    Topic(maintained, folder, PRICES).land()
    with pytest.raises(Exception, match="without a key, every record as a row"):
        Topic(maintained, folder, PRICES, key="id").land()


def debezium(op: str, before: Any, after: Any, at: int) -> dict[str, Any]:
    return {"op": op, "before": before, "after": after, "ts_ms": at, "source": {"ts_ms": at, "lsn": at}}


def canal(kind: str, data: list[Any], old: list[Any] | None, at: int) -> dict[str, Any]:
    def texts(row: dict[str, Any]) -> dict[str, str]:
        return {n: str(v) for n, v in row.items()}

    changed = [texts(o) for o in old] if old else None
    return {"type": kind, "data": [texts(d) for d in data], "old": changed, "es": at, "ts": at, "id": at}


@pytest.mark.parametrize("form", ["debezium-json", "canal-json"])
def test_a_replicated_table_is_the_state_that_its_messages_describe(
    maintained: Maintained, tmp_path: Path, form: str
) -> None:
    """A random database, whose every change is a message; keys change too."""
    topic = Topic(maintained, tmp_path / "in", PRICES, "text", key="id", value_format=form)
    rng, state = random.Random(7), dict[int, dict[str, int]]()
    at = 1_700_000_000_000
    for _ in range(4):
        messages = []
        for _ in range(40):
            at += rng.choice((0, 1))
            id = rng.randrange(12)
            row, new = state.get(id), price(id, rng.randrange(100))
            if row is None:
                messages.append(debezium("c", None, new, at) if form[0] == "d" else canal("INSERT", [new], None, at))
                state[id] = new
            elif rng.random() < 0.3:
                messages.append(debezium("d", row, None, at) if form[0] == "d" else canal("DELETE", [row], None, at))
                del state[id]
            else:
                free = [i for i in range(12) if i not in state]
                if free and rng.random() < 0.4:
                    new = {**new, "id": rng.choice(free)}
                old = {n: v for n, v in row.items() if v != new[n]}
                changed = debezium("u", row, new, at) if form[0] == "d" else canal("UPDATE", [new], [old], at)
                messages.append(changed)
                del state[id]
                state[new["id"]] = new
        cut = rng.randrange(1, 39)
        topic.send(*messages[:cut])
        found = topic.land(*messages[cut:])
        assert found == sorted((tuple(r.values()) for r in state.values()), key=repr)


def test_one_message_that_moves_keys_along(maintained: Maintained, tmp_path: Path) -> None:
    topic = Topic(maintained, tmp_path / "in", PRICES, "text", key="id", value_format="canal-json")
    topic.land(canal("INSERT", [price(1, 10), price(2, 20)], None, 1))
    moved = canal("UPDATE", [price(2, 10), price(3, 20)], [{"id": 1}, {"id": 2}], 2)
    assert topic.land(moved) == [(2, 10, 0), (3, 20, 0)]


def test_the_order_of_the_databases_log_counts_between_files(maintained: Maintained, tmp_path: Path) -> None:
    columns = {"id": "int", "price": "int", "source_lsn": "bigint"}
    options = {"key": "id", "value_format": "debezium-json", "sequence_by": "source_lsn"}
    topic = Topic(maintained, tmp_path / "in", columns, "text", **options)
    topic.send(debezium("u", None, price(1, 12), 12), debezium("c", None, price(2, 20), 10))
    assert topic.land(debezium("c", None, price(1, 11), 11)) == [(1, 12, 12), (2, 20, 10)]
    # Of a batch of its own, too; and a delete that does not say where it stands deletes.
    late, unplaced = debezium("u", None, price(1, 9), 9), debezium("d", {"id": 2}, None, 1)
    del unplaced["source"]
    assert topic.land(late, unplaced, debezium("c", None, price(2, 21), 3)) == [(1, 12, 12), (2, 21, 3)]


def test_a_message_that_is_none_stops_the_stream(maintained: Maintained, tmp_path: Path) -> None:
    topic = Topic(maintained, tmp_path / "in", PRICES, "text", key="id", value_format="debezium-json")
    topic.land(debezium("c", None, price(1, 10), 1))
    (tmp_path / "in/x.json").write_text("no message\n")
    with pytest.raises(Exception, match=r"prices could not be landed(.|\n)*why: +\S*MALFORMED_RECORD"):
        topic.land()
    (tmp_path / "in/x.json").write_text(json.dumps({"op": "t", "ts_ms": 1}) + "\n")
    assert maintained.rows("prices") == [(1, 10, 0)]


def test_models_over_it_are_maintained_by_change_also_while_it_is_watched(
    dbt_project: DbtProject, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    stream = f"{{format: json, key: id, options: {{path: '{folder}'}}}}"
    columns = "[{name: id, data_type: int}, {name: price, data_type: int}]"
    dbt_project.write(
        "models/sources.yml",
        f"sources: [{{name: shop, schema: {dbt_project.schema}, tables: [{{name: prices, meta: {{stream: {stream}}}, "
        f"columns: {columns}}}]}}]",
    )
    dbt_project.model(
        "total", "select sum(price) as s, count(*) as n from {{ source('shop', 'prices') }}",
        materialized="dynamic_table", refresh_mode="incremental",
    )  # fmt: skip
    drop_in(folder, "1.json", {"id": 1, "price": 1}, {"id": 2, "price": 2})
    dbt_project.dbt("run")
    assert rows(dbt_project, "total") == [(3, 2)]
    drop_in(folder, "2.json", {"id": 1, "price": 5})
    dbt_project.dbt("run")
    assert rows(dbt_project, "total") == [(7, 2)]
    assert dbt_project.responses()["total"]["code"] == "INCREMENTAL"
    with watching(dbt_project) as (loop, events):
        until(events, Kind.REFRESHED, "total")
        drop_in(folder, "3.json", {"id": 2, "price": 7}, {"id": 3, "price": 1})
        until(events, Kind.REFRESHED, "total", times=2)
        until_settled(loop, events)
    assert rows(dbt_project, "total") == [(13, 3)]


CHILD = """
import sys
from pathlib import Path
from dbt_spark_dynamic.embedded.session import open_session
from dbt_spark_dynamic.embedded.settings import EmbeddedSettings
from dbt_spark_dynamic.streams import landing
from dbt_spark_dynamic.streams.declaration import stream_of

store, folder = sys.argv[1:]
spark = open_session(EmbeddedSettings(store=Path(store)))
said = {"format": "json", "key": "id", "options": {"path": folder, "maxFilesPerTrigger": "1"}}
columns = {n: {"data_type": "int"} for n in ("id", "price")}
stream = stream_of("source.p.shop.prices", "default.prices", {"stream": said}, columns, "")
"""
KILLED = """
import os, signal
merge, java = landing._merge, spark._jvm.java.lang.ProcessHandle.current().pid()

def then_killed(batch, number, *more):
    merge(batch, number, *more)
    if number == 1:
        os.kill(java, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

landing._merge = then_killed
landing.land(spark, stream)
print("NOT KILLED")
"""
AGAIN = """
def versions():
    return [tuple(r) for r in spark.sql("DESCRIBE HISTORY prices").select("operation").collect()]

print("MERGES", versions().count(("MERGE",)))
landing.land(spark, stream)
print("MERGES", versions().count(("MERGE",)))
print("ROWS", sorted(tuple(r) for r in spark.table("prices").collect()))
changes = spark.sql("SELECT _change_type FROM table_changes('prices', 0)").collect()
print("CHANGES", sorted(r[0] for r in changes))
"""


def test_killed_between_the_commit_of_a_batch_and_that_of_its_checkpoint(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for n in range(3):
        drop_in(folder, f"{n}.json", {"id": n, "price": n}, {"id": 9, "price": n})
        os.utime(folder / f"{n}.json", (1_700_000_000 + n,) * 2)
    command, arguments = [sys.executable, "-c"], [str(tmp_path / "store"), str(folder)]
    run = partial(subprocess.run, capture_output=True, text=True, env=os.environ | SHORT_LIVED)
    first = run([*command, CHILD + KILLED, *arguments])
    assert first.returncode == -signal.SIGKILL and "NOT KILLED" not in first.stdout, first.stderr[-2000:]
    second = run([*command, CHILD + AGAIN, *arguments])
    assert second.stdout.splitlines() == [
        "MERGES 2",
        "MERGES 3",
        "ROWS [(0, 0), (1, 1), (2, 2), (9, 2)]",
        "CHANGES ['insert', 'insert', 'insert', 'insert', " + ", ".join(
            f"'update_{image}'" for image in ("postimage", "postimage", "preimage", "preimage")
        ) + "]",
    ], second.stdout + second.stderr[-2000:]  # fmt: skip
