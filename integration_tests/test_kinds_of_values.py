"""Values that are easily taken for others: padded, no text, equal but not the same."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from dbt_spark_dynamic.commit import look
from dbt_spark_dynamic.commit.classic import ClassicEngine
from dbt_spark_dynamic.commit.outcome import Code
from dbt_spark_dynamic.commit.standing import unequal_rows
from integration_tests.conftest import DbtProject
from integration_tests.maintained import Maintained, sql_engine

FED = "USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
VALUES = {
    "c": ("CHAR(3)", ["'a'", "'ab'", "'abc'", "''"]),
    "nested": ("STRUCT<c: CHAR(3), d: DOUBLE>", ["STRUCT('a', -0.0D)", "STRUCT('a', 0.0D)", "STRUCT('abc', 1.5D)"]),
    "b": ("BINARY", ["X'FF'", "X'FE'", "X'41'", "X'EFBFBD'", "X''"]),
    "d": ("DOUBLE", ["0.0D", "-0.0D", "1.5D", "DOUBLE('NaN')"]),
    "f": ("FLOAT", ["FLOAT('0.0')", "FLOAT('-0.0')", "FLOAT('0.1')"]),
    "m": ("MAP<STRING, INT>", [f"MAP({', '.join(o)})" for o in (("'a', 1", "'b', 2"), ("'b', 2", "'a', 1"))]),
    "day": ("DATE", ["DATE '0001-01-01'", "DATE '2024-02-29'"]),
    "at": ("TIMESTAMP", ["TIMESTAMP '0001-01-01 12:00:00'", "TIMESTAMP '1899-12-31 23:59:59.000001'"]),
}
SHOWN = "k, c, nested, CAST(b AS STRING) AS b, CAST(d AS STRING) AS d, CAST(f AS STRING) AS f, TO_JSON(m) AS m, day, at"
MODELS = {
    "shown": f"SELECT {SHOWN} FROM t",
    "whole": "SELECT k, c, nested, b, d, f, day, at FROM t",
    "by_code": "SELECT c, nested.c AS inner, COUNT(*) AS n, SUM(d) AS s, MAX(b) AS b FROM t GROUP BY c, nested.c",
    "met": "SELECT t.k, t.c, CAST(t.d AS STRING) AS d, u.name FROM t LEFT JOIN u ON t.c = u.c AND t.d = u.d",
    "first": """SELECT k, c, CAST(d AS STRING) AS d FROM (
        SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY c, CAST(d AS STRING), HEX(b)) AS r FROM t) WHERE r = 1""",
}


@pytest.fixture(
    params=["in this process", "by SQL alone", pytest.param("as if large", marks=pytest.mark.thorough)],
)
def tables(request: pytest.FixtureRequest, maintained: Maintained, monkeypatch: pytest.MonkeyPatch) -> Maintained:
    if request.param == "by SQL alone":
        maintained.wrap = lambda _: sql_engine(maintained.session, maintained.statements.append)
    if request.param == "as if large":
        monkeypatch.setattr(look, "LARGE", 1)
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in VALUES.items())
    maintained.sql(f"CREATE TABLE t (k INT, {columns}) {FED}")
    maintained.sql(f"CREATE TABLE u (c CHAR(3), d DOUBLE, name STRING) {FED}")
    return maintained


def test_every_kind_is_maintained(tables: Maintained) -> None:
    chance = random.Random(7)
    tables.sql(f"INSERT INTO t SELECT * FROM VALUES {', '.join(_row(chance, k % 5) for k in range(12))}")
    tables.sql("INSERT INTO u VALUES ('a', 0.0D, 'one'), ('a', -0.0D, 'other'), ('abc', 1.5D, 'third')")
    for name, sql in MODELS.items():
        assert tables.refresh(name, sql=sql).code is Code.CREATED
    for _ in range(2):
        for statement in _changes(chance):
            tables.sql(statement)
        for name in MODELS:
            outcome = tables.refresh(name)
            assert outcome.code in (Code.INCREMENTAL, Code.NO_CHANGE), f"{name}: {outcome.reason}"
            assert tables.difference(name) == 0, name


def _changes(chance: random.Random) -> Iterator[str]:
    yield f"INSERT INTO t SELECT * FROM VALUES {_row(chance, 1)}, {_row(chance, 2)}"
    # MERGE stores a CHAR(n) as it gets it.
    yield f"""MERGE INTO t USING (SELECT * FROM VALUES {_row(chance, 6)} AS s (k, {", ".join(VALUES)})) AS s
        ON FALSE WHEN NOT MATCHED THEN INSERT *"""
    news = ", ".join(f"{name} = CAST({chance.choice(values)} AS {kind})" for name, (kind, values) in VALUES.items())
    yield f"UPDATE t SET {news} WHERE k = {chance.randrange(5)}"
    yield f"UPDATE t SET d = -d, f = -f WHERE k = {chance.randrange(5)}"
    yield f"DELETE FROM t WHERE k = {chance.randrange(5)} AND d = 0"
    yield f"UPDATE u SET d = -d, name = UPPER(name) WHERE c = '{chance.choice(['a', 'abc'])}'"


def _row(chance: random.Random, k: int) -> str:
    values = (f"CAST({'NULL' if chance.random() < 0.1 else chance.choice(v)} AS {t})" for t, v in VALUES.values())
    return f"({k}, {', '.join(values)})"


def test_a_char_is_kept_as_the_string_that_is_read(maintained: Maintained) -> None:
    """CREATE TABLE AS would pad what else stands in its column, too."""
    maintained.sql(f"CREATE TABLE codes (c CHAR(3)) {FED}")
    maintained.sql("INSERT INTO codes VALUES ('a')")
    maintained.refresh("m", sql="SELECT c FROM codes UNION ALL SELECT 'x'")
    assert maintained.rows("m") == [("a  ",), ("x",)]
    maintained.sql("UPDATE codes SET c = 'x'")
    assert maintained.refresh("m").code is Code.INCREMENTAL
    assert maintained.rows("m") == [("x  ",), ("x",)]


def test_the_versions_of_a_char(dbt_project: DbtProject) -> None:
    schema = dbt_project.schema
    dbt_project.sql(f"CREATE TABLE codes (k CHAR(3), c CHAR(3)) {FED}")
    dbt_project.sql("INSERT INTO codes VALUES ('a', 'x'), ('b', 'y')")
    checked = {"unique_key": "k", "strategy": "check", "check_cols": ["c"]}
    dbt_project.model("versions", f"select k, c from {schema}.codes", materialized="versioned_table", **checked)
    dbt_project.dbt("run")
    dbt_project.sql("UPDATE codes SET c = 'xyz' WHERE k LIKE 'a%'")
    dbt_project.dbt("run")
    assert dbt_project.responses()["versions"]["code"] == "INCREMENTAL"
    shown = dbt_project.sql("SELECT k, c, dbt_valid_to IS NULL FROM versions ORDER BY 1, 2")
    assert [tuple(r) for r in shown] == [("a  ", "x  ", False), ("a  ", "xyz", True), ("b  ", "y  ", True)]


def test_the_order_of_large_maps(maintained: Maintained) -> None:
    """Delta's change feed does not keep it. Where a model shows it, two versions of the table are compared."""
    maintained.sql(f"CREATE TABLE t (k INT, m MAP<STRING, INT>) {FED}")
    maintained.sql(f"INSERT INTO t VALUES (1, {_map('zxcvbnm')}), (2, {_map('mnbvcxz')})")
    for name, sql in {"shown": "SELECT k, TO_JSON(m) AS m FROM t", "asked": "SELECT k, m['x'] AS x FROM t"}.items():
        said = maintained.refresh(name, sql=sql).notes
        assert ("MAP_FROM_ENTRIES" in "".join(said)) is (name == "shown")
    for statement in (
        f"INSERT INTO t VALUES (3, {_map('poiuztx')})",
        f"UPDATE t SET m = {_map('qwertzx')} WHERE k = 1",
    ):
        maintained.sql(statement)
        for name, is_fed in (("shown", False), ("asked", True)):
            assert maintained.refresh(name).code is Code.INCREMENTAL
            assert any("readChangeFeed" in s for s in maintained.statements) is is_fed
            assert maintained.difference(name) == 0
    # If this fails, nothing need be compared any more.
    told = "SELECT k, TO_JSON(m) FROM t WITH ('readChangeFeed' = 'true', 'startingVersion' = '1') WHERE k = 2"
    assert [tuple(r) for r in maintained.sql(told)] != [(2, maintained.rows("shown")[1][1])]


VARIANTS = {
    "paths": "SELECT k, v:a::int AS a, v:b['x y'][0]::string AS x, VARIANT_GET(v, '$.a', 'int') AS again FROM t",
    "groups": "SELECT k, COUNT(*) AS n, MAX(v:a::int) AS a FROM t WHERE v IS NOT NULL GROUP BY k",
    "types": "SELECT k, TO_JSON(v) AS v, SCHEMA_OF_VARIANT(v) AS of, CAST(s AS STRING) AS s FROM t",
    "each": "SELECT t.k, x.key, x.value::string AS of FROM t, LATERAL variant_explode(t.v) AS x",
    "each_or_none": "SELECT t.k, d.n, x.key FROM t, LATERAL variant_explode_outer(t.v) AS x JOIN d ON d.k = t.k",
    "asked": "SELECT d.k, d.n FROM d WHERE EXISTS (SELECT 1 FROM t WHERE t.k = d.k AND t.v:a::int = d.n)",
    "latest": """SELECT k, at, v FROM (
        SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY at DESC, TO_JSON(v)) AS r FROM t) WHERE r = 1""",
    "all": "SELECT k, v, s FROM t",
    "computed": "SELECT k, v:a AS a, PARSE_JSON(CAST(n AS STRING)) AS n FROM t JOIN d USING (k)",
    "once": "SELECT k, ARRAY(v:a, v:b) AS vs, MAP('s', s.v) AS m FROM t UNION ALL SELECT k, NULL, NULL FROM d",
}
SAID = {
    "latest": "k, at, TO_JSON(v), SCHEMA_OF_VARIANT(v)",
    "all": "k, TO_JSON(v), SCHEMA_OF_VARIANT(v), TO_JSON(s.v), SCHEMA_OF_VARIANT(s.v), s.n",
    "computed": "k, TO_JSON(a), SCHEMA_OF_VARIANT(a), TO_JSON(n)",
    "once": "k, TRANSFORM(vs, v -> STRUCT(TO_JSON(v), SCHEMA_OF_VARIANT(v))), TO_JSON(m['s'])",
}
"""What is compared of those that show one: Spark hands over other bytes for equal values."""
CHANGES_OF_VARIANTS = (
    # The first is written like what was there, and of another type.
    """UPDATE t SET v = PARSE_JSON('"2024-01-01"') WHERE k = 3""",
    """INSERT INTO t SELECT 4, 1, PARSE_JSON('{"a": 4, "b": {"x y": ["z"]}}'), NULL""",
    "DELETE FROM t WHERE k = 2 AND at = 1",
    """UPDATE t SET v = PARSE_JSON('{"a": 2}'), s = NAMED_STRUCT('v', PARSE_JSON('null'), 'n', 2) WHERE k = 1""",
)


@pytest.mark.parametrize("by_sql", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_models_read_variants(maintained: Maintained, *, by_sql: bool) -> None:
    if by_sql:
        maintained.wrap = lambda _: sql_engine(maintained.session, maintained.statements.append)
    maintained.sql(f"CREATE TABLE t (k INT, at INT, v VARIANT, s STRUCT<v: VARIANT, n: INT>) {FED}")
    maintained.sql(f"CREATE TABLE d (k INT, n INT) {FED}")
    maintained.sql("INSERT INTO d VALUES (1, 1), (2, 2), (4, 4)")
    maintained.sql("""INSERT INTO t
        SELECT 1, 1, PARSE_JSON('{"a": 1}'), STRUCT(PARSE_JSON('[1]'), 1) UNION ALL SELECT 1, 2, NULL, NULL
        UNION ALL SELECT 2, 1, PARSE_JSON('{"a": 2}'), NULL UNION ALL SELECT 2, 2, PARSE_JSON('{"a": 2}'), NULL
        UNION ALL SELECT 3, 1, DATE '2024-01-01'::variant, NULL""")
    for name, sql in VARIANTS.items():
        maintained.refresh(name, sql=sql)
    for some in (CHANGES_OF_VARIANTS[:1], CHANGES_OF_VARIANTS[1:]):
        for statement in some:
            maintained.sql(statement)
        for name, sql in VARIANTS.items():
            outcome = maintained.refresh(name)
            assert outcome.code in (Code.INCREMENTAL, Code.NO_CHANGE), f"{name}: {outcome.reason}"
            said = SAID.get(name, "*")
            table, query = f"SELECT {said} FROM {name}", f"SELECT {said} FROM ({sql})"
            assert sorted(map(repr, maintained.sql(table))) == sorted(map(repr, maintained.sql(query))), name
    engine = ClassicEngine(maintained.session)
    assert all(not maintained.sql(unequal_rows(f"{maintained.schema}.{name}", "", engine)) for name in SAID)


def test_the_versions_of_what_spark_does_not_compare(dbt_project: DbtProject) -> None:
    """A payload that says the same is no new version, in whatever order its map is written."""
    dbt_project.sql(f"CREATE TABLE docs (k INT, v VARIANT, m MAP<STRING, INT>) {FED}")
    select = f"select k, v, m from {dbt_project.schema}.docs"
    checked = {"unique_key": "k", "strategy": "check", "check_cols": "all"}
    dbt_project.model("versions", select, materialized="versioned_table", **checked)
    dbt_project.sql("""INSERT INTO docs SELECT 1, PARSE_JSON('{"a": 1}'), MAP('x', 1, 'y', 2)""")
    dbt_project.dbt("run")
    for written in (
        """v = PARSE_JSON('{"a": "1"}')""",
        """v = PARSE_JSON('{ "a" : "1" }'), m = MAP('y', 2, 'x', 1)""",
        "m = MAP('y', 2, 'x', 2)",
        "v = NULL",
    ):
        dbt_project.sql(f"UPDATE docs SET {written}")
        dbt_project.dbt("run")
        assert dbt_project.responses()["versions"]["code"] in ("INCREMENTAL", "NO CHANGE"), dbt_project.lines
    shown = "SELECT TO_JSON(v), m['x'], dbt_valid_to IS NULL FROM versions ORDER BY dbt_valid_from"
    assert [tuple(row) for row in dbt_project.sql(shown)] == [
        ('{"a":1}', 1, False), ('{"a":"1"}', 1, False), ('{"a":"1"}', 2, False), (None, 2, True),
    ]  # fmt: skip


def test_rows_of_equal_rank_differ_in_what_spark_does_not_order(maintained: Maintained) -> None:
    """Which of them is first does not depend on which came first."""
    maintained.sql(f"CREATE TABLE t (k INT, at INT, v VARIANT, m MAP<STRING, INT>) {FED}")
    place = "ROW_NUMBER() OVER (PARTITION BY k ORDER BY at DESC)"
    first = f"SELECT *, DOUBLE('NaN') AS n, -0.0D AS zero FROM t QUALIFY {place} = 1"
    rows = [
        """1, 1, PARSE_JSON('{"a": 2}'), MAP('x', 2)""",
        """1, 1, PARSE_JSON('{"a": 1}'), MAP('x', 2)""",
        """1, 1, PARSE_JSON('{"a": 1}'), MAP('x', 1, 'y', 1)""",
        """1, 1, PARSE_JSON('{"a": 1}'), MAP('y', 0, 'x', 1)""",
    ]
    maintained.sql(f"INSERT INTO t SELECT {rows[0]}")
    maintained.refresh("first", sql=first)
    shown = "TO_JSON(v), m['x'], m['y']"
    for statement in (
        *(f"INSERT INTO t SELECT {row}" for row in rows[1:]),
        "DELETE FROM t WHERE m['y'] = 1",
        """UPDATE t SET v = PARSE_JSON('{"a": 9}') WHERE m['x'] = 2 AND v:a::int = 1""",
        "INSERT INTO t SELECT * FROM t",
        """INSERT INTO t SELECT 1, 2, v, m FROM t WHERE v:a::int = 9 LIMIT 1""",
    ):
        maintained.sql(statement)
        assert maintained.refresh("first").code is Code.INCREMENTAL
        assert not any("`t` VERSION AS OF" in s for s in maintained.statements), statement
        maintained.refresh("anew", sql=first, full_refresh=True)
        first_of = f"SELECT {shown} FROM {{}}"
        assert maintained.sql(first_of.format("first")) == maintained.sql(first_of.format("anew")), statement
    assert [tuple(r) for r in maintained.sql(f"SELECT {shown} FROM first")] == [('{"a":9}', 2, None)]
    maintained.sql("DELETE FROM t WHERE at = 2")
    assert maintained.refresh("first").technique == "keyed"
    assert [tuple(r) for r in maintained.sql(f"SELECT {shown} FROM first")] == [('{"a":1}', 1, 0)]


def test_a_variant_that_is_shown_is_appended_and_set_by_key(maintained: Maintained) -> None:
    maintained.sql(f"CREATE TABLE t (k INT, v VARIANT) {FED}")
    maintained.sql("""INSERT INTO t SELECT 1, PARSE_JSON('{"a": 1}')""")
    maintained.refresh("m", sql="SELECT k, v FROM t", unique_key=("k",))
    for statement, technique in (
        ("""INSERT INTO t SELECT 2, PARSE_JSON('{"a": 2}')""", "append"),
        ("""UPDATE t SET v = PARSE_JSON('"1"') WHERE k = 1""", "merge"),
        ("UPDATE t SET v = 1::variant WHERE k = 1", "merge"),
    ):
        maintained.sql(statement)
        assert maintained.refresh("m", unique_key=("k",)).technique == technique
        shown = "SELECT k, TO_JSON(v), SCHEMA_OF_VARIANT(v) FROM {} ORDER BY k"
        assert maintained.sql(shown.format("m")) == maintained.sql(shown.format("t"))


def _map(keys: str) -> str:
    entries = ", ".join(f"'{key}', {i}" for i, key in enumerate(keys))
    return f"MAP({entries})"
