"""The small files of what is written again and again are put together, and no refresh takes that for a change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dbt_spark_dynamic.commit import upkeep
from dbt_spark_dynamic.commit.history import PACKING
from dbt_spark_dynamic.commit.outcome import Code
from dbt_spark_dynamic.streams.declaration import Stream
from dbt_spark_dynamic.streams.landing import land
from integration_tests.maintained import Maintained, shorter_log
from integration_tests.test_streams import drop_in

HISTORY = "DESCRIBE HISTORY {}"


@pytest.fixture
def events(maintained: Maintained, monkeypatch: pytest.MonkeyPatch) -> Maintained:
    """A model whose every refresh leaves a file, and is packed every third version."""
    monkeypatch.setattr(upkeep, "EVERY", 3)
    maintained.sql("CREATE TABLE events (id INT, n INT) USING delta")
    return maintained


def files(maintained: Maintained, table: str) -> int:
    return int(maintained.sql(f"DESCRIBE DETAIL {table}")[0]["numFiles"])


def refreshed(maintained: Maintained, rounds: range) -> None:
    for n in rounds:
        maintained.sql(f"INSERT INTO events VALUES ({n}, {n % 3})")
        outcome = maintained.refresh("m", sql="SELECT id, n FROM events WHERE n < 2")
        assert outcome.code in (Code.CREATED, Code.INCREMENTAL), outcome.line()
        assert not outcome.notes and maintained.difference("m") == 0
    assert maintained.refresh("m").code is Code.NO_CHANGE


def test_files_are_packed_every_so_many_versions(events: Maintained) -> None:
    refreshed(events, range(7))
    done = [row["operation"] for row in events.sql(HISTORY.format("m"))]
    assert done.count(PACKING) >= 2 and files(events, "m") <= 3


def test_a_table_that_somebody_else_packs_is_left_to_them(events: Maintained) -> None:
    refreshed(events, range(1))
    events.sql(f"ALTER TABLE m SET TBLPROPERTIES ('{upkeep.OF_DELTA}' = 'false')")
    refreshed(events, range(1, 4))
    assert PACKING not in [row["operation"] for row in events.sql(HISTORY.format("m"))]
    # Delta's own commit has the ledger of the one that set it off, and is none of a refresh.
    events.sql(f"ALTER TABLE m SET TBLPROPERTIES ('{upkeep.OF_DELTA}' = 'true')")
    events.session.conf.set("spark.databricks.delta.autoCompact.minNumFiles", "2")
    refreshed(events, range(4, 7))
    packed = [row["userMetadata"] for row in events.sql(HISTORY.format("m")) if row["operation"] == PACKING]
    assert any("dbt_spark_dynamic" in (text or "") for text in packed)


def test_the_log_of_a_table_is_kept_as_long_as_it_says_to_the_minute(events: Maintained) -> None:
    """Delta itself would keep all commits of a day until the next."""
    refreshed(events, range(1))
    log = Path(events.sql("DESCRIBE DETAIL m")[0]["location"].removeprefix("file:")) / "_delta_log"
    refreshed(events, range(1, 13))
    age(log, hours=2)
    refreshed(events, range(13, 16))
    assert (log / f"{0:020d}.json").exists()

    events.sql(shorter_log("m", "interval 1 hour"))
    refreshed(events, range(16, 20))
    kept = sorted(int(file.stem) for file in log.glob("*.json"))
    # From the last checkpoint on that is old enough: whoever asks for a version after it can have it.
    assert 10 <= kept[0] < events.version("m") - 5
    assert events.sql(f"SELECT COUNT(*) FROM m VERSION AS OF {kept[0]}")[0][0] > 0


def age(log: Path, hours: int) -> None:
    """All that is in a log is older than it was."""
    for file in log.iterdir():
        written = file.stat().st_mtime - hours * 3600
        os.utime(file, (written, written))


def test_a_landed_stream_is_packed(events: Maintained, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    table = f"{events.schema}.clicks"
    stream = Stream(
        "source.shop.clicks", table, "json", (("n", "int"),), {"path": str(folder), "maxFilesPerTrigger": "1"}
    )
    for n in range(4):
        drop_in(folder, f"{n}.json", {"n": n})
    landed = land(events.session, stream)
    assert landed.rows == 4 and landed.note is None
    assert files(events, table) == 1 and len(events.sql(f"SELECT * FROM {table}")) == 4
