"""Sinks: what was delivered, replayed from the beginning, is the table, in each encoding, whatever was done to it."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dbt_spark_dynamic.commit.classic import ClassicEngine
from dbt_spark_dynamic.commit.refresh import refresh
from dbt_spark_dynamic.commit.spec import Spec
from dbt_spark_dynamic.errors import ConfigError, DynamicTableError, TargetError
from dbt_spark_dynamic.sinks.declaration import sink_of
from dbt_spark_dynamic.sinks.delivery import Destination, deliver
from dbt_spark_dynamic.sinks.delta import DeltaSink
from dbt_spark_dynamic.sinks.destination import delivering, destination_of
from dbt_spark_dynamic.sinks.files import FileSink
from dbt_spark_dynamic.watch.events import Kind
from integration_tests.conftest import DbtProject
from integration_tests.maintained import Maintained
from integration_tests.test_watch import until, until_settled, watching

COUNTS = "SELECT user, COUNT(*) AS n, MAX(url) AS latest FROM clicks GROUP BY user"
KEYLESS = "SELECT user, url FROM clicks"
STATEMENTS = (
    "INSERT INTO clicks VALUES ('{u}', './{n}'), ('{u}', './{n}'), (NULL, './home')",
    "UPDATE clicks SET url = './{n}' WHERE user = '{u}'",
    "DELETE FROM clicks WHERE user = '{u}'",
    "DELETE FROM clicks WHERE user IS NULL",
    "UPDATE clicks SET url = url",
)


class Delivered:
    """A dynamic table over clicks with a sink. said: of the sink beside its place."""

    def __init__(self, tables: Maintained, folder: Path, sql: str, **said: Any) -> None:
        self.tables, self.sql = tables, sql
        self.place = {"table": "messages"} if said["format"] == "delta" else {"path": str(folder / "messages")}
        self.target = f"{tables.schema}.m"
        sink = sink_of({"sink": {**self.place, **said}}, self.target, "models/m.sql")
        assert sink is not None
        self.sink = sink
        tables.sql("CREATE TABLE IF NOT EXISTS clicks (user STRING, url STRING) USING delta")

    def run(self, **options: Any) -> int:
        """One refresh, and its delivery. Returns how many changed rows were delivered."""
        spec = Spec(target=self.target, sql=self.sql, place="models/m.sql", **options)
        engine = ClassicEngine(self.tables.session)

        def refreshing(engine, versions):
            return refresh(spec, engine, versions)

        outcome = delivering(refreshing, self.sink, self.target, spec.unique_key, engine, {})
        assert outcome.delivered is not None
        return outcome.delivered

    @property
    def to(self) -> Destination:
        return destination_of(self.sink, ClassicEngine(self.tables.session), self.target)

    @property
    def messages(self) -> list[Any]:
        """In the order of deliveries, what is taken back before what is added."""
        found = self.tables.session
        if self.sink.format == "delta":
            rows = found.table("messages").collect()
        else:
            columns = found.table("m").dtypes
            flagged = [("_flag", "boolean")] if self.sink.mode.value != "append" else []
            schema = ", ".join(f"`{n}` {t}" for n, t in [*flagged, *columns, ("_version", "bigint")])
            rows = found.read.schema(schema).format(self.sink.format).load(self.place["path"]).collect()
        return sorted((r.asDict() for r in rows), key=lambda r: (r.get("_version", 0), r.get("_flag", True)))

    def replayed(self, *key: str) -> Counter[tuple[Any, ...]]:
        columns = [n for n, _ in self.tables.session.table("m").dtypes]
        bag, by_key = Counter[tuple[Any, ...]](), dict[tuple[Any, ...], tuple[Any, ...]]()
        for message in self.messages:
            row = tuple(message.get(c) for c in columns)
            if key:
                if message["_flag"]:
                    by_key[tuple(message[k] for k in key)] = row
                else:
                    del by_key[tuple(message[k] for k in key)]
            else:
                bag[row] += 1 if message.get("_flag", True) else -1
                assert bag[row] >= 0
        return Counter(by_key.values()) if key else +bag

    def table(self) -> Counter[tuple[Any, ...]]:
        return Counter(tuple(r) for r in self.tables.sql("SELECT * FROM m"))


@pytest.mark.parametrize(
    ("form", "mode", "sql", "key"),
    [
        ("delta", "retract", KEYLESS, ()),
        pytest.param("delta", "upsert", COUNTS, ("user",), marks=pytest.mark.thorough),
        pytest.param("json", "retract", COUNTS, (), marks=pytest.mark.thorough),
        ("parquet", "upsert", COUNTS, ("user",)),
    ],
)
def test_what_was_delivered_replayed_is_the_table(
    maintained: Maintained, tmp_path: Path, form: str, mode: str, sql: str, key: tuple[str, ...]
) -> None:
    made = Delivered(maintained, tmp_path, sql, format=form, mode=mode)
    maintained.sql("INSERT INTO clicks VALUES ('mary', './home'), ('mary', './home'), ('bob', './cart')")
    rng = random.Random(f"{form} {mode}")
    made.run()
    assert all(m["_flag"] for m in made.messages)
    for step in range(6):
        for _ in range(rng.randrange(3)):
            statement = rng.choice(STATEMENTS).format(u=rng.choice(("mary", "bob", "liz")), n=rng.randrange(4))
            maintained.sql(statement)
        if step == 2:
            # Refreshed without its sink: the next delivery has that too.
            maintained.refresh("m", sql=sql)
        # Replaced by another table of the same rows, which is no change.
        made.run(full_refresh=step == 4)
        assert made.replayed(*key) == made.table()
    before = len(made.messages)
    assert made.run() == 0 and made.run(full_refresh=True) == 0 and len(made.messages) == before


def test_a_table_with_other_columns_and_one_that_was_restored(maintained: Maintained, tmp_path: Path) -> None:
    made = Delivered(maintained, tmp_path, COUNTS, format="delta", mode="retract")
    maintained.sql("INSERT INTO clicks VALUES ('mary', './home'), ('bob', './cart')")
    made.run()
    made.sql = "SELECT user, COUNT(*) AS n, MIN(url) AS first FROM clicks GROUP BY user"
    made.run()
    assert made.replayed() == made.table()
    made.sql = made.sql.replace("COUNT(*)", "CAST(COUNT(*) AS STRING)")
    with pytest.raises(TargetError, match=r"the column n is a string, and in \S+ a bigint"):
        made.run()
    made.sql = made.sql.replace("CAST(COUNT(*) AS STRING)", "COUNT(*)")
    made.run()
    assert made.replayed() == made.table()
    maintained.sql("INSERT INTO clicks VALUES ('mary', './a')")
    made.run()
    version = maintained.version("m")
    maintained.sql(f"RESTORE TABLE m TO VERSION AS OF {version - 1}")
    deliver(ClassicEngine(maintained.session), made.sink, made.to, made.target, ())
    assert made.replayed() == made.table()
    made.run(full_refresh=True)
    assert made.replayed() == made.table()


@pytest.mark.parametrize(
    "form", ["delta", *(pytest.param(form, marks=pytest.mark.thorough) for form in ("csv", "orc"))]
)
def test_a_sink_of_appends_refuses_what_is_none_and_is_mended_by_another_mode(
    maintained: Maintained, tmp_path: Path, form: str
) -> None:
    made = Delivered(maintained, tmp_path, KEYLESS, format=form, mode="append")
    maintained.sql("INSERT INTO clicks VALUES ('mary', './home'), ('bob', './cart')")
    made.run()
    maintained.sql("INSERT INTO clicks VALUES ('mary', './home')")
    maintained.sql("INSERT INTO clicks VALUES ('liz', './gone')")
    maintained.sql("DELETE FROM clicks WHERE user = 'liz'")
    assert made.run() == 1 and made.replayed() == made.table()
    maintained.sql("UPDATE clicks SET url = './new' WHERE user = 'bob'")
    for _ in range(2):
        with pytest.raises(
            ConfigError, match=r"modified by update or delete changes(.|\n)*'bob', './cart'(.|\n)*retract"
        ):
            made.run()
    # The table itself is refreshed; of the delivery, nothing was written.
    assert made.table()[("bob", "./new")] == 1 and made.replayed()[("bob", "./cart")] == 1
    maintained.sql("UPDATE clicks SET url = './cart' WHERE user = 'bob'")
    assert made.run() == 0 and made.replayed() == made.table()


def test_upserts_without_a_key(maintained: Maintained, tmp_path: Path) -> None:
    made = Delivered(maintained, tmp_path, KEYLESS, format="delta", mode="upsert")
    with pytest.raises(ConfigError, match=r"needs a table that has a unique key or is append-only(.|\n)*\(user, url\)"):
        made.run(sink_by_key=True)
    assert maintained.sql(f"SHOW TABLES IN {maintained.schema} LIKE 'm'") == []
    maintained.sql("INSERT INTO clicks VALUES ('mary', './home'), ('mary', './home')")
    made.run()
    assert [m["_flag"] for m in made.messages] == [True, True]
    maintained.sql("DELETE FROM clicks")
    with pytest.raises(ConfigError, match="no unique key and is not append-only"):
        made.run()


def test_places_that_are_not_this_models_own(maintained: Maintained, tmp_path: Path) -> None:
    made = Delivered(maintained, tmp_path, COUNTS, format="delta", mode="retract")
    maintained.sql("CREATE TABLE messages USING delta AS SELECT 1 AS x")
    with pytest.raises(TargetError, match="has rows that no delivery wrote"):
        made.run()
    maintained.sql("DROP TABLE messages")
    made.run()
    other = Delivered(maintained, tmp_path, COUNTS, format="delta", mode="retract")
    other.target = f"{maintained.schema}.another"
    with pytest.raises(TargetError, match=r"is the sink of \S+\.m\."):
        other.run()
    maintained.sql("DROP TABLE m")
    with pytest.raises(TargetError, match="it was dropped and made anew"):
        made.run()
    maintained.sql("DROP TABLE messages")
    made.run()
    assert made.replayed() == made.table()


class Died(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize("form", [pytest.param("delta", marks=pytest.mark.thorough), "json"])
def test_dead_before_and_after_the_commit_of_a_delivery(
    maintained: Maintained, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Delivered(maintained, tmp_path, COUNTS, format=form, mode="retract")
    maintained.sql("INSERT INTO clicks VALUES ('mary', './home')")
    made.run()
    kind = DeltaSink if form == "delta" else FileSink
    write = kind.write

    def dies_after(*arguments: Any) -> None:
        write(*arguments)
        raise Died

    def dies_before(self: Any, *_: Any) -> None:
        if form == "json":
            rows = self.session.sql("SELECT TRUE AS _flag, 'x' AS user, 1 AS n, 'y' AS latest")
            rows.write.json(f"{self.sink.place}/_aside_1")
        raise Died

    for dying in (dies_before, dies_after):
        maintained.sql("INSERT INTO clicks VALUES ('mary', './home'), ('bob', './cart')")
        monkeypatch.setattr(kind, "write", dying)
        with pytest.raises(Died):
            made.run()
        monkeypatch.setattr(kind, "write", write)
        made.run()
        assert made.replayed() == made.table()


def test_two_deliveries_at_once_are_one(
    maintained: Maintained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for form in ("delta", "json"):
        made = Delivered(maintained, tmp_path, COUNTS, format=form, mode="retract")
        maintained.sql("INSERT INTO clicks VALUES ('mary', './home')")
        made.run()
        maintained.sql("INSERT INTO clicks VALUES ('mary', './home')")
        kind = DeltaSink if form == "delta" else FileSink
        write = kind.write

        def second(self: Any, messages: Any, delivery: Any, kind: Any = kind, write: Any = write) -> None:
            monkeypatch.setattr(kind, "write", write)
            write(self, messages, delivery)
            write(self, messages, delivery)

        monkeypatch.setattr(kind, "write", second)
        if form == "json":
            with pytest.raises(DynamicTableError, match="another run delivered"):
                made.run()
        else:
            made.run()
        assert made.replayed() == made.table()
        made.run()
        maintained.sql("DROP TABLE m")


@pytest.mark.every_connection
def test_a_models_sink(dbt_project: DbtProject) -> None:
    dbt_project.sql("CREATE TABLE clicks (user STRING) USING delta")
    dbt_project.sql("INSERT INTO clicks VALUES ('mary'), ('bob')")
    counts = f"select user, count(*) as n from {dbt_project.schema}.clicks group by user"
    sink = {"format": "delta", "mode": "upsert", "table": "messages"}
    dbt_project.model("counts", counts, materialized="dynamic_table", sink=sink)
    dbt_project.dbt("run")
    assert dbt_project.responses()["counts"]["delivered"] == 2
    dbt_project.sql("INSERT INTO clicks VALUES ('mary')")
    dbt_project.sql("DELETE FROM clicks WHERE user = 'bob'")
    dbt_project.dbt("run")
    assert any("; 3 delivered" in line for line in dbt_project.lines)
    first, second = sorted({r[0] for r in dbt_project.sql("SELECT _version FROM messages")})
    found = {tuple(r) for r in dbt_project.sql("SELECT _flag, user, n, _version FROM messages")}
    assert found == {
        (True, "mary", 1, first), (True, "bob", 1, first), (True, "mary", 2, second), (False, "bob", None, second),
    }  # fmt: skip
    dbt_project.model("counts", counts, materialized="dynamic_table", sink={**sink, "modus": "x"})
    assert "did you mean mode?" in dbt_project.fails("run")


def test_a_versioned_table_and_a_watched_table_have_sinks(dbt_project: DbtProject, tmp_path: Path) -> None:
    dbt_project.sql("CREATE TABLE rates (currency STRING, rate INT, at TIMESTAMP, op STRING) USING delta")
    dbt_project.sql("INSERT INTO rates VALUES ('EUR', 1, TIMESTAMP '2024-01-01', 'insert')")
    dbt_project.model(
        "versions", f"select * from {dbt_project.schema}.rates", materialized="versioned_table",
        unique_key="currency", updated_at="at", operation="op",
        sink={"format": "json", "mode": "retract", "path": str(tmp_path / "out")},
    )  # fmt: skip
    dbt_project.dbt("run")
    with watching(dbt_project) as (loop, events):
        until(events, Kind.REFRESHED, "versions")
        dbt_project.sql("INSERT INTO rates VALUES ('EUR', 2, TIMESTAMP '2024-02-01', 'update')")
        until(events, Kind.REFRESHED, "versions", times=2)
        until_settled(loop, events)
    said = dbt_project.session.read.json(str(tmp_path / "out")).select("_flag", "rate").collect()
    assert sorted(tuple(r) for r in said) == [(False, 1), (True, 1), (True, 1), (True, 2)]


def test_a_delta_table_that_is_a_folder(maintained: Maintained, tmp_path: Path) -> None:
    made = Delivered(maintained, tmp_path, COUNTS, format="delta", mode="retract")
    folder = str(tmp_path / "out")
    sink = sink_of({"sink": {"format": "delta", "mode": "append", "path": folder}}, made.target, "models/m.sql")
    assert sink is not None
    made.sink = sink
    maintained.sql("INSERT INTO clicks VALUES ('mary', './home')")
    made.run()
    maintained.sql("INSERT INTO clicks VALUES ('bob', './home')")
    made.run()
    assert Counter(tuple(r) for r in maintained.sql(f"SELECT * FROM delta.`{folder}`")) == made.table()
