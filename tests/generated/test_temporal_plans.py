"""How a temporal join is made follows from its versions: how many there are of a key, how they lie in time."""

from __future__ import annotations

import pytest

from dbt_spark_dynamic.algebra.nodes import Join, Time, walk
from dbt_spark_dynamic.changes.derivation import at
from dbt_spark_dynamic.commit.measure import Measure
from dbt_spark_dynamic.commit.temporal_plans import MOST_IN_BIN, MOST_MET, among_versions, choose
from dbt_spark_dynamic.pipeline import compile_model
from dbt_spark_dynamic.reading.relations import Versioning
from dbt_spark_dynamic.sparksql.bins import DAYS, MICROS, NUMBER, SINCE, Bins, position
from dbt_spark_dynamic.sparksql.lookups import look_up
from dbt_spark_dynamic.sparksql.reads import Span, dated
from dbt_spark_dynamic.sparksql.render import Renderer

from .duck import Duck

MANY = 2 * MOST_MET
TABLES = {
    "orders": (("item", "INT"), ("bought", "TIMESTAMP")),
    "prices": (("item", "INT"), ("kind", "VARCHAR"), ("since", "TIMESTAMP"), ("until", "TIMESTAMP")),
}
SPREAD = "TIMESTAMP '2024-01-01' + INTERVAL 1 HOUR * {}"
BURST = "TIMESTAMP '2024-01-01' + INTERVAL 1 SECOND * {} + INTERVAL 1 DAY * ({} // 200)"
VERSIONS = {
    "few": (SPREAD, MOST_MET, 1),
    "spread": (SPREAD, MANY, 1),
    "crowded": (SPREAD, MANY, MOST_IN_BIN // 4),
    "deep": (SPREAD, MANY, MANY // 8),
    "burst": (BURST, MANY, 1),
    "crowded_burst": (BURST, MANY, MANY // 8),
    "all_at_once": (SPREAD, MANY, 100 * MANY),
}
"""(when a version starts, by its number; versions of the one key; how many of them are valid at once)"""


@pytest.fixture(scope="module")
def duck() -> Duck:
    duck = Duck(TABLES, {}, {"prices": Versioning(("item",), valid_from="since", valid_to="until")})
    # What has always been, and is still: it must not make the bins longer.
    ever = "(2, 'a', TIMESTAMP '1900-01-01', NULL), (3, 'a', TIMESTAMP '1900-01-01', NULL)"
    rounds = []
    for starts, versions, at_once in VERSIONS.values():
        since, until = starts.replace("{}", "i"), starts.replace("{}", f"(i + {at_once})")
        made = f"SELECT 1, 'a', {since}, {until} FROM range({versions}) t(i)"
        rounds.append(("DELETE FROM prices", f"INSERT INTO prices {made}", f"INSERT INTO prices VALUES {ever}"))
    duck.enter("techniques", rounds)
    return duck


def chosen(duck: Duck, versions: str) -> object:
    version = list(VERSIONS).index(versions)
    duck.at(version)
    sql = "SELECT o.item, p.kind FROM orders o JOIN prices {} p ON o.item = p.item"
    as_of = "FOR SYSTEM_TIME AS OF o.bought AS"
    model = compile_model(sql.format(as_of), duck.columns(sql.format("")), duck, duck.columns)
    assert model.node is not None
    (join,) = [n for n in walk(model.node) if isinstance(n, Join)]
    renderer = Renderer(dated(dict.fromkeys(model.sources, Span(version, version))))
    made = choose(at(model.node, Time.AFTER), duck, Measure(duck), renderer)
    assert among_versions(model.node, made, {"prices"}) is (look_up in made.values())
    assert not among_versions(model.node, made, {"orders"})
    return made.get(join.as_of)


def test_few_versions_are_joined_by_key(duck: Duck) -> None:
    assert chosen(duck, "few") is None


def test_bins_hold_about_one_version_of_a_key(duck: Duck) -> None:
    made = chosen(duck, "spread")
    assert isinstance(made, Bins)
    hour = 3_600_000_000
    assert hour // 2 <= made.width <= 4 * hour and (made.last - made.first) // hour == MANY - 2
    assert isinstance(chosen(duck, "crowded"), Bins)


def test_versions_that_come_in_bursts_are_looked_up(duck: Duck) -> None:
    assert chosen(duck, "burst") is look_up


def test_of_versions_that_overlap_bins_leave_what_they_can(duck: Duck) -> None:
    assert isinstance(chosen(duck, "crowded_burst"), Bins)
    deep, spread = (chosen(duck, name) for name in ("deep", "spread"))
    assert isinstance(deep, Bins) and isinstance(spread, Bins) and deep.width > 5 * spread.width
    assert chosen(duck, "all_at_once") is None


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (("timestamp", "timestamp", "timestamp"), MICROS),
        (("date", "timestamp", "timestamp"), MICROS),
        (("timestamp_ntz", "date", "timestamp_ntz"), SINCE),
        (("date", "date", "date"), DAYS),
        (("bigint", "int", "int"), NUMBER),
        (("timestamp", "timestamp_ntz", "timestamp_ntz"), None),
        (("string", "timestamp", "timestamp"), None),
        (("int", "date", "date"), None),
    ],
)
def test_a_time_has_a_place_in_the_order_of_its_type(types: tuple[str, ...], expected: str | None) -> None:
    """A clock that is put back makes two orders of TIMESTAMP and TIMESTAMP_NTZ: those have no place in common."""
    assert position(types) == expected
