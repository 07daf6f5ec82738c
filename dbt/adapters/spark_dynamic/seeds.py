"""Seeds: exact values, types that hold them, and whether a table can take them as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbt.adapters.base import available
from dbt.adapters.base.meta import AdapterMeta

from dbt.adapters.spark_dynamic.literals import sql_literal

if TYPE_CHECKING:
    import agate
    from dbt.adapters.base import BaseRelation

LARGEST_BIGINT = 2**63 - 1
# Names that a user may write in column_types, and what DESCRIBE calls the same type.
SAME_TYPE = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "text": "string",
    "timestamp_ltz": "timestamp",
    "dec": "decimal",
    "numeric": "decimal",
}


@dataclass(frozen=True)
class SeedColumn:
    """One column: its name as in the file, the name quoted for SQL where the seed asks for it, its Spark type."""

    name: str
    quoted: str
    type: str


class Seeds(metaclass=AdapterMeta):
    """Mixed into the adapter; called by macros/seeds."""

    @available
    def seed_columns(self, agate_table: agate.Table, model: dict[str, Any]) -> list[SeedColumn]:
        """The seed's columns with the types inferred from its values or set in `column_types`."""
        config = model["config"]
        types = config.get("column_types") or {}
        quote = config.get("quote_columns")
        return [
            SeedColumn(
                name=str(name),
                quoted=self.quote_seed_column(str(name), quote),
                type=types.get(name) or self.convert_type(agate_table, position),
            )
            for position, name in enumerate(agate_table.column_names)
        ]

    @available
    def seed_select(self, columns: Sequence[SeedColumn], rows: Iterable[Sequence[Any]]) -> str:
        """A SELECT of these rows as literals, cast to the columns' types."""
        # One cast per column, not per cell: half the text for Spark to parse.
        casts = ", ".join(
            f"cast(c{position} as {column.type}) as {column.quoted}" for position, column in enumerate(columns)
        )
        names = ", ".join(f"c{position}" for position in range(len(columns)))
        values = ",\n".join(f"({', '.join(map(sql_literal, row))})" for row in rows)
        return f"select {casts} from values\n{values}\nas seed({names})"

    @available
    def seed_fits(self, relation: BaseRelation, columns: Sequence[SeedColumn]) -> bool:
        """True if the existing table has exactly these columns, so that its rows can be replaced in place."""
        existing = [(c.name.lower(), c.dtype) for c in self.get_columns_in_relation(relation)]
        wanted = [(c.name.lower(), c.type) for c in columns]
        return [(n, same_type(t)) for n, t in existing] == [(n, same_type(t)) for n, t in wanted]

    @classmethod
    def convert_integer_type(cls, agate_table: agate.Table, col_idx: int) -> str:
        """bigint, or decimal(38,0) where a value would overflow it: without ANSI mode that is silent."""
        values = [abs(value) for value in agate_table.columns[col_idx] if value is not None]
        return "bigint" if max(values, default=0) <= LARGEST_BIGINT else "decimal(38,0)"

    @classmethod
    def convert_number_type(cls, agate_table: agate.Table, col_idx: int) -> str:
        inferred = super().convert_number_type(agate_table, col_idx)
        return inferred if inferred == "double" else cls.convert_integer_type(agate_table, col_idx)


def same_type(name: str) -> str:
    """One spelling per type: lower case, no blanks, DESCRIBE's name."""
    name = "".join(name.lower().split())
    head, parenthesis, rest = name.partition("(")
    head = SAME_TYPE.get(head, head)
    if head == "decimal" and not parenthesis:
        return "decimal(10,0)"
    return head + parenthesis + rest
