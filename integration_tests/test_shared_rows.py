"""Models that join the same tables read the rows of one that meet what changed of the others once."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from dbt_spark_dynamic.changes.change_plan import ChangePlan
from dbt_spark_dynamic.commit import look, rows_met, shared_rows
from dbt_spark_dynamic.commit.classic import ClassicEngine
from dbt_spark_dynamic.commit.decide import Reads
from dbt_spark_dynamic.commit.outcome import Code
from integration_tests.maintained import Maintained

MODELS = {
    "sums": "SELECT o.customer, SUM(i.amount) AS amount, COUNT(*) AS n FROM orders AS o JOIN items AS i"
    " ON o.id = i.order_id WHERE i.amount > 1 GROUP BY o.customer",
    "parts": "SELECT i.part, COUNT(*) AS n, MAX(o.day) AS latest FROM items AS i JOIN orders AS o ON i.order_id = o.id"
    " WHERE o.customer < 6 GROUP BY i.part",
    "lines": "SELECT o.id, o.customer, i.part, i.amount FROM orders AS o LEFT JOIN items AS i ON o.id = i.order_id",
    "none": "SELECT o.id FROM orders AS o WHERE NOT EXISTS (SELECT 1 FROM items AS i WHERE i.order_id = o.id)",
}

CHANGES = (
    (
        "INSERT INTO orders SELECT id, id % 7, DATE '2026-01-05' FROM RANGE(300, 320)",
        "INSERT INTO items SELECT id % 20 + 300, id % 9, id % 5 FROM RANGE(60)",
    ),
    ("DELETE FROM orders WHERE id % 11 = 0", "DELETE FROM items WHERE order_id % 11 = 0 AND part <> 3"),
    ("UPDATE items SET amount = 4 WHERE order_id % 13 = 1", "UPDATE orders SET customer = NULL WHERE id % 17 = 2"),
    (
        "INSERT INTO items VALUES (NULL, 1, 4), (NULL, 1, 4), (5, NULL, NULL)",
        "INSERT INTO orders VALUES (NULL, 1, NULL), (5, 5, DATE '2026-01-05')",
        "DELETE FROM items WHERE part = 2",
    ),
    ("DELETE FROM items", "UPDATE orders SET day = DATE '2026-01-06' WHERE id % 19 = 0"),
)


@pytest.fixture
def shop(maintained: Maintained, monkeypatch: pytest.MonkeyPatch) -> Maintained:
    """Of two tables that count as large, and are sooner maintained than written anew."""
    monkeypatch.setattr(look, "LARGE", 1)
    maintained.sql(
        "CREATE TABLE orders USING delta AS SELECT id, id % 7 AS customer, "
        "DATE '2026-01-01' + CAST(id % 3 AS INT) AS day FROM RANGE(200)"
    )
    maintained.sql(
        "CREATE TABLE items USING delta AS SELECT id % 190 AS order_id, id % 9 AS part, id % 5 AS amount"
        " FROM RANGE(600)"
    )
    engine = ClassicEngine(maintained.session)
    engine.feeds.forget()
    engine.rows_met.forget()
    for name, sql in MODELS.items():
        maintained.refresh(name, sql=sql)
    return maintained


def scans(shop: Maintained) -> int:
    """How often the last statements read one of the two tables whole or for some keys."""
    return sum(s.count("VERSION AS OF") for s in shop.statements if "readChangeFeed" not in s and "MERGE" not in s)


def read_by_each(shop: Maintained) -> dict[str, int]:
    read = {}
    for name in MODELS:
        outcome = shop.refresh(name)
        assert outcome.code in (Code.INCREMENTAL, Code.NO_CHANGE), outcome.line()
        assert shop.difference(name) == 0, (name, outcome.line())
        read[name] = scans(shop)
    return read


def test_what_meets_the_changes_is_read_once(shop: Maintained, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = {}
    for change in CHANGES[0]:
        shop.sql(change)
    for name in MODELS:
        ClassicEngine(shop.session).rows_met.forget()
        shop.refresh(name)
        assert shop.difference(name) == 0
        alone[name] = scans(shop)
    for number, changes in enumerate(CHANGES[1:]):
        for change in changes:
            shop.sql(change)
        read = read_by_each(shop)
        if number == 2:
            # Rows that are no literals on the driver, but kept by Spark.
            monkeypatch.setattr("dbt_spark_dynamic.commit.classic.FEW", 2)
        if number == 1:
            # By now it is known who asks for what: both tables are read once, as they are and as they were.
            assert sum(read.values()) <= 4 < sum(alone.values()), (read, alone)
            assert not any(list(read.values())[2:]), read


@pytest.mark.parametrize(
    ("module", "most"),
    [(rows_met, "MOST_OF_ONE"), pytest.param(shared_rows, "MOST_KEYS", marks=pytest.mark.thorough)],
)
def test_more_than_are_kept(shop: Maintained, monkeypatch: pytest.MonkeyPatch, module: ModuleType, most: str) -> None:
    """Nobody has them, and nobody asks for as many again."""
    monkeypatch.setattr(module, most, 3)
    monkeypatch.setattr("dbt_spark_dynamic.commit.classic.FEW", 2)
    for changes in CHANGES[:2]:
        for change in changes:
            shop.sql(change)
        read_by_each(shop)


def test_models_side_by_side(shop: Maintained) -> None:
    """In sessions of their own, as dbt's threads have them."""
    for changes in CHANGES[:2]:
        for change in changes:
            shop.sql(change)
        found = shop.refresh_side_by_side(MODELS)
        assert set(found) == set(MODELS) and set(found.values()) == {Code.INCREMENTAL.value}
        assert [shop.difference(name) for name in MODELS] == [0] * len(MODELS)


def test_a_column_that_is_new(shop: Maintained) -> None:
    """Of the older version nobody can read it."""
    for change in CHANGES[0]:
        shop.sql(change)
    read_by_each(shop)
    shop.sql("ALTER TABLE items ADD COLUMN note STRING")
    shop.sql("UPDATE items SET note = 'x' WHERE part = 1")
    shop.models["noted"] = "SELECT i.note, o.day FROM items AS i JOIN orders AS o ON i.order_id = o.id"
    shop.refresh("noted")
    for change in CHANGES[2]:
        shop.sql(change)
    shop.refresh("noted")
    assert shop.difference("noted") == 0
    read_by_each(shop)


def reads_for_all(shop: Maintained, table: str) -> bool:
    """Whether the last refresh read rows of a table for others too, as its SQL says."""
    return any(f"rows of {table} that it meets, for all models" in s for s in shop.statements)


@pytest.mark.parametrize("few", [True, False])
def test_a_model_that_asks_for_few_keys_looks_them_up_itself(
    shop: Maintained, monkeypatch: pytest.MonkeyPatch, few: bool
) -> None:
    """Of all that changed, it looks at the items of one order in a hundred. Where the keys of all are few enough to be
    said one by one, it reads for all."""
    monkeypatch.setattr(rows_met, "MOST_KEYS", 20 if few else 500)
    for name, sql in LEAST.items():
        shop.refresh(name, sql=sql)
    ClassicEngine(shop.session).rows_met.forget()
    shop.sql("DELETE FROM items WHERE amount = 0 AND part < 5")
    for name in LEAST:
        assert shop.refresh(name).code is Code.INCREMENTAL
        assert shop.difference(name) == 0
    assert reads_for_all(shop, "items") is not few


LEAST = {
    "every": "SELECT order_id, MIN(amount) AS least FROM items GROUP BY order_id",
    "some": "SELECT i.order_id, MIN(i.amount) AS least FROM items AS i JOIN orders AS o ON i.order_id = o.id"
    " WHERE o.id % 95 = 5 GROUP BY i.order_id",
}


def test_rows_are_not_searched_for_a_pattern_before_they_are_met(shop: Maintained) -> None:
    """Spark would ask all rows of the table for it, and then look their keys up."""
    searched = (
        "SELECT o.day, COUNT(*) AS n FROM orders AS o JOIN items AS i ON o.id = i.order_id WHERE {} GROUP BY o.day"
    )
    for name, like in (("searched", "NOT LIKE '%1%3%'"), ("compared", "NOT LIKE '%3%'")):
        shop.refresh(name, sql=searched.format(f"CAST(i.part * 10 + i.amount AS STRING) {like}"))
    shop.sql("DELETE FROM orders WHERE id % 11 = 0")
    for name in ("searched", "compared"):
        ClassicEngine(shop.session).rows_met.forget()
        assert shop.refresh(name).code is Code.INCREMENTAL
        assert shop.difference(name) == 0
        assert reads_for_all(shop, "items") is (name == "searched")


def test_rows_that_are_not_to_be_had_are_weighed(shop: Maintained, monkeypatch: pytest.MonkeyPatch) -> None:
    """They counted as being there, since others ask for them too; then there are too many."""
    for changes in CHANGES[:2]:
        for change in changes:
            shop.sql(change)
        read_by_each(shop)
    weighed: list[tuple[int, int | None]] = []

    def dear(seen: Any, spec: Any, changed: Any, plan: ChangePlan, alone: Reads, hoped: Reads | None) -> str | None:
        weighed.append((items_of(plan, alone), items_of(plan, hoped) if hoped is not None else None))
        return "it reads items" if hoped is not None else None

    def items_of(plan: ChangePlan, reads: Reads) -> int:
        return sum(name.endswith("items") for r in plan.relations for name, _ in reads(r).leaves)

    monkeypatch.setattr("dbt_spark_dynamic.commit.refresh.dear_plan", dear)
    monkeypatch.setattr(rows_met, "MOST_OF_ONE", 3)
    monkeypatch.setattr("dbt_spark_dynamic.commit.classic.FEW", 2)
    for change in CHANGES[2]:
        shop.sql(change)
    outcome = shop.refresh("sums")
    assert (outcome.technique, outcome.reason) == ("rewrite", "it reads items")
    (there, at_first), (alone, hoped) = weighed
    assert at_first is None and there == hoped < alone
    assert shop.difference("sums") == 0
    # Then it is known before anything is read.
    weighed.clear()
    for change in CHANGES[2]:
        shop.sql(change.replace("= 4 ", "= 3 ").replace("NULL", "6"))
    assert shop.refresh("sums").reason == "it reads items"
    assert weighed == [(alone, hoped)]
    assert shop.difference("sums") == 0
