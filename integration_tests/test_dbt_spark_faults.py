"""Each fault of dbt-spark's session method that is mended here, as its user would meet it."""

from __future__ import annotations

import json

from dbt.adapters.factory import get_adapter_by_type

CHANGE_FEED = "delta.enableChangeDataFeed"


def properties(project, table):
    return {row.key: row.value for row in project.sql(f"show tblproperties {table}")}


def test_a_run_ends_well_although_the_adapters_name_has_an_underscore(dbt_project):
    """dbt looked for the adapter's version under a name of its own making, after the model had run."""
    dbt_project.model("numbers", "select 1 as id union all select 2", materialized="table")
    dbt_project.model("more", "select id + 1 as id from {{ ref('numbers') }}")
    dbt_project.dbt("run")
    assert sorted(row.id for row in dbt_project.sql("select id from more")) == [2, 3]


def test_the_default_format_is_delta_with_a_change_feed(dbt_project):
    dbt_project.model("a_table", "select 1 as id", materialized="table")
    dbt_project.model("a_log", "select 1 as id", materialized="incremental")
    dbt_project.write("seeds/a_seed.csv", "id\n1\n")
    dbt_project.write(
        "snapshots/a_snapshot.yml",
        "snapshots: [{name: a_snapshot, relation: \"ref('a_table')\","
        " config: {strategy: check, check_cols: all, unique_key: id}}]",
    )
    dbt_project.dbt("build")
    for table in ("a_table", "a_log", "a_seed", "a_snapshot"):
        assert dbt_project.sql(f"describe detail {table}")[0].format == "delta", table
        assert properties(dbt_project, table)[CHANGE_FEED] == "true", table
    # A table that is rebuilt stays a changelog.
    dbt_project.dbt("run")
    assert properties(dbt_project, "a_table")[CHANGE_FEED] == "true"


def test_a_configured_format_is_kept(dbt_project):
    dbt_project.model("old", "select 1 as id", materialized="table", file_format="parquet")
    dbt_project.dbt("run")
    assert "parquet" in str(dbt_project.sql("describe extended old"))


def test_incremental_merges_where_there_is_a_key_and_counts_the_rows(dbt_project):
    sql = "select id, {{ var('value') }} as v from values (1), (2) as t(id)"
    dbt_project.model("keyed", sql, materialized="incremental", unique_key="id")
    dbt_project.model("log", sql, materialized="incremental")
    dbt_project.dbt("run", "--vars", "value: 1")
    result = dbt_project.dbt("run", "--vars", "value: 2")
    assert sorted(map(tuple, dbt_project.sql("select id, v from keyed"))) == [(1, 2), (2, 2)]
    assert len(dbt_project.sql("select * from log")) == 4
    responses = {r.node.name: r.adapter_response for r in result.result.results}
    assert responses["keyed"]["rows_affected"] == 2


def test_a_merge_goes_on_without_a_column_that_the_select_no_longer_has(dbt_project):
    sql = "select id, {{ 'id as a, 1 as b' if not is_incremental() else '0 as b, 2 as c' }} from values {}"
    config = {"materialized": "incremental", "unique_key": "id", "on_schema_change": "append_new_columns"}
    dbt_project.model("keyed", sql.replace("{}", "(1), (2) as t(id)"), **config)
    dbt_project.dbt("run")
    dbt_project.model("keyed", sql.replace("{}", "(2), (3) as t(id)"), **config)
    dbt_project.dbt("run")
    rows = dbt_project.sql("select id, a, b, c from keyed order by id")
    assert list(map(tuple, rows)) == [(1, 1, 1, None), (2, 2, 0, 2), (3, None, 0, 2)]


def test_deltas_own_error_is_shown(dbt_project):
    """pyspark said "Cannot find main error class" instead."""
    dbt_project.model("t", "select 1 as id", materialized="table")
    dbt_project.dbt("run")
    dbt_project.write("macros/go.sql", "{% macro go(sql) %}{% do run_query(sql) %}{% endmacro %}")
    merge = f"merge into {dbt_project.schema}.t as t using (select 1 as id) s on t.id = s.nope when matched then delete"
    said = dbt_project.fails("run-operation", "go", "--args", json.dumps({"sql": merge}))
    assert "[DELTA_MERGE_UNRESOLVED_EXPRESSION]" in said
    assert "nope" in said
    assert "main error class" not in said


def test_an_error_is_its_message_without_plan_and_stack(dbt_project):
    dbt_project.model("wrong", "select nope from values (1) as t(id)", materialized="table")
    said = dbt_project.fails("run")
    assert "[UNRESOLVED_COLUMN.WITH_SUGGESTION]" in said
    assert "SQLSTATE: 42703" in said
    assert "Project" not in said
    assert "\tat " not in said


def test_a_violated_constraint_says_which(dbt_project):
    """Raised inside a task: a Java exception that pyspark does not translate."""
    dbt_project.model(
        "checked",
        "select 1 as id",
        materialized="table",
        post_hook=[
            "alter table {{ this }} add constraint positive check (id > 0)",
            "insert into {{ this }} values (-1)",
        ],
    )
    said = dbt_project.fails("run")
    assert "[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES]" in said
    assert "positive" in said
    assert "\tat " not in said


def test_temporary_views_are_not_taken_for_tables(dbt_project):
    """Spark lists them in every schema, and dbt remembered them as relations."""
    dbt_project.model("numbers", "select 1 as id", materialized="table")
    dbt_project.dbt("run")
    adapter = get_adapter_by_type("spark_dynamic")
    with adapter.connection_named("listing"):
        session = adapter.connections.get_thread_connection().handle.session
        session.sql("create temporary view phantom as select 1 as id")
        schema = adapter.Relation.create(schema=dbt_project.schema)
        found = adapter.list_relations_without_caching(schema)
    assert [relation.identifier for relation in found] == ["numbers"]


def test_sessions_of_two_models_do_not_share_settings_or_views(new_project):
    project = new_project(threads=4)
    for n in range(6):
        project.model(
            f"m{n}",
            f"select {n} as id, '${{spark.test.mine}}' as mine, v.* from v",
            materialized="table",
            pre_hook=[f"set spark.test.mine=m{n}", f"create temporary view v as select {n} as n"],
        )
    project.dbt("run", "--threads", "4")
    for n in range(6):
        assert [tuple(row) for row in project.sql(f"select id, mine, n from m{n}")] == [(n, f"m{n}", n)]


def test_dbt_commands_around_a_run(dbt_project):
    dbt_project.model("numbers", "select 1 as id", materialized="table")
    dbt_project.write(
        "models/numbers.yml",
        "models: [{name: numbers, columns: [{name: id, data_tests: [unique, not_null]}]}]",
    )
    dbt_project.dbt("debug")
    dbt_project.dbt("build")
    dbt_project.dbt("docs", "generate")
    dbt_project.dbt("show", "--select", "numbers")
    dbt_project.dbt("build", "--full-refresh")


def test_a_snapshot_with_a_composite_key_is_taken_again_and_again(dbt_project):
    """dbt-spark added the parts of the key to the snapshot as columns, and then found them twice."""
    dbt_project.sql("create table prices (shop int, item int, price int) using delta")
    dbt_project.sql("insert into prices values (1, 1, 10), (1, 2, 20), (2, 1, 30)")
    dbt_project.model("staged", f"select * from {dbt_project.schema}.prices")
    dbt_project.write(
        "snapshots/history.yml",
        "snapshots: [{name: history, relation: \"ref('staged')\","
        " config: {strategy: check, check_cols: [price], unique_key: [shop, item], hard_deletes: invalidate}}]",
    )
    dbt_project.dbt("build")
    for change in ("update prices set price = 11 where shop = 1 and item = 1", "delete from prices where shop = 2"):
        dbt_project.sql(change)
        dbt_project.dbt("snapshot")
    rows = dbt_project.sql("select shop, item, price, dbt_valid_to is null as holds from history")
    assert sorted(map(tuple, rows)) == [
        (1, 1, 10, False), (1, 1, 11, True), (1, 2, 20, True), (2, 1, 30, False),
    ]  # fmt: skip
    assert not [c for c in dbt_project.session.table("history").columns if c.startswith("dbt_unique_key")]


def test_the_columns_of_ref_are_its_tables_under_empty(dbt_project):
    """It prints as a subquery then, and dbt-spark asked DESCRIBE for that: macros like dbt_utils.star failed."""
    dbt_project.model("numbers", "select 1 as id, 'a' as name", materialized="table")
    names = "{{ adapter.get_columns_in_relation(ref('numbers')) | map(attribute='name') | join(', ') }}"
    dbt_project.model("more", f"select {names} from {{{{ ref('numbers') }}}}", materialized="dynamic_table")
    dbt_project.dbt("run", "--empty")
    assert dbt_project.session.table("more").columns == ["id", "name"] and not dbt_project.sql("select * from more")


def test_listagg_keeps_its_order(dbt_project):
    """dbt-spark left it out with a warning."""
    dbt_project.model("words", "select explode(array('b', 'c', 'a')) as word", materialized="table")
    ordered = """{{ listagg('word', "'-'", 'order by word desc') }}"""
    first = """{{ listagg('word', "'-'", 'order by word', 2) }}"""
    sql = f"select {ordered} as words, {first} as first from {{{{ ref('words') }}}}"
    dbt_project.model("listed", sql, materialized="dynamic_table")
    dbt_project.dbt("run")
    assert [tuple(r) for r in dbt_project.sql("select * from listed")] == [("c-b-a", "a-b")]
    dbt_project.sql("insert into words values ('d')")
    dbt_project.dbt("run", "--select", "listed")
    assert [tuple(r) for r in dbt_project.sql("select * from listed")] == [("d-c-b-a", "a-b")]
    assert dbt_project.responses()["listed"]["code"] == "INCREMENTAL"


def test_a_snapshot_keeps_what_was_deleted_and_comes_back(dbt_project):
    """hard_deletes='new_record': with dbt-spark the new record had no values, not even its key, and stayed for ever."""
    dbt_project.sql("create table prices (id int, price int) using delta")
    dbt_project.sql("insert into prices values (1, 10), (2, 20)")
    dbt_project.model("staged", f"select * from {dbt_project.schema}.prices")
    dbt_project.write(
        "snapshots/history.yml",
        "snapshots: [{name: history, relation: \"ref('staged')\","
        " config: {strategy: check, check_cols: [price], unique_key: id, hard_deletes: new_record}}]",
    )
    dbt_project.dbt("build")
    for change in ("delete from prices where id = 1", "insert into prices values (1, 11)"):
        dbt_project.sql(change)
        dbt_project.dbt("snapshot")
    shown = "select id, price, dbt_is_deleted, dbt_valid_to is null from history order by id, dbt_valid_from"
    assert [tuple(row) for row in dbt_project.sql(shown)] == [
        (1, 10, "False", False), (1, 10, "True", False), (1, 11, "False", True), (2, 20, "False", True),
    ]  # fmt: skip
