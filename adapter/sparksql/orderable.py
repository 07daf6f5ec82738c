"""Values of any type as values that can be compared. Spark groups by maps but compares none, in whatever they are
nested: in their place stand their entries, sorted."""

from __future__ import annotations

from sqlglot import exp

from ..dialect import DIALECT


def orderable(value: str, data_type: str) -> str:
    """An expression that is equal for equal values, and for no others. value: an expression of that type."""
    if "map<" not in data_type.lower():
        return value
    return _without_maps(value, exp.DataType.build(data_type, dialect=DIALECT), 0)


def _without_maps(value: str, data_type: exp.DataType, depth: int) -> str:
    if not any(t.is_type("map") for t in data_type.find_all(exp.DataType)):
        return value
    each, inner = f"x{depth}", data_type.expressions
    if data_type.is_type("map"):
        pairs = zip(("key", "value"), inner, strict=True)
        entry = ", ".join(_without_maps(f"{each}.{part}", t, depth + 1) for part, t in pairs)
        return f"ARRAY_SORT(TRANSFORM(MAP_ENTRIES({value}), {each} -> STRUCT({entry})))"
    if data_type.is_type("array"):
        return f"TRANSFORM({value}, {each} -> {_without_maps(each, inner[0], depth + 1)})"
    names = (exp.to_identifier(f.name, quoted=True).sql(DIALECT) for f in inner)
    fields = (_without_maps(f"{value}.{n}", f.kind, depth + 1) for n, f in zip(names, inner, strict=True))
    return f"IF({value} IS NULL, NULL, STRUCT({', '.join(fields)}))"
