"""Values of any type as values that can be compared. Spark groups by maps but compares none, in whatever they are
nested: in their place stand their entries, sorted."""

from __future__ import annotations

from sqlglot import exp

from ..algebra.nested import rebuilt
from ..dialect import DIALECT


def orderable(value: str, data_type: str) -> str:
    """An expression that is equal for equal values, and for no others. value: an expression of that type."""
    if "map<" not in data_type.lower():
        return value
    return rebuilt(value, exp.DataType.build(data_type, dialect=DIALECT), "map", _entries)


def _entries(value: str, data_type: exp.DataType, depth: int) -> str:
    each = f"x{depth}"
    pairs = zip(("key", "value"), data_type.expressions, strict=True)
    entry = ", ".join(rebuilt(f"{each}.{part}", t, "map", _entries, depth + 1) for part, t in pairs)
    return f"ARRAY_SORT(TRANSFORM(MAP_ENTRIES({value}), {each} -> STRUCT({entry})))"
