"""One mixed batch of changes of a table that nothing is known of but its columns."""

from __future__ import annotations

from collections.abc import Sequence

NUMBERS = ("int", "bigint", "decimal", "double")


def batch(table: str, columns: Sequence[tuple[str, str]], number: int, rows: int) -> list[str]:
    """Statements that delete some rows, change values of others, and put some of those that were deleted back, with
    another first column. columns: (name, Spark type); number: of the batch; rows: about how many there are.

    Which rows: by a hash of the whole row, so that the batches of all tables meet in some joins and miss in others.
    """
    names = ", ".join(f"`{name}`" for name, _ in columns)
    parts = 200 if rows > 2000 else 40 if rows > 50 else 7
    chosen = f"pmod(hash({names}, {number}), {parts})"
    kept = f"{table}_before"
    statements = [
        f"CREATE OR REPLACE TEMPORARY VIEW {kept} AS SELECT * FROM {table} VERSION AS OF {{version}}",
        f"DELETE FROM {table} WHERE {chosen} IN (1, 2)",
    ]
    numbers = [name for name, kind in columns[1:] if kind.startswith(NUMBERS)]
    if numbers:
        statements.append(f"UPDATE {table} SET `{numbers[-1]}` = `{numbers[-1]}` + 1 WHERE {chosen} = 3")
        # Not the first: it is what a query takes one value of, by DISTINCT (d_month_seq of a month).
        statements.append(f"UPDATE {table} SET `{numbers[len(numbers) > 1]}` = NULL WHERE {chosen} = 4")
    first, kind = columns[0]
    moved = f"`{first}` + 1" if kind.startswith(NUMBERS) else f"`{first}`"
    others = "".join(f", `{name}`" for name, _ in columns[1:])
    statements.append(f"INSERT INTO {table} SELECT {moved}{others} FROM {kept} WHERE {chosen} = 1")
    return statements
