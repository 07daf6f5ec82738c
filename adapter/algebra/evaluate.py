"""What every node means, over bags of Python rows: the oracle of the laws of change.

It is written to be read, not to be fast, and no table is ever refreshed by it. Scalars are Python's: NULL
is None, integers and booleans are themselves, averages are exact fractions.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce, singledispatch
from typing import Any

from sqlglot import exp

from .clock import Reading, told
from .expressions import Expr
from .nodes import (
    Aggregate,
    Filter,
    Generate,
    Join,
    JoinKind,
    Named,
    Node,
    Project,
    Scan,
    Semi,
    Time,
    UnionAll,
    Unit,
    Window,
)

Row = tuple[Any, ...]
Bag = Counter[Row]
"""Row -> how many copies of it there are; at least 1."""

Names = Mapping[str, Any]
"""Column name -> value: one row, as an expression sees it."""


@dataclass(frozen=True)
class Table:
    """A base table in one state. Every row has a value for each column, in order."""

    columns: tuple[str, ...]
    rows: Bag


@dataclass(frozen=True)
class World:
    """What a plan is evaluated in. tables: each source in each of its states; named: the relations of earlier steps;
    clock: its readings."""

    tables: Mapping[tuple[str, Time], Table]
    named: Mapping[str, Bag] = field(default_factory=dict)
    clock: Mapping[Time, Reading] = field(default_factory=dict)


@singledispatch
def evaluate(node: Node, world: World) -> Bag:
    """The rows of the relation. Raises KeyError for a state or a name that the world does not have."""
    raise NotImplementedError(f"no meaning for {type(node).__name__}")


@evaluate.register
def _(node: Scan, world: World) -> Bag:
    table = world.tables[node.source, node.time]
    places = [table.columns.index(column) for _, column in node.outputs]
    return _bag((tuple(row[p] for p in places), n) for row, n in table.rows.items())


@evaluate.register
def _(node: Named, world: World) -> Bag:
    return world.named[node.name]


@evaluate.register
def _(node: Unit, world: World) -> Bag:
    return Counter({(): 1})


@evaluate.register
def _(node: Filter, world: World) -> Bag:
    rows = evaluate(node.child, world)
    predicate = Expr.of(told(node.predicate.tree.copy(), world.clock))
    return Counter({row: n for row, n in rows.items() if _true(predicate, _named(node.child, row))})


@evaluate.register
def _(node: Project, world: World) -> Bag:
    rows = evaluate(node.child, world)
    exprs = [e for _, e in node.outputs]
    return _bag((_values(exprs, _named(node.child, row)), n) for row, n in rows.items())


@evaluate.register
def _(node: UnionAll, world: World) -> Bag:
    return reduce(operator.add, (evaluate(i, world) for i in node.inputs))


@evaluate.register
def _(node: Join, world: World) -> Bag:
    left, right = evaluate(node.left, world), evaluate(node.right, world)
    met = {a: [b for b in right if _meets(node, dict(zip(node.met, a + b, strict=True)))] for a in left}
    if not node.kind.shows_right:
        return Counter({a: n for a, n in left.items() if bool(met[a]) is (node.kind is JoinKind.SEMI)})
    alone = (None,) * len(node.right.columns)
    pairs = [(a + b, n * right[b]) for a, n in left.items() for b in met[a]]
    pairs += [(a + alone, n) for a, n in left.items() if node.kind is JoinKind.LEFT and not met[a]]
    return _bag(pairs)


def _meets(join: Join, row: Names) -> bool:
    equal = all(
        (_same if safe else _equal)(_value(left, row), _value(right, row)) for left, right, safe in join.equalities
    )
    return equal and (join.residual is None or _true(join.residual, row))


@evaluate.register
def _(node: Semi, world: World) -> Bag:
    places = [node.keys.columns.index(key) for _, key in node.pairs]
    keys = {tuple(row[p] for p in places) for row in evaluate(node.keys, world)}
    exprs = [e for e, _ in node.pairs]
    rows = evaluate(node.child, world)
    return Counter({row: n for row, n in rows.items() if _values(exprs, _named(node.child, row)) in keys})


@evaluate.register
def _(node: Aggregate, world: World) -> Bag:
    groups: dict[Row, list[Names]] = {} if node.groups else {(): []}
    for row in evaluate(node.child, world).elements():
        names = _named(node.child, row)
        groups.setdefault(_values([e for _, e in node.groups], names), []).append(names)
    return Counter(group + tuple(value(e.tree, rows) for _, e in node.aggregates) for group, rows in groups.items())


@evaluate.register
def _(node: Window, world: World) -> Bag:
    partitions: dict[Row, list[Row]] = {}
    for row in evaluate(node.child, world).elements():
        partitions.setdefault(_values(node.partition, _named(node.child, row)), []).append(row)
    computed = []
    for rows in partitions.values():
        named = [_named(node.child, row) for row in rows]
        columns = [_over(e.tree, named) for _, e in node.calls]
        computed += [(row + tuple(c[i] for c in columns), 1) for i, row in enumerate(rows)]
    return _bag(computed)


@evaluate.register
def _(node: Generate, world: World) -> Bag:
    alone = [(None,)] if node.outer else []
    made = []
    for row, n in evaluate(node.child, world).items():
        array = value(node.call.tree.this, (_named(node.child, row),))
        made += [((*row, *item), n) for item in [(v,) for v in array or ()] or alone]
    return _bag(made)


def _over(tree: exp.Expression, rows: Sequence[Names]) -> list[Any]:
    """The value of a window expression for each row of one partition: of the rows up to its peers, in its order."""
    order = tree.args["order"].expressions if tree.args.get("order") else []
    by = [_in_order(o, [value(o.this, (row,)) for row in rows]) for o in order]
    places = [tuple(ranks[i] for ranks in by) for i in range(len(rows))]
    if isinstance(tree.this, exp.RowNumber):
        ranks = {i: n for n, i in enumerate(sorted(range(len(rows)), key=places.__getitem__), 1)}
        return [ranks[i] for i in range(len(rows))]
    return [value(tree.this, [r for r, at in zip(rows, places, strict=True) if at <= place]) for place in places]


def _in_order(by: exp.Ordered, values: list[Any]) -> list[int]:
    """For each value a number, by which it stands where the order has it."""
    known = sorted({v for v in values if v is not None}, reverse=bool(by.args.get("desc")))
    null = -1 if by.args.get("nulls_first") else len(known)
    return [null if v is None else known.index(v) for v in values]


def _bag(counted: Any) -> Bag:
    """Equal rows put together: Counter(dict(pairs)) would keep the last of them only."""
    bag: Bag = Counter()
    for row, n in counted:
        bag[row] += n
    return bag


def _named(node: Node, row: Row) -> Names:
    return dict(zip(node.columns, row, strict=True))


def _value(e: Expr, row: Names) -> Any:
    return value(e.tree, (row,))


def _values(exprs: Sequence[Expr], row: Names) -> Row:
    return tuple(_value(e, row) for e in exprs)


def _true(predicate: Expr, row: Names) -> bool:
    return _value(predicate, row) is True


# --- scalars ---------------------------------------------------------------------------------------------------------


@singledispatch
def value(tree: exp.Expression, rows: Sequence[Names]) -> Any:
    """The value of an expression. rows: the one row it reads, or the rows of a group, which its aggregates read."""
    raise NotImplementedError(f"the laws' interpreter does not know {type(tree).__name__}")


_STRICT: dict[type[exp.Expression], Callable[[Any, Any], Any]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}
"""Operators that are NULL where either side is."""


def _same(a: Any, b: Any) -> bool:
    """a <=> b"""
    return a is b if a is None or b is None else bool(a == b)


def _equal(a: Any, b: Any) -> bool:
    """a = b is true, neither false nor unknown."""
    return a is not None and b is not None and a == b


@value.register
def _(tree: exp.Binary, rows: Sequence[Names]) -> Any:
    if type(tree) not in _STRICT:
        raise NotImplementedError(f"the laws' interpreter does not know {type(tree).__name__}")
    left, right = value(tree.this, rows), value(tree.expression, rows)
    return None if left is None or right is None else _STRICT[type(tree)](left, right)


@value.register(exp.NullSafeEQ)
@value.register(exp.Is)
def _(tree: exp.Binary, rows: Sequence[Names]) -> bool:
    return _same(value(tree.this, rows), value(tree.expression, rows))


@value.register(exp.And)
@value.register(exp.Or)
def _(tree: exp.Connector, rows: Sequence[Names]) -> bool | None:
    """One side decides if it is false (AND) or true (OR); else an unknown side makes the whole unknown."""
    decisive = isinstance(tree, exp.Or)
    sides = (value(tree.this, rows), value(tree.expression, rows))
    return decisive if decisive in sides else None if None in sides else not decisive


@value.register(exp.Not)
@value.register(exp.Neg)
def _(tree: exp.Unary, rows: Sequence[Names]) -> Any:
    of = value(tree.this, rows)
    return None if of is None else not of if isinstance(tree, exp.Not) else -of


@value.register(exp.Paren)
def _(tree: exp.Paren, rows: Sequence[Names]) -> Any:
    return value(tree.this, rows)


@value.register(exp.Column)
def _(tree: exp.Column, rows: Sequence[Names]) -> Any:
    return rows[0][tree.name]


@value.register(exp.Literal)
def _(tree: exp.Literal, rows: Sequence[Names]) -> Any:
    if tree.is_string:
        return tree.this
    return int(tree.this) if tree.is_int else Fraction(tree.this)


@value.register(exp.Boolean)
def _(tree: exp.Boolean, rows: Sequence[Names]) -> bool:
    return bool(tree.this)


@value.register(exp.Null)
def _(tree: exp.Null, rows: Sequence[Names]) -> None:
    return None


@value.register(exp.If)
def _(tree: exp.If, rows: Sequence[Names]) -> Any:
    if value(tree.this, rows) is True:
        return value(tree.args["true"], rows)
    return value(tree.args["false"], rows) if tree.args.get("false") else None


@value.register(exp.Array)
def _(tree: exp.Array, rows: Sequence[Names]) -> Any:
    return tuple(value(e, rows) for e in tree.expressions)


@value.register(exp.GenerateSeries)
def _(tree: exp.GenerateSeries, rows: Sequence[Names]) -> Any:
    return tuple(range(value(tree.args["start"], rows), value(tree.args["end"], rows) + 1))


@value.register(exp.Case)
def _(tree: exp.Case, rows: Sequence[Names]) -> Any:
    for branch in tree.args["ifs"]:
        met = value(branch.this, rows)
        if _equal(value(tree.this, rows), met) if tree.this else met is True:
            return value(branch.args["true"], rows)
    return value(tree.args["default"], rows) if tree.args.get("default") else None


@value.register(exp.Coalesce)
def _(tree: exp.Coalesce, rows: Sequence[Names]) -> Any:
    values = (value(t, rows) for t in (tree.this, *tree.expressions))
    return next((v for v in values if v is not None), None)


@value.register(exp.Cast)
def _(tree: exp.Cast, rows: Sequence[Names]) -> Any:
    of = value(tree.this, rows)
    if of is None:
        return None
    if tree.to.is_type(*exp.DataType.INTEGER_TYPES):
        return int(of)
    if tree.to.is_type(*exp.DataType.TEXT_TYPES):
        return str(of).lower() if isinstance(of, bool) else str(of)
    if tree.to.is_type("boolean"):
        return bool(of)
    return Fraction(of)


# --- aggregates ------------------------------------------------------------------------------------------------------

_OVER_VALUES: dict[type[exp.Expression], Callable[[list[Any]], Any]] = {
    exp.Count: len,
    exp.Sum: lambda values: sum(values) if values else None,
    exp.Min: lambda values: min(values, default=None),
    exp.Max: lambda values: max(values, default=None),
    exp.Avg: lambda values: Fraction(sum(values), len(values)) if values else None,
}
"""Aggregates as functions of the values that are not NULL."""


@value.register
def _(tree: exp.AggFunc, rows: Sequence[Names]) -> Any:
    if type(tree) not in _OVER_VALUES:
        raise NotImplementedError(f"the laws' interpreter does not know {type(tree).__name__}")
    over = tree.this
    if isinstance(over, exp.Star):
        return len(rows)
    operands = over.expressions if isinstance(over, exp.Distinct) else (over,)
    tuples = [tuple(value(o, (row,)) for o in operands) for row in rows]
    known = [t for t in tuples if None not in t]
    if isinstance(over, exp.Distinct):
        known = list(dict.fromkeys(known))
    return _OVER_VALUES[type(tree)]([t[0] for t in known])


@value.register(exp.CountIf)
def _(tree: exp.CountIf, rows: Sequence[Names]) -> Any:
    return sum(value(tree.this, (row,)) is True for row in rows)


@value.register(exp.Filter)
def _(tree: exp.Filter, rows: Sequence[Names]) -> Any:
    kept = [row for row in rows if value(tree.expression.this, (row,)) is True]
    return value(tree.this, kept)
