"""changelog(table, mode): replayed from nothing it is the table at each of its versions, in each of the encodings."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from dbt_spark_dynamic.commit.changelog import changelog
from dbt_spark_dynamic.commit.classic import ClassicEngine
from dbt_spark_dynamic.commit.spec import ChangelogMode
from dbt_spark_dynamic.errors import ConfigError
from integration_tests.conftest import DbtProject
from integration_tests.maintained import Maintained

APPEND, RETRACT, UPSERT = ChangelogMode.APPEND, ChangelogMode.RETRACT, ChangelogMode.UPSERT
COUNTS = "SELECT user, COUNT(*) AS n, MAX(url) AS latest FROM clicks GROUP BY user"
KEYLESS = "SELECT user, url FROM clicks"
SCRIPT = (
    "INSERT INTO clicks VALUES ('mary', './home'), ('mary', './home'), (NULL, './home')",
    "UPDATE clicks SET url = './home' WHERE user = 'bob'",
    "DELETE FROM clicks WHERE user = 'liz'",
    "MERGE INTO clicks USING (SELECT 'mary' AS user, './prod' AS url) s ON clicks.user = s.user "
    "WHEN MATCHED THEN UPDATE SET url = s.url",
)


@pytest.fixture
def clicks(maintained: Maintained) -> Maintained:
    """A table of clicks, and one that counts them per user."""
    maintained.sql("CREATE TABLE clicks (user STRING, url STRING) USING delta")
    maintained.sql("INSERT INTO clicks VALUES ('mary', './home'), ('bob', './cart'), ('liz', './home')")
    maintained.refresh("counts", sql=COUNTS)
    return maintained


def asked(tables: Maintained, name: str, mode: ChangelogMode, **options: Any) -> list[tuple[int, Any, tuple[Any, ...]]]:
    """The changelog as (version, flag, row), in the order of commits, what is taken back before what is added."""
    query = changelog(ClassicEngine(tables.session), name, mode, **options)
    found = tables.sql(f"SELECT * FROM ({query})")
    columns = [c for c in (found[0].asDict() if found else ()) if not c.startswith("_")]
    flags = [True if mode is APPEND else r["_flag"] for r in found]
    said = [(r["_commit_version"], f, tuple(r[c] for c in columns)) for r, f in zip(found, flags, strict=True)]
    return sorted(said, key=lambda m: (m[0], m[1]))


def at(tables: Maintained, name: str, version: int) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(r) for r in tables.sql(f"SELECT * FROM {name} VERSION AS OF {version}"))


def test_a_changelog_replayed_is_the_table_at_every_version(clicks: Maintained) -> None:
    clicks.refresh("keyless", sql=KEYLESS)
    for statement in SCRIPT:
        clicks.sql(statement)
        clicks.refresh("counts")
        clicks.refresh("keyless")
    retracted(clicks, "counts")
    retracted(clicks, "keyless")
    upserted(clicks, "counts")


def retracted(clicks: Maintained, name: str) -> None:
    messages, rows = asked(clicks, name, RETRACT), Counter()
    first, last = messages[0][0], clicks.version(name)
    for version in range(first, last + 1):
        for _, added, row in (m for m in messages if m[0] == version):
            rows[row] += 1 if added else -1
            assert rows[row] >= 0
        assert +rows == at(clicks, name, version)


def upserted(clicks: Maintained, name: str) -> None:
    messages, rows = asked(clicks, name, UPSERT), {}
    assert len({(m[0], m[2][0]) for m in messages}) == len(messages), "one message per commit and key"
    for version in range(messages[0][0], clicks.version(name) + 1):
        for _, present, row in (m for m in messages if m[0] == version):
            if present:
                rows[row[0]] = row
            else:
                assert row[1:] == (None, None) and rows.pop(row[0])
        assert Counter(rows.values()) == at(clicks, name, version)


def test_only_real_changes_are_shown_and_only_what_came_after(clicks: Maintained) -> None:
    # Delta's feed of the base shows the row of a MERGE or UPDATE that left it equal; the changelog does not.
    before = clicks.version("clicks")
    clicks.sql("UPDATE clicks SET url = url")
    assert [m for m in asked(clicks, "clicks", RETRACT) if m[0] > before] == []
    clicks.sql("INSERT INTO clicks VALUES ('ann', './new')")
    assert asked(clicks, "clicks", APPEND, since=before) == [(before + 2, True, ("ann", "./new"))]
    assert asked(clicks, "clicks", UPSERT, since=before) == [(before + 2, True, ("ann", "./new"))]
    assert asked(clicks, "clicks", RETRACT, since=before + 2) == []


def test_what_an_encoding_cannot_say_is_refused(clicks: Maintained) -> None:
    clicks.sql("UPDATE clicks SET user = 'mary' WHERE user = 'bob'")
    clicks.refresh("counts")
    with pytest.raises(ConfigError, match="update or delete changes, which an append changelog cannot say"):
        asked(clicks, "counts", APPEND)
    with pytest.raises(ConfigError, match="no unique key and is not append-only"):
        asked(clicks, "clicks", UPSERT)
    with pytest.raises(ConfigError, match=r"existing columns: user, url"):
        asked(clicks, "clicks", UPSERT, key=["id"])
    with pytest.raises(Exception, match=r"the key \(url\) of the changelog of \S+ is not unique"):
        asked(clicks, "clicks", UPSERT, key=["url"])
    clicks.sql("CREATE VIEW v AS SELECT * FROM clicks")
    with pytest.raises(ConfigError, match="it is no Delta table"):
        asked(clicks, "v", RETRACT)
    # What was said to be a changelog of appends does not go on being one in silence.
    since = clicks.version("counts")
    query = changelog(ClassicEngine(clicks.session), "counts", APPEND, since=since)
    clicks.sql("DELETE FROM clicks")
    clicks.refresh("counts")
    with pytest.raises(Exception, match="which an append changelog cannot say"):
        clicks.sql(f"SELECT * FROM ({query})")


def test_a_rebuilt_table_begins_anew(clicks: Maintained) -> None:
    clicks.refresh("counts", sql="SELECT user, COUNT(*) AS n FROM clicks GROUP BY user")
    (version,) = {m[0] for m in asked(clicks, "counts", RETRACT)}
    assert version == clicks.version("counts")
    clicks.sql("INSERT INTO clicks VALUES ('mary', './again')")
    clicks.refresh("counts")
    assert {m[0] for m in asked(clicks, "counts", UPSERT)} == {version, version + 1}


@pytest.mark.every_connection
def test_the_macro(dbt_project: DbtProject) -> None:
    dbt_project.sql("CREATE TABLE clicks (user STRING) USING delta")
    dbt_project.sql("INSERT INTO clicks VALUES ('mary'), ('bob')")
    counts = f"select user, count(*) as n from {dbt_project.schema}.clicks group by user"
    dbt_project.model("counts", counts, materialized="dynamic_table")
    dbt_project.model(
        "messages", "select user, n, _flag from {{ changelog(ref('counts'), 'upsert') }}", materialized="view"
    )
    dbt_project.dbt("run")
    dbt_project.sql("DELETE FROM clicks WHERE user = 'bob'")
    dbt_project.dbt("run", "--select", "counts")
    found = {tuple(r) for r in dbt_project.sql("SELECT * FROM messages")}
    assert found == {("mary", 1, True), ("bob", 1, True), ("bob", None, False)}

    dbt_project.model("messages", "select * from {{ changelog(ref('counts'), 'append') }}", materialized="view")
    said = dbt_project.fails("run", "--select", "messages")
    assert "an append changelog cannot say" in said and "models/messages.sql" in said
    dbt_project.model("messages", "select * from {{ changelog(ref('counts'), 'append only') }}", materialized="view")
    assert "use one of" in dbt_project.fails("run", "--select", "messages")
