"""The statements that move a table: created whole, or by one INSERT or MERGE. Null-safe keys live here alone.

All arguments called `relation` or `source` are names or complete queries in Spark SQL; columns are bare names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlglot import exp

from ..algebra.equal_values import ungrouped
from ..algebra.expressions import Expr, replace_columns
from ..algebra.orderable import orderable
from ..changes.accumulators import Combine
from ..changes.falling import Falls
from ..changes.newcomers import CAME, THERE, Newcomers
from ..dialect import print_sql
from ..names import COPIES, FALLEN, NOT_UNIQUE, OP, PRESENT, REPLACES, WEIGHT
from ..reading.relations import Columns


def explained(why: str, query: exp.Expression) -> str:
    """A query with what it is above it: for whoever reads target/run, an explanation, or Spark's own log."""
    # The name of a table may hold anything.
    why = why.replace("*/", "* /")
    return f"/* {why} */\n{print_sql(query, pretty=True, copy=False)}"


def at_most(rows: int, query: str) -> str:
    """Some of the rows of a query, if there are more."""
    return f"SELECT * FROM (\n{query}\n) LIMIT {rows}"


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def listed(names: Iterable[str], prefix: str = "") -> str:
    return ", ".join(prefix + quoted(n) for n in names)


def defined(columns: Columns) -> str:
    """Columns with their types, as CREATE TABLE, ALTER TABLE and FROM_JSON have them."""
    return ", ".join(f"{quoted(n)} {t}" for n, t in columns)


def equal(left: str, right: str, names: Sequence[str]) -> str:
    """Both rows agree on all names, NULLs equal. No names: always."""
    return " AND ".join(f"{left}.{quoted(n)} <=> {right}.{quoted(n)}" for n in names) or "TRUE"


def equal_rows(left: str, right: str, columns: Columns) -> str:
    """Both rows agree in all columns, NULLs equal. No columns: always."""
    # A join by columns of type VOID finds nothing, although NULL <=> NULL is true; they are all NULL anyway.
    compared = [(n, t) for n, t in columns if t != "void"]
    sides = ((orderable(f"{row}.{quoted(n)}", t) for row in (left, right)) for n, t in compared)
    return " AND ".join(" <=> ".join(both) for both in sides) or "TRUE"


def grouped(columns: Columns, prefix: str = "") -> tuple[str, str]:
    """What a SELECT shows of rows that agree in all columns, NULLs equal, and what it groups them by."""
    apart, shown, by = ungrouped(dict(columns)), [], []
    for name, data_type in columns:
        value, told = prefix + quoted(name), name.lower() in apart
        shown.append(f"ANY_VALUE({value}) AS {quoted(name)}" if told else value)
        by.append(orderable(value, data_type) if told else value)
    return ", ".join(shown), ", ".join(by)


def create_empty(target: str, columns: Columns, layout: str) -> str:
    """The table without rows and without data files: a process that dies while the table is first filled then leaves
    a Delta table behind, not files that keep the next one from creating it."""
    return f"CREATE TABLE IF NOT EXISTS {target} ({defined(columns)}) USING delta {layout}"


def create(target: str, query: str, layout: str, properties: Mapping[str, str]) -> str:
    """layout: clauses between USING and AS but for the properties (partitioning, clustering, location, comment)."""
    pairs = ", ".join(f"{literal(k)} = {literal(v)}" for k, v in properties.items())
    return f"CREATE OR REPLACE TABLE {target} USING delta {layout}\nTBLPROPERTIES ({pairs})\nAS\n{query}"


def literal(text: str) -> str:
    """A string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def insert(target: str, source: str, columns: Sequence[str]) -> str:
    return f"INSERT INTO {target} ({listed(columns)})\nSELECT {listed(columns)} FROM {source}"


def overwrite(target: str, query: str, columns: Sequence[str]) -> str:
    """The query's rows in place of all rows of the table, which keeps its layout, its properties and its history."""
    return f"INSERT OVERWRITE {target} ({listed(columns)})\nSELECT {listed(columns)} FROM (\n{query}\n)"


def touch(target: str) -> str:
    """A statement that changes nothing: under a transaction identifier Delta commits it all the same."""
    return f"INSERT INTO {target} SELECT * FROM {target} WHERE FALSE"


def upserts_from_rows(
    rows: str, keys: str, key: Sequence[str], key_columns: Sequence[str], columns: Sequence[str]
) -> str:
    """For each key of the relation `keys`: its row in the query `rows`, or that it has none.

    key: its columns in `columns`; key_columns: the same in `keys`.
    """
    names = dict(zip(key, key_columns, strict=True))
    shown = ", ".join(
        f"k.{quoted(names[c])} AS {quoted(c)}" if c in names else f"r.{quoted(c)} AS {quoted(c)}" for c in columns
    )
    on = " AND ".join(f"k.{quoted(names[c])} <=> r.{quoted(c)}" for c in key) or "TRUE"
    return (
        f"/* for each key: its row now, or that it has none any more */\n"
        f"WITH rows_now AS (\n{rows}\n)\n"
        f"SELECT {shown}, r.{quoted(PRESENT)} IS NOT NULL AS {quoted(PRESENT)}\n"
        f"FROM {keys} AS k LEFT JOIN (SELECT *, TRUE AS {quoted(PRESENT)} FROM rows_now) AS r\n"
        f"ON {on}"
    )


def upserts_of_rows(rows: str) -> str:
    """A query for rows as upserts, each of a key of its own."""
    return f"(SELECT *, TRUE AS {quoted(PRESENT)} FROM (\n{rows}\n))"


def upserts_from_change(change: str, key: Sequence[str], columns: Sequence[str]) -> str:
    """For each key of a net signed change: the row that came, or that only rows left."""
    return (
        f"/* for each key: the row that came, or that its row only left */\n"
        f"SELECT {listed(columns)}, {quoted(WEIGHT)} > 0 AS {quoted(PRESENT)} FROM (\n"
        f"  SELECT *, ROW_NUMBER() OVER (PARTITION BY {listed(key)} ORDER BY {quoted(WEIGHT)} DESC) AS {quoted(OP)}\n"
        f"  FROM {change}) WHERE {quoted(OP)} = 1"
    )


def upserts_as_expected(change: str, key: Sequence[str], columns: Sequence[str]) -> str:
    """`upserts_from_change`, with whether the table must have a row of the key. Fails where more than one row of a key
    came, or left."""
    came, gone = (f"SUM(GREATEST({sign}{quoted(WEIGHT)}, 0)) OVER (PARTITION BY {listed(key)})" for sign in ("", "-"))
    return (
        f"/* for each key, of which no two rows are expected: the row that came, or that its row only left */\n"
        f"SELECT {listed(columns)}, {quoted(WEIGHT)} > 0 AS {quoted(PRESENT)}, {quoted(REPLACES)} FROM (\n"
        f"  SELECT *, IF({came} > 1 OR {gone} > 1, {_not_unique()}, {gone} > 0) AS {quoted(REPLACES)},\n"
        f"    ROW_NUMBER() OVER (PARTITION BY {listed(key)} ORDER BY {quoted(WEIGHT)} DESC) AS {quoted(OP)}\n"
        f"  FROM {change}) WHERE {quoted(OP)} = 1"
    )


def merge_upserts(
    target: str,
    source: str,
    key: Sequence[str],
    columns: Sequence[str],
    comparable: Sequence[str],
    bounds: str,
    stays: str = "",
    *,
    net: bool = False,
    as_expected: bool = False,
) -> str:
    """One MERGE by key. Rows with equal values are not written; a column that cannot be compared counts as changed.

    bounds: a further condition on the target `t` that every matching row meets, to skip files; or nothing; stays: a
    condition on `t` and the source `s` under which the target's row is kept, whatever the source says; or nothing; net:
    whether the source is of a net change, so that each row of the target that it meets has other values: they are not
    compared, and Delta looks by the key alone for what to mark, instead of by all columns; as_expected: whether the
    source is of `upserts_as_expected`, and so of a net change: keys which the table must have and has not, or has and
    must not, are a failure.
    """
    values = [c for c in columns if c not in key]
    same = equal("t", "s", [c for c in values if c in comparable])
    compared = not (net or as_expected) and all(c in comparable for c in values)
    changed = f" AND NOT ({same})" if compared else ""
    news = {c: f"s.{quoted(c)}" for c in values}
    moves = f" AND NOT ({stays})" if stays else ""
    update = f"WHEN MATCHED{moves}{changed} THEN UPDATE SET{_assigned(news)}\n" if values else ""
    there, missing = "", ""
    if as_expected:
        first, *others = columns
        values_of_none = ", ".join((_not_unique(), *(f"s.{quoted(c)}" for c in others)))
        there = f"WHEN MATCHED AND NOT s.{quoted(REPLACES)} THEN UPDATE SET{_assigned({first: _not_unique()})}\n"
        missing = (
            f"WHEN NOT MATCHED AND s.{quoted(REPLACES)} THEN INSERT ({listed(columns)})\n  VALUES ({values_of_none})\n"
        )
    return (
        f"MERGE INTO {target} AS t USING (SELECT * FROM {source}) AS s\n"
        f"ON {equal('t', 's', key)}{_and(bounds)}\n"
        f"{there}WHEN MATCHED{moves} AND NOT s.{quoted(PRESENT)} THEN DELETE\n{update}"
        f"{missing}WHEN NOT MATCHED AND s.{quoted(PRESENT)} THEN {_inserted(columns)}"
    )


def additions(
    added: str, upserts: str, keys: str, key: Sequence[str], key_columns: Sequence[str], columns: Sequence[str]
) -> str:
    """What is added to the table's rows, and for the keys of the relation `keys` the upserts instead.

    PRESENT is NULL for a row that is added, and as in an upsert for one that is put in the place of the table's.
    """
    on = " AND ".join(f"a.{quoted(c)} <=> k.{quoted(k)}" for c, k in zip(key, key_columns, strict=True)) or "TRUE"
    return (
        f"/* what is added to the table's rows; for groups computed again, the row in place of the table's */\n"
        f"WITH added AS (\n{added}\n)\n"
        f"SELECT {listed(columns, 'a.')}, CAST(NULL AS BOOLEAN) AS {quoted(PRESENT)} FROM added AS a\n"
        f"LEFT ANTI JOIN {keys} AS k ON {on}\n"
        f"UNION ALL SELECT {listed(columns)}, {quoted(PRESENT)} FROM {upserts}"
    )


def merge_additions(
    target: str,
    source: str,
    columns: Columns,
    key: Sequence[str],
    combine: Sequence[Combine],
    counted: str | None,
    bounds: str,
    *,
    upserts: bool,
    falls: Falls | None = None,
) -> str:
    """One MERGE by key of the relation of `additions`.

    counted: a column that is 0 where the row is to go; upserts: whether some rows are put in the place of the table's;
    falls: when the MERGE is to fail, because a group has to be computed again.
    """
    news = {n: _combined(n, t, how) for (n, t), how in zip(columns, combine, strict=True) if how is not Combine.GROUP}
    present = f"s.{quoted(PRESENT)}"
    if upserts:
        news = {n: f"CASE WHEN {present} THEN s.{quoted(n)} ELSE {new} END" for n, new in news.items()}
    same = "\n  AND ".join(f"t.{quoted(n)} <=> {new}" for n, new in news.items())
    gone = [f"NOT {present}"] if upserts else []
    came = [present, f"{present} IS NULL"] if upserts else []
    if counted is not None:
        gone.append((f"{present} IS NULL AND " if upserts else "") + f"{news[counted]} = 0")
    names = [n for n, _ in columns]
    return (
        f"MERGE INTO {target} AS t USING (SELECT * FROM {source}) AS s\nON {equal('t', 's', key)}{_and(bounds)}\n"
        + (_failing(_fallen(falls), next(iter(news))) if falls is not None else "")
        + "".join(f"WHEN MATCHED AND {condition} THEN DELETE\n" for condition in gone)
        + f"WHEN MATCHED AND NOT (\n  {same}\n) THEN UPDATE SET{_assigned(news)}\n"
        + f"WHEN NOT MATCHED{f' AND ({came[0]} OR {came[1]})' if came else ''} THEN {_inserted(names)}"
    )


def _fallen(falls: Falls) -> str:
    sides = {name: exp.column(name, "s", quoted=True) for name in falls.condition.columns}
    return _of_sides(falls.condition, sides | {name: exp.column(c, "t", quoted=True) for name, c in falls.own})


def merge_newcomers(
    target: str, source: str, columns: Sequence[str], key: Sequence[str], newcomers: Newcomers, bounds: str
) -> str:
    """One MERGE by key: the rows that stand before the target's take their place. Fails where that cannot be told.

    source: a relation of the newcomers' rows."""
    sides = {THERE.format(i): exp.column(c, "t", quoted=True) for i, c in enumerate(columns)}
    sides |= {CAME.format(i): exp.column(c, "s", quoted=True) for i, c in enumerate(columns)}
    news = {c: f"s.{quoted(c)}" for c in columns if c not in key}
    falls = newcomers.falls
    return (
        f"MERGE INTO {target} AS t USING (SELECT * FROM {source}) AS s\nON {equal('t', 's', key)}{_and(bounds)}\n"
        f"{_failing(_of_sides(falls, sides), next(iter(news))) if falls is not None else ''}"
        f"WHEN MATCHED AND (\n{_of_sides(newcomers.wins, sides)}\n) THEN UPDATE SET{_assigned(news)}\n"
        f"WHEN NOT MATCHED THEN {_inserted(columns)}"
    )


def _of_sides(condition: Expr, sides: Mapping[str, exp.Expression]) -> str:
    return print_sql(replace_columns(condition.tree, sides), pretty=True)


def _failing(condition: str, column: str) -> str:
    """Of a row for which this is so, a column cannot be set."""
    return f"WHEN MATCHED AND (\n{condition}\n) THEN UPDATE SET{_assigned({column: _failure(FALLEN)})}\n"


def _assigned(news: Mapping[str, str]) -> str:
    """Target column = new value, one a line."""
    return ",".join(f"\n  t.{quoted(name)} = {new}" for name, new in news.items())


def _inserted(columns: Sequence[str]) -> str:
    return f"INSERT ({listed(columns)})\n  VALUES ({listed(columns, 's.')})"


def _not_unique() -> str:
    return _failure(NOT_UNIQUE)


def _failure(name: str) -> str:
    return f"RAISE_ERROR('{name}')"


def _and(bounds: str) -> str:
    return f"\n  AND {bounds}" if bounds else ""


def _combined(name: str, data_type: str, how: Combine) -> str:
    """The table's value and what is added to it."""
    t, s = f"t.{quoted(name)}", f"s.{quoted(name)}"
    if how is Combine.ADD:
        return f"CAST(COALESCE({t} + {s}, {t}, {s}) AS {data_type})"
    return f"{'LEAST' if how is Combine.LEAST else 'GREATEST'}({t}, {s})"


def copies_held(target: str, change: str, columns: Columns, met: str = "") -> str:
    """The rows that lose copies, with how many the target holds now. met: a condition on the target `t` that its rows
    meet, to read fewer of them; or nothing.

    The few changed rows are what the target is probed with: an outer join that keeps them would sort all of it.
    """
    names = [n for n, _ in columns]
    shown, by = grouped(columns, "t.")
    lost = rows_that_left(change)
    where = f"  WHERE {met}\n" if met else ""
    return (
        f"/* rows that lose copies, and how many the table holds */\n"
        f"SELECT {listed(names, 'c.')}, c.{quoted(WEIGHT)}, COALESCE(h.{quoted(COPIES)}, 0) AS {quoted(COPIES)}\n"
        f"FROM {lost} AS c LEFT JOIN (\n"
        f"  SELECT {shown}, COUNT(*) AS {quoted(COPIES)} FROM {target} AS t\n"
        f"  LEFT SEMI JOIN {lost} AS l ON {equal_rows('t', 'l', columns)}\n{where}"
        f"  GROUP BY {by}\n"
        f") AS h ON {equal_rows('h', 'c', columns)}"
    )


def rows_that_left(change: str) -> str:
    """The rows of a net signed change of which there are fewer now: a query in parentheses."""
    return f"(SELECT * FROM {change} WHERE {quoted(WEIGHT)} < 0)"


def rows_that_came(change: str, columns: Sequence[str]) -> str:
    """Each row of a net signed change as often as it came."""
    return _repeated(f"SELECT * FROM {change} WHERE {quoted(WEIGHT)} > 0", quoted(WEIGHT), columns)


def _repeated(source: str, times: str, columns: Sequence[str]) -> str:
    return (
        f"SELECT {listed(columns)} FROM (SELECT {listed(columns)}, "
        f"EXPLODE(ARRAY_REPEAT(0, CAST({times} AS INT))) AS {quoted(OP)} FROM ({source}))"
    )


def merge_retractions(target: str, change: str, held: str, columns: Columns, bounds: str) -> str:
    """Exact multiset change in one commit: D removes every copy of a row, I puts back those that stay and adds the new.

    held: the relation of `copies_held`; bounds: as in `merge_upserts`, for the rows that lose copies.
    """
    names = [n for n, _ in columns]
    stay = _repeated(
        f"SELECT * FROM {held} WHERE {quoted(COPIES)} + {quoted(WEIGHT)} > 0",
        f"{quoted(COPIES)} + {quoted(WEIGHT)}",
        names,
    )
    return (
        f"MERGE INTO {target} AS t USING (\n"
        f"  SELECT 'D' AS {quoted(OP)}, {listed(names)} FROM {held}\n"
        f"  UNION ALL SELECT 'I', {listed(names)} FROM ({stay})\n"
        f"  UNION ALL SELECT 'I', {listed(names)} FROM ({rows_that_came(change, names)})\n"
        f") AS s ON s.{quoted(OP)} = 'D' AND {equal_rows('t', 's', columns)}{_and(bounds)}\n"
        f"WHEN MATCHED THEN DELETE\n"
        f"WHEN NOT MATCHED AND s.{quoted(OP)} = 'I' THEN {_inserted(names)}"
    )


def difference(query: str, target: str, columns: Columns) -> str:
    """What turns the target into the query's result: a net signed change."""
    names, (shown, by) = listed(n for n, _ in columns), grouped(columns)
    return (
        f"/* the query's rows less the table's */\n"
        f"WITH rows_now AS (\n{query}\n)\n"
        f"SELECT {shown}, SUM({quoted(WEIGHT)}) AS {quoted(WEIGHT)} FROM (\n"
        f"  SELECT {names}, 1 AS {quoted(WEIGHT)} FROM rows_now\n"
        f"  UNION ALL SELECT {names}, -1 FROM {target}\n"
        f") GROUP BY {by} HAVING SUM({quoted(WEIGHT)}) <> 0"
    )


def duplicates_after_change(target: str, change: str, key: Sequence[str]) -> str:
    """Keys that would have more than one row after a net signed change: the key, and its rows."""
    keys = listed(key)
    return (
        f"SELECT {keys}, SUM({quoted(WEIGHT)}) AS {quoted(COPIES)} FROM (\n"
        f"  SELECT {keys}, {quoted(WEIGHT)} FROM {change}\n"
        f"  UNION ALL SELECT {listed(key, 't.')}, 1 FROM {target} AS t LEFT SEMI JOIN "
        f"(SELECT * FROM {change} WHERE {quoted(WEIGHT)} > 0) AS c ON {equal('t', 'c', key)}\n"
        f") GROUP BY {keys} HAVING SUM({quoted(WEIGHT)}) > 1 LIMIT 5"
    )


def duplicates_after_upserts(target: str, upserts: str, merge_key: Sequence[str], key: Sequence[str]) -> str:
    """The same after upserts by another key than the one that must be unique."""
    keys = listed(key)
    came = f"(SELECT * FROM {upserts} WHERE {quoted(PRESENT)})"
    return (
        f"SELECT {keys}, COUNT(*) AS {quoted(COPIES)} FROM (\n"
        f"  SELECT {keys} FROM {came}\n"
        f"  UNION ALL SELECT {listed(key, 't.')} FROM {target} AS t "
        f"LEFT SEMI JOIN {came} AS c ON {equal('t', 'c', key)} "
        f"LEFT ANTI JOIN {upserts} AS u ON {equal('t', 'u', merge_key)}\n"
        f") GROUP BY {keys} HAVING COUNT(*) > 1 LIMIT 5"
    )


def duplicates_in(query: str, key: Sequence[str]) -> str:
    """Keys with more than one row in a query, and how many."""
    # Few of them are expected. To group rows of which each has a key of its own takes twice as long as to sort them.
    keys, number = listed(key), f"ROW_NUMBER() OVER (PARTITION BY {listed(key)} ORDER BY NULL)"
    return (
        f"SELECT {keys}, MAX({quoted(COPIES)}) AS {quoted(COPIES)} FROM (\n"
        f"  SELECT {keys}, {number} AS {quoted(COPIES)} FROM (\n{query}\n))\n"
        f"WHERE {quoted(COPIES)} > 1 GROUP BY {keys} LIMIT 5"
    )
