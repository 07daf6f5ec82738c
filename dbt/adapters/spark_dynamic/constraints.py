"""A contract's constraints as Delta enforces them: CHECK, by name.

NOT NULL is a CHECK too: Delta cannot make a column of an existing table NOT NULL, and CREATE TABLE AS SELECT cannot
declare one, but a CHECK is part of the very commit that fills a table, so rows that violate it are never seen.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any

from dbt.adapters.base.impl import BaseAdapter, ConstraintSupport
from dbt_common.contracts.constraints import ConstraintType, ModelLevelConstraint
from dbt_common.exceptions import DbtRuntimeError

from dbt_spark_dynamic.sparksql.statements import quoted

SUPPORT = {
    ConstraintType.check: ConstraintSupport.ENFORCED,
    ConstraintType.not_null: ConstraintSupport.ENFORCED,
    ConstraintType.unique: ConstraintSupport.NOT_SUPPORTED,
    ConstraintType.primary_key: ConstraintSupport.NOT_SUPPORTED,
    ConstraintType.foreign_key: ConstraintSupport.NOT_SUPPORTED,
}


def constraints_of(model: dict[str, Any], adapter: type[BaseAdapter]) -> dict[str, str]:
    """Name -> condition of all constraints in an enforced contract; {} without one.

    Of a type that Delta does not have, dbt's own warning says so. Raises DbtRuntimeError for a CHECK without condition.
    """
    if not _is_enforced(model):
        return {}
    found: dict[str, str] = {}
    for constraint, columns in _declared(model, adapter):
        if adapter.process_parsed_constraint(constraint, lambda _: "supported") is None:
            continue
        for name, condition in _conditions(constraint, columns, model):
            found[name] = condition
    return found


def contracted(sql: str, model: dict[str, Any]) -> str:
    """The SELECT of a model, with its columns in the order of its contract if it has one that is enforced.

    The contract of a versioned table is about the versions, and its SELECT about what they are versions of.
    """
    if not _is_enforced(model) or model["config"].get("materialized") == "versioned_table":
        return sql
    columns = ", ".join(_in_sql(column) for column in model["columns"].values())
    return f"select {columns} from (\n{sql.strip().removesuffix(';')}\n) as model_subq"


def _is_enforced(model: dict[str, Any]) -> bool:
    return bool(((model.get("config") or {}).get("contract") or {}).get("enforced"))


def _in_sql(column: dict[str, Any]) -> str:
    return quoted(column["name"]) if column.get("quote") else column["name"]


def _declared(model: dict[str, Any], adapter: type[BaseAdapter]) -> Iterator[tuple[Any, list[str]]]:
    """Each constraint with the columns it is about, as they are written in SQL."""
    for raw in model.get("constraints") or []:
        parsed: ModelLevelConstraint = adapter._parse_model_constraint(raw)
        yield parsed, list(parsed.columns)
    for column in (model.get("columns") or {}).values():
        for raw in column.get("constraints") or []:
            yield adapter._parse_column_constraint(raw), [_in_sql(column)]


def _conditions(constraint: Any, columns: list[str], model: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if constraint.type == ConstraintType.not_null:
        for column in columns:
            yield _name(constraint.name if len(columns) == 1 else None, f"{column}_not_null"), f"{column} IS NOT NULL"
        return
    condition = (constraint.expression or "").strip()
    if not condition:
        raise DbtRuntimeError(
            f"A constraint of type {constraint.type.value} needs an `expression`.\n"
            f"  where:  {model.get('patch_path') or model.get('original_file_path', '')}, model {model.get('name')}\n"
            "  remedy: write the condition that each row meets, for example `expression: id > 0`"
        )
    digest = hashlib.md5(f"{columns};{condition}".encode(), usedforsecurity=False).hexdigest()[:12]
    yield _name(constraint.name, f"check_{digest}"), condition


def _name(given: str | None, otherwise: str) -> str:
    """As Delta keeps it: in lower case; signs that a property's name had better not have are replaced."""
    return re.sub(r"\W", "_", (given or otherwise).replace("`", "")).lower()
