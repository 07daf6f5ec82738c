"""Which tables are read whole although some keys are known, and what is said of those that are not."""

from __future__ import annotations

import json

import pytest

from dbt_spark_dynamic.algebra.expressions import column
from dbt_spark_dynamic.algebra.nodes import Aggregate, Join, JoinKind, Named, Scan, Semi, Time
from dbt_spark_dynamic.changes.literal_keys import (
    FEW_KEYS,
    MOST_KEYS,
    Values,
    asked_for,
    read_whole,
    with_literal_keys,
)
from dbt_spark_dynamic.sparksql.bounds import between, values_in
from dbt_spark_dynamic.sparksql.reads import undated
from dbt_spark_dynamic.sparksql.render import Renderer

ORDERS = Scan("orders", "o", (("id", "id"), ("customer", "customer")), Time.AFTER)
CUSTOMERS = Scan("customers", "c", (("name", "name"),), Time.AFTER)
KEYS = Named("keys", ("key_0",))
TYPES = {"orders": {"id": "bigint", "customer": "string"}, "customers": {"name": "string"}}
BY_ID = Semi(ORDERS, KEYS, ((column("id"), "key_0"),))


def by_customer(kind: JoinKind) -> Join:
    return Join(Named("change", ("who",)), CUSTOMERS, ((column("who"), column("name"), False),), None, kind)


def test_tables_are_read_whole_but_for_those_that_computed_rows_are_asked_of() -> None:
    assert read_whole(ORDERS) == {("orders", Time.AFTER)}
    assert read_whole(BY_ID) == read_whole(by_customer(JoinKind.INNER)) == frozenset()
    assert read_whole(by_customer(JoinKind.LEFT)) == {("customers", Time.AFTER)}
    both = Join(BY_ID, CUSTOMERS, ((column("customer"), column("name"), False),), None)
    assert read_whole(Aggregate(both, (("name", column("name")),))) == {("customers", Time.AFTER)}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (Values("bigint", ("-1", "2"), "-1", "2", False), "`o`.`id` = -1 OR `o`.`id` = 2"),
        (Values("int", ("1",), "1", "1", True), "`o`.`id` = 1 OR `o`.`id` IS NULL"),
        (Values("bigint", tuple(map(str, range(99))), "0", "98", False), "IN (0, 1, 2"),
        (Values("bigint", None, "-5", "700", True), "BETWEEN -5 AND 700 OR `o`.`id` IS NULL"),
        (Values("bigint", (), None, None, True), "`o`.`id` IS NULL"),
    ],
)
def test_keys_are_said_as_literals(values: Values, said: str) -> None:
    assert asked_for(BY_ID, ()) == {"keys": {"key_0": None}}
    known = with_literal_keys(BY_ID, lambda *_: values, (), TYPES)
    assert said in Renderer(undated).query(known).sql("spark")


@pytest.mark.parametrize("data_type", ["int", "decimal(20,0)", "string"])
@pytest.mark.parametrize("listed", [None, tuple(map(str, range(FEW_KEYS + 1)))])
def test_of_another_type_than_the_column_only_few_keys_are_said(data_type: str, listed: tuple[str, ...] | None) -> None:
    values = Values(data_type, listed, "0", "9", False)
    assert with_literal_keys(BY_ID, lambda *_: values, (), TYPES) == BY_ID
    assert with_literal_keys(BY_ID, lambda *_: values, {"orders"}, TYPES) == BY_ID


def test_what_no_short_literal_says_is_not_said() -> None:
    """Bytes that are no text, long texts, and types of which Spark prints no value that CAST reads again."""
    row = ("string", "a", "b", False, '["a", "b"]')
    assert values_in(["k"], row)["k"].listed == ("a", "b")
    for data_type, least, listed in (
        ("string", "a\ufffd", '["a\ufffd", "b"]'),
        ("string", "${env:HOME}", '["${env:HOME}", "b"]'),
        ("string", "a", '["' + "b" * 201 + '"]'),
        ("timestamp", "a", '["a", "b"]'),
    ):
        assert not values_in(["k"], (data_type, least, "b", False, listed))
    text = (("k", "string"), ("n", "int"))
    assert between(text, ("a", "b", False, "1", "2", False)).startswith("t.`k` BETWEEN 'a' AND 'b'")
    assert between(text, ("a", "b\ufffd", False, "1", "2", False)).startswith("t.`n` BETWEEN")


def test_many_values_are_known_by_their_bounds() -> None:
    listed = json.dumps([str(i) for i in range(MOST_KEYS + 1)])
    assert values_in(["k"], ("bigint", "0", "500", True, listed)) == {"k": Values("bigint", None, "0", "500", True)}
