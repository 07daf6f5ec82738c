"""`dbt seed`: exact values, and a table whose log goes on."""

from __future__ import annotations

import datetime
from collections import Counter
from decimal import Decimal

import pytest

EDGES = """\
id,name,at,day,rate,huge,yes
1,O'Brien,2024-01-02T03:04:05.123456,2024-01-02,0.1,9007199254740993,true
2,,,,,,
3,"back\\slash, ""quoted"" and 100%s",2024-12-31T23:59:59.999999,1969-12-31,-1.25,-1,false
"""


def version(project, table):
    return project.sql(f"describe history {table} limit 1")[0].version


def table_id(project, table):
    return project.sql(f"describe detail {table}")[0].id


def net_change(project, table, start):
    """The rows that came and left since a version, each with its signed count."""
    net = Counter()
    for row in project.sql(f"select * from table_changes('{project.schema}.{table}', {start})"):
        *values, change, _version, _time = row
        if change != "update_preimage":
            net[tuple(values)] += -1 if change == "delete" else 1
        else:
            net[tuple(values)] -= 1
    return {row: count for row, count in net.items() if count}


@pytest.mark.every_connection
def test_values_arrive_exactly(dbt_project):
    dbt_project.write("seeds/edges.csv", EDGES)
    dbt_project.dbt("seed")
    moment = datetime.datetime(2024, 1, 2, 3, 4, 5, 123456)
    rows = dbt_project.sql("select id, name, at, day, rate, huge, yes from edges order by id")
    assert [tuple(row) for row in rows] == [
        (1, "O'Brien", moment, moment.date(), 0.1, 9007199254740993, True),
        (2, None, None, None, None, None, None),
        (
            3,
            'back\\slash, "quoted" and 100%s',
            datetime.datetime(2024, 12, 31, 23, 59, 59, 999999),
            datetime.date(1969, 12, 31),
            -1.25,
            -1,
            False,
        ),
    ]


def test_a_column_type_is_filled_from_the_text_of_the_file(dbt_project):
    dbt_project.write("seeds/typed.csv", "code,at,price\n007,2024-01-02 03:04:05.123456,1.10\n")
    types = "{code: string, at: timestamp, price: 'decimal(10,2)'}"
    dbt_project.write("seeds/properties.yml", f"seeds: [{{name: typed, config: {{column_types: {types}}}}}]")
    dbt_project.dbt("seed")
    dbt_project.dbt("seed")
    moment = datetime.datetime(2024, 1, 2, 3, 4, 5, 123456)
    rows = [tuple(row) for row in dbt_project.sql("select * from typed")]
    assert rows == [("007", moment, Decimal("1.10"))]


def test_integers_beyond_bigint_are_not_cut(dbt_project):
    dbt_project.write("seeds/ids.csv", "id\n99999999999999999999\n")
    dbt_project.dbt("seed")
    assert dbt_project.sql("select cast(id as string) as id from ids")[0].id == "9" * 20


def test_a_second_seed_goes_on_with_the_log(dbt_project):
    dbt_project.write("seeds/people.csv", "id,name\n1,Mary\n2,Bob\n")
    dbt_project.dbt("seed")
    first, table = version(dbt_project, "people"), table_id(dbt_project, "people")
    dbt_project.write("seeds/people.csv", "id,name\n1,Mary\n2,Rob\n3,Liz\n")
    dbt_project.dbt("seed")
    assert table_id(dbt_project, "people") == table
    assert version(dbt_project, "people") == first + 1
    change = net_change(dbt_project, "people", first + 1)
    assert change == {(2, "Bob"): -1, (2, "Rob"): 1, (3, "Liz"): 1}


def test_a_seed_that_lost_its_rows_is_emptied(dbt_project):
    dbt_project.write("seeds/people.csv", "id,name\n1,Mary\n")
    dbt_project.write(
        "seeds/properties.yml", "seeds: [{name: people, config: {column_types: {id: int, name: string}}}]"
    )
    dbt_project.dbt("seed")
    table = table_id(dbt_project, "people")
    dbt_project.write("seeds/people.csv", "id,name\n")
    dbt_project.dbt("seed")
    assert dbt_project.sql("select * from people") == []
    assert table_id(dbt_project, "people") == table


@pytest.mark.parametrize("arguments", [(), ("--full-refresh",)])
def test_new_columns_replace_the_table_and_keep_its_log(dbt_project, arguments):
    dbt_project.write("seeds/people.csv", "id,name\n1,Mary\n")
    dbt_project.dbt("seed")
    before = version(dbt_project, "people")
    dbt_project.write("seeds/people.csv", "id,name,age\n1,Mary,30\n")
    dbt_project.dbt("seed", *arguments)
    assert [tuple(row) for row in dbt_project.sql("select * from people")] == [(1, "Mary", 30)]
    assert version(dbt_project, "people") > before


def test_many_rows_arrive_in_one_commit(dbt_project):
    """More rows than Spark is given in one statement."""
    dbt_project.write("macros/batch.sql", "{% macro default__get_batch_size() %}{{ return(3) }}{% endmacro %}")
    dbt_project.write("seeds/numbers.csv", "n\n" + "\n".join(map(str, range(10))) + "\n")
    dbt_project.dbt("seed")
    before = version(dbt_project, "numbers")
    dbt_project.dbt("seed")
    assert version(dbt_project, "numbers") == before + 1
    assert sorted(row.n for row in dbt_project.sql("select n from numbers")) == list(range(10))


def test_another_file_format_replaces_the_table(dbt_project):
    dbt_project.write("seeds/people.csv", "id,name\n1,Mary\n")
    dbt_project.write("seeds/properties.yml", "seeds: [{name: people, config: {file_format: parquet}}]")
    dbt_project.dbt("seed")
    dbt_project.dbt("seed")
    (dbt_project.folder / "seeds/properties.yml").unlink()
    dbt_project.dbt("seed")
    assert dbt_project.sql("describe detail people")[0].format == "delta"
    assert len(dbt_project.sql("select * from people")) == 1
