"""What one refresh promises: the right technique, one commit with its ledger, and nothing else written."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from dbt_spark_dynamic.commit.engine import Engine
from dbt_spark_dynamic.commit.outcome import Code
from dbt_spark_dynamic.commit.spec import ChangelogMode, LostHistoryPolicy, RefreshMode
from dbt_spark_dynamic.names import LEDGER
from integration_tests.maintained import Maintained

PER_CUSTOMER = "SELECT customer, COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY customer"


@pytest.fixture
def orders(maintained: Maintained) -> Maintained:
    maintained.sql("CREATE TABLE orders (id BIGINT, customer STRING, amount DECIMAL(10,2)) USING delta")
    maintained.sql("INSERT INTO orders VALUES (1, 'a', 10), (2, 'a', 20), (3, 'b', 5), (4, NULL, 7)")
    return maintained


def test_an_aggregate_is_maintained_by_its_changed_groups(orders: Maintained) -> None:
    assert orders.refresh("m", sql=PER_CUSTOMER).code is Code.CREATED
    orders.sql("INSERT INTO orders VALUES (5, 'b', 1), (6, 'c', 2), (7, NULL, 3)")
    outcome = orders.refresh("m")
    assert (outcome.code, outcome.rows_in) == (Code.INCREMENTAL, 3)
    assert (outcome.rows_inserted, outcome.rows_updated, outcome.rows_deleted) == (1, 2, 0)
    assert orders.difference("m") == 0
    assert outcome.line().startswith(f"INCREMENTAL {outcome.technique}: 3 changed in, +1 ~2 -0 out, orders v1→v2")


def test_a_group_without_rows_goes_without_a_look_at_the_source(orders: Maintained) -> None:
    """COUNT(*) says so; of one that has rows left, an extremum that went and a SUM of nothing are looked up."""
    sql = "SELECT customer, COUNT(*) AS n, SUM(amount) AS total, MAX(amount) AS most FROM orders GROUP BY customer"
    orders.refresh("m", sql=sql)
    orders.sql("INSERT INTO orders VALUES (5, 'b', NULL)")
    orders.refresh("m")
    for change, technique in (
        ("DELETE FROM orders WHERE customer IS NULL OR customer = 'a'", "additive"),
        ("DELETE FROM orders WHERE id = 3", "keyed"),
    ):
        orders.sql(change)
        outcome = orders.refresh("m")
        assert (outcome.code, outcome.technique) == (Code.INCREMENTAL, technique)
        assert any("`orders` VERSION AS OF" in s for s in orders.statements) is (technique == "keyed")
        assert orders.difference("m") == 0


@pytest.mark.usefixtures("large_tables")
def test_few_keys_are_said_to_the_scans_of_a_large_table(orders: Maintained) -> None:
    """So that files without them are skipped: those of groups computed again, and those that a join has to meet."""
    orders.sql("CREATE TABLE customers (name STRING, nation STRING) USING delta")
    orders.sql("INSERT INTO customers VALUES ('a', 'x'), ('it''s \\\\', 'y'), (NULL, 'z')")
    orders.sql("INSERT INTO orders VALUES (5, 'it''s \\\\', 1), (6, 'it''s \\\\', 2)")
    orders.refresh("m", sql="SELECT customer, MAX(amount) AS most FROM orders GROUP BY customer")
    orders.refresh("j", sql="SELECT o.id, c.nation FROM orders o JOIN customers c ON o.customer <=> c.name")
    orders.sql("DELETE FROM orders WHERE id IN (2, 4, 6)")
    assert orders.refresh("m").code is Code.INCREMENTAL
    said = [s for s in orders.statements if "LEFT SEMI JOIN" in s]
    assert said and all("IS NULL" in s and "= 'a'" in s and "= 'it\\'s \\\\'" in s for s in said)
    assert orders.difference("m") == 0
    assert orders.refresh("j").code is Code.INCREMENTAL
    assert any("`name` = 'a'" in s for s in orders.statements)
    assert orders.difference("j") == 0


@pytest.mark.usefixtures("large_tables")
@pytest.mark.parametrize(
    "key",
    [
        *(pytest.param(k, marks=pytest.mark.thorough) for k in ("BIGINT", "INT", "SMALLINT", "DATE", "DECIMAL(12,2)")),
        "STRING",
    ],
)
def test_more_keys_are_said_as_a_list_and_many_by_their_bounds(maintained: Maintained, key: str) -> None:
    """NULL and negative ones too."""
    of_id = {"DATE": "DATE '2024-01-01' + CAST({} AS INT)"}.get(key, f"CAST({{}} AS {key})").format("(id - 900)")
    rows = f"SELECT CAST(id AS INT) AS id, IF(id % 50 = 7, NULL, {of_id}) AS k FROM RANGE"
    maintained.sql(f"CREATE TABLE dims USING delta AS {rows}(0, 2000)")
    maintained.sql(f"CREATE TABLE facts USING delta AS {rows}(0, 2000, 3)")
    maintained.refresh("joined", sql="SELECT f.id, d.id AS other FROM facts AS f JOIN dims AS d ON f.k <=> d.k")
    maintained.refresh("counted", sql="SELECT k, COUNT(DISTINCT id) AS n FROM facts GROUP BY k")
    for changed, said in (("id < 150", " IN ("), ("id BETWEEN 200 AND 1900", " BETWEEN ")):
        maintained.sql(f"UPDATE facts SET id = id + 1 WHERE {changed}")
        maintained.sql(f"DELETE FROM facts WHERE {changed} AND id % 7 = 1")
        for name in ("joined", "counted"):
            outcome = maintained.refresh(name)
            assert outcome.code is Code.INCREMENTAL, outcome.line()
            scans = [s for s in maintained.statements if "VERSION AS OF" in s and "k`" in s]
            assert any(said in s and "IS NULL" in s for s in scans), scans
            assert maintained.difference(name) == 0


@pytest.mark.usefixtures("large_tables")
def test_keys_of_another_type_than_the_column_are_not_listed(maintained: Maintained) -> None:
    """'01' = 1 is true, and '01' IN ('1', …) is not."""
    maintained.sql("CREATE TABLE dims USING delta AS SELECT LPAD(id, 4, '0') AS k, id AS other FROM RANGE(1000)")
    maintained.sql("CREATE TABLE facts USING delta AS SELECT CAST(id AS INT) AS k FROM RANGE(0, 1000, 9)")
    maintained.refresh("m", sql="SELECT f.k, d.other FROM facts AS f JOIN dims AS d ON f.k = d.k")
    for change in ("INSERT INTO facts SELECT CAST(id AS INT) FROM RANGE(5, 400, 9)", "DELETE FROM facts WHERE k > 300"):
        maintained.sql(change)
        assert maintained.refresh("m").code is Code.INCREMENTAL
        assert maintained.difference("m") == 0


@pytest.mark.usefixtures("large_tables")
def test_where_the_changed_rows_lie_is_said_to_the_merge_of_a_large_table(maintained: Maintained) -> None:
    """Whatever the type and the way of writing: NULLs, quotes, and an hour that the clock shows twice."""
    maintained.session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    columns = ("page", "at", "day", "paid")
    maintained.sql("CREATE TABLE visits (id INT, page STRING, at TIMESTAMP, day DATE, paid DECIMAL(8,2)) USING delta")
    maintained.sql(
        "INSERT INTO visits VALUES (1, 'it''s \\\\', TIMESTAMP_SECONDS(1729989000), '2024-10-27', 1.50),"
        " (2, 'it''s \\\\', TIMESTAMP_SECONDS(1729992600), '2024-10-27', 2.25), (3, NULL, NULL, NULL, NULL)"
    )
    listed = ", ".join(columns)
    models = {
        "added": (f"SELECT {listed}, COUNT(*) AS n FROM visits GROUP BY {listed}", ChangelogMode.AUTO),
        "keyed": (f"SELECT {listed}, SUM(DISTINCT id) AS n FROM visits GROUP BY {listed}", ChangelogMode.AUTO),
        "retracted": (f"SELECT {listed} FROM visits", ChangelogMode.RETRACT),
    }
    for name, (sql, mode) in models.items():
        maintained.refresh(name, sql=sql, changelog_mode=mode)
    for change in (
        "UPDATE visits SET id = id + 10, paid = paid + 1",
        "INSERT INTO visits SELECT id + 100, page, at, day, paid FROM visits",
        "DELETE FROM visits WHERE id IN (12, 13, 111)",
    ):
        maintained.sql(change)
        for name, (_, mode) in models.items():
            assert maintained.refresh(name, changelog_mode=mode).code is Code.INCREMENTAL
            written = maintained.statements[-1]
            assert written.startswith("INSERT") or all(f"t.`{c}` BETWEEN" in written for c in columns)
            assert maintained.difference(name) == 0
    maintained.session.conf.unset("spark.sql.session.timeZone")


def test_a_small_table_is_merged_into_without_asking_where_its_rows_lie(orders: Maintained) -> None:
    orders.refresh("m", sql=PER_CUSTOMER)
    orders.sql("INSERT INTO orders VALUES (5, 'b', 1)")
    assert orders.refresh("m").code is Code.INCREMENTAL
    assert not any("BETWEEN" in s or "TYPEOF" in s or "MIN(" in s for s in orders.statements)
    assert orders.difference("m") == 0


def test_conflicting_changes_between_two_refreshes(orders: Maintained) -> None:
    orders.refresh("m", sql=PER_CUSTOMER)
    for statement in (
        "INSERT INTO orders VALUES (5, 'c', 1), (5, 'c', 1)",
        "UPDATE orders SET customer = 'b', amount = amount + 1 WHERE id = 1",
        "DELETE FROM orders WHERE customer IS NULL",
        "UPDATE orders SET id = id",
        "INSERT INTO orders VALUES (4, NULL, NULL)",
        "DELETE FROM orders WHERE id = 5",
    ):
        orders.sql(statement)
    assert orders.refresh("m").code is Code.INCREMENTAL
    assert orders.difference("m") == 0


def test_empty_and_refilled(orders: Maintained) -> None:
    orders.refresh("m", sql=PER_CUSTOMER)
    orders.sql("DELETE FROM orders")
    outcome = orders.refresh("m")
    assert (outcome.code, outcome.rows_deleted, orders.rows("m")) == (Code.INCREMENTAL, 3, [])
    orders.sql("INSERT INTO orders VALUES (9, 'z', NULL)")
    assert orders.refresh("m").code is Code.INCREMENTAL
    assert orders.rows("m") == [("z", 1, None)]


def test_rows_without_a_key_keep_their_exact_number(orders: Maintained) -> None:
    orders.sql("INSERT INTO orders VALUES (8, 'd', 1), (8, 'd', 1), (8, 'd', 1)")
    orders.refresh("m", sql="SELECT customer, amount FROM orders")
    orders.sql("INSERT INTO orders VALUES (9, 'd', 1)")
    assert orders.refresh("m").technique == "append"
    orders.sql("DELETE FROM orders WHERE id = 9")
    outcome = orders.refresh("m")
    assert (outcome.technique, outcome.rows_deleted) == ("retract", 1)
    assert orders.difference("m") == 0
    orders.sql("UPDATE orders SET customer = 'e' WHERE id = 8")
    assert orders.refresh("m").technique == "retract"
    assert orders.difference("m") == 0


def test_nothing_changed_commits_nothing_and_runs_no_job(orders: Maintained) -> None:
    orders.refresh("m", sql=PER_CUSTOMER)
    version, tracker = orders.version("m"), orders.session.sparkContext.statusTracker()
    before = set(tracker.getJobIdsForGroup(None))
    outcome = orders.refresh("m")
    assert (outcome.code, outcome.rows_affected) == (Code.NO_CHANGE, 0)
    assert set(tracker.getJobIdsForGroup(None)) == before
    assert orders.version("m") == version


def test_a_change_without_effect_is_committed_with_the_ledger(orders: Maintained) -> None:
    orders.refresh("m", sql="SELECT customer, SUM(amount) AS s FROM orders WHERE amount > 100 GROUP BY customer")
    orders.sql("INSERT INTO orders VALUES (9, 'z', 1)")
    outcome = orders.refresh("m")
    assert (outcome.code, outcome.rows_affected) == (Code.INCREMENTAL, 0)
    assert ledger(orders, "m")["sources"][f"{orders.schema}.orders"]["version"] == orders.version("orders")
    assert orders.refresh("m").code is Code.NO_CHANGE


def test_rewriting_equal_rows_upstream_nets_to_nothing(orders: Maintained) -> None:
    orders.refresh("m", sql=PER_CUSTOMER)
    orders.sql(
        "CREATE OR REPLACE TABLE orders USING delta TBLPROPERTIES (delta.enableChangeDataFeed = true) "
        "AS SELECT * FROM orders"
    )
    outcome = orders.refresh("m")
    assert (outcome.code, outcome.technique, orders.difference("m")) == (Code.NO_CHANGE, "no_op", 0)
    orders.sql(
        "CREATE OR REPLACE TABLE orders USING delta TBLPROPERTIES (delta.enableChangeDataFeed = true) "
        "AS SELECT id, customer, CAST(amount + IF(id = 3, 1, 0) AS DECIMAL(10,2)) AS amount FROM orders"
    )
    outcome = orders.refresh("m")
    assert (outcome.code, outcome.rows_updated, orders.difference("m")) == (Code.INCREMENTAL, 1, 0)


def test_maintenance_commits_are_no_change(orders: Maintained) -> None:
    orders.refresh("m", sql=PER_CUSTOMER)
    orders.sql("OPTIMIZE orders")
    orders.sql("ALTER TABLE orders SET TBLPROPERTIES ('a' = 'b')")
    orders.sql("OPTIMIZE m")
    orders.sql("ALTER TABLE m SET TBLPROPERTIES ('a' = 'b')")
    assert orders.refresh("m").code is Code.NO_CHANGE


def test_the_ledger_is_in_the_commit_of_the_data(orders: Maintained) -> None:
    orders.refresh("m", sql=PER_CUSTOMER)
    orders.sql("INSERT INTO orders VALUES (5, 'b', 1)")
    orders.refresh("m")
    entry = ledger(orders, "m")
    source = entry["sources"][f"{orders.schema}.orders"]
    assert source["version"] == 2
    assert source["id"] == orders.sql("DESCRIBE DETAIL orders")[0]["id"]
    assert (entry["technique"], entry["rows_in"], entry["sequence"]) == ("additive", 1, 2)


def test_settings_do_not_outlive_the_commit(orders: Maintained) -> None:
    orders.refresh("m", sql=PER_CUSTOMER)
    for name in ("commitInfo.userMetadata", "write.txnAppId", "write.txnVersion"):
        assert orders.session.conf.get(f"spark.databricks.delta.{name}", None) is None


def test_a_reformatted_select_is_no_change_and_an_edited_one_takes_effect(orders: Maintained) -> None:
    orders.refresh("m", sql=PER_CUSTOMER)
    same = "select  CUSTOMER as customer,\n count(*) n, -- how many\n sum(o.amount) as total\nfrom orders o group by 1"
    assert orders.refresh("m", sql=same).code is Code.NO_CHANGE
    outcome = orders.refresh("m", sql=PER_CUSTOMER.replace("GROUP", "WHERE amount > 6 GROUP"))
    assert (outcome.code, orders.difference("m")) == (Code.RECOMPUTE, 0)
    assert "the SELECT or its configuration changed" in outcome.line()
    assert (outcome.rows_inserted, outcome.rows_updated, outcome.rows_deleted) == (0, 0, 1)


def test_other_columns_rebuild_the_table(orders: Maintained) -> None:
    orders.refresh("m", sql=PER_CUSTOMER)
    outcome = orders.refresh("m", sql="SELECT customer, MAX(amount) AS most FROM orders GROUP BY customer")
    assert outcome.code is Code.CREATED
    assert outcome.reason is not None and outcome.reason.startswith("the columns of the SELECT changed")
    assert orders.difference("m") == 0


def test_full_refresh_rebuilds(orders: Maintained) -> None:
    orders.refresh("m", sql=PER_CUSTOMER)
    assert orders.refresh("m", full_refresh=True).reason == "--full-refresh was asked for"
    orders.sql("INSERT INTO orders VALUES (5, 'b', 1)")
    assert orders.refresh("m").code is Code.INCREMENTAL
    assert orders.difference("m") == 0


def test_what_has_no_law_is_recomputed_as_a_difference(orders: Maintained) -> None:
    ranked = "SELECT id, ROW_NUMBER() OVER (ORDER BY amount, id) AS place FROM orders"
    orders.refresh("m", sql=f"{ranked} CROSS JOIN (SELECT HISTOGRAM_NUMERIC(id, 2) AS h FROM orders)")
    assert orders.refresh("m").code is Code.NO_CHANGE
    orders.sql("INSERT INTO orders VALUES (5, 'b', 9)")
    outcome = orders.refresh("m")
    assert outcome.code is Code.RECOMPUTE
    assert "histogram_numeric()" in (outcome.reason or "")
    assert (outcome.rows_inserted, outcome.rows_deleted, orders.difference("m")) == (3, 2, 0)


def test_a_moving_clock_recomputes_although_no_table_changed(orders: Maintained) -> None:
    orders.refresh("m", sql="SELECT id, CURRENT_TIMESTAMP() AS seen FROM orders")
    outcome = orders.refresh("m")
    assert outcome.code is Code.RECOMPUTE
    assert "current_timestamp()" in (outcome.reason or "")


def test_refresh_mode_full(orders: Maintained) -> None:
    orders.refresh("m", sql=PER_CUSTOMER, refresh_mode=RefreshMode.FULL)
    orders.sql("INSERT INTO orders VALUES (5, 'b', 9)")
    outcome = orders.refresh("m", refresh_mode=RefreshMode.FULL)
    assert (outcome.code, orders.difference("m")) == (Code.RECOMPUTE, 0)


def test_declared_key_is_merged_by(orders: Maintained) -> None:
    orders.refresh("m", sql="SELECT id, customer FROM orders", unique_key=("ID",))
    orders.sql("UPDATE orders SET customer = 'x' WHERE id = 1")
    outcome = orders.refresh("m", unique_key=("ID",))
    assert (outcome.technique, outcome.rows_updated, orders.difference("m")) == ("merge", 1, 0)


def test_a_key_is_known_downstream(orders: Maintained) -> None:
    orders.refresh("m", sql=PER_CUSTOMER)
    orders.refresh("down", sql="SELECT customer, total * 2 AS twice FROM m WHERE n > 0")
    orders.sql("UPDATE orders SET amount = 99 WHERE id = 3")
    orders.refresh("m")
    outcome = orders.refresh("down")
    assert (outcome.technique, outcome.rows_updated, orders.difference("down")) == ("merge", 1, 0)


def test_views_are_expanded_to_their_tables(orders: Maintained) -> None:
    orders.sql(
        "CREATE VIEW big (who, much) AS WITH o AS (SELECT * FROM orders) "
        "SELECT customer, amount FROM o WHERE amount > 6"
    )
    orders.sql("CREATE VIEW bigger AS SELECT who AS Who, much FROM big")
    orders.refresh("m", sql="SELECT who, SUM(much) AS s FROM bigger GROUP BY who")
    orders.sql("INSERT INTO orders VALUES (5, 'b', 9)")
    outcome = orders.refresh("m")
    assert (outcome.code, orders.difference("m")) == (Code.INCREMENTAL, 0)
    orders.sql("CREATE OR REPLACE VIEW big (who, much) AS SELECT customer, amount FROM orders")
    outcome = orders.refresh("m")
    assert (outcome.code, orders.difference("m")) == (Code.RECOMPUTE, 0)


def test_a_source_in_another_format_is_recomputed(orders: Maintained) -> None:
    orders.sql("CREATE TABLE plain USING parquet AS SELECT 1 AS a")
    orders.refresh("m", sql="SELECT a, COUNT(*) AS n FROM plain GROUP BY a")
    orders.sql("INSERT INTO plain VALUES (1), (2)")
    outcome = orders.refresh("m")
    assert (outcome.code, orders.difference("m")) == (Code.RECOMPUTE, 0)
    assert "is not a Delta table" in (outcome.reason or "")


def test_what_is_recomputed_with_columns_that_cannot_be_compared(orders: Maintained) -> None:
    """Rows with maps or VARIANTs are told apart, and applied as a difference."""
    shown = {"pairs": "MAP(customer, amount)", "document": "TRY_PARSE_JSON(customer)"}
    for name, value in shown.items():
        known = "customer IS NOT NULL LIMIT 100"
        orders.refresh(name, sql=f"SELECT id, IF(id < 0, NULL, {value}) AS c FROM orders WHERE {known}")
    orders.sql("DELETE FROM orders WHERE id = 1")
    for name in shown:
        outcome = orders.refresh(name)
        assert (outcome.code, outcome.rows_inserted, outcome.rows_deleted) == (Code.RECOMPUTE, 0, 1)
        assert [row[0] for row in orders.sql(f"SELECT id FROM {name} ORDER BY id")] == [2, 3]


def test_a_lost_history_may_be_recomputed_on_request(orders: Maintained) -> None:
    orders.refresh("m", sql=PER_CUSTOMER)
    orders.sql("DROP TABLE orders")
    orders.sql(
        "CREATE TABLE orders USING delta AS SELECT 1L AS id, 'q' AS customer, CAST(1 AS DECIMAL(10,2)) AS amount"
    )
    outcome = orders.refresh("m", on_lost_history=LostHistoryPolicy.RECOMPUTE)
    assert (outcome.code, orders.difference("m")) == (Code.RECOMPUTE, 0)
    assert "dropped and recreated" in (outcome.reason or "") or "recreated" in (outcome.reason or "")


def test_append_mode_appends(orders: Maintained) -> None:
    options = {"changelog_mode": ChangelogMode.APPEND}
    orders.refresh("m", sql="SELECT customer, amount FROM orders WHERE amount > 5", **options)
    orders.sql("INSERT INTO orders VALUES (5, 'b', 9)")
    assert orders.refresh("m", **options).technique == "append"
    assert orders.difference("m") == 0


def test_types_of_a_union_hold_when_one_side_changes(orders: Maintained) -> None:
    orders.refresh(
        "m",
        sql="SELECT id AS v FROM orders UNION ALL SELECT amount FROM orders WHERE amount > 100 "
        "UNION ALL SELECT customer FROM orders WHERE id < 0",
    )
    orders.sql("INSERT INTO orders VALUES (7, 'b', 9)")
    assert orders.refresh("m").code is Code.INCREMENTAL
    assert orders.difference("m") == 0


def ledger(tables: Maintained, name: str) -> dict:
    return json.loads(tables.sql(f"DESCRIBE HISTORY {name} LIMIT 1")[0]["userMetadata"])[LEDGER]


def test_counts_and_sums_are_added_without_reading_the_source(orders: Maintained) -> None:
    """The source's own rows are read for a group that its change and the table's own row cannot settle, no other."""
    orders.refresh("m", sql=f"{PER_CUSTOMER.replace(' FROM', ', MAX(amount) AS most FROM')}")
    orders.sql("INSERT INTO orders VALUES (5, 'b', 1), (6, NULL, 9), (7, 'new', NULL)")
    orders.sql("UPDATE orders SET amount = 21 WHERE id = 2")
    outcome = orders.refresh("m")
    assert (outcome.technique, outcome.rows_inserted, outcome.rows_updated) == ("additive", 1, 3)
    assert orders.difference("m") == 0
    orders.sql("INSERT INTO orders VALUES (8, 'b', 4)")
    orders.sql("DELETE FROM orders WHERE id IN (1, 7)")
    outcome = orders.refresh("m")
    assert (outcome.technique, outcome.rows_updated, outcome.rows_deleted) == ("additive", 2, 1)
    assert orders.difference("m") == 0


def test_groups_that_the_change_cannot_settle_are_computed_again(orders: Maintained) -> None:
    """A SUM that is 0 may have no value left; the greatest value has left and who is next is not in the table."""
    orders.refresh("m", sql=f"{PER_CUSTOMER.replace(' FROM', ', MAX(amount) AS most FROM')}")
    orders.sql("INSERT INTO orders VALUES (5, 'zero', 3), (6, 'zero', NULL), (7, 'both', 4), (8, 'both', -4)")
    assert orders.refresh("m").technique == "additive"
    orders.sql("DELETE FROM orders WHERE id IN (2, 5)")
    orders.sql("INSERT INTO orders VALUES (9, 'both', 5), (10, 'both', -5), (11, 'new', 1)")
    outcome = orders.refresh("m")
    assert (outcome.technique, outcome.rows_inserted, outcome.rows_updated) == ("keyed", 1, 3)
    assert orders.difference("m") == 0
    assert [tuple(r) for r in orders.sql("SELECT n, total, most FROM m WHERE customer = 'zero'")] == [(1, None, None)]


def test_the_merge_finds_out_that_a_group_falls(orders: Maintained) -> None:
    """Nobody asks before, but where one fell the last time. Nothing is written by the MERGE that fails."""
    orders.refresh("m", sql="SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer")
    for change, technique, merges, asked in (
        ("UPDATE orders SET amount = amount + 1 WHERE customer = 'a'", "additive", 1, False),
        ("DELETE FROM orders WHERE customer IS NULL", "keyed", 2, True),
        ("DELETE FROM orders WHERE id = 1", "additive", 1, True),
        ("UPDATE orders SET amount = NULL WHERE id = 2", "keyed", 2, True),
        ("UPDATE orders SET amount = 3", "additive", 1, True),
    ):
        assert_found(orders, change, technique, merges, asked)


@pytest.mark.usefixtures("large_tables")
def test_the_merge_finds_out_that_an_extremum_left(orders: Maintained) -> None:
    """Which a row that leaves takes along easily: it is asked before, but where none left the last time."""
    orders.refresh("m", sql="SELECT customer, MIN(id) AS first, MAX(amount) AS most FROM orders GROUP BY customer")
    for change, technique, merges, asked in (
        ("UPDATE orders SET amount = amount + 1", "additive", 1, True),
        ("UPDATE orders SET amount = amount + 1 WHERE customer IS NULL", "additive", 1, False),
        ("DELETE FROM orders WHERE id IN (1, 3)", "keyed", 2, True),
        ("INSERT INTO orders VALUES (8, 'a', 0), (9, NULL, NULL)", "additive", 1, False),
        ("UPDATE orders SET amount = amount - 1", "keyed", 2, True),
        ("UPDATE orders SET amount = amount + 2", "additive", 1, True),
        ("UPDATE orders SET id = id + 5", "keyed", 2, True),
        ("DELETE FROM orders", "keyed", 1, True),
    ):
        assert_found(orders, change, technique, merges, asked)


def assert_found(orders: Maintained, change: str, technique: str, merges: int, asked: bool, of: str = "groups") -> None:
    """merges: how many a refresh sends, one of which may fail; asked: whether it looks for those that fall."""
    orders.sql(change)
    before = orders.version("m")
    outcome = orders.refresh("m")
    assert (outcome.code, outcome.technique, orders.difference("m")) == (Code.INCREMENTAL, technique, 0), change
    assert orders.version("m") == before + 1
    assert sum(s.startswith("MERGE") for s in orders.statements) == merges, change
    assert any(f"{of} that are computed again" in s for s in orders.statements) is asked, change


def test_the_merge_finds_out_which_row_is_first(orders: Maintained) -> None:
    """Of what rows are ordered by, the table does not show all: of two level ones, the source says which is first."""
    orders.refresh(
        "m",
        sql="SELECT customer, amount, id + 0 AS said FROM (SELECT *, ROW_NUMBER() OVER "
        "(PARTITION BY customer ORDER BY amount DESC, id) AS place FROM orders) WHERE place = 1",
    )
    for change, technique, merges, asked in (
        ("INSERT INTO orders VALUES (5, 'b', 90), (6, NULL, 9), (7, 'new', NULL), (8, 'new', 1)", "top", 1, False),
        ("INSERT INTO orders VALUES (9, 'b', 0), (10, 'new', NULL)", "top", 1, False),
        ("INSERT INTO orders VALUES (4, 'b', 90)", "keyed", 2, True),
        ("INSERT INTO orders VALUES (11, 'b', 91)", "top", 1, True),
        ("INSERT INTO orders VALUES (12, 'b', 92)", "top", 1, False),
        ("UPDATE orders SET amount = 93 WHERE id = 11", "top", 1, True),
    ):
        assert_found(orders, change, technique, merges, asked, of="partitions")


def test_the_latest_row_of_each_key_is_told_without_the_source(orders: Maintained) -> None:
    """A row that comes later, takes its key's place; one that is told from nothing but the source, is read from it."""
    orders.refresh(
        "m",
        sql="SELECT customer, id, UPPER(customer) AS name, amount * 2 AS doubled FROM (SELECT *, ROW_NUMBER() OVER "
        "(PARTITION BY customer ORDER BY id DESC) AS place FROM orders) WHERE place = 1",
    )

    def refreshed() -> tuple[object, ...]:
        outcome = orders.refresh("m")
        assert (outcome.code, orders.difference("m")) == (Code.INCREMENTAL, 0)
        scanned = any("`orders` VERSION AS OF" in s for s in orders.statements)
        return (outcome.technique, scanned, outcome.rows_inserted, outcome.rows_updated, outcome.rows_deleted)

    orders.sql("INSERT INTO orders VALUES (5, 'b', 1), (6, NULL, 9), (7, 'new', NULL), (0, 'a', 1)")
    assert refreshed() == ("top", False, 1, 2, 0)
    orders.sql("UPDATE orders SET id = 8, amount = 5 WHERE id = 5")
    orders.sql("UPDATE orders SET amount = 11 WHERE id = 0")
    assert refreshed() == ("top", False, 0, 1, 0)
    orders.sql("INSERT INTO orders VALUES (-1, 'a', 1)")
    assert refreshed() == ("top", False, 0, 0, 0)
    assert not any("`m` VERSION AS OF" in s for s in orders.statements)
    orders.sql("DELETE FROM orders WHERE id IN (6, 7)")
    orders.sql("INSERT INTO orders VALUES (9, 'b', 1)")
    assert refreshed() == ("keyed", True, 0, 2, 1)
    orders.sql("DELETE FROM orders")
    assert refreshed()[:2] == ("keyed", True) and orders.rows("m") == []


def test_a_change_of_no_row_that_is_ranked_asks_nothing_of_the_table(orders: Maintained) -> None:
    sql = "SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer HAVING COUNT(*) > 1 ORDER BY n DESC LIMIT 2"
    orders.sql("INSERT INTO orders VALUES (5, 'b', 30), (6, 'b', 30)")
    orders.refresh("m", sql=sql)
    orders.sql("INSERT INTO orders VALUES (7, 'alone', 1)")
    assert (orders.refresh("m").technique, orders.difference("m")) == ("no_op", 0)
    assert not any("`m` VERSION AS OF" in statement for statement in orders.statements)
    orders.sql("INSERT INTO orders VALUES (8, 'alone', 1), (9, 'alone', 1), (10, 'alone', 1)")
    assert (orders.refresh("m").technique, orders.difference("m")) == ("top", 0)
    assert any("`m` VERSION AS OF" in statement for statement in orders.statements)


def test_the_first_rows_of_all_are_told_without_the_source(orders: Maintained) -> None:
    """Up to where a row of the table still stands; beyond it the source says who moves up."""
    orders.sql("INSERT INTO orders VALUES (5, 'b', 30), (5, 'b', 30), (6, NULL, NULL), (7, 'c', -0.5)")
    orders.refresh("m", sql="SELECT customer, amount FROM orders ORDER BY amount DESC NULLS FIRST LIMIT 3")
    orders.refresh(
        "places",
        sql="SELECT customer, amount, place FROM (SELECT customer, amount, ROW_NUMBER() OVER (PARTITION BY customer "
        "ORDER BY amount DESC) AS place FROM orders) WHERE place <= 2",
    )

    def refreshed(name: str) -> tuple[str, bool]:
        outcome = orders.refresh(name)
        assert (outcome.code, orders.difference(name)) == (Code.INCREMENTAL, 0)
        return outcome.technique, any("`orders` VERSION AS OF" in s for s in orders.statements)

    orders.sql("INSERT INTO orders VALUES (8, 'b', 31), (9, 'd', 1), (9, 'd', 1), (9, 'd', 1)")
    assert [refreshed("m"), refreshed("places")] == [("top", False), ("top", False)]
    orders.sql("UPDATE orders SET amount = 40 WHERE id = 8")
    orders.sql("DELETE FROM orders WHERE id = 7")
    assert [refreshed("m"), refreshed("places")] == [("top", False), ("top", False)]
    orders.sql("DELETE FROM orders WHERE id IN (6, 8)")
    assert [refreshed("m"), refreshed("places")] == [("retract", True), ("retract", True)]


def test_one_row_of_totals(orders: Maintained) -> None:
    orders.refresh("m", sql="SELECT COUNT(*) AS n, SUM(amount) AS total, MIN(id) AS first FROM orders")
    orders.sql("INSERT INTO orders VALUES (5, 'b', 1)")
    outcome = orders.refresh("m")
    assert (outcome.technique, outcome.rows_updated, orders.difference("m")) == ("additive", 1, 0)
    orders.sql("DELETE FROM orders")
    outcome = orders.refresh("m")
    assert (outcome.technique, outcome.rows_updated, orders.rows("m")) == ("keyed", 1, [(0, None, None)])
    orders.refresh(
        "average", sql="SELECT AVG(amount) AS mean, COUNT(DISTINCT customer) AS who FROM orders HAVING COUNT(*) > 0"
    )
    assert orders.rows("average") == []
    orders.sql("INSERT INTO orders VALUES (6, 'b', 1), (7, 'c', 2)")
    outcome = orders.refresh("average")
    assert (outcome.technique, outcome.rows_inserted, orders.difference("average")) == ("keyed", 1, 0)
    orders.sql("DELETE FROM orders")
    assert orders.refresh("average").rows_deleted == 1
    assert orders.rows("average") == []


def test_values_that_are_counted_once_are_added_up(orders: Maintained) -> None:
    """Of a group and a value, only the rows that have both are read."""
    counted = (
        "COUNT(DISTINCT amount) AS amounts, COUNT(DISTINCT customer, amount) AS pairs, COUNT(*) AS n, "
        "COUNT(DISTINCT id) FILTER (WHERE amount > 1) AS filtered, SUM(amount) AS total"
    )
    models = {
        "by_customer": f"SELECT customer, {counted} FROM orders GROUP BY customer",
        "of_all": f"SELECT {counted} FROM orders",
    }
    for name, sql in models.items():
        orders.refresh(name, sql=sql)
    for change in (
        "INSERT INTO orders VALUES (11, 'a', 1), (12, 'a', 1), (13, 'b', NULL), (14, NULL, 2), (15, NULL, NULL)",
        "UPDATE orders SET amount = 7, customer = 'b' WHERE id IN (11, 14)",
        "DELETE FROM orders WHERE amount = 7",
        "DELETE FROM orders WHERE customer = 'a'",
        "INSERT INTO orders VALUES (21, 'a', 5), (22, 'a', 5), (23, 'c', 5)",
    ):
        orders.sql(change)
        for name in models:
            outcome = orders.refresh(name)
            assert outcome.code is Code.INCREMENTAL, outcome.line()
            counted_again = any("COUNT(DISTINCT" in s for s in orders.statements if not s.startswith("DESCRIBE"))
            assert counted_again == (outcome.technique == "keyed")
            assert orders.difference(name) == 0
    assert {orders.refresh(name).code for name in models} == {Code.NO_CHANGE}


def test_an_old_result_that_cannot_be_computed_again_is_recomputed(orders: Maintained) -> None:
    """What the table should hold is not found in it, as where SQL leaves the order of equal rows open."""
    orders.refresh("m", sql="SELECT customer, amount FROM orders WHERE amount >= 0")
    orders.sql("DELETE FROM orders WHERE id = 1")

    orders.wrap = lambda engine: OncePinned(
        engine, "held", lambda sql: sql.replace("COALESCE(h.`__dynamic_copies`, 0)", "0")
    )
    outcome = orders.refresh("m")
    assert outcome.code is Code.RECOMPUTE and "does not hold" in (outcome.reason or "")
    assert (outcome.rows_deleted, orders.difference("m")) == (1, 0)


class OncePinned:
    """Computes something else the first time that a relation is asked for whose name ends so."""

    def __init__(self, engine: Engine, ending: str, instead: Callable[[str], str]) -> None:
        self._engine, self._ending, self._instead = engine, ending, instead

    def pin(self, name: str, sql: str, *, few: bool) -> int:
        if self._ending and name.endswith(self._ending):
            self._ending, sql = "", self._instead(sql)
        return self._engine.pin(name, sql, few=few)

    def __getattr__(self, name: str):
        return getattr(self._engine, name)


def test_rows_that_spark_cannot_compare(maintained: Maintained) -> None:
    """Maps in whatever they are nested, in any order of their entries, VARIANTs, and a column that is only NULL: by
    change. What goes by a map as a key is made anew, with the reason."""
    maintained.sql("CREATE TABLE t (id INT, m MAP<STRING, INT>, v VARIANT) USING delta")
    one, other = "MAP('a', 1, 'b', 2)", "MAP('b', 2, 'a', 1)"
    rows = [f"({i}, {other if i % 2 else one}, PARSE_JSON('{{\"k\": {i % 2}}}'))" for i in range(6)]
    maintained.sql(f"INSERT INTO t VALUES {', '.join(rows)}")
    models = {
        "rows": "SELECT id % 3 AS k, NULL AS n, m, ARRAY(NAMED_STRUCT('x', m)) AS a FROM t",
        "variants": "SELECT id, v FROM t",
        "by_map": "SELECT m, COUNT(*) AS n FROM t GROUP BY m",
    }
    for name, sql in models.items():
        assert maintained.refresh(name, sql=sql).code is Code.CREATED
    maintained.sql("DELETE FROM t WHERE id = 1")
    maintained.sql("UPDATE t SET m = MAP('z', 9) WHERE id = 2")
    for name, sql in models.items():
        outcome = maintained.refresh(name)
        assert told(maintained, sql) == told(maintained, f"SELECT * FROM {name}")
        if name == "by_map":
            assert "Spark cannot compare values" in (outcome.reason or "")
        else:
            left = 2 if name == "rows" else 1
            assert (outcome.code, outcome.technique, outcome.rows_deleted) == (Code.INCREMENTAL, "retract", left)


def told(maintained: Maintained, sql: str) -> list[str]:
    """The rows as text that is equal for equal values."""
    return sorted(
        repr(row.asDict(recursive=True)).replace("'b': 2, 'a': 1", "'a': 1, 'b': 2") for row in maintained.sql(sql)
    )


def test_a_query_whose_difference_spark_cannot_plan_is_written_anew(orders: Maintained) -> None:
    query = "SELECT o.id, (SELECT p.amount FROM orders p WHERE p.id = o.id LIMIT 1) AS a FROM orders o"
    orders.refresh("m", sql=query)
    orders.sql("DELETE FROM orders WHERE id = 1")
    outcome = orders.refresh("m")
    assert (outcome.code, outcome.technique) == (Code.RECOMPUTE, "rewrite")
    assert "LIMIT without ORDER BY" in (outcome.reason or "")
    # Nor can Spark plan EXCEPT ALL over it.
    assert sorted(orders.sql(query)) == sorted(orders.sql("SELECT * FROM m"))


def test_a_change_that_spark_cannot_plan_is_found_by_the_query_itself(orders: Maintained) -> None:
    orders.refresh("m", sql="SELECT customer, amount FROM orders WHERE amount >= 0")
    orders.sql("DELETE FROM orders WHERE id = 1")
    puzzle = (
        "SELECT o.id, (SELECT p.amount FROM orders p WHERE p.id = o.id LIMIT 1) AS a FROM orders o "
        "EXCEPT ALL SELECT id, amount FROM orders"
    )

    orders.wrap = lambda engine: OncePinned(engine, "result_change", lambda _: puzzle)
    outcome = orders.refresh("m")
    assert outcome.code is Code.RECOMPUTE and "Spark cannot plan" in (outcome.reason or "")
    assert (outcome.rows_deleted, orders.difference("m")) == (1, 0)


def test_no_rows_have_no_grand_total_among_other_sets(orders: Maintained) -> None:
    sets = {
        "r": "ROLLUP (customer)",
        "c": "CUBE (customer, id)",
        "s": "GROUPING SETS (())",
        "two": "GROUPING SETS ((), ())",
    }
    for name, by in sets.items():
        orders.refresh(name, sql=f"SELECT COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY {by}")
    for change in ("DELETE FROM orders", "INSERT INTO orders VALUES (1, 'a', 10)"):
        orders.sql(change)
        for name in sets:
            assert orders.refresh(name).code is Code.INCREMENTAL
            assert orders.difference(name) == 0, f"{sets[name]} after {change}"
