"""A SELECT whose columns are not those of its table any more: what the model says is done about it.

A dynamic table has the columns of its SELECT and no others. So `ignore`, dbt's word for taking no special notice, means
what it means for any other edit: it takes effect, by a rebuild in one commit. The other values keep the table, its
history and whoever follows its changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import ConfigError
from ..reading.relations import Columns
from ..sparksql.statements import listed, literal, quoted
from .engine import Table
from .history import MAPPING, is_mapped
from .spec import SchemaChange, Spec


@dataclass(frozen=True)
class Evolution:
    """why: for the user; adding, dropping: ALTERs after which the table has the SELECT's columns, unless rebuild: they
    cannot be had in place, or are not to be."""

    why: str
    rebuild: bool = False
    adding: tuple[str, ...] = ()
    dropping: tuple[str, ...] = ()


def evolution(spec: Spec, table: Table, before: Columns, now: Columns) -> Evolution | None:
    """None if the table can hold the SELECT's rows as it is. Raises ConfigError where the model does not want that.

    before: the SELECT's columns at the last refresh; now: those it has.
    """
    if _comparable(before) == _comparable(now) and _names(table.columns) == _names(now):
        return None
    held, wanted = dict(_comparable(table.columns)), dict(_comparable(now))
    added = [(n, t) for n, t in now if n.lower() not in held]
    gone = [n for n, _ in table.columns if n.lower() not in wanted]
    other = [f"{n} {t} → {wanted[n]}" for n, t in _comparable(before) if n in held and wanted.get(n, t) != t]
    signs = [*(f"+{n}" for n, _ in added), *(f"-{n}" for n in gone), *other]
    why = f"the columns of the SELECT changed ({', '.join(signs) or 'their order'})"
    mode = spec.on_schema_change
    if mode is SchemaChange.IGNORE:
        return Evolution(why, rebuild=True)
    if not signs:
        return None
    if mode is SchemaChange.FAIL:
        raise ConfigError(
            f"{why}, and on_schema_change='fail' is set.",
            where=spec.place,
            why=f"the table has {', '.join(n for n, _ in table.columns)}; nothing was written",
            remedy="run with --full-refresh to rebuild the table, or set on_schema_change to 'sync_all_columns'",
        )
    if gone and mode is SchemaChange.APPEND:
        raise ConfigError(
            f"the SELECT has lost {', '.join(gone)}, and on_schema_change='append_new_columns' keeps every column.",
            where=spec.place,
            why="a dynamic table equals its SELECT, which no longer says what a column that is kept should hold; "
            "nothing was written",
            remedy=f"keep it in the SELECT (NULL AS {gone[0]}), or drop it by on_schema_change='sync_all_columns'",
        )
    # Delta changes a type in place only for a wider one, and then its change feed breaks before and after alike.
    return Evolution(why, bool(other), _adding(spec, added), _dropping(spec, table, gone))


def _adding(spec: Spec, columns: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    defined = ", ".join(f"{quoted(n)} {t}" for n, t in columns)
    return (f"ALTER TABLE {spec.target} ADD COLUMNS ({defined})",) if columns else ()


def _dropping(spec: Spec, table: Table, names: Sequence[str]) -> tuple[str, ...]:
    if not names:
        return ()
    # Without it the files' columns go by the table's names, and dropping one would mean writing every file anew.
    mapped = f"ALTER TABLE {spec.target} SET TBLPROPERTIES ({literal(MAPPING)} = 'name')"
    drop = f"ALTER TABLE {spec.target} DROP COLUMNS ({listed(names)})"
    return (drop,) if is_mapped(table.properties) else (mapped, drop)


def _names(columns: Columns) -> list[str]:
    """Sorted: a table whose columns came one by one has them in another order than its SELECT."""
    return sorted(n.lower() for n, _ in columns)


def _comparable(columns: Columns) -> list[tuple[str, str]]:
    return [(n.lower(), t.lower()) for n, t in columns]
