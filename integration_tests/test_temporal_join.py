"""Temporal joins inside dbt: orders converted at the rate that was valid when they were placed (FLIP-132).

Orders and rates are those of "Temporal Table Join" in the documentation of Apache Flink; each order is in a currency
whose rate changed before, between or after them.
"""

from __future__ import annotations

import pytest
import yaml

from dbt_spark_dynamic.commit import refresh, temporal_plans
from dbt_spark_dynamic.commit.outcome import Code
from dbt_spark_dynamic.reading.relations import Versioning
from integration_tests.conftest import DbtProject
from integration_tests.maintained import Maintained

ORDERS = [(1, "Euro", 2, "10:15"), (2, "US Dollar", 1, "10:30"), (3, "Yen", 50, "10:32"), (4, "Euro", 3, "10:52")]
RATES = [("US Dollar", 102, "09:00"), ("Euro", 114, "09:00"), ("Yen", 1, "09:00"), ("Euro", 116, "10:45")]
AT_EVENT_TIME = {(1, "Euro", 228), (2, "US Dollar", 102), (3, "Yen", 50), (4, "Euro", 348)}

NEWEST = """
select currency, rate, currency_time
from (
    select *, row_number() over (partition by currency order by currency_time desc) as rowNum
    from {{ source('shop', 'rates') }} )
where rowNum = 1
"""

SOURCES = """
sources:
- name: shop
  schema: {schema}
  tables:
  - name: orders
  - name: rates
    config: {{event_time: currency_time, meta: {{unique_key: currency}}}}
"""

AS_FLIP_132_WRITES_IT = """
select
  o.order_id,
  o.currency,
  o.amount * r.rate as amount
from {{ source('shop', 'orders') }} as o, {{ ref('versioned_rates') }} for system_time as of o.order_time r
on o.currency = r.currency
"""

SNAPSHOT = """
{% snapshot rates_snapshot %}
{{ config(unique_key='currency', strategy='timestamp', updated_at='currency_time',
          dbt_valid_to_current="timestamp '9999-12-31'",
          snapshot_meta_column_names={'dbt_valid_from': 'since', 'dbt_valid_to': 'until'}) }}
select * from {{ ref('versioned_rates') }}
{% endsnapshot %}
"""


ENDS = {"unique_key": "currency", "valid_to": "until", "valid_to_current": "timestamp '9999-12-31'"}
TESTED = {
    "name": "rates_snapshot",
    "data_tests": [
        {"versions_do_not_overlap": {"arguments": {**ENDS, "valid_from": "since"}}},
        {"versions_are_contiguous": {"arguments": {**ENDS, "valid_from": "since"}}},
        {"one_current_version": {"arguments": ENDS}},
        {"valid_from_before_valid_to": {"arguments": {"valid_from": "since", "valid_to": "until"}}},
    ],
}


def at(time: str) -> str:
    return f"timestamp '2020-01-01 {time}:00'"


def values(rows: list[tuple]) -> str:
    return ", ".join("(" + ", ".join(at(v) if ":" in str(v) else repr(v) for v in row) + ")" for row in rows)


@pytest.fixture
def shop(dbt_project: DbtProject) -> DbtProject:
    """Orders and rates as they came, the newest rate of each currency as a view of them, and a snapshot of that."""
    dbt_project.write("models/shop.yml", SOURCES.format(schema=dbt_project.schema))
    dbt_project.sql("create table rates (currency string, rate int, currency_time timestamp) using delta")
    dbt_project.sql("create table orders (order_id int, currency string, amount int, order_time timestamp) using delta")
    dbt_project.model("versioned_rates", NEWEST, materialized="view")
    dbt_project.model("converted", AS_FLIP_132_WRITES_IT, materialized="temporal_join")
    dbt_project.sql(f"insert into orders values {values(ORDERS)}")
    dbt_project.sql(f"insert into rates values {values(RATES)}")
    return dbt_project


def rows(project: DbtProject, model: str) -> set[tuple]:
    listed = [tuple(row) for row in project.sql(f"select * from {model}")]
    assert len(listed) == len(set(listed))
    return set(listed)


@pytest.mark.every_connection(pytest.mark.thorough)
def test_each_order_at_the_rate_of_its_time(shop: DbtProject) -> None:
    shop.dbt("run")
    assert rows(shop, "converted") == AT_EVENT_TIME

    # Later rates change nothing that was; an order of a currency without a rate is not shown, until there is one.
    shop.sql(f"insert into rates values {values([('Euro', 119, '11:15'), ('Pounds', 108, '11:49')])}")
    shop.sql(f"insert into orders values {values([(5, 'US Dollar', 5, '11:04'), (6, 'Pounds', 1, '11:48')])}")
    shop.dbt("run", "--select", "converted")
    assert shop.responses()["converted"]["code"] == "INCREMENTAL"
    assert rows(shop, "converted") == AT_EVENT_TIME | {(5, "US Dollar", 510)}

    # A rate that comes late corrects the orders it covers, and no others.
    shop.sql(f"insert into rates values {values([('Euro', 200, '10:00'), ('Pounds', 100, '11:40')])}")
    shop.dbt("run", "--select", "converted")
    response = shop.responses()["converted"]
    assert (response["code"], response["rows_in"]) == ("INCREMENTAL", 2)
    corrected = AT_EVENT_TIME - {(1, "Euro", 228)} | {(1, "Euro", 400), (5, "US Dollar", 510), (6, "Pounds", 100)}
    assert rows(shop, "converted") == corrected

    shop.sql("delete from rates where rate = 200")
    shop.sql("update orders set order_time = null where order_id = 6")
    shop.dbt("run", "--select", "converted")
    assert rows(shop, "converted") == AT_EVENT_TIME | {(5, "US Dollar", 510)}


PROCESSED = """
select o.order_id, o.currency, o.amount * r.rate as amount
from {{ source('shop', 'orders') }} as o, {{ ref('versioned_rates') }} for system_time as of proctime() r
on o.currency = r.currency
"""

PER_CURRENCY = """
select o.currency, count(*) as orders, sum(o.amount * r.rate) as amount
from {{ source('shop', 'orders') }} as o
left join {{ ref('rates_snapshot') }} for system_time as of o.order_time as r on o.currency = r.currency
group by o.currency
"""

DECLARED = """
with euros as (select * from {{ source('shop', 'orders') }} where currency = 'Euro')
select *
from euros o left join {{ source('shop', 'rates') }} for system_time as of o.order_time as r using (currency)
"""


def test_at_processing_time_the_latest_rate_is_met_and_kept(shop: DbtProject) -> None:
    shop.model("processed", PROCESSED, materialized="temporal_join", unique_key="order_id")
    shop.dbt("run", "--select", "versioned_rates", "processed")
    first = {(1, "Euro", 232), (2, "US Dollar", 102), (3, "Yen", 50), (4, "Euro", 348)}
    assert rows(shop, "processed") == first

    # New rates change no past result; a new order meets them, and so does one that is corrected.
    shop.sql(f"insert into rates values {values([('Euro', 119, '11:15')])}")
    shop.dbt("run", "--select", "processed")
    assert shop.responses()["processed"]["rows_updated"] == 0
    assert rows(shop, "processed") == first
    shop.sql(f"insert into orders values {values([(5, 'Euro', 1, '08:00')])}")
    shop.sql("update orders set amount = 10 where order_id = 4")
    shop.sql("delete from orders where order_id = 3")
    shop.dbt("run", "--select", "processed")
    assert rows(shop, "processed") == {(1, "Euro", 232), (2, "US Dollar", 102), (4, "Euro", 1190), (5, "Euro", 119)}


def test_late_versions_are_ignored_if_asked(shop: DbtProject) -> None:
    shop.write("models/once.yml", "models: [{name: once, data_tests: [equals_its_query]}]")
    shop.model("once", AS_FLIP_132_WRITES_IT, materialized="temporal_join", unique_key="order_id",
               late_versions="ignore", watermark="5 minutes")  # fmt: skip
    shop.dbt("run", "--select", "versioned_rates", "once")
    # The newest rate is of 10:45, so rates may still come for orders after 10:40.
    early = {(1, "Euro", 228), (2, "US Dollar", 102), (3, "Yen", 50)}
    assert rows(shop, "once") == early

    # A late rate changes no order that was joined, and an order waits for both sides.
    shop.sql(f"insert into rates values {values([('Euro', 200, '10:00'), ('Yen', 2, '11:30')])}")
    shop.dbt("run", "--select", "once")
    assert shop.responses()["once"]["code"] == "INCREMENTAL"
    assert rows(shop, "once") == early
    shop.sql(f"insert into orders values {values([(5, 'Yen', 7, '11:20'), (6, 'Euro', 1, '10:10')])}")
    shop.dbt("run", "--select", "once")
    # Up to 11:15: the order of 10:52, and the one that comes late, which meets the late rate.
    later = early | {(4, "Euro", 348), (6, "Euro", 200)}
    assert (shop.responses()["once"]["code"], rows(shop, "once")) == ("INCREMENTAL", later)

    # Neither what a rate was corrected to, nor a delete of the newest rows, takes anything back.
    shop.sql("delete from rates where rate = 116")
    shop.sql("delete from orders where order_id = 5")
    shop.dbt("run", "--select", "once")
    assert rows(shop, "once") == later
    # An order that is itself corrected is joined again.
    shop.sql("update orders set amount = 3 where order_id = 1")
    shop.dbt("run", "--select", "once")
    response = shop.responses()["once"]
    assert (response["code"], response["rows_in"], response["rows_updated"]) == ("INCREMENTAL", 1, 1)
    assert rows(shop, "once") == later - {(1, "Euro", 228)} | {(1, "Euro", 600)}
    shop.dbt("run", "--select", "once")
    assert shop.responses()["once"]["code"] == "NO CHANGE"
    assert "its query computed anew" in shop.fails("test", "--select", "once")


def test_a_snapshot_and_a_declared_source_are_versioned_too(shop: DbtProject) -> None:
    shop.write("snapshots/rates_snapshot.sql", SNAPSHOT)
    # `dbt build` runs the tests of histories on the snapshot as well.
    shop.write("snapshots/rates_snapshot.yml", yaml.safe_dump({"snapshots": [TESTED]}))
    shop.model("per_currency", PER_CURRENCY, materialized="dynamic_table")
    shop.model("euros", DECLARED, materialized="temporal_join")
    shop.sql("delete from rates where rate = 116")
    shop.dbt("build", "--exclude", "converted")
    assert rows(shop, "per_currency") == {("Euro", 2, 570), ("US Dollar", 1, 102), ("Yen", 1, 50)}
    shop.sql(f"insert into rates values {values([('Euro', 116, '10:45')])}")
    shop.dbt("build", "--exclude", "converted")
    assert shop.responses()["per_currency"]["code"] == "INCREMENTAL"
    assert rows(shop, "per_currency") == {("Euro", 2, 576), ("US Dollar", 1, 102), ("Yen", 1, 50)}
    assert shop.responses()["euros"]["code"] == "INCREMENTAL"
    listed = shop.sql("select order_id, amount, rate from euros")
    assert {tuple(r) for r in listed} == {(1, 2, 114), (4, 3, 116)}
    # As without FOR SYSTEM_TIME: the columns of both sides and no others.
    assert shop.session.table("euros").columns == [
        "currency", "order_id", "amount", "order_time", "rate", "currency_time",
    ]  # fmt: skip


REFUSED = {
    "no_key": ("join {{ ref('versioned_rates') }} for system_time as of o.order_time r on o.amount = r.rate",
               ["no equality on its key (currency)", "r.currency = "]),
    "no_time": ("join {{ ref('versioned_rates') }} for system_time as of r.currency_time r using (currency)",
                ["FOR SYSTEM_TIME AS OF cannot be evaluated", "name an event time of the rows to the left"]),
    "latest_only": ("join {{ ref('newest') }} for system_time as of o.order_time r using (currency)",
                    ["keeps only the latest row of each key", "versioned_table"]),
    "full_join": ("full join {{ ref('versioned_rates') }} for system_time as of o.order_time r using (currency)",
                  ["a FULL temporal join"]),
    "not_temporal": ("join {{ ref('versioned_rates') }} r using (currency)", ["has none", "dynamic_table"]),
    "no_row_key": ("join {{ ref('versioned_rates') }} for system_time as of proctime() r using (currency)",
                   ["needs a key of the rows", "unique_key"]),
}  # fmt: skip


IGNORED = {
    "ungrouped": ("select r.rate, count(*) as n", " group by r.rate", {"unique_key": None},
                  ["is joined or grouped further"]),
    "keyless": ("select o.order_id, r.rate", "", {"unique_key": None}, ["needs a key of the rows that it joins"]),
    "no_interval": ("select o.order_id, r.rate", "", {"watermark": "soon"}, ["'soon' is not an interval"]),
    "useless": ("select o.order_id, r.rate", "", {"late_versions": "correct", "watermark": "1 hour"},
                ["watermark has no effect here", "late_versions='ignore'"]),
    "by_clock": ("select o.order_id, r.rate", " where r.currency_time > current_date - 7", {},
                 ["reads the clock", "subquery of the left side"]),
    "no_policy": ("select o.order_id, r.rate", "", {"late_versions": "drop"}, ["use one of 'correct', 'ignore'"]),
}  # fmt: skip


def test_late_versions_that_cannot_be_ignored(shop: DbtProject) -> None:
    for name, (select, rest, config, _) in IGNORED.items():
        join = AS_FLIP_132_WRITES_IT[AS_FLIP_132_WRITES_IT.index("from") :]
        asked = {"unique_key": "order_id", "late_versions": "ignore", **config}
        shop.model(name, f"{select} {join}{rest}", materialized="temporal_join", **asked)
    said = shop.fails("run", "--exclude", "converted")
    for name, (_, _, _, expected) in IGNORED.items():
        of_model = said[said.index(f"(models/{name}.sql)") :]
        for text in expected:
            assert text in of_model, f"{name}: {text}\n{said}"


def test_what_cannot_be_joined_is_said_with_place_reason_and_remedy(shop: DbtProject) -> None:
    shop.model("newest", NEWEST, materialized="dynamic_table", unique_key="currency")
    for name, (join, _) in REFUSED.items():
        sql = "select o.order_id, r.rate\nfrom {{ source('shop', 'orders') }} o\n" + join
        shop.model(name, sql, materialized="temporal_join")
    said = shop.fails("run", "--exclude", "converted")
    for name, (_, expected) in REFUSED.items():
        of_model = said[said.index(f"(models/{name}.sql)") :]
        for text in expected:
            assert text in of_model, f"{name}: {text}\n{said}"
    assert "models/no_key.sql, line 4 of the compiled SQL" in said and "remedy:" in said
    assert {row["tableName"] for row in shop.sql("show tables")} == {"orders", "rates", "versioned_rates", "newest"}


def test_versions_are_looked_up_in_place_of_a_join_on_the_key(
    maintained: Maintained, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where keys have many versions, and many rows change: the limits from which on that is so are lowered."""
    monkeypatch.setattr(temporal_plans, "MOST_MET", 0)
    monkeypatch.setattr(temporal_plans, "MOST_IN_BIN", 0)
    monkeypatch.setattr(refresh, "MANY_ROWS", 0)
    maintained.sql("create table orders (id int, currency string, order_time timestamp) using delta")
    maintained.sql("create table rates (currency string, rate int, since timestamp, until timestamp) using delta")
    maintained.sql("insert into orders select id, nullif(id % 3, 0), timestamp_seconds(id * 10) from range(20)")
    since, until = "timestamp_seconds(id * 30)", "timestamp_seconds(id * 30 + 30)"
    maintained.sql(f"insert into rates select 1, id, {since}, {until} from range(4)")
    maintained.sql("insert into rates values ('2', 9, timestamp_seconds(50), null)")
    sql = (
        "select o.*, r.rate from orders o left join rates for system_time as of o.order_time as r "
        "on o.currency = r.currency and r.rate <> 2"
    )
    plain = (
        "select o.*, r.rate from orders o left join rates r on o.currency = r.currency and r.rate <> 2 "
        "and r.since <= o.order_time and (r.until is null or o.order_time < r.until)"
    )
    declared = Versioning(("currency",), valid_from="since", valid_to="until")
    options = {"sql": sql, "versionings": {f"{maintained.schema}.rates": declared}}

    def equal() -> bool:
        return Maintained(maintained.session, maintained.schema, {"m": plain}).difference("m") == 0

    assert maintained.refresh("m", **options).code is Code.CREATED
    assert any("LAST_VALUE" in s for s in maintained.statements) and equal()
    maintained.sql("insert into orders values (50, '1', timestamp_seconds(45)), (51, '2', null), (52, 'no', now())")
    maintained.sql("delete from orders where id = 7")
    assert maintained.refresh("m", **options).code is Code.INCREMENTAL
    assert any("LAST_VALUE" in s for s in maintained.statements) and equal()
    maintained.sql("update rates set rate = 8 where rate = 9")
    outcome = maintained.refresh("m", **options)
    assert outcome.code is Code.RECOMPUTE and "many rows changed" in (outcome.reason or "") and equal()
    # Versions that overlap are not looked up: a row meets all that are valid at its time.
    maintained.sql("insert into rates values ('2', 10, timestamp_seconds(60), null)")
    maintained.refresh("m", **options)
    assert not any("LAST_VALUE" in s for s in maintained.statements) and equal()


@pytest.mark.parametrize("time_type", ["timestamp", pytest.param("date", marks=pytest.mark.thorough)])
def test_versions_that_overlap_are_met_by_bins_of_time(
    maintained: Maintained, monkeypatch: pytest.MonkeyPatch, time_type: str
) -> None:
    """Where a lookup cannot be: with versions valid at the same time, other types of time, and changes of versions."""
    monkeypatch.setattr(temporal_plans, "MOST_MET", 2)
    monkeypatch.setattr(refresh, "MANY_ROWS", 0)
    start = "timestamp '2020-03-28 00:00:00'"
    at = f"cast({start} + make_dt_interval(id * 7 % 60) as {time_type})"
    since, until = f"{start} + make_dt_interval(id)", f"{start} + make_dt_interval(id + 2)"
    maintained.sql(f"create table orders using delta as select id, id % 3 as item, {at} as at from range(90)")
    maintained.sql("insert into orders values (100, null, null), (101, 1, null), (102, null, now())")
    maintained.sql(
        "create table prices using delta as select id % 2 as item, id as price, "
        f"{since} as since, if(id = 59, null, {until}) as until from range(60)"
    )
    maintained.sql(
        "insert into prices values (0, -1, timestamp '1900-01-01', timestamp '2020-04-02'), (1, -2, null, null)"
    )
    sql = "select o.*, p.price from orders o {kind} join prices {as_of} p on o.item = p.item and p.price <> 7 {valid}"
    valid = "and p.since <= o.at and (p.until is null or o.at < p.until)"
    declared = Versioning(("item",), valid_from="since", valid_to="until")
    models = {
        kind: {"sql": sql.format(kind=kind, as_of="for system_time as of o.at as", valid="")}
        for kind in ("inner", "left")
    }

    def check(kind: str, code: Code) -> None:
        outcome = maintained.refresh(kind, **models[kind], versionings={f"{maintained.schema}.prices": declared})
        assert outcome.code is code, outcome.line()
        assert any("SEQUENCE" in s and "MAX" not in s for s in maintained.statements)
        plain = sql.format(kind=kind, as_of="", valid=valid)
        assert Maintained(maintained.session, maintained.schema, {kind: plain}).difference(kind) == 0

    for kind in models:
        check(kind, Code.CREATED)
    maintained.sql("insert into orders select id + 200, item, at from orders where id < 9")
    maintained.sql("update orders set at = at + interval 1 day where id between 20 and 30")
    maintained.sql(f"insert into prices values (0, 70, {start}, null), (2, 71, {start}, {start})")
    maintained.sql("update prices set since = since - interval 3 days where price between 20 and 25")
    maintained.sql("delete from prices where price = 40")
    for kind in models:
        check(kind, Code.INCREMENTAL)
