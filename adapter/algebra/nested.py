"""Values of nested types with some of the values in them replaced, however deep they are."""

from __future__ import annotations

from collections.abc import Callable, Collection

from sqlglot import exp

from ..dialect import DIALECT

Put = Callable[[str, exp.DataType, int], str]
"""(value, its type, how deep in lambdas it is) -> what is put in its place."""


def rebuilt(value: str, data_type: exp.DataType, kinds: Collection[str], put: Put, depth: int = 0) -> str:
    """An expression of the value in which `put` has replaced all that is of these kinds. value: an expression."""
    if data_type.is_type(*kinds):
        return put(value, data_type, depth)
    if not any(t.is_type(*kinds) for t in data_type.find_all(exp.DataType)):
        return value
    each, inner = f"x{depth}", data_type.expressions

    def within(part: str, of: exp.DataType) -> str:
        return rebuilt(part, of, kinds, put, depth + 1)

    if data_type.is_type("array"):
        return f"TRANSFORM({value}, {each} -> {within(each, inner[0])})"
    if data_type.is_type("map"):
        entry = f"STRUCT({within(f'{each}.key', inner[0])}, {within(f'{each}.value', inner[1])})"
        return f"MAP_FROM_ENTRIES(TRANSFORM(MAP_ENTRIES({value}), {each} -> {entry}))"
    names = [exp.to_identifier(f.name, quoted=True).sql(DIALECT) for f in inner]
    # Without parentheses it would be a column of a table of that name.
    fields = (f"{within(f'({value}).{n}', f.kind)} AS {n}" for n, f in zip(names, inner, strict=True))
    return f"IF({value} IS NULL, NULL, STRUCT({', '.join(fields)}))"
