"""Three source tables, a view, and random scripts of conflicting changes to them, as SQL that any engine runs.

A round is some INSERT, UPDATE and DELETE statements on one or more tables, often on the same rows: keys move, values
become NULL and come back, rows are doubled, a table is emptied and filled again, a round nets to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

TABLES: dict[str, tuple[tuple[str, str], ...]] = {
    "sales": (
        ("id", "INT"),
        ("store", "INT"),
        ("item", "STRING"),
        ("qty", "INT"),
        ("price", "DECIMAL(10,2)"),
        ("day", "DATE"),
        ("online", "BOOLEAN"),
    ),
    "stores": (("store", "INT"), ("city", "STRING"), ("opened", "DATE"), ("area", "DECIMAL(6,1)")),
    "items": (("item", "STRING"), ("kind", "INT"), ("price", "DECIMAL(10,2)"), ("active", "BOOLEAN")),
}
"""Table -> (column, type). No column is unique."""

VIEW = "day_totals"
VIEW_COLUMNS = (("store", "INT"), ("last_day", "DATE"), ("sold", "BIGINT"))
VIEW_SQL = "SELECT store, MAX(day) AS last_day, SUM(qty) AS sold FROM sales WHERE online IS NOT NULL GROUP BY store"

VIEWS = {VIEW: (VIEW_COLUMNS, VIEW_SQL)}
"""View -> its columns and its query."""

_VALUES: dict[str, tuple[str, ...]] = {
    "INT": ("NULL", "0", "1", "2", "3"),
    "STRING": ("NULL", "'a'", "'b'", "'bb'", "''"),
    "DECIMAL(10,2)": ("NULL", "0.00", "1.50", "2.25", "-1.50"),
    "DECIMAL(6,1)": ("NULL", "0.5", "10.0", "10.5"),
    "DATE": ("NULL", "DATE '2024-01-31'", "DATE '2024-02-29'", "DATE '2025-01-01'"),
    "BOOLEAN": ("NULL", "TRUE", "FALSE"),
}

FILLED = 8
"""Rows of a table that has just been filled."""


@dataclass(frozen=True)
class Script:
    """rounds: statements between two refreshes; the first round fills the tables before the first result."""

    rounds: tuple[tuple[str, ...], ...]

    @classmethod
    def random(cls, seed: int, refreshes: int) -> Script:
        random = Random(seed)
        first = tuple(_inserted(random, t, FILLED) for t in TABLES)
        return cls((first, *(_round(random) for _ in range(refreshes))))


def _round(random: Random) -> tuple[str, ...]:
    statements: list[str] = []
    for table in TABLES:
        fate = random.randrange(8)
        if fate == 0:
            statements.append(f"DELETE FROM {table}")
        elif fate == 1:
            statements += [f"DELETE FROM {table}", _inserted(random, table, FILLED // 2)]
        elif fate == 2:
            statements += _for_nothing(random, table)
        elif fate <= 6:
            statements += [_change(random, table) for _ in range(random.randint(1, 3))]
    return tuple(statements)


def _change(random: Random, table: str) -> str:
    how = random.randrange(8)
    if how <= 2:
        return _inserted(random, table, random.randint(1, 4))
    where = _where(random, table)
    if how == 3:
        # Every copy of some rows once more, but of never so many that a table grows for ever.
        return f"INSERT INTO {table} SELECT * FROM {table} WHERE {where} AND (SELECT COUNT(*) FROM {table}) < 12"
    if how <= 5:
        columns = random.sample(TABLES[table], random.randint(1, 2))
        assigned = ", ".join(f"{name} = {random.choice(_VALUES[kind])}" for name, kind in columns)
        return f"UPDATE {table} SET {assigned} WHERE {where}"
    return f"DELETE FROM {table} WHERE {where}"


def _for_nothing(random: Random, table: str) -> list[str]:
    """Changes that leave the table as it was, or nearly."""
    name = random.choice(TABLES[table])[0]
    return [
        f"UPDATE {table} SET {name} = {name} WHERE {_where(random, table)}",
        f"INSERT INTO {table} SELECT * FROM {table} WHERE FALSE",
    ]


def _where(random: Random, table: str) -> str:
    name, kind = random.choice(TABLES[table])
    value = random.choice(_VALUES[kind])
    return f"{name} IS NULL" if value == "NULL" else f"{name} = {value}"


def _inserted(random: Random, table: str, rows: int) -> str:
    def row() -> str:
        return ", ".join(random.choice(_VALUES[kind]) for _, kind in TABLES[table])

    return f"INSERT INTO {table} VALUES " + ", ".join(f"({row()})" for _ in range(rows))
