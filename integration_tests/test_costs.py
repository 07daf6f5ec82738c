"""What a refresh costs, in what does not vary from run to run: statements, Spark jobs, scans of the source, files, and
bytes read, which hardly vary.

Seconds are measured in benchmarks/. A number here that has become lower is to be written down; a higher one is a loss.
"""

from __future__ import annotations

import re

from dbt_spark_dynamic.commit.classic import ClassicEngine
from dbt_spark_dynamic.commit.outcome import Code
from integration_tests.maintained import Maintained

CHANGES = (
    "INSERT INTO sales VALUES (1000, 7, 3.50, DATE '2024-03-01')",
    "UPDATE sales SET amount = amount + 1 WHERE id = 9",
    "DELETE FROM sales WHERE id = 10",
    "DELETE FROM sales WHERE id = 499",
)
"""One row each. The last is of its customer's latest day: a first row that leaves, with none in its place."""

MODELS = {
    "filtered": "SELECT id, amount * 2 AS doubled FROM sales WHERE amount > 1",
    "grouped": "SELECT customer, COUNT(*) AS n, SUM(amount) AS total, MAX(day) AS latest FROM sales GROUP BY customer",
    "joined": "SELECT s.id, s.amount, c.nation FROM sales s JOIN customers c ON s.customer = c.customer",
    "outer_joined": "SELECT c.customer, s.id, s.amount FROM customers c LEFT JOIN sales s ON s.customer = c.customer",
    "semi_joined": "SELECT * FROM customers WHERE customer IN (SELECT customer FROM sales WHERE amount > 2)",
    "by_nation": "SELECT c.nation, SUM(s.amount) AS n FROM sales s JOIN customers c USING (customer) GROUP BY c.nation",
    "distinct_days": "SELECT DISTINCT customer, day FROM sales",
    "totals": "SELECT COUNT(*) AS n, SUM(amount) AS total FROM sales",
    "ranked": "SELECT id, RANK() OVER (PARTITION BY customer ORDER BY amount) AS place FROM sales",
    "last_of_each": "SELECT * FROM sales QUALIFY ROW_NUMBER() OVER (PARTITION BY customer ORDER BY day DESC) = 1",
    "last_three_of_each": (
        "SELECT * FROM sales QUALIFY ROW_NUMBER() OVER (PARTITION BY customer ORDER BY day DESC, id DESC) <= 3"
    ),
    "last_ten": "SELECT id, amount FROM sales ORDER BY id DESC LIMIT 10",
}

COSTS = {
    "filtered": ((6, 5, 0, 1), (8, 14, 0, 2), (8, 14, 0, 2), (8, 14, 0, 2)),
    "grouped": ((5, 8, 0, 2), (6, 8, 0, 2), (6, 12, 0, 2), (7, 17, 1, 2)),
    "joined": ((6, 7, 0, 1), (8, 16, 0, 2), (8, 16, 0, 2), (8, 16, 0, 2)),
    "outer_joined": ((7, 14, 2, 1), (9, 22, 2, 2), (9, 22, 2, 2), (9, 22, 2, 2)),
    "semi_joined": ((7, 13, 2, 0), (7, 13, 2, 0), (7, 13, 2, 0), (7, 4, 1, 0)),
    "by_nation": ((5, 10, 0, 2), (5, 10, 0, 2), (5, 10, 0, 2), (5, 10, 0, 2)),
    "distinct_days": ((6, 12, 1, 1), (4, 4, 0, 0), (6, 12, 1, 2), (6, 11, 1, 2)),
    "totals": ((5, 9, 0, 2), (5, 9, 0, 2), (5, 9, 0, 2), (5, 9, 0, 2)),
    "ranked": ((9, 18, 2, 2), (9, 20, 2, 2), (9, 18, 2, 2), (9, 18, 2, 2)),
    "last_of_each": ((5, 8, 0, 2), (5, 8, 0, 0), (5, 8, 0, 0), (7, 15, 1, 2)),
    "last_three_of_each": ((10, 18, 0, 2), (7, 9, 0, 0), (7, 9, 0, 0), (10, 21, 1, 2)),
    "last_ten": ((10, 17, 0, 2), (7, 8, 0, 0), (7, 8, 0, 0), (10, 19, 1, 2)),
}
"""For each of CHANGES: SQL statements sent; jobs that Spark ran, one of which lists the table's files before MERGE has
to wait for that; scans of `sales` itself, of which its change feed is none; files that the commit added, change data
among them."""


READ = {
    "filtered": (4, 14, 19, 22),
    "grouped": (9, 13, 21, 37),
    "joined": (8, 20, 24, 28),
    "outer_joined": (26, 43, 52, 54),
    "semi_joined": (22, 30, 33, 9),
    "by_nation": (11, 16, 23, 26),
    "distinct_days": (12, 7, 18, 22),
    "totals": (8, 12, 18, 21),
    "ranked": (19, 28, 32, 37),
    "last_of_each": (12, 13, 15, 25),
    "last_three_of_each": (15, 13, 15, 29),
    "last_ten": (12, 11, 13, 25),
}
"""For each of CHANGES: kilobytes that the tasks of a refresh read from files."""

MORE, MORE_KILOBYTES = 1.25, 4
"""So many times as many, and so many more, may be read: what Delta reads of its log is not always the same."""


def test_a_refresh_costs_no_more_than_it_did(maintained: Maintained) -> None:
    maintained.sql(
        "CREATE TABLE sales USING delta AS SELECT id, CAST(id % 20 AS INT) AS customer, CAST(id % 7 AS DECIMAL(12,2)) "
        "AS amount, DATE '2024-01-01' + CAST(id / 10 AS INT) AS day FROM RANGE(500)"
    )
    maintained.sql(
        "CREATE TABLE customers USING delta AS SELECT CAST(id AS INT) AS customer, CAST(id % 3 AS INT) AS nation "
        "FROM RANGE(20)"
    )
    for name, sql in MODELS.items():
        maintained.refresh(name, sql=sql)
    dearer: list[str] = []
    for i, change in enumerate(CHANGES):
        maintained.sql(change)
        for name in MODELS:
            so_far = _bytes_read(maintained)
            cost, known = _cost(maintained, name), COSTS[name][i]
            if any(now > before for now, before in zip(cost, known, strict=True)):
                dearer.append(f"{name}, {change}: (statements, jobs, scans, files) is {cost}, was {known}")
            read = (_bytes_read(maintained) - so_far) // 1000
            if read > MORE * READ[name][i] + MORE_KILOBYTES:
                dearer.append(f"{name}, {change}: {read} kB are read, {READ[name][i]} were")
    assert not dearer, "\n".join(dearer)


def test_nothing_changed_runs_nothing(maintained: Maintained) -> None:
    maintained.sql("CREATE TABLE sales USING delta AS SELECT id, id % 20 AS customer FROM RANGE(500)")
    maintained.refresh("m", sql="SELECT customer, COUNT(*) AS n FROM sales GROUP BY customer")
    maintained.refresh("m")
    assert _cost(maintained, "m", Code.NO_CHANGE)[:3] == (2, 0, 0)


def _bytes_read(maintained: Maintained) -> int:
    """Of files, by all tasks so far."""
    context = maintained.session.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    executors = context.statusStore().executorList(True)
    return sum(int(executors.apply(i).totalInputBytes()) for i in range(executors.size()))


def _cost(maintained: Maintained, name: str, *expected: Code) -> tuple[int, int, int, int]:
    # Of a model that nobody has read the same feed for.
    ClassicEngine(maintained.session).feeds.forget()
    scheduler = maintained.session.sparkContext._jsc.sc().dagScheduler()
    before = scheduler.numTotalJobs()
    outcome = maintained.refresh(name)
    jobs = int(scheduler.numTotalJobs()) - int(before)
    assert outcome.code in (expected or (Code.INCREMENTAL, Code.NO_CHANGE)), outcome.line()
    scans = sum(len(re.findall("`sales` VERSION AS OF", s)) for s in maintained.statements)
    statements = len(maintained.statements)
    engine = ClassicEngine(maintained.session)
    table = engine.table(f"{maintained.schema}.{name}")
    assert table is not None
    files = sum("add" in action or "cdc" in action for action in engine.log(table, table.version))
    return statements, jobs, scans, files
