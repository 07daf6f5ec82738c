"""τ(R⁺) = τ((τ(R⁻) − Δ⁻) ∪ Δ⁺): the first n rows of each partition, from the table's own rows and the change alone.

ROW_NUMBER() <= n, ROW_NUMBER() = 1, and ORDER BY with LIMIT, at the root. Δ⁺ and Δ⁻ are the rows that came to R and
that left it, O = τ(R⁻) the table's own rows of a partition, C = (O − Δ⁻) ∪ Δ⁺, copies counted.

Law: where O has fewer than n rows, it is all of R⁻, so that C is all of R⁺. Otherwise let `last` be the last row of O.
Every row of R⁻ before it is in O, so that C and R⁺ have the same rows before it, and of its own copies C has no more
than R⁺. If C has n rows up to `last`, they are therefore the first n of R⁺: what left stood behind, or as many came
before. If it has fewer, others of R⁻ may move up, and the partition is computed again from R⁺ (a falling partition).

That asks for a table that shows the rows of R (`_signed`). Where one row of each partition is kept, under a key, the
columns that it is chosen by are enough, or the first of them (`_upserted`). Let a and b be the first rows of Δ⁺ and of
Δ⁻, and o the table's row. If there is no o, or a stands before it by the columns that are shown, a is first now, as all
other rows of R⁺ stand behind a or behind o. If a and b stand behind o, or a shows the values of o, the table's row
stays as it is. What else is level with o by those columns may stand before it or be it, and the partition falls.

Relations of a plan by this law name their columns by position, so that no name of the user's can be in the way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ..algebra.equal_values import ungrouped
from ..algebra.expressions import Expr, cast, column, columns, integer
from ..algebra.nodes import (
    Aggregate,
    Filter,
    Generate,
    Named,
    Node,
    Project,
    Semi,
    Time,
    UnionAll,
    Window,
    walk,
)
from ..algebra.transform import with_children
from ..dialect import parse_expression
from ..names import WEIGHT
from .additive import Own
from .change_plan import ChangePlan, Shape
from .column_types import types_of
from .derivation import CHANGE, KEY, ROWS, Binding, Derivation, at, distinct, is_nothing, net, passed, together
from .differentiate import change
from .newcomers import newcomers
from .restrict import restrict
from .simplify import simplify

FALLING_PARTITIONS = "falling_partitions"
"""What the relation of the partitions that are computed again is called."""

AGAIN = "partitions that are computed again"

CELL = "cell_{}"
"""The columns of a row, in order."""


@dataclass(frozen=True)
class Ranking:
    """A plan that keeps the first rows of each partition. path: from its root to the window, both included; most: how
    many are kept; shown: each of its columns, over those of the window; restored: columns of the rows that are ranked,
    over its own, as far as it shows them."""

    path: tuple[Node, ...]
    most: int
    shown: Mapping[str, Expr]
    restored: Mapping[str, Expr]

    @property
    def window(self) -> Window:
        assert isinstance(self.path[-1], Window)
        return self.path[-1]

    @property
    def ranked(self) -> Node:
        return self.window.child

    @property
    def place(self) -> str:
        """The column of the window that says which row it is."""
        return self.window.calls[0][0]

    @property
    def order(self) -> list[exp.Ordered]:
        order = self.window.calls[0][1].tree.args.get("order")
        return order.expressions if order is not None else []

    def above(self, node: Node) -> Node:
        """The plan with another relation in the place of its window."""
        for n in reversed(self.path[:-1]):
            node = with_children(n, (node,))
        return node

    def over(self, rows: Node) -> Node:
        """The plan with other rows in the place of those that it ranks."""
        return self.above(with_children(self.window, (rows,)))


@dataclass(frozen=True)
class Change:
    """The net change of the rows that are ranked. rows: with WEIGHT; named: what has their partitions, in `keys`."""

    rows: Node
    named: Named
    keys: tuple[str, ...]


def top(model: Node, own: Own, key: tuple[str, ...] | None, d: Derivation) -> ChangePlan | None:
    """The change plan by this law; None where the model is not the first rows of something, or the table does not show
    enough of them. key: the model's own, None where its rows are not to be merged by one."""
    ranking = _ranking(model)
    if ranking is None:
        return None
    if (names := _one_by(ranking, key)) is not None:
        # Below groups it is cheaper to know whose result may have changed than what it was and is.
        if any(isinstance(n, Aggregate | Window) for n in walk(ranking.ranked)):
            return None
        return _upserted(model, ranking, own, names, d)
    return _signed(ranking, own, key, d) if _shows_rows(ranking) else None


def moves_up(model: Node, key: tuple[str, ...] | None) -> bool:
    """Whether the model is the first rows of all, which have to be found again among these where too many of them left.
    key: as in `top`."""
    ranking = _ranking(model)
    if ranking is None or ranking.window.partition:
        return False
    return _one_by(ranking, key) is None and _shows_rows(ranking)


def _one_by(ranking: Ranking, key: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The columns of the partitions, of which one row each is kept, where they are the key; else None."""
    shown = [ranking.restored.get(e.column or "") for e in ranking.window.partition]
    names = tuple(e.column for e in shown if e is not None and e.column is not None)
    is_key = key is not None and len(names) == len(shown) and set(names) == set(key)
    return names if ranking.most == 1 and is_key else None


def _shows_rows(ranking: Ranking) -> bool:
    """Whether the table has all of the rows that are ranked, and their order leaves nothing open."""
    names = set(ranking.ranked.columns)
    by_column = {o.this.name for o in ranking.order if isinstance(o.this, exp.Column)}
    by_column |= {e.column for e in ranking.window.partition if e.column is not None}
    return names <= ranking.restored.keys() and names <= by_column


def _ranking(model: Node) -> Ranking | None:
    path, shown = [model], {name: column(name) for name in model.columns}
    bound: tuple[str, int] | None = None
    while not isinstance(node := path[-1], Window):
        if isinstance(node, Project):
            below = dict(node.outputs)
            shown = {name: e.substitute(below) for name, e in shown.items()}
            if bound is not None:
                bound = (below[bound[0]].column or "", bound[1])
        elif isinstance(node, Filter) and bound is None:
            bound = _first(node.predicate.tree)
            if bound is None:
                return None
        else:
            return None
        path.append(node.child)
    if bound is None or len(node.calls) != 1 or node.calls[0][0] != bound[0]:
        return None
    if not isinstance(node.calls[0][1].tree.this, exp.RowNumber):
        return None
    return Ranking(tuple(path), bound[1], shown, _restored(node.child, shown))


def _first(tree: exp.Expression) -> tuple[str, int] | None:
    """The column that the condition says is between 1 and a number, and that number."""
    while isinstance(tree, exp.Paren):
        tree = tree.this
    if not isinstance(tree, exp.EQ | exp.LTE | exp.LT | exp.GTE | exp.GT):
        return None
    name, number, how = tree.this, tree.expression, type(tree)
    if isinstance(name, exp.Literal):
        turned = {exp.GTE: exp.LTE, exp.GT: exp.LT, exp.EQ: exp.EQ}
        if how not in turned:
            return None
        name, number, how = number, name, turned[how]
    if not (isinstance(name, exp.Column) and isinstance(number, exp.Literal) and number.is_int):
        return None
    most = int(number.name) - (how is exp.LT)
    met = how in (exp.LTE, exp.LT) or (how is exp.EQ and most == 1)
    return (name.name, most) if met and most >= 1 else None


def _restored(ranked: Node, shown: Mapping[str, Expr]) -> dict[str, Expr]:
    """What the table shows of the rows that are ranked: columns of theirs, over the table's."""
    found = {e.column: column(name) for name, e in reversed(shown.items()) if e.column is not None}
    while isinstance(ranked, Filter):
        ranked = ranked.child
    if isinstance(ranked, Project):
        # A LIMIT orders by columns of its own, which most often are computed from what is shown, or shown themselves.
        known = {e.column: found[name] for name, e in ranked.outputs if e.column is not None and name in found}
        equal = {e: found[name] for name, e in ranked.outputs if name in found}
        for name, e in ranked.outputs:
            if name not in found and (e in equal or e.columns <= known.keys()):
                found[name] = equal[e] if e in equal else e.substitute(known)
    return found


def _change(ranking: Ranking, own: Own, d: Derivation) -> Change | None:
    window = ranking.window
    changed = simplify(change(window.child, d))
    if is_nothing(changed):
        return None
    if (found := _of_feed(changed, window.partition, d)) is not None:
        return Change(changed, *found)
    keys, cells = _named(KEY, window.partition), _named(CELL, window.child.columns)
    given = (*zip(keys, window.partition, strict=True), *zip(cells, columns(window.child.columns), strict=True))
    shown = {n.lower(): own.types[e.column] for n, e in ranking.restored.items() if e.column is not None}
    rows = Project(net(changed, {**types_of(window.child, d.types), **shown}), (*given, (WEIGHT, column(WEIGHT))))
    named = d.keys(rows, "net change of the rows that are ranked", "ranked_change")
    cut = tuple(zip(window.child.columns, columns(cells), strict=True))
    return Change(Project(named, (*cut, (WEIGHT, column(WEIGHT)))), named, keys)


def _of_feed(node: Node, partition: tuple[Expr, ...], d: Derivation) -> tuple[Named, tuple[str, ...]] | None:
    """The feed whose rows these are, each with all of its columns, and where it has the partition. They are net as it
    is then, and need not be computed before they are used."""
    while isinstance(node, Filter | Project):
        if isinstance(node, Project):
            below = dict(node.outputs)
            if {e.column for e in below.values()} != set(node.child.columns):
                return None
            partition = tuple(e.substitute(below) for e in partition)
        node = node.child
    if not isinstance(node, Named) or all(f.name != node.name for f in d.feeds.values()):
        return None
    names = tuple(e.column for e in partition if e.column is not None)
    return (node, names) if len(names) == len(partition) else None


def _named(pattern: str, of: Sequence[object]) -> tuple[str, ...]:
    return tuple(pattern.format(i) for i in range(len(of)))


def _own_rows(own: Own, partition: tuple[Expr, ...], changed: Change) -> Node:
    """The table's rows of the partitions that have changed rows."""
    table = own.read(tuple((name, name) for name in own.types))
    return Semi(table, changed.named, tuple(zip(partition, changed.keys, strict=True))) if partition else table


# --- one row of each partition, by its key ---------------------------------------------------------------------------

OWN_ROW, CAME, LEFT = "own", "came", "went"
"""How many copies the table has of a row, how many came, how many left."""


def _upserted(model: Node, ranking: Ranking, own: Own, key: tuple[str, ...], d: Derivation) -> ChangePlan | None:
    order = _shown_order(ranking)
    if not order:
        return None
    changed = _change(ranking, own, d)
    if changed is None:
        return None
    cells = _named(CELL, model.columns)
    by = {name: column(cell) for name, cell in zip(model.columns, cells, strict=True)}
    partition = tuple(by[name] for name in key)
    sides = (
        (_own_rows(own, columns(key), changed), OWN_ROW),
        (ranking.over(_of_sign(changed, ">", ranking)), CAME),
        (ranking.over(_of_sign(changed, "<", ranking)), LEFT),
    )
    rows = UnionAll(tuple(_counted(side, model.columns, cells, as_) for side, as_ in sides))
    types = {cell: own.types[name] for name, cell in zip(model.columns, cells, strict=True)}
    summed = together(rows, cells, tuple((n, _sum(n)) for n in (OWN_ROW, CAME, LEFT)), types)
    ordered = [_ordered(o, by) for o in order]
    upto = {n: f"{n}_upto" for n in (OWN_ROW, CAME, LEFT)}
    counted = Window(summed, partition, tuple((upto[n], _over(_sum(n), partition, ordered)) for n in upto))
    wins = f"{CAME} > 0 AND {upto[OWN_ROW]} = 0"
    won = _said(f"MAX(CASE WHEN {wins} THEN 1 ELSE 0 END)")
    compared = Window(counted, partition, (("won", _over(won, partition)),))
    falls = f"{OWN_ROW} > 0 AND won = 0 AND ({upto[LEFT]} > 0 OR {upto[CAME]} > {CAME})"
    keys = _named(KEY, key)
    outputs = (*zip(keys, partition, strict=True), *passed((*cells, OWN_ROW)))
    changes = Project(Filter(compared, _said(f"({wins}) OR ({falls})")), outputs)
    first = d.keys(changes, "partitions whose first row is another now, or may be", "first_rows")
    falling = d.keys(_partitions(Filter(first, _said(f"{OWN_ROW} > 0")), keys), AGAIN, FALLING_PARTITIONS)
    told = Project(Filter(first, _said(f"{OWN_ROW} = 0")), tuple(zip(model.columns, columns(cells), strict=True)))
    again = restrict(at(model, Time.AFTER), columns(key) or (integer(1),), falling)
    result = Binding(ROWS, UnionAll((told, again)), "the first rows of those partitions now")
    # A MERGE has nothing to set in rows that are their key, and finds no VOID by another.
    is_told = set(model.columns) > set(key) and "void" not in own.types.values()
    came = newcomers(sides[1][0], key, order, own.types) if is_told and d.only_grows(ranking.ranked) else None
    return ChangePlan((), (), result, Shape.UPSERT, key, first, falling=falling, newcomers=came)


def _shown_order(ranking: Ranking) -> list[exp.Ordered]:
    """The order of the rows as far as the table shows it, from its beginning, over the table's columns."""
    shown = {e: column(name) for name, e in ranking.shown.items()}
    found = []
    for o in ranking.order:
        by = Expr.of(o.this)
        if not (by in shown or by.columns <= ranking.restored.keys()):
            break
        over = shown[by] if by in shown else by.substitute(ranking.restored)
        found.append(_reordered(o, over))
    return found


def _of_sign(changed: Change, sign: str, ranking: Ranking) -> Node:
    """Of the rows that changed, those that came or those that left."""
    return Project(Filter(changed.rows, _said(f"{WEIGHT} {sign} 0")), passed(ranking.ranked.columns))


def _counted(rows: Node, names: tuple[str, ...], cells: tuple[str, ...], as_: str) -> Node:
    counts = tuple((n, integer(int(n == as_))) for n in (OWN_ROW, CAME, LEFT))
    return Project(rows, (*zip(cells, columns(names), strict=True), *counts))


# --- any number of rows, copies counted ------------------------------------------------------------------------------

COPIES_NOW = "copies"
"""How many copies of a row are known to be there now."""


def _signed(ranking: Ranking, own: Own, key: tuple[str, ...] | None, d: Derivation) -> ChangePlan | None:
    window, names, n = ranking.window, ranking.ranked.columns, ranking.most
    changed = _change(ranking, own, d)
    if changed is None:
        return None
    cells, keys = _named(CELL, names), _named(KEY, window.partition)
    by = {name: column(cell) for name, cell in zip(names, cells, strict=True)}
    partition = tuple(e.substitute(by) for e in window.partition)
    order = [_ordered(o, by) for o in ranking.order]
    own_rows = _own_rows(own, tuple(e.substitute(ranking.restored) for e in window.partition), changed)
    held = (*((cell, ranking.restored[name]) for name, cell in zip(names, cells, strict=True)), (OWN_ROW, integer(1)))
    moved = (*zip(cells, columns(names), strict=True), (OWN_ROW, integer(0)))
    rows = UnionAll(
        (
            Project(own_rows, (*held, (WEIGHT, integer(0)))),
            *(Project(some, (*moved, (WEIGHT, column(WEIGHT)))) for some in _that_count(ranking, changed)),
        )
    )
    summed = Aggregate(rows, passed(cells), ((OWN_ROW, _sum(OWN_ROW)), (WEIGHT, _sum(WEIGHT))))
    now = _said(f"CASE WHEN {OWN_ROW} + {WEIGHT} > 0 THEN {OWN_ROW} + {WEIGHT} ELSE 0 END")
    there = Project(summed, (*passed((*cells, OWN_ROW)), (COPIES_NOW, now)))
    counted = Window(
        Filter(there, _said(f"{OWN_ROW} > 0 OR {COPIES_NOW} > 0")),
        partition,
        (
            ("own_upto", _over(_sum(OWN_ROW), partition, order)),
            ("own_all", _over(_sum(OWN_ROW), partition)),
            ("upto", _over(_sum(COPIES_NOW), partition, order)),
        ),
    )
    short = f"own_all >= {n} AND {OWN_ROW} > 0 AND own_upto = own_all AND upto < {n}"
    compared = Window(
        counted, partition, (("falls", _over(_said(f"MAX(CASE WHEN {short} THEN 1 ELSE 0 END)"), partition)),)
    )
    shown = (*zip(keys, partition, strict=True), *passed((*cells, OWN_ROW, COPIES_NOW, "own_upto", "upto", "falls")))
    known = d.keys(Project(compared, shown), "the table's rows and the change, in their order", "known_rows")
    falling = d.keys(distinct(_partitions(Filter(known, _said("falls = 1")), keys)), AGAIN, FALLING_PARTITIONS)
    again = ranking.above(restrict(at(window, Time.AFTER), window.partition or (integer(1),), falling))
    new = Project(again, (*passed(again.columns), (WEIGHT, integer(1))))
    told = _in_places(ranking, known, by) if _shows_place(ranking) else _by_copies(ranking, known, by)
    result = Binding(CHANGE, net(UnionAll((*told, new)), ungrouped(own.types)), "net change of the first rows")
    return ChangePlan((), (), result, Shape.SIGNED, key, None, falling=falling, moved=changed.named)


def _that_count(ranking: Ranking, changed: Change) -> tuple[Node, Node]:
    """Of the rows that changed, those that can be among the first: of many that came, an engine keeps a few."""
    came, left = (Filter(changed.rows, _said(f"{WEIGHT} {sign} 0")) for sign in (">", "<"))
    placed = Filter(with_children(ranking.window, (came,)), _at_most(ranking.place, ranking.most))
    return placed, left


def _shows_place(ranking: Ranking) -> bool:
    return any(ranking.place in e.columns for e in ranking.shown.values())


def _by_copies(ranking: Ranking, known: Node, by: Mapping[str, Expr]) -> tuple[Node, ...]:
    """Of each row, the copies that are among the first now, less those that the table has."""
    most, before = ranking.most, f"(upto - {COPIES_NOW})"
    first = (
        f"CASE WHEN falls = 1 THEN 0 WHEN upto <= {most} THEN {COPIES_NOW} "
        f"WHEN {before} < {most} THEN {most} - {before} ELSE 0 END"
    )
    outputs = tuple((name, e.substitute(by)) for name, e in ranking.shown.items())
    return (Project(known, (*outputs, (WEIGHT, _said(f"{first} - {OWN_ROW}")))),)


def _in_places(ranking: Ranking, known: Node, by: Mapping[str, Expr]) -> tuple[Node, ...]:
    """The same where each copy shows its place: a row for every place now, and one less for every place it had."""
    most = ranking.most
    now = (f"falls = 0 AND {COPIES_NOW} > 0 AND upto - {COPIES_NOW} < {most}", COPIES_NOW, "upto", 1)
    was = (f"{OWN_ROW} > 0", OWN_ROW, "own_upto", -1)
    told = []
    for there, copies, upto, weight in (now, was):
        first, last = f"{upto} - {copies} + 1", f"CASE WHEN {upto} > {most} THEN {most} ELSE {upto} END"
        places = exp.Explode(this=_said(f"SEQUENCE(CAST({first} AS BIGINT), CAST({last} AS BIGINT))").tree)
        placed = Generate(Filter(known, _said(there)), Expr.of(places), ("place",))
        to = {**by, ranking.place: cast(column("place"), "int")}
        outputs = tuple((name, e.substitute(to)) for name, e in ranking.shown.items())
        told.append(Project(placed, (*outputs, (WEIGHT, integer(weight)))))
    return tuple(told)


# --- expressions -----------------------------------------------------------------------------------------------------


def _partitions(rows: Node, keys: tuple[str, ...]) -> Node:
    """Their keys; where there is one partition alone, a column to be there at all."""
    return Project(rows, passed(keys) or ((KEY.format(0), integer(1)),))


def _reordered(o: exp.Ordered, by: Expr) -> exp.Ordered:
    return exp.Ordered(this=by.tree.copy(), desc=o.args.get("desc"), nulls_first=o.args.get("nulls_first"))


def _ordered(o: exp.Ordered, by: Mapping[str, Expr]) -> exp.Ordered:
    return _reordered(o, Expr.of(o.this).substitute(by))


def _over(call: Expr, partition: tuple[Expr, ...], order: Sequence[exp.Ordered] = ()) -> Expr:
    """An aggregate over the rows of a partition, or over those up to each row and its equals."""
    return Expr.of(
        exp.Window(
            this=call.tree.copy(),
            partition_by=[e.tree.copy() for e in partition] or None,
            order=exp.Order(expressions=[o.copy() for o in order]) if order else None,
            over="OVER",
        )
    )


def _at_most(name: str, most: int) -> Expr:
    return Expr.of(exp.LTE(this=column(name).tree.copy(), expression=exp.Literal.number(most)))


def _sum(name: str) -> Expr:
    return Expr.of(exp.Sum(this=column(name).tree.copy()))


def _said(sql: str) -> Expr:
    """An expression over columns that a plan by this law has named itself."""
    return Expr.of(parse_expression(sql))
