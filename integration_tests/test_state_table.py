"""A table that is slow to maintain is made from groups that are kept beside it: it is its query with and without."""

from __future__ import annotations

import random
from typing import Any

import pytest

from dbt_spark_dynamic.commit.classic import ClassicEngine
from dbt_spark_dynamic.commit.ledger import Entry
from dbt_spark_dynamic.commit.look import position_of
from dbt_spark_dynamic.commit.outcome import Code, Outcome
from dbt_spark_dynamic.commit.refresh import refresh
from dbt_spark_dynamic.commit.spec import LostHistoryPolicy, Spec
from dbt_spark_dynamic.commit.standing import lags, unequal_rows
from dbt_spark_dynamic.commit.state_table import STATE_OF
from dbt_spark_dynamic.errors import TargetError
from dbt_spark_dynamic.explain.explanation import explain
from dbt_spark_dynamic.explain.text import text
from integration_tests.maintained import Maintained, sql_engine
from integration_tests.test_crash import Died, Dying

pytestmark = pytest.mark.usefixtures("large_tables")

REVENUE = "SELECT customer, SUM(amount) AS total, COUNT(*) AS n FROM sales WHERE amount <> 3 GROUP BY customer"

OF_NAMES = "SELECT c.name, SUM(s.amount) AS total FROM sales s JOIN customers c ON s.customer = c.id GROUP BY c.name"
MODELS = {
    "best": f"WITH revenue AS ({REVENUE}) SELECT c.id, c.name, total FROM customers c JOIN revenue ON c.id = customer "
    "WHERE total = (SELECT MAX(total) FROM revenue)",
    "large": "SELECT s.id, s.customer, s.amount FROM sales s WHERE s.customer IN "
    "(SELECT customer FROM sales GROUP BY customer HAVING SUM(amount) > 40)",
    "first": f"SELECT * FROM ({REVENUE}) ORDER BY total DESC, customer LIMIT 5",
    "outer": "SELECT n, COUNT(*) AS customers FROM (SELECT c.id, COUNT(s.id) AS n FROM customers c "
    "LEFT JOIN sales s ON s.customer = c.id AND s.amount <> 3 GROUP BY c.id) GROUP BY n",
    "met": f"SELECT c.id, c.name, n FROM customers c JOIN ({REVENUE}) r ON r.customer = c.id AND total > 30 "
    "WHERE c.name < 4",
    "without": "SELECT name, COUNT(*) AS n FROM customers c WHERE NOT EXISTS "
    "(SELECT 1 FROM sales s WHERE s.customer = c.id AND s.amount > 2) GROUP BY name",
    "in": "SELECT id, name FROM customers WHERE id IN (SELECT customer FROM sales WHERE amount BETWEEN 2 AND 4) "
    "AND name NOT IN (SELECT customer + 1 FROM sales WHERE amount > 9)",
}


@pytest.fixture(autouse=True)
def everything_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the second refresh by change on, whatever it takes, and however much changes."""
    for name, value in {"WORTH": 0.0, "SLOW": 0.0, "LITTLE": 2.0}.items():
        monkeypatch.setattr(f"dbt_spark_dynamic.commit.state_table.{name}", value)
    monkeypatch.setattr("dbt_spark_dynamic.commit.refresh.ROWS_EACH", 0)
    # Customers are worth asking which groups are met, however many there are.
    monkeypatch.setattr("dbt_spark_dynamic.commit.look.ASKED", 0.001)
    # Few groups would be kept in the ledger.
    monkeypatch.setattr("dbt_spark_dynamic.commit.held.MOST_GROUPS", 0)


@pytest.fixture
def sales(maintained: Maintained) -> Maintained:
    maintained.sql(
        "CREATE TABLE sales USING delta AS SELECT CAST(id AS INT) AS id, CAST(id % 23 AS INT) AS customer, "
        "CAST(id % 7 AS DECIMAL(12,2)) AS amount FROM RANGE(0, 300, 1, 1)"
    )
    maintained.sql(
        "CREATE TABLE customers USING delta AS SELECT CAST(id AS INT) AS id, CAST(id % 11 AS INT) AS name "
        "FROM RANGE(0, 23, 1, 1)"
    )
    return maintained


def begun(sales: Maintained, model: str, **options: Any) -> Outcome:
    """The refresh that begins a state table: the one after the first by change."""
    sales.refresh(model, sql=MODELS[model], **options)
    for n in range(2):
        # Rows that are only inserted say nothing of what others take.
        sales.sql(f"UPDATE sales SET amount = amount + 6 WHERE id = {n}")
        outcome = sales.refresh(model, **options)
    assert outcome.code is Code.RECOMPUTE
    assert outcome.reason is not None and f"made from {sales.schema}.{model}__state" in outcome.reason
    assert sales.difference(model) == 0
    return outcome


def entry_of(sales: Maintained, table: str) -> Entry:
    engine = ClassicEngine(sales.session)
    position = position_of(engine.table(table), engine)
    assert position is not None and position.entry is not None
    return position.entry


def exists(sales: Maintained, table: str) -> bool:
    return bool(sales.sql(f"SHOW TABLES LIKE '{table}'"))


def change(sales: Maintained, r: random.Random) -> None:
    """Several commits of conflicting changes, of both tables."""
    ids = sorted(row[0] for row in sales.sql("SELECT id FROM sales"))
    for _ in range(3):
        one, other, customer, amount = *r.sample(ids, 2), r.choice((*range(25), "NULL")), r.choice((*range(9), "NULL"))
        sales.sql(
            r.choice(
                (
                    f"INSERT INTO sales VALUES ({one}, {customer}, {amount}), ({one}, {customer}, {amount})",
                    f"DELETE FROM sales WHERE id IN ({one}, {other})",
                    f"DELETE FROM sales WHERE customer = {customer}",
                    f"UPDATE sales SET customer = {customer} WHERE id = {one}",
                    f"UPDATE sales SET amount = {amount} WHERE id BETWEEN {min(one, other)} AND {min(one, other) + 9}",
                    f"UPDATE customers SET name = name + 1 WHERE id = {r.randrange(25)}",
                    f"INSERT INTO customers VALUES ({r.randrange(30)}, {r.randrange(11)})",
                    f"DELETE FROM customers WHERE id = {r.randrange(25)}",
                )
            )
        )


@pytest.mark.parametrize(
    "model",
    [
        *("best", "outer", "met", "without"),
        *(pytest.param(model, marks=pytest.mark.thorough) for model in ("first", "large", "in")),
    ],
)
def test_it_is_its_query_after_any_change(sales: Maintained, model: str) -> None:
    begun(sales, model)
    r = random.Random(model)
    codes, reasons = [], []
    for _ in range(3):
        change(sales, r)
        outcome = sales.refresh(model)
        codes.append(outcome.code)
        reasons.append(outcome.reason)
        assert sales.difference(model) == 0
    where = ClassicEngine(sales.session)
    assert sales.sql(unequal_rows(f"{sales.schema}.{model}", "", where)) == []
    assert {(lag.versions, lag.seconds) for lag in lags(f"{sales.schema}.{model}", where)} == {(0, 0.0)}
    assert set(codes) <= {Code.INCREMENTAL, Code.NO_CHANGE} and codes.count(Code.INCREMENTAL) > 1, reasons
    sales.sql("DELETE FROM sales")
    sales.refresh(model)
    assert sales.difference(model) == 0
    sales.sql("INSERT INTO sales VALUES (1, 1, 50), (2, NULL, 50), (3, 2, NULL)")
    assert sales.refresh(model).code is Code.INCREMENTAL
    assert sales.difference(model) == 0


def test_no_source_is_read_but_what_changed(sales: Maintained) -> None:
    begun(sales, "best")
    sales.sql("INSERT INTO sales VALUES (2000, 4, 1), (2001, 5, 1)")
    outcome = sales.refresh("best")
    assert (outcome.code, sales.difference("best")) == (Code.INCREMENTAL, 0)
    sent = "\n".join(sales.statements).replace("`", "")
    assert "best__state" in sent and f"{sales.schema}.sales VERSION AS OF" not in sent
    sources = [name.split(".")[-1] for name in outcome.sources]
    assert sorted(sources) == ["customers", "sales"]

    # What changes no group is consumed, so that the table does not look behind.
    sales.sql("INSERT INTO sales VALUES (2002, 4, 3)")
    assert sales.refresh("best").code is Code.NO_CHANGE
    assert [lag.versions for lag in lags(f"{sales.schema}.best", ClassicEngine(sales.session))] == [0, 0]
    version = sales.version("best")
    assert (sales.refresh("best").code, sales.version("best")) == (Code.NO_CHANGE, version)


def test_it_has_no_groups_that_nobody_meets(sales: Maintained, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it would not be asked any more which are met."""
    begun(sales, "met")
    kept = "SELECT customers.id FROM customers JOIN sales ON customers.id = customer WHERE name < 4 AND amount <> 3"
    assert sales.sql(f"({kept}) EXCEPT (SELECT c0 FROM met__state)") == []
    assert sales.sql("SELECT COUNT(*), MAX(id) FROM met__state JOIN customers ON c0 = id WHERE name > 3") == [(0, None)]
    monkeypatch.setattr("dbt_spark_dynamic.commit.look.ASKED", 1e9)
    sales.sql("UPDATE customers SET name = 9 - name WHERE id < 20")
    sales.sql("DELETE FROM sales WHERE id = 7")
    assert (sales.refresh("met").code, sales.difference("met")) == (Code.INCREMENTAL, 0)
    assert sales.sql(f"({kept}) EXCEPT (SELECT c0 FROM met__state)") == []
    sent = "\n".join(sales.statements).replace("`", "")
    assert "met__state" in sent


def test_no_partner_is_looked_for_in_a_left_join(sales: Maintained) -> None:
    begun(sales, "outer")
    sales.sql("DELETE FROM sales WHERE id IN (5, 6)")
    assert (sales.refresh("outer").code, sales.difference("outer")) == (Code.INCREMENTAL, 0)
    sent = "\n".join(sales.statements).replace("`", "")
    assert "outer__state" in sent and f"{sales.schema}.sales VERSION AS OF" not in sent


def test_it_is_given_up_where_it_does_not_pay(sales: Maintained, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without computing anything anew; and tried again much later."""
    begun(sales, "best")
    sales.sql("INSERT INTO sales VALUES (2000, 4, 30)")
    assert sales.refresh("best").code is Code.INCREMENTAL
    before = entry_of(sales, "best")
    assert before.state is not None and before.state.ended is None

    monkeypatch.setattr("dbt_spark_dynamic.commit.refresh.is_dear", lambda *_: True)
    sales.sql("INSERT INTO sales VALUES (2001, 4, 30)")
    outcome = sales.refresh("best")
    assert (outcome.code, outcome.rows_in, sales.difference("best")) == (Code.INCREMENTAL, 1, 0)
    assert not exists(sales, "best__state")
    after = entry_of(sales, "best")
    assert after.state is not None and after.state.ended == after.sequence
    assert after.past == before.state.alone and "best__state" not in str(after.sources)

    monkeypatch.setattr("dbt_spark_dynamic.commit.state_table.AT_LAST", 3)
    codes = []
    for n in range(4):
        sales.sql(f"INSERT INTO sales VALUES ({3000 + n}, {n}, 9)")
        codes.append(sales.refresh("best").code)
        assert sales.difference("best") == 0
    assert codes == [*[Code.INCREMENTAL] * 3, Code.RECOMPUTE]
    assert exists(sales, "best__state")


@pytest.mark.parametrize("most", [False, True])
def test_the_table_is_sooner_written_anew(sales: Maintained, monkeypatch: pytest.MonkeyPatch, most: bool) -> None:
    """Where most changed, from the state table; where little did, that is given up."""
    begun(sales, "best")
    monkeypatch.setattr("dbt_spark_dynamic.commit.costs.LITTLE", 0.0 if most else 2.0)
    monkeypatch.setattr("dbt_spark_dynamic.commit.decide.dearer", lambda *_: "it takes less")
    sales.sql("UPDATE sales SET amount = amount + 1")
    outcome = sales.refresh("best")
    assert (outcome.code, outcome.reason) == (Code.RECOMPUTE, "it takes less")
    assert (sales.difference("best"), exists(sales, "best__state")) == (0, most)


def test_somebody_meddles_with_it(sales: Maintained) -> None:
    """It is made anew, and nobody has to do anything for it."""
    begun(sales, "best")
    for n, how in enumerate(
        ("DROP TABLE best__state", "INSERT INTO best__state VALUES (77, 1000, 1)", "DELETE FROM sales")
    ):
        sales.sql(how)
        sales.sql(f"INSERT INTO sales VALUES ({2000 + n}, 4, 30)")
        outcome = sales.refresh("best", on_lost_history=LostHistoryPolicy.FAIL)
        assert sales.difference("best") == 0
    assert outcome.code is Code.INCREMENTAL


def test_a_process_dies_between_its_commit_and_that_of_the_table(sales: Maintained) -> None:
    begun(sales, "best")
    for n in range(2):
        sales.sql(f"INSERT INTO sales VALUES ({2000 + n}, 4, 30)")
        sales.wrap = lambda engine: Dying(engine, 0, after_writing=True)
        with pytest.raises(Died):
            sales.refresh("best")
        sales.wrap = None
        sales.sql(f"UPDATE customers SET name = {100 + n} WHERE id = 4")
    assert sales.refresh("best").code is Code.INCREMENTAL
    assert sales.difference("best") == 0


def test_the_table_is_made_in_another_way(sales: Maintained) -> None:
    """The state table stays where the model is still made of it, and goes where it is not."""
    begun(sales, "best")
    above = MODELS["best"].replace("c.name", "c.name + 1 AS name")
    others = above.replace("<> 3", "<> 4")
    for sql, full, stays in ((above, False, True), (others, False, False)):
        sales.sql("INSERT INTO sales VALUES (2000, 4, 30)")
        assert sales.refresh("best", sql=sql, full_refresh=full).code is Code.RECOMPUTE
        assert (sales.difference("best"), exists(sales, "best__state")) == (0, stays)
    # One that was left behind is replaced.
    sales.sql("DROP TABLE best")
    its_own = f"TBLPROPERTIES ('{STATE_OF}' = '{sales.schema}.best')"
    sales.sql(f"CREATE TABLE best__state USING delta {its_own} AS SELECT 1 AS c0")
    begun(sales, "best")
    sales.refresh("best", full_refresh=True)
    assert (sales.difference("best"), exists(sales, "best__state")) == (0, False)


def test_a_table_of_the_user_has_its_name(sales: Maintained) -> None:
    sales.sql("CREATE TABLE best__state USING delta AS SELECT 1 AS mine")
    sales.refresh("best", sql=MODELS["best"])
    for n in range(3):
        sales.sql(f"INSERT INTO sales VALUES ({1000 + n}, {n}, 6)")
        assert sales.refresh("best").code is Code.INCREMENTAL
    assert sales.rows("best__state") == [(1,)]


@pytest.mark.parametrize(
    ("sql", "found_out"),
    [
        (MODELS["best"], "APPROX_COUNT_DISTINCT"),
        # How many there are is not known before the tables are joined.
        (f"SELECT * FROM ({OF_NAMES}) ORDER BY total DESC, name LIMIT 3", "DROP TABLE"),
    ],
)
def test_there_are_too_many_groups(
    sales: Maintained, monkeypatch: pytest.MonkeyPatch, sql: str, found_out: str
) -> None:
    """It is not kept, and not tried again soon."""
    monkeypatch.setattr("dbt_spark_dynamic.commit.refresh.ROWS_EACH", 10**9)
    sales.refresh("m", sql=sql)
    tried = []
    for n in range(4):
        sales.sql(f"UPDATE sales SET amount = amount + 6 WHERE id = {n}")
        assert sales.refresh("m").code is Code.INCREMENTAL
        tried.append({w for w in ("DROP TABLE", "APPROX_COUNT_DISTINCT") if any(w in s for s in sales.statements)})
        assert (sales.difference("m"), exists(sales, "m__state")) == (0, False)
    assert tried == [set(), {found_out}, set(), set()]


def test_groups_cannot_be_counted(sales: Maintained) -> None:
    """Maps can be grouped by, and not hashed."""
    query = "SELECT MAP(customer, 1) AS customer, SUM(amount) AS total FROM sales GROUP BY MAP(customer, 1)"
    sales.refresh("m", sql=f"SELECT COUNT(*) AS n FROM ({query}) WHERE total > 40")
    for n in range(3):
        sales.sql(f"UPDATE sales SET amount = amount + 6 WHERE id = {n}")
        assert "Spark cannot compare values" in (sales.refresh("m").reason or "")
        assert (sales.difference("m"), exists(sales, "m__state")) == (0, False)


def test_it_cannot_be_made(sales: Maintained, monkeypatch: pytest.MonkeyPatch) -> None:
    """Said in a note; the refresh is one by change."""
    sales.refresh("best", sql=MODELS["best"])
    sales.sql("UPDATE sales SET amount = amount + 6 WHERE id = 0")
    sales.refresh("best")
    sales.sql("UPDATE sales SET amount = amount + 6 WHERE id = 1")

    def refused(*_: Any) -> Outcome:
        raise TargetError("nobody may make tables here.")

    monkeypatch.setattr("dbt_spark_dynamic.commit.refresh._refreshed", refused)
    outcome = sales.refresh("best")
    assert (outcome.code, sales.difference("best")) == (Code.INCREMENTAL, 0)
    assert [note for note in outcome.notes if "cannot be made: nobody may make tables here." in note]


def test_versions_up_to_which_it_is_consumed_and_what_is_said_of_it(sales: Maintained) -> None:
    begun(sales, "best")
    sales.sql("INSERT INTO sales VALUES (2000, 4, 30)")
    version = sales.version("sales")
    name = next(n for n in entry_of(sales, "best").sources if n.endswith(".sales"))
    sales.sql("INSERT INTO sales VALUES (2001, 5, 90)")
    spec = Spec(target=f"{sales.schema}.best", sql=MODELS["best"], place="models/best.sql")
    said = text(explain(spec, ClassicEngine(sales.session)))
    assert "MADE FROM GROUPS THAT ARE KEPT BESIDE IT" in said
    assert f"NEXT RUN\n  by what changes of {sales.schema}.best__state: INCREMENTAL" in said

    outcome = sales.refresh("best", until={name: version})
    assert (outcome.code, outcome.sources[name][1]) == (Code.INCREMENTAL, version)
    assert [row[0] for row in sales.rows("best")] == [4]
    assert sales.refresh("best", until={name: version}).code is Code.NO_CHANGE
    # On an engine that has nothing but SQL.
    assert refresh(spec, sql_engine(sales.session)).code is Code.INCREMENTAL
    assert sales.difference("best") == 0
    assert "NEXT RUN\n  NO CHANGE" in text(explain(spec, ClassicEngine(sales.session)))
