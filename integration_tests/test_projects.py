"""A project as teams write it, as tables and as dynamic tables side by side, through days of changes."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from integration_tests.conftest import DbtProject

PROJECTS = Path(__file__).parent / "projects"
MARTS = (
    "fct_orders",
    "dim_customers",
    "daily_revenue",
    "product_ranking",
    "repeat_customers",
    "customers_by_country_history",
)

FIRST_DAY = """
CREATE TABLE customers (id INT, name STRING, email STRING, country STRING, created_at TIMESTAMP,
    updated_at TIMESTAMP, _loaded_at TIMESTAMP) USING delta;
CREATE TABLE products (id INT, name STRING, category STRING, _loaded_at TIMESTAMP) USING delta;
CREATE TABLE orders (id INT, customer_id INT, status STRING, ordered_at TIMESTAMP, updated_at TIMESTAMP,
    _loaded_at TIMESTAMP) USING delta;
CREATE TABLE order_items (order_id INT, line INT, product_id INT, quantity INT, price_cents INT,
    _loaded_at TIMESTAMP) USING delta;
CREATE TABLE payments (id INT, order_id INT, method STRING, amount_cents INT, state STRING,
    _loaded_at TIMESTAMP) USING delta;
INSERT INTO customers SELECT id, concat('  customer ', id), concat('C', id, '@Example.com'),
    element_at(array('at', 'no', 'ch', 'xx'), 1 + id % 4), timestamp '2024-01-01' + make_interval(0, 0, 0, id),
    timestamp '2024-01-01', now() FROM (SELECT CAST(id AS INT) AS id FROM range(1, 21));
INSERT INTO products SELECT id, concat('product ', id), if(id % 5 = 0, NULL, concat('c', id % 3)), now()
    FROM (SELECT CAST(id AS INT) AS id FROM range(1, 11));
INSERT INTO orders SELECT id, 1 + id % 17, if(id % 9 = 0, 'cancelled', 'placed'),
    timestamp '2024-02-01' + make_interval(0, 0, 0, id % 7), timestamp '2024-02-08', now()
    FROM (SELECT CAST(id AS INT) AS id FROM range(1, 61));
INSERT INTO order_items SELECT 1 + id % 60, 1 + id DIV 60, 1 + id % 10, 1 + id % 3, 100 * (1 + id % 11), now()
    FROM (SELECT CAST(id AS INT) AS id FROM range(0, 150));
INSERT INTO payments SELECT id, id, element_at(array('card', 'transfer', 'voucher'), 1 + id % 3), 100,
    if(id % 8 = 0, 'pending', 'settled'), now() FROM (SELECT CAST(id AS INT) AS id FROM range(1, 51))
"""

DAYS = (
    # New orders of old and new customers, late ones among them; payments that settle.
    """
INSERT INTO customers VALUES (21, 'late riser', 'L@X.org', 'no', timestamp '2024-02-09', timestamp '2024-02-09', now());
INSERT INTO orders VALUES (61, 21, 'placed', timestamp '2024-02-09', timestamp '2024-02-09', now()),
    (62, 3, 'placed', timestamp '2024-02-02', timestamp '2024-02-09', now()),
    (63, 3, 'placed', NULL, timestamp '2024-02-09', now());
INSERT INTO order_items VALUES (61, 1, 2, 5, 999, now()), (61, 2, 2, 5, 999, now()), (62, 1, 7, 1, 150, now());
UPDATE payments SET state = 'settled' WHERE id IN (8, 16);
UPDATE orders SET updated_at = timestamp '2024-02-09' WHERE id IN (8, 16);
INSERT INTO payments VALUES (51, 61, 'voucher', 500, 'settled', now())
""",
    # A customer moves, one leaves, a product gets its category, orders change hands; an item is given back.
    """
UPDATE customers SET country = 'ch', updated_at = timestamp '2024-02-10' WHERE id IN (2, 5);
DELETE FROM customers WHERE id = 20;
UPDATE products SET category = 'c1' WHERE id = 5;
UPDATE orders SET customer_id = 1, updated_at = timestamp '2024-02-10' WHERE id IN (10, 11);
DELETE FROM order_items WHERE order_id = 12 AND line = 1;
UPDATE orders SET updated_at = timestamp '2024-02-10' WHERE id = 12;
INSERT INTO order_items VALUES (63, 1, 1, 2, 1250, now());
UPDATE orders SET updated_at = timestamp '2024-02-10', ordered_at = timestamp '2024-02-10' WHERE id = 63
""",
)


@pytest.fixture
def raw(spark: object) -> Iterator[str]:
    """The schema of the sources, which both ways of the project read."""
    name = f"raw_{uuid.uuid4().hex[:8]}"
    spark.sql(f"CREATE SCHEMA {name}")  # type: ignore[attr-defined]
    yield name
    spark.sql(f"DROP SCHEMA {name} CASCADE")  # type: ignore[attr-defined]


def played(project: DbtProject, raw: str, day: str) -> None:
    session = project.session.newSession()
    session.sql(f"USE {raw}")
    for statement in day.split(";"):
        session.sql(statement)


def laid_out(project: DbtProject, name: str) -> DbtProject:
    shutil.copytree(PROJECTS / name, project.folder, dirs_exist_ok=True)
    profiles = project.folder / "profiles.yml"
    profiles.write_text(profiles.read_text().replace("tests:", f"{name}:", 1))
    return project


def different(tables: DbtProject, dynamic: DbtProject, model: str) -> list[tuple[object, ...]]:
    """Rows of a mart that only one of the two has, with the side that has them."""
    one, other = (f"SELECT * FROM {p.schema}_marts.{model}" for p in (tables, dynamic))
    return [
        ("table", *row) for row in tables.sql(f"({one}) EXCEPT ALL ({other})")
    ] + [("dynamic_table", *row) for row in tables.sql(f"({other}) EXCEPT ALL ({one})")]  # fmt: skip


def test_the_store_as_tables_and_as_dynamic_tables(new_project: Callable[..., DbtProject], raw: str) -> None:
    tables, dynamic = (laid_out(new_project(threads=2), "store") for _ in range(2))
    played(tables, raw, FIRST_DAY)
    as_tables = ("--vars", f"{{raw_schema: {raw}}}")
    as_dynamic = ("--vars", f"{{raw_schema: {raw}, marts_as: dynamic_table, facts_as: dynamic_table}}")
    tables.dbt("build", "--exclude", "test_type:unit", *as_tables)
    dynamic.dbt("build", *as_dynamic)
    assert {m: dynamic.responses()[m]["code"] for m in MARTS} == dict.fromkeys(MARTS, "CREATED")
    for model in MARTS:
        assert different(tables, dynamic, model) == [], model
    for day in DAYS:
        played(tables, raw, day)
        for project, variables in ((tables, as_tables), (dynamic, as_dynamic)):
            project.dbt("snapshot", *variables)
            project.dbt("run", "--exclude", "path:models/staging", *variables)
        responses = dynamic.responses()
        assert {m: responses[m]["code"] for m in MARTS} == dict.fromkeys(MARTS, "INCREMENTAL"), responses
        for model in MARTS:
            assert different(tables, dynamic, model) == [], model
    dynamic.dbt("test", "--exclude", "test_type:unit", *as_dynamic)
    dynamic.dbt("source", "freshness", *as_dynamic)
    for project in (tables, dynamic):
        for schema in ("marts", "reference", "history"):
            project.sql(f"DROP SCHEMA IF EXISTS {project.schema}_{schema} CASCADE")
