"""Whether a model shows in which order maps have their entries.

To Spark maps are equal whatever their order, and yet TO_JSON, MAP_KEYS or a CAST to STRING tell it. Delta's change feed
does not: it hands maps over as those of Scala, which forget it where there are more than four entries.
"""

from __future__ import annotations

from sqlglot import exp

from ..algebra.expressions import Expr, column
from ..algebra.nodes import Node, expressions, scans, walk
from ..algebra.orderable import ranked
from ..dialect import DIALECT
from ..reading.functions import spark_name
from .column_types import Types, type_of

MAP = "map<"

LISTED = ("map_keys", "map_values", "map_entries")
"""Functions that make a list of a map, in its order."""

INDIFFERENT = (exp.ArraySize, exp.MapContainsKey, exp.Is, exp.Count, exp.Explode, exp.ArraySort, exp.ArrayContains)
"""What is made of a map, or of such a list, whatever its order."""


def shows_order(model: Node, types: Types) -> frozenset[str]:
    """The sources with maps of which the model may show the order; none if it shows it of none."""
    sources = frozenset(s.source for s in scans(model) if any(_has_map(s, c, types) for c in s.columns))
    told = sources and any(_tells(node, e, types) for node in walk(model) for e in expressions(node))
    return sources if told else frozenset()


def _has_map(node: Node, name: str, types: Types) -> bool:
    return MAP in (type_of(node, column(name), types) or "")


def _tells(node: Node, e: Expr, types: Types) -> bool:
    if e.column is not None:
        # It is a map still, to whoever reads it.
        return False
    for read in e.tree.find_all(exp.Column):
        for child in node.children:
            found = type_of(child, column(read.name), types) if read.name in child.column_set else None
            if found is None or MAP not in found or _is_ranked(read, found):
                continue
            if _is_told(read, exp.DataType.build(found, dialect=DIALECT)):
                return True
    return False


def _is_ranked(read: exp.Column, data_type: str) -> bool:
    """Whether it is read as what it is compared by, which is the same in any order."""
    by, part = ranked(read, data_type), read.parent
    while part is not None and part != by:
        part = part.parent
    return part is not None


def _is_told(value: exp.Expression, data_type: exp.DataType | None) -> bool:
    """Whether an expression tells the order of what it is made of. value: a part of it, of that type."""
    while data_type is not None and any(t.is_type("map") for t in data_type.find_all(exp.DataType)):
        parent = value.parent
        if isinstance(parent, exp.Paren):
            value = parent
        elif isinstance(parent, exp.Dot) and parent.this is value:
            kinds = {f.name.lower(): f.kind for f in data_type.expressions}
            value, data_type = parent, kinds.get(parent.expression.name.lower())
        elif isinstance(parent, exp.Bracket) and parent.this is value:
            value, data_type = parent, data_type.expressions[-1]
        else:
            return not _is_indifferent(parent, value, data_type)
    return False


def _is_indifferent(parent: exp.Expression | None, value: exp.Expression, data_type: exp.DataType) -> bool:
    several = sum(t.is_type("map") for t in data_type.find_all(exp.DataType)) > 1 or not data_type.is_type("map")
    if parent is None or several:
        # What is made of it may have maps within.
        return False
    if isinstance(parent, exp.Func) and spark_name(parent) in LISTED and parent.parent is not None:
        value, parent = parent, parent.parent
    return type(parent) in INDIFFERENT and parent.this is value
