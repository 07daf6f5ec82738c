"""The versioned and the regular tables of FLIP-132, "Temporal Table DDL and Temporal Table Join", with its rows.

Its example is a row that is inserted at 09:00, updated at 10:05 and deleted at 11:00; `biz_ts` is the row's own time.
"""

from __future__ import annotations

import json
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from integration_tests.demo.project import Project

FOLDER = Path(__file__).parent / "rates"
MILLIS = {"09:00": 1714554000000, "10:05": 1714557900000, "11:00": 1714561200000, "12:00": 1714564800000}
"""1 May 2024, UTC."""


def row(currency: str, rate: str, at: str) -> dict[str, str]:
    return {"currency": currency, "rate": rate, "currency_time": f"2024-05-01 {at}:00"}


def debezium(op: str, at: str, before: dict | None, after: dict | None) -> dict:
    return {"before": before, "after": after, "op": op, "ts_ms": MILLIS[at] + 7, "source": {"ts_ms": MILLIS[at]}}


def canal(kind: str, at: str, data: list[dict], old: list[dict] | None = None) -> dict:
    return {"data": data, "old": old, "type": kind, "es": MILLIS[at], "ts": MILLIS[at] + 7, "isDdl": False}


HELLO, FLINK = row("key", "2.5", "10:05"), row("key", "1.5", "09:00")
DEBEZIUM = [
    debezium("c", "09:00", None, FLINK),
    # With its schema, as connectors send it unless they are told not to.
    {"schema": {"type": "struct"}, "payload": debezium("u", "10:05", FLINK, HELLO)},
    debezium("d", "11:00", HELLO, None),
]
CANAL = [
    canal("INSERT", "09:00", [FLINK]),
    canal("UPDATE", "10:05", [HELLO], [{"rate": "1.5", "currency_time": FLINK["currency_time"]}]),
    canal("DELETE", "11:00", [HELLO]),
]
IGNORED = {("key", 1.5, "09:00", "10:05"), ("key", 2.5, "10:05", None)}
CLOSED = {("key", 1.5, "09:00", "10:05"), ("key", 2.5, "10:05", "11:00")}


class Bank:
    def __init__(self, spark: SparkSession, workspace: Path) -> None:
        self.spark, self.schema = spark, f"rates_{uuid4().hex[:8]}"
        self.project = Project(FOLDER, workspace, {"rates_schema": self.schema})
        self.project.invoke("run-operation", "create_bank")

    def quote(self, currency: str, rate: float, at: str) -> None:
        time, order = f"TIMESTAMP '2024-05-01 {at}:00'", self.spark.table(f"{self.schema}.rates").count()
        arrived = f"TIMESTAMP '2024-05-02 00:00:{order:02}'"
        self.spark.sql(f"INSERT INTO {self.schema}.rates VALUES ('{currency}', {rate}, {time}, {arrived})")

    def send(self, topic: str, message: dict | None) -> None:
        value = "NULL" if message is None else "ENCODE('" + json.dumps(message) + "', 'UTF-8')"
        self.spark.sql(f"INSERT INTO {self.schema}.{topic} SELECT CAST({value} AS BINARY)")

    def run(self, *models: str) -> dict[str, str]:
        """Model -> what its refresh was."""
        results = self.project.invoke("run", "--select", *models).result.results
        return {r.node.name: r.adapter_response.get("code") for r in results}

    def versions(self, model: str) -> set[tuple]:
        found = self.spark.sql(
            "SELECT currency, CAST(rate AS DOUBLE), DATE_FORMAT(dbt_valid_from, 'HH:mm'), "
            f"DATE_FORMAT(dbt_valid_to, 'HH:mm') FROM {self.schema}.{model}"
        ).collect()
        return {tuple(r) for r in found}


@pytest.fixture
def bank(spark: SparkSession, tmp_path: Path) -> Bank:
    return Bank(spark, tmp_path)


def test_changelogs_of_a_database(bank: Bank) -> None:
    """One refresh after the first two operations, one after the third: the tables say what the text does."""
    models = ("versioned_rates1", "versioned_rates1_canal", "versioned_rates2", "versioned_rates2_canal")
    for debezium_message, canal_message in zip(DEBEZIUM[:2], CANAL[:2], strict=True):
        bank.send("rates_debezium", debezium_message)
        bank.send("rates_canal", canal_message)
    assert set(bank.run(*models).values()) == {"CREATED"}
    assert all(bank.versions(m) == IGNORED for m in models)

    bank.send("rates_debezium", DEBEZIUM[2])
    bank.send("rates_debezium", None)
    bank.send("rates_debezium", DEBEZIUM[0])
    bank.send("rates_canal", CANAL[2])
    bank.send("rates_canal", CANAL[0])
    assert set(bank.run(*models).values()) <= {"INCREMENTAL", "NO CHANGE"}
    assert {m: bank.versions(m) for m in models} == {
        "versioned_rates1": IGNORED, "versioned_rates1_canal": IGNORED,
        "versioned_rates2": CLOSED, "versioned_rates2_canal": CLOSED,
    }  # fmt: skip

    # The row gets another key: it ends under the one it had.
    dollar, yen = row("Dollar", "9", "12:00"), row("Yen", "9", "12:00")
    bank.send("rates_debezium", debezium("r", "09:00", None, dollar))
    bank.send("rates_debezium", debezium("u", "12:00", dollar, yen))
    bank.send("rates_canal", canal("INSERT", "09:00", [dollar]))
    bank.send("rates_canal", canal("UPDATE", "12:00", [yen], [{"currency": "Dollar"}]))
    bank.run(*models[2:])
    moved = CLOSED | {("Dollar", 9.0, "09:00", "12:00"), ("Yen", 9.0, "12:00", None)}
    assert {m: bank.versions(m) for m in models[2:]} == dict.fromkeys(models[2:], moved)


def test_appended_rows_and_the_view_that_keeps_the_last(bank: Bank) -> None:
    models = ("versioned_rates3", "versioned_rates4")
    latest = ("latest_rates1", "latest_rates2", "latest_rates3", "latest_rates4", "latest_rates5")
    bank.quote("Euro", 114, "09:00")
    bank.quote("Yen", 1, "09:00")
    bank.run(*models, *latest)
    assert all(bank.versions(m) == {("Euro", 114, "09:00", None), ("Yen", 1, "09:00", None)} for m in models)

    bank.quote("Euro", 119, "11:15")
    bank.quote("Euro", 116, "10:45")
    codes = bank.run(*models, *latest)
    assert {codes[m] for m in models} == {"INCREMENTAL"}
    euro = {("Euro", 114, "09:00", "10:45"), ("Euro", 116, "10:45", "11:15"), ("Euro", 119, "11:15", None)}
    assert all(bank.versions(m) == euro | {("Yen", 1, "09:00", None)} for m in models)

    last = bank.spark.sql(f"SELECT currency, CAST(rate AS INT) FROM {bank.schema}.latest_rates5").collect()
    assert {tuple(r) for r in last} == {("Euro", 116), ("Yen", 1)}


def test_orders_meet_the_rate_of_their_time_or_the_latest(bank: Bank) -> None:
    models = ("versioned_rates4", "latest_rates5", "orders_at_their_time", "orders_when_processed")

    def order(order_id: str, currency: str, amount: int, at: str) -> None:
        values = f"('{order_id}', '{currency}', {amount}, TIMESTAMP '2024-05-01 {at}:00')"
        bank.spark.sql(f"INSERT INTO {bank.schema}.orders VALUES {values}")

    def amounts(model: str) -> set[tuple]:
        rows = bank.spark.sql(f"SELECT order_id, CAST(amount AS INT), currency FROM {bank.schema}.{model}").collect()
        return {tuple(row) for row in rows}

    bank.quote("Euro", 114, "09:00")
    bank.quote("Yen", 1, "09:00")
    order("o1", "Euro", 2, "10:15")
    order("o2", "Yen", 50, "10:30")
    order("o3", "Euro", 3, "10:52")
    bank.run(*models)
    first = {("o1", 228, "Euro"), ("o2", 50, "Yen"), ("o3", 342, "Euro")}
    assert amounts("orders_at_their_time") == amounts("orders_when_processed") == first

    # It comes after the order that it was valid for, and corrects it; what was processed stays.
    bank.quote("Euro", 116, "10:45")
    order("o4", "Euro", 1, "10:20")
    codes = bank.run(*models)
    assert (codes["orders_at_their_time"], codes["orders_when_processed"]) == ("INCREMENTAL", "INCREMENTAL")
    at_their_time = {("o1", 228, "Euro"), ("o2", 50, "Yen"), ("o3", 348, "Euro"), ("o4", 114, "Euro")}
    assert amounts("orders_at_their_time") == at_their_time
    assert amounts("orders_when_processed") == first | {("o4", 116, "Euro")}
