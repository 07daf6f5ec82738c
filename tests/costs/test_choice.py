"""The choice between by change and anew, and what an explanation says of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dbt_spark_dynamic.commit.computed import MANY_CHANGES
from dbt_spark_dynamic.commit.costs import LARGE, Changed, Past, Took
from dbt_spark_dynamic.commit.decide import Decision, dear_plan, decide
from dbt_spark_dynamic.commit.history import Commit, read_commit
from dbt_spark_dynamic.commit.ledger import USER_METADATA, Entry, HeldRows, Position
from dbt_spark_dynamic.commit.look import look
from dbt_spark_dynamic.commit.outcome import Code
from dbt_spark_dynamic.commit.spec import ChangelogMode, RefreshMode, Spec
from dbt_spark_dynamic.explain.explanation import explain
from dbt_spark_dynamic.explain.text import text
from dbt_spark_dynamic.names import LEDGER

from .shop import ROWS, TARGET, GrownShop

COUNTED = "SELECT customer, COUNT(*) AS n, SUM(amount) AS total FROM orders GROUP BY customer"
SPEC = Spec(TARGET, COUNTED)
WHY = "9,000,000 of about 10,000,000 rows of orders changed: expected 102 s by change, 20 s anew"


def decided(spec: Spec = SPEC, **changes) -> Decision:
    shop = GrownShop(spec, **changes)
    return decide(look(spec, shop), spec, shop)


def test_a_table_is_written_anew_where_most_rows_changed() -> None:
    assert decided() == Decision(Code.NO_CHANGE)
    found = decided(updated=9_000_000)
    assert (found.code, found.rewrite, found.reason) == (Code.RECOMPUTE, True, WHY)
    assert decided(updated=90_000).code is Code.INCREMENTAL


def test_rows_that_are_expected_to_have_a_key_are_merged_by_it() -> None:
    by_row = replace(SPEC, sql="SELECT customer, amount * 2 AS twice FROM orders")
    by_key = replace(by_row, expected_keys={TARGET: ("customer",)})
    assert decided(by_row, updated=1_000_000, size=LARGE).code is Code.RECOMPUTE
    assert decided(by_key, updated=1_000_000, size=LARGE).code is Code.INCREMENTAL
    assert decided(by_key, updated=9_000_000, size=LARGE).code is Code.RECOMPUTE


def test_rows_are_soon_merged_into_a_small_table_whatever_they_are_found_by() -> None:
    by_row = replace(SPEC, sql="SELECT customer, amount * 2 AS twice FROM orders")
    assert decided(by_row, updated=1_000_000).code is Code.INCREMENTAL
    assert decided(by_row, updated=9_000_000).code is Code.RECOMPUTE


def test_the_older_rows_of_many_keys_are_read_from_the_table_too() -> None:
    """As many as each order's customer has: they are searched for a pattern twice then."""
    per_customer = (
        "SELECT c.id, COUNT(o.id) AS n FROM customers c LEFT JOIN orders o ON o.customer = c.id "
        "AND CAST(o.items[0] AS STRING) NOT LIKE '%a%b%' GROUP BY c.id"
    )
    spec = replace(SPEC, sql=f"SELECT n, COUNT(*) AS customers FROM ({per_customer}) GROUP BY n")
    seen = look(spec, GrownShop(spec, updated=MANY_CHANGES))
    plan = seen.plan(frozenset({"orders"}), few=False)
    few, many = (Changed(n, ROWS, n / ROWS, "orders") for n in (MANY_CHANGES - 1, MANY_CHANGES))
    assert dear_plan(seen, spec, few, plan) is None
    takes = "the change takes 9 relations, which read 1.5 times what the query reads"
    assert dear_plan(seen, spec, many, plan) == f"{takes}: expected 26 s by change, 20 s anew"


def test_groups_are_not_expected_to_lose_all_values_of_a_sum() -> None:
    """To compute these again reads all that the query reads. That the greatest value leaves is expected."""

    def dear(call: str) -> str | None:
        per_city = f"SELECT c.city, COUNT(*) AS n, {call}(o.amount) AS amount FROM orders o JOIN customers c"
        spec = replace(SPEC, sql=f"{per_city} ON c.id = o.customer GROUP BY c.city")
        seen = look(spec, GrownShop(spec, updated=2_000_000))
        plan = seen.plan(frozenset({"orders", "customers"}), few=False)
        return dear_plan(seen, spec, Changed(2_000_000, ROWS, 0.1, "orders"), plan)

    takes = "the change takes 7 relations, which read 2.0 times what the query reads"
    assert (dear("SUM"), dear("MAX")) == (None, f"{takes}: expected 26 s by change, 20 s anew")


def test_small_sources_are_maintained_by_change_whatever_changed() -> None:
    assert decided(updated=9_000, rows=10_000).code is Code.INCREMENTAL


def test_rows_that_only_came_are_first_looked_at() -> None:
    assert decided(inserted=9_000_000).code is Code.INCREMENTAL


def test_earlier_refreshes_say_what_is_cheaper() -> None:
    """90 % of the rows took less by change than everything took anew."""
    quick = Past(by_change=(Took(12.0, 10_000_000 * 20, 0.9),))
    assert decided(updated=9_000_000, past=quick).code is Code.INCREMENTAL


def test_a_small_table_is_written_anew_where_little_took_longer_than_everything() -> None:
    """Rows that only came count too; but a fourth of them are by change, and so is one refresh in eight, or in 64 where
    that takes some seconds more."""
    slow = Past(by_change=(Took(31.0, 10_000_000 * 20, 0.009),))
    for changes in ({"updated": 90_000}, {"inserted": 90_000}, {"updated": 25_000}):
        found = decided(past=slow, **changes)
        assert (found.code, found.rewrite) == (Code.RECOMPUTE, True)
        assert found.reason is not None and found.reason.endswith(" s by change, 20 s anew")
    assert decided(past=slow, updated=20_000).code is Code.INCREMENTAL
    assert decided(past=slow, updated=90_000, sequence=63).code is Code.INCREMENTAL
    assert decided(past=slow, updated=90_000, sequence=7).code is Code.RECOMPUTE
    assert decided(past=slow, updated=90_000, size=LARGE).code is Code.INCREMENTAL
    assert decided(past=Past(by_change=(Took(24.0, 10_000_000 * 20, 0.009),)), updated=90_000).code is Code.INCREMENTAL


@pytest.mark.parametrize(
    "asked",
    [
        {"refresh_mode": RefreshMode.INCREMENTAL},
        {"changelog_mode": ChangelogMode.UPSERT},
        {"changelog_mode": ChangelogMode.RETRACT},
        {"changelog_mode": ChangelogMode.APPEND},
        {"may_rebuild": False},
    ],
)
def test_a_model_can_ask_for_changes(asked: dict) -> None:
    assert decided(replace(SPEC, **asked), updated=9_000_000).code is Code.INCREMENTAL


def test_results_that_are_kept_are_never_computed_anew() -> None:
    sql = "SELECT o.id, c.city FROM orders o JOIN customers FOR SYSTEM_TIME AS OF PROCTIME() c ON o.customer = c.id"
    kept = Spec(TARGET, sql, unique_key=("id",))
    assert decided(kept, updated=9_000_000).code is Code.INCREMENTAL


def test_an_explanation_says_what_each_technique_takes_and_which_is_chosen() -> None:
    said = explain(SPEC, GrownShop(SPEC, updated=9_000_000))
    assert said.next_run == f"RECOMPUTE, because {WHY}"
    assert [(t.name, t.cost) for t in said.techniques] == [
        ("additive", "expected 102 s"),
        ("keyed", "expected 102 s"),
        ("rewrite", "expected 20 s"),
        ("recompute", "at least 20 s"),
    ]
    shown = text(said)
    assert "in place of all rows; where by change takes much longer" in shown
    assert "SQL OF REWRITE\n-- the one write, whose commit holds the ledger:\nINSERT OVERWRITE shop.model" in shown
    assert "SQL OF ADDITIVE, WHERE THE CHANGE TAKES NO ROW" in shown


def test_an_explanation_of_a_refresh_by_change() -> None:
    said = explain(SPEC, GrownShop(SPEC, updated=90_000))
    weighed = "expected 31 s by change, 20 s anew, but none by so few rows was timed yet"
    assert said.next_run == f"INCREMENTAL, because 1 of 1 sources changed: {weighed}"
    asked = replace(SPEC, refresh_mode=RefreshMode.INCREMENTAL)
    said = explain(asked, GrownShop(asked, updated=9_000_000))
    assert said.next_run.endswith(": expected 102 s by change, 20 s anew, but the model does not leave it open")
    assert [t.name for t in said.techniques] == ["additive", "keyed", "recompute"]
    said = explain(SPEC, GrownShop(SPEC, updated=9_000, rows=10_000))
    assert said.next_run.endswith(", but the sources have less than 4 MB")


def test_an_explanation_before_anything_was_timed() -> None:
    """What is read, in rows and bytes."""
    said = explain(SPEC, GrownShop(SPEC, updated=9_000_000, timed=False))
    assert said.next_run == "INCREMENTAL, because 1 of 1 sources changed"
    assert [t.cost for t in said.techniques] == ["reads 9,000,000 changed rows"] * 2 + ["reads 190.7 MB"]


def test_what_a_commit_says_of_the_rows_in_its_files() -> None:
    """Those that are marked as deleted are none; a file that does not count its rows says nothing."""
    marked = {"size": 900, "stats": '{"numRecords":9,"maxValues":{}}', "deletionVector": {"cardinality": 4}}
    merged = {"operationMetrics": {"numTargetRowsInserted": "3", "numTargetRowsDeleted": "1"}, "timestamp": 7}
    commit = read_commit(1, [{"commitInfo": merged}, {"add": marked}, {"add": {"size": 50}}, {"remove": {}}])
    assert (commit.file_rows, commit.file_bytes, commit.removes, commit.more, commit.made) == (5, 900, True, 2, 7)
    appended = {"operation": "WRITE", "operationMetrics": {"numOutputRows": "6"}}
    commit = read_commit(1, [{"commitInfo": appended}, {"add": {"size": 60}}])
    assert (commit.file_rows, commit.removes, commit.more) == (0, False, 6)


ENTRY = Entry({}, "d", "create", "g", 1, -1, (), started=1_000, size=500)
COMMIT = Commit(1, "MERGE", True, False, 7, None, rows_written=90, more=3, made=5_000)


def test_the_ledger_carries_what_earlier_refreshes_took() -> None:
    built = Position(ENTRY, 1, commit=COMMIT)
    assert (built.past, built.rows) == (Past(anew=Took(4.0, 500, 1.0)), 90)
    merged = Position(replace(ENTRY, technique="merge", past=built.past, rows=90, share=0.5), 2, commit=COMMIT)
    assert (merged.past, merged.rows) == (Past(Took(4.0, 500, 1.0), (Took(4.0, 500, 0.5),)), 93)
    inserted = Position(replace(ENTRY, technique="append", past=merged.past, rows=93, share=0.9), 3, commit=COMMIT)
    assert (inserted.past, inserted.rows) == (merged.past, 96)


def test_a_difference_is_a_timing_where_there_is_no_other() -> None:
    again = replace(ENTRY, technique="recompute")
    assert Position(again, 1, commit=COMMIT).past == Past(anew=Took(4.0, 500, 1.0))
    known = Past(anew=Took(1.0, 500, 1.0))
    assert Position(replace(again, past=known), 1, commit=COMMIT).past == known


def test_an_entry_that_was_written_before_refreshes_were_timed_can_be_read() -> None:
    entry = replace(ENTRY, past=Past(Took(4.0, 500, 1.0), (Took(1.0, 500, 0.01),)))
    held = replace(entry, query="SELECT '${env:HOME}'", partials=HeldRows("of", (("a", None, 3), ())))
    for written in (entry, held, replace(held, partials=HeldRows("of", None))):
        assert Entry.read(written.settings()[USER_METADATA]) == written
        assert "${" not in written.settings()[USER_METADATA]
    old = '{"format":1,"sources":{},"columns":[],"definition":"d","technique":"merge","generation":"g","sequence":2'
    found = Entry.read(f'{{"{LEDGER}":{old},"base":1,"refresh":"r"}}}}')
    assert found is not None and found.past == Past()
    assert Position(found, 1, commit=COMMIT).past == Past() and Position(found, 1, commit=COMMIT).rows is None
