"""The operators that have a page, each with the smallest SELECT that shows its law."""

from __future__ import annotations

from dataclasses import dataclass

from dbt_spark_dynamic.algebra.emission import Emission
from dbt_spark_dynamic.algebra.nodes import (
    Aggregate,
    Filter,
    Generate,
    Join,
    Node,
    Project,
    Scan,
    UnionAll,
    Unit,
    Window,
)
from dbt_spark_dynamic.changes import laws
from dbt_spark_dynamic.changes.laws import Law
from dbt_spark_dynamic.reading.relations import Versioning

CHANGE = "tests/laws/test_laws_of_change.py::test_change_is_after_minus_before"
KEYS = "tests/laws/test_laws_of_change.py::test_affected_keys_miss_no_change"
RESTRICT = "tests/laws/test_laws_of_change.py::test_restricting_is_a_semi_join"
UPSERT = "tests/laws/test_change_plans.py::test_groups_that_show_their_key_are_upserted"
ADDED = "tests/laws/test_change_plans.py::test_counts_and_sums_are_added_to_the_table"
FIRST = "tests/laws/test_change_plans.py::test_first_rows_are_told_from_those_that_the_table_has"
FIRST_OF_KEY = "tests/laws/test_change_plans.py::test_the_first_row_of_a_key_is_told_from_what_it_is_chosen_by"
INNER_WHERE_KEPT = "tests/laws/test_inner.py::test_it_means_the_same"
PADDED = "tests/laws/test_change_plans.py::test_groups_of_left_joins_are_added_to"
AT_A_TIME = "tests/generated/test_temporal_joins.py::test_random_changelogs"
AT_PROCESSING_TIME = "tests/generated/test_temporal_joins.py::test_at_processing_time_past_results_are_kept"
EMISSIONS = "tests/generated/test_emission.py::test_random_emissions"
KEYED = (CHANGE, KEYS, RESTRICT, UPSERT)

MINUTE = 60_000_000


@dataclass(frozen=True)
class Example:
    """says: what it shows, in one sentence; unique_key: as declared; versionings: what is declared of the versions in
    a relation, by name; emission: when results of windows are made; late_by: how late rows may come before."""

    says: str
    sql: str
    unique_key: tuple[str, ...] = ()
    versionings: tuple[tuple[str, Versioning], ...] = ()
    emission: Emission | None = None
    late_by: str | None = None


@dataclass(frozen=True)
class Operator:
    """page: the file's name; title: the node, and the SQL that becomes it; laws: those it has, the usual one first;
    tests: the property tests that hold it to its meaning."""

    page: str
    title: str
    node: type[Node]
    laws: tuple[Law, ...]
    examples: tuple[Example, ...]
    tests: tuple[str, ...] = (CHANGE,)


RATES = (("rates", Versioning(("currency",), valid_from="valid_from", valid_to="valid_to")),)

OPERATORS = (
    Operator(
        "scan",
        "Scan: a table in FROM",
        Scan,
        (laws.SOURCE,),
        (
            Example(
                "The change feed is read once, with the columns that the model needs. A row that was rewritten with "
                "equal values nets to nothing.",
                "SELECT id, amount FROM orders",
            ),
        ),
    ),
    Operator(
        "unit",
        "Unit: a SELECT without FROM, and VALUES",
        Unit,
        (laws.CONSTANT,),
        (
            Example(
                "One row that no table can change.", "SELECT o.id, x.rate FROM orders o CROSS JOIN (SELECT 2 AS rate) x"
            ),
        ),
    ),
    Operator(
        "filter",
        "Filter: WHERE, HAVING, QUALIFY",
        Filter,
        (laws.FILTER, laws.MOVING),
        (
            Example(
                "The condition is asked of changed rows alone.", "SELECT id, amount FROM orders WHERE amount > 100"
            ),
            Example(
                "A condition on the clock moves although no table changed: rows come in and fall out. The readings of "
                "the last refresh and of this one stand in its SQL.",
                "SELECT id FROM orders WHERE day > current_date() - INTERVAL 7 DAYS",
            ),
        ),
    ),
    Operator(
        "project",
        "Project: the SELECT list",
        Project,
        (laws.PROJECT,),
        (Example("Expressions are computed for changed rows alone.", "SELECT id, amount * 2 AS doubled FROM orders"),),
    ),
    Operator(
        "generate",
        "Generate: EXPLODE, POSEXPLODE, INLINE",
        Generate,
        (laws.GENERATE,),
        (
            Example(
                "Each changed row is made into its rows, with its weight.",
                "SELECT id, item FROM orders LATERAL VIEW EXPLODE(items) i AS item",
            ),
        ),
    ),
    Operator(
        "union-all",
        "UnionAll: UNION ALL",
        UnionAll,
        (laws.UNION,),
        (
            Example(
                "The changes of both sides, one below the other.",
                "SELECT id, amount FROM orders UNION ALL SELECT id, amount FROM returns",
            ),
        ),
    ),
    Operator(
        "inner-join",
        "Join: INNER and CROSS JOIN",
        Join,
        (laws.INNER,),
        (
            Example(
                "N changed inputs give N terms. The older state of a side is its newer one less its change, so that "
                "no second version of a table is read.",
                "SELECT o.id, c.city FROM orders o JOIN customers c ON o.customer = c.id",
            ),
        ),
    ),
    Operator(
        "temporal-join",
        "Join: FOR SYSTEM_TIME AS OF",
        Join,
        (laws.INNER, laws.ONE_SIDED, laws.KEPT),
        (
            Example(
                "An inner or left join with one more condition, the time that a version is valid in, so its laws are "
                "theirs. A version that came late, or was corrected, corrects the payments that it meets and no "
                "others.",
                "SELECT p.id, p.amount * r.rate AS paid FROM payments p\n"
                "JOIN rates FOR SYSTEM_TIME AS OF p.at AS r ON p.currency = r.currency",
                versionings=RATES,
            ),
            Example(
                "At processing time a row keeps what it met when it came: changes of the versions alone change "
                "nothing.",
                "SELECT p.id, p.amount * r.rate AS paid FROM payments p\n"
                "JOIN rates FOR SYSTEM_TIME AS OF proctime() AS r ON p.currency = r.currency",
                unique_key=("id",),
                versionings=RATES,
            ),
        ),
        (AT_A_TIME, AT_PROCESSING_TIME),
    ),
    Operator(
        "outer-join",
        "Join: LEFT, RIGHT and FULL OUTER JOIN",
        Join,
        (laws.ONE_SIDED, laws.PADDED),
        (
            Example(
                "A RIGHT join is a LEFT one the other way round; a FULL one is a LEFT one and the right rows that have "
                "no partner.",
                "SELECT o.id, c.city FROM orders o LEFT JOIN customers c ON o.customer = c.id",
            ),
            Example(
                "Where what stands above keeps no row without a partner, it is an inner join: so by a condition on the "
                "right side, or by another join that asks for its columns.",
                "SELECT o.id, c.city FROM orders o LEFT JOIN customers c ON o.customer = c.id WHERE c.city <> 'Rome'",
            ),
            Example(
                "Groups of the left side need not know which of its rows have a partner, if their aggregates take "
                "nothing from NULL, or are the same of a row of the left side however often it comes (MIN, MAX and "
                "DISTINCT): then a change of the right side meets the left one, and nothing else is read of either.",
                "SELECT c.id, c.city, COUNT(o.id) AS orders, SUM(o.amount) AS paid\n"
                "FROM customers c LEFT JOIN orders o ON o.customer = c.id GROUP BY c.id, c.city",
            ),
        ),
        (CHANGE, INNER_WHERE_KEPT, PADDED),
    ),
    Operator(
        "semi-join",
        "Join: LEFT SEMI and ANTI JOIN, EXISTS, IN, NOT EXISTS, NOT IN",
        Join,
        (laws.ONE_SIDED,),
        (
            Example(
                "The first partner that comes makes the row appear, the last one that goes makes it leave.",
                "SELECT o.id FROM orders o WHERE EXISTS (SELECT 1 FROM returns r WHERE r.id = o.id)",
            ),
        ),
    ),
    Operator(
        "aggregate",
        "Aggregate: GROUP BY",
        Aggregate,
        (laws.ADDITIVE, laws.PARTIAL, laws.OF_GROUPS, laws.GROUPS, laws.WHOLE),
        (
            Example(
                "COUNT, SUM, MIN and MAX at the root are added to the table's own rows. Only groups whose value the "
                "change and the table cannot settle are computed again.",
                "SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer",
            ),
            Example(
                "Other aggregates, and whatever has a HAVING, are computed again for the groups of the changed rows; "
                "the table's own rows stand for what the groups were. Over large tables that is dear where there are "
                "few groups: of averages, ratios and other expressions over COUNT, SUM, MIN, MAX and AVG in up to "
                "1,000 groups, the ledger keeps the operands from the first refresh on, and what changed is added to "
                "those. So it is with what is made of few groups: shares and ranks of them, the largest ten, those "
                "HAVING so much.",
                "SELECT customer, AVG(amount) AS mean FROM orders GROUP BY customer",
            ),
            Example(
                "Below other operators, both states of these groups are computed: the old one leaves, the new one "
                "comes.",
                "SELECT n, COUNT(*) AS customers FROM (SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer) "
                "GROUP BY n",
            ),
        ),
        (*KEYED, ADDED),
    ),
    Operator(
        "distinct",
        "Aggregate: DISTINCT, UNION",
        Aggregate,
        (laws.DISTINCT,),
        (Example("An aggregation over all columns that has no aggregates.", "SELECT DISTINCT customer FROM orders"),),
        KEYED,
    ),
    Operator(
        "window",
        "Window: functions with OVER, ORDER BY with LIMIT",
        Window,
        (laws.PARTITIONS, laws.ONE_PARTITION, laws.TOP),
        (
            Example(
                "The partitions of the changed rows are computed again.",
                "SELECT id, RANK() OVER (PARTITION BY customer ORDER BY amount DESC) AS place FROM orders",
            ),
            Example(
                "The first row of each partition, which is its key: the table's own row is compared with those that "
                "came and left; where rows only came, by the MERGE itself. The source is read again only for a "
                "partition whose row left with none before it in its place. Ties are broken by all columns, so that "
                "the table does not waver.",
                "SELECT id, customer, day FROM orders\n"
                "QUALIFY ROW_NUMBER() OVER (PARTITION BY customer ORDER BY day DESC) = 1",
            ),
            Example(
                "ORDER BY with LIMIT is ROW_NUMBER() over all rows; the first ones are told likewise.",
                "SELECT id, amount FROM orders ORDER BY amount DESC LIMIT 3",
            ),
        ),
        (*KEYED, FIRST, FIRST_OF_KEY),
    ),
    Operator(
        "emitted",
        "Aggregate or Window with emit: results of windows of event time",
        Aggregate,
        (laws.EMITTED,),
        (
            Example(
                "Results of half an hour: first a quarter of an hour before its end, again every five minutes, "
                "complete two minutes after it. Which of them are due follows from where the watermark was and is; "
                "late rows correct what they change for an hour more.",
                "SELECT page, window.end AS ended, COUNT(*) AS visits FROM visits\n"
                "GROUP BY page, window(at, '30 minutes')",
                emission=Emission(-15 * MINUTE, 2 * MINUTE, every=5 * MINUTE, late=True, last=62 * MINUTE),
                late_by="'0' SECOND",
            ),
        ),
        (EMISSIONS,),
    ),
)

CONSTRUCTS = {
    "HAVING": "SELECT customer, SUM(amount) AS t FROM orders GROUP BY customer HAVING SUM(amount) > 9",
    "RIGHT JOIN": "SELECT o.id, c.city FROM orders o RIGHT JOIN customers c ON o.customer = c.id",
    "FULL JOIN": "SELECT o.id, c.city FROM orders o FULL JOIN customers c ON o.customer = c.id",
    "EXISTS": "SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM returns r WHERE r.id = o.id)",
    "NOT IN": "SELECT id FROM orders WHERE customer NOT IN (SELECT id FROM customers)",
    "a scalar subquery": "SELECT id, (SELECT COUNT(*) FROM returns r WHERE r.id = o.id) AS n FROM orders o",
    "INTERSECT": "SELECT id FROM orders INTERSECT SELECT id FROM returns",
    "EXCEPT": "SELECT id FROM orders EXCEPT SELECT id FROM returns",
    "UNION": "SELECT id FROM orders UNION SELECT id FROM returns",
    "ROLLUP": "SELECT customer, day, COUNT(*) AS n FROM orders GROUP BY ROLLUP (customer, day)",
    "QUALIFY": "SELECT id FROM orders QUALIFY ROW_NUMBER() OVER (PARTITION BY customer ORDER BY day) <= 2",
    "ORDER BY … LIMIT": "SELECT id FROM orders ORDER BY amount LIMIT 3",
    "a function over all rows": "SELECT id, SUM(amount) OVER () AS total FROM orders",
    "LATERAL VIEW": "SELECT id, item FROM orders LATERAL VIEW EXPLODE(items) i AS item",
}
"""SQL -> a SELECT of it: the index says which operators it becomes."""

WRITES = {
    "append": Example("Rows that only came are inserted.", "SELECT id, amount FROM orders"),
    "retract": Example(
        "Without a key, exact copies leave and come: D removes every copy of a row, I puts back those that stay.",
        "SELECT id, amount FROM orders",
    ),
    "additive": Example(
        "What the groups won and lost is added to their rows.",
        "SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer",
    ),
    "top": Example(
        "The first rows, told from those that the table has and from the change: by key, or as exact copies.",
        "SELECT * FROM orders QUALIFY ROW_NUMBER() OVER (PARTITION BY customer ORDER BY day DESC) = 1",
    ),
    "keyed": Example(
        "Each changed key gets the row that it has now. Rows with equal values are not written.",
        "SELECT customer, AVG(amount) AS mean FROM orders GROUP BY customer",
    ),
}
"""Technique -> a SELECT that is written by it."""
