"""Subqueries in expressions as joins: EXISTS and IN of a WHERE as semi and anti joins, all others as columns.

A subquery that gives a value becomes an aggregation by what it is correlated with, joined to the SELECT around it;
what an empty group gives (0 for a COUNT, NULL for most) is said above that join.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from ..algebra.expressions import Expr, column, columns, operand
from ..algebra.nodes import Aggregate, Join, JoinKind, Node, Project
from .aggregates import aggregate_calls, over
from .joins import on, parts, place
from .laterals import Lateral, equal_outside, lateral, named_apart, unwrapped
from .negations import negated_inside
from .one_row import as_values, is_one_row
from .open_values import LISTED, closed
from .pulled_up import pull_up
from .refuse import refuse
from .scalars import scalar
from .scope import Scope, placed, resolve, settled_names

if TYPE_CHECKING:
    from .lower import Lowering

WHOLE = ("group", "having", "distinct", "limit", "offset", "qualify", "windows")
"""Clauses after which a subquery is more than rows that meet conditions."""

ZERO_IF_EMPTY = (exp.Count, exp.CountIf, exp.ApproxDistinct, exp.RegrCount)


@dataclass(frozen=True)
class Inner:
    """rows: of the subquery, under names that are free outside; values: what its SELECT list computes from them;
    correlated: conditions over them and columns of the SELECTs around it."""

    rows: Node
    values: tuple[exp.Expression, ...]
    correlated: tuple[Expr, ...]


@dataclass
class Subqueries:
    """Those of one SELECT. waiting: column that stands for a subquery -> what joins it to the SELECT's rows."""

    lowering: Lowering
    scope: Scope
    ctes: Mapping[str, Node]
    waiting: dict[str, Callable[[Node], Node]] = field(default_factory=dict)

    def where(self, node: Node, predicate: exp.Expression) -> Node:
        """The rows that meet the predicate, still in the user's names."""
        plain: list[Expr] = []  # Those that nothing has been joined for since.
        for part in parts(as_values(negated_inside(_any_row(predicate.copy())))):
            negated, test = _test(part)
            kind = JoinKind.ANTI if negated else JoinKind.SEMI
            if isinstance(test, exp.Exists) and isinstance(test.this, exp.Query):
                node, plain = self._exists(place(node, *plain), test, kind), []
            elif isinstance(test, exp.In) and test.args.get("query") is not None:
                node, plain = self._in(place(node, *plain), test, kind), []
            else:
                e = Expr.of(scalar(resolve(self.replaced(part), self.scope, {}), "WHERE"))
                if self.waiting:
                    node, plain = self.attached(place(node, *plain)), []
                if e.columns <= node.column_set:
                    plain.append(e)
                else:
                    self._correlated(e)
        return place(node, *plain)

    def _correlated(self, e: Expr) -> None:
        if self.scope.parent is None:
            raise refuse("a condition", "reads columns that are not in FROM", e.tree)
        self.scope.correlated.append(e)

    def replaced(self, tree: exp.Expression) -> exp.Expression:
        """A copy with a column in the place of every subquery; `attached` joins them."""

        def put(node: exp.Expression) -> exp.Expression:
            if isinstance(node, exp.Exists) and isinstance(node.this, exp.Query):
                return self._value(node.this, exists=True)
            negated, test = _test(node)
            if isinstance(test, exp.In) and test.args.get("query") is not None:
                return self._in_value(test, negated=negated)
            if isinstance(node, exp.Subquery | exp.Select | exp.SetOperation):
                return self._value(node)
            return node

        return _outermost(as_values(negated_inside(_any_row(tree.copy()))), put)

    def attached(self, node: Node, names: frozenset[str] | None = None) -> Node:
        """The rows with the columns that stand for subqueries: of all that wait, or of those names."""
        for name in [n for n in self.waiting if names is None or n in names]:
            node = self.waiting.pop(name)(node)
        return node

    # --- tests of a WHERE

    def _exists(self, node: Node, test: exp.Exists, kind: JoinKind) -> Node:
        inner = self._inner(test.this, node)
        if any(aggregate_calls(v) for v in inner.values):
            raise refuse("EXISTS over an aggregate", "is always true", test, "leave it out")
        return self._one_sided(node, inner.rows, inner.correlated, kind, test)

    def _in(self, node: Node, test: exp.In, kind: JoinKind) -> Node:
        inner, asked = self._asked(test, node), _tuple(test.this)
        if len(asked) != len(inner.values):
            raise refuse("IN", "compares a struct with columns", test, "name the columns one by one")
        conditions = list(inner.correlated)
        for mine, theirs in zip(asked, inner.values, strict=True):
            own = scalar(resolve(self.replaced(mine), self.scope, {}), "IN")
            node = self.attached(node)
            equal: exp.Expression = exp.EQ(this=operand(own), expression=operand(theirs))
            if kind is JoinKind.ANTI:
                # An unknown comparison is not "not in" either. Engines know this form and can hash it.
                equal = exp.Or(this=equal, expression=exp.Is(this=exp.paren(equal.copy()), expression=exp.Null()))
            conditions.append(Expr.of(equal))
        return self._one_sided(node, inner.rows, conditions, kind, test)

    def _one_sided(
        self, node: Node, rows: Node, conditions: Sequence[Expr], kind: JoinKind, at: exp.Expression
    ) -> Node:
        join = Join(node, rows, kind=kind)
        for condition in conditions:
            if not condition.columns <= set(join.met):
                raise refuse("a subquery", "reads columns of a SELECT further out", at, "write it as a join")
            join = on(join, condition)
        return join

    # --- values

    def _value(self, tree: exp.Expression, *, exists: bool = False) -> exp.Expression:
        if (found := self._lateral(tree)) is not None:
            return self._per_row(found, tree, exists=exists)
        inner = self._inner(tree)
        if exists:
            rows = exp.Count(this=exp.Star())
            return self._aggregated(inner, exp.GT(this=rows, expression=exp.Literal.number(0)), tree)
        value = inner.values[0]
        if len(inner.values) != 1:
            raise refuse("a subquery of several columns", "is not one value", tree)
        if aggregate_calls(value):
            return self._aggregated(inner, value, tree)
        return self._aggregated(inner, _only(value), tree)

    def _per_row(self, found: Lateral, at: exp.Expression, *, exists: bool) -> exp.Expression:
        """The one value, or whether there is a row, of a subquery that is computed for each value outside."""
        rows, name = exp.Count(this=exp.Star()), self.scope.reserve("subquery")
        keys = {inside: self.scope.reserve("met_by") for inside in found.read.values()}

        def join(node: Node) -> Node:
            _require(frozenset(found.read), node, at)
            result, shown = found.over(node, self.lowering)
            if not exists and len(shown) != 1:
                raise refuse("a subquery of several columns", "is not one value", at)
            value = rows if exists else _only(column(shown[0]).tree)
            calls = {call: f"call_{i}" for i, call in enumerate(dict.fromkeys(aggregate_calls(value)))}
            groups = tuple((key, column(inside)) for inside, key in keys.items())
            grouped = Aggregate(result, groups, tuple((n, Expr.of(c)) for c, n in calls.items()))
            only = Expr.of(over(value, {c: column(n).tree for c, n in calls.items()}))
            outputs = (*((key, column(key)) for key in keys.values()), (name, only))
            return Join(node, Project(grouped, outputs), equal_outside(found.read, keys), kind=JoinKind.LEFT)

        self.waiting[name] = join
        return exp.paren(exp.Not(this=exp.Is(this=placed(name), expression=exp.Null()))) if exists else placed(name)

    def _in_value(self, test: exp.In, *, negated: bool) -> exp.Expression:
        """As Spark has it, never NULL: IN is whether a row matches, NOT IN whether none does and no NULL leaves it
        open. (The standard would have NULL where it is open; a condition cannot tell, a SELECT list can.)"""
        if self._lateral(test.args["query"]) is not None:
            return self._in_per_row(test, negated=negated)
        return self._in_inner(self._asked(test), test, negated=negated)

    def _in_per_row(self, test: exp.In, *, negated: bool) -> exp.Expression:
        """The same of a subquery that is computed for each value outside, which waits for those values."""
        name = self.scope.reserve("subquery")

        def join(node: Node) -> Node:
            waiting = set(self.waiting)
            value = Expr.of(self._in_inner(self._asked(test, node), test, negated=negated))
            node = self.attached(node, frozenset(set(self.waiting) - waiting))
            return Project(node, (*zip(node.columns, columns(node.columns), strict=True), (name, value)))

        self.waiting[name] = join
        return placed(name)

    def _in_inner(self, inner: Inner, test: exp.In, *, negated: bool) -> exp.Expression:
        if len(inner.values) != 1:
            return self._tuple_in_value(inner, test, negated=negated)
        value = inner.values[0]
        own = scalar(resolve(self.replaced(test.this), self.scope, {}), "IN")
        zero = exp.Literal.number(0)
        rows, known = exp.Count(this=exp.Star()), exp.Count(this=value.copy())
        equal = Expr.of(exp.EQ(this=operand(own), expression=operand(value)))
        matching = Inner(inner.rows, inner.values, (*inner.correlated, equal))
        matches = self._aggregated(matching, exp.GT(this=rows.copy(), expression=zero), test)
        if not negated:
            return matches
        none = self._aggregated(inner, exp.EQ(this=rows.copy(), expression=zero.copy()), test)
        open_ = self._aggregated(inner, exp.GT(this=rows, expression=known), test)
        asked = exp.Not(this=exp.Is(this=exp.paren(settled_names(own)), expression=exp.Null()))
        return exp.paren(exp.or_(none, exp.and_(asked, exp.Not(this=open_), exp.Not(this=matches))))

    def _tuple_in_value(self, inner: Inner, test: exp.In, *, negated: bool) -> exp.Expression:
        """The same of several columns, of which any can leave it open."""
        asked = _tuple(test.this)
        if len(asked) != len(inner.values):
            raise refuse("IN", "compares a struct with columns", test, "name the columns one by one")
        own = [scalar(resolve(self.replaced(e), self.scope, {}), "IN") for e in asked]
        equal: list[exp.Expression] = [
            exp.EQ(this=operand(a), expression=operand(b)) for a, b in zip(own, inner.values, strict=True)
        ]
        if negated:
            equal = [exp.paren(exp.or_(e, exp.Is(this=exp.paren(e.copy()), expression=exp.Null()))) for e in equal]
        met = Inner(inner.rows, inner.values, (*inner.correlated, *map(Expr.of, equal)))
        compare = exp.EQ if negated else exp.GT
        rows = exp.Count(this=exp.Star())
        return self._aggregated(met, compare(this=rows, expression=exp.Literal.number(0)), test)

    def _aggregated(self, inner: Inner, value: exp.Expression, at: exp.Expression) -> exp.Expression:
        """A value computed from aggregates over the rows that belong to one row outside."""
        calls = list(dict.fromkeys(aggregate_calls(value)))
        names = {call: self.scope.reserve("subquery") for call in calls}
        aggregates = tuple((names[c], Expr.of(c)) for c in calls)
        own = set(inner.rows.columns)
        pairs = [_pair(c, own) for c in inner.correlated]
        if None not in pairs and all(e.columns <= own for _, e in aggregates):
            keys = [(self.scope.reserve("met_by"), p) for p in pairs if p is not None]
            grouped = Aggregate(inner.rows, tuple((k, mine) for k, (_, mine, _) in keys), aggregates)
            equalities = tuple((outer, column(k), safe) for k, (outer, _, safe) in keys)
            join = self._joining(grouped, equalities, at)
        else:
            join = self._by_domain(inner, aggregates, at)
        first = next(iter(names.values()))
        self.waiting[first] = join
        shown = {c: _or_empty(c, names[c]) for c in calls}
        return exp.paren(over(value, shown), copy=False)

    def _joining(self, grouped: Node, equalities, at: exp.Expression) -> Callable[[Node], Node]:
        # Without groups there is one row, always.
        kind = JoinKind.LEFT if equalities else JoinKind.INNER

        def join(node: Node) -> Node:
            _require(frozenset().union(*(outer.columns for outer, _, _ in equalities)), node, at)
            return Join(node, grouped, equalities, kind=kind)

        return join

    def _by_domain(self, inner: Inner, aggregates, at: exp.Expression) -> Callable[[Node], Node]:
        """For any other correlation: the values outside that the subquery reads, each with what it gives for them."""
        read = frozenset().union(*(e.columns for e in inner.correlated), *(e.columns for _, e in aggregates))
        outer = sorted(read - set(inner.rows.columns))
        keys = [(self.scope.reserve("met_by"), column(name)) for name in outer]

        def join(node: Node) -> Node:
            _require(frozenset(outer), node, at)
            domain = Aggregate(node, tuple((name, column(name)) for name in outer))
            met = Join(domain, inner.rows)
            for condition in inner.correlated:
                met = on(met, condition)
            grouped = Aggregate(met, tuple(keys), aggregates)
            equalities = tuple((e, column(k), True) for k, e in keys)
            return Join(node, grouped, equalities, kind=JoinKind.LEFT)

        return join

    # --- the subquery itself

    def _lateral(self, tree: exp.Expression) -> Lateral | None:
        """A subquery that reads rows outside and is more than rows which meet conditions."""
        query = unwrapped(tree)
        if isinstance(query, exp.Select) and not self._is_whole(query, tree.parent):
            return None
        return lateral(query, self.scope, self.lowering, self.ctes)

    def _is_whole(self, select: exp.Select, asking: exp.Expression | None) -> bool:
        if whole_clauses(select, asking):
            return True
        of_rows = isinstance(asking, exp.Exists)
        return not of_rows and any(_is_star(s) or s.find(exp.Window) for s in select.expressions)

    def _inner(self, tree: exp.Expression, node: Node | None = None) -> Inner:
        """node: the rows outside, where they are known already."""
        found = self._lateral(tree) if node is not None else None
        if found is not None and node is not None:
            _require(frozenset(found.read), node, tree)
            result, shown = found.over(node, self.lowering)
            rows, free = named_apart(result, [*shown, *found.read.values()], self.scope)
            met = tuple(
                Expr.of(exp.NullSafeEQ(this=mine.tree.copy(), expression=theirs.tree.copy()))
                for mine, theirs, _ in equal_outside(found.read, free)
            )
            return Inner(rows, tuple(column(free[n]).tree.copy() for n in shown), met)
        select = tree
        ctes = self.ctes
        while isinstance(select, exp.Subquery | exp.Paren):
            ctes = self.lowering.with_ctes(select, ctes)
            select = select.this
        of_rows = isinstance(tree.parent, exp.Exists)
        if not isinstance(select, exp.Select) or self._is_whole(select, tree.parent):
            return self._whole(tree)
        scope = Scope(parent=self.scope)
        ctes = self.lowering.with_ctes(select, ctes)
        pull_up(select, self.scope, self.lowering, ctes)
        rows = self.lowering.rows(select, scope, ctes)
        within = Subqueries(self.lowering, scope, ctes)
        values = []
        for selected in select.expressions:
            if of_rows:
                # Whatever EXISTS selects, it asks for rows.
                body = selected.unalias()
                values.append(body.copy() if body.find(exp.AggFunc) else exp.Literal.number(1))
                continue
            body = within.replaced(selected.unalias())
            values.append(scalar(resolve(body, scope, {}), "a subquery", aggregates=True))
        rows = within.attached(rows)
        values = closed(values, rows, self.lowering.typer, ordered_input=False)
        return Inner(rows, tuple(values), tuple(scope.correlated))

    def _asked(self, test: exp.In, node: Node | None = None) -> Inner:
        """The rows that IN looks through: an aggregate is one of them only as a whole."""
        inner = self._inner(test.args["query"], node)
        return self._whole(test.args["query"]) if any(aggregate_calls(v) for v in inner.values) else inner

    def _whole(self, tree: exp.Expression) -> Inner:
        """A subquery of any shape that reads nothing of the SELECT around it."""
        node = self.lowering.query(tree, self.ctes)
        names = [self.scope.reserve(name) for name in node.columns]
        renamed = Project(node, tuple((new, column(old)) for new, old in zip(names, node.columns, strict=True)))
        return Inner(renamed, tuple(column(n).tree.copy() for n in names), ())


def _only(value: exp.Expression) -> exp.Expression:
    """The value of the only row. Spark fails where there are several, and so does this."""
    one = exp.Anonymous(this="raise_error", expressions=[exp.Literal.string("a scalar subquery has several rows")])
    several = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(1))
    return exp.Case(ifs=[exp.If(this=several, true=one)], default=exp.Max(this=value.copy()))


def whole_clauses(select: exp.Select, test: exp.Expression | None = None) -> list[str]:
    """The clauses the subquery has that make it more than rows which meet conditions, for what is asked of it."""
    found = [clause for clause in WHOLE if select.args.get(clause)]
    if is_one_row(select) and _keeps_one(select):
        found = [c for c in found if c != "limit"]
    if isinstance(test, exp.Exists | exp.In):
        # Copies make no difference to a test.
        found = [c for c in found if c != "distinct"]
    if isinstance(test, exp.Exists) and _keeps_one(select):
        found = [c for c in found if c != "limit"]
    return found


def _keeps_one(select: exp.Query) -> bool:
    """Whether its LIMIT leaves the first row there is."""
    limit = select.args.get("limit")
    some = limit is not None and isinstance(limit.expression, exp.Literal) and limit.expression.name != "0"
    return some and not select.args.get("offset")


def _any_row(tree: exp.Expression) -> exp.Expression:
    """The expression, changed in place: which rows of a set operation a LIMIT keeps is nothing to EXISTS."""
    for query in [e.this for e in tree.find_all(exp.Exists) if isinstance(e.this, exp.SetOperation)]:
        if _keeps_one(query):
            query.set("limit", None)
            query.set("order", None)
    return tree


def _is_star(selected: exp.Expression) -> bool:
    return isinstance(selected, exp.Star) or (isinstance(selected, exp.Column) and isinstance(selected.this, exp.Star))


def _test(tree: exp.Expression) -> tuple[bool, exp.Expression]:
    """(whether it is negated, what is tested)"""
    negated = False
    while isinstance(tree, exp.Not | exp.Paren):
        negated ^= isinstance(tree, exp.Not)
        tree = tree.this
    return negated, tree


def _outermost(tree: exp.Expression, put: Callable[[exp.Expression], exp.Expression]) -> exp.Expression:
    """The tree with `put` applied from above; what is put in place is not looked into."""
    new = put(tree)
    if new is not tree:
        return new
    for child in list(tree.iter_expressions()):
        replaced = _outermost(child, put)
        if replaced is not child:
            child.replace(replaced)
    return tree


def _tuple(tree: exp.Expression) -> list[exp.Expression]:
    while isinstance(tree, exp.Paren):
        tree = tree.this
    return list(tree.expressions) if isinstance(tree, exp.Tuple) else [tree]


def _pair(condition: Expr, own: set[str]) -> tuple[Expr, Expr, bool] | None:
    """(expression outside, expression over the subquery's own rows, null-safe?) if the condition equates the two."""
    tree = condition.tree
    while isinstance(tree, exp.Paren):
        tree = tree.this
    if not isinstance(tree, exp.EQ | exp.NullSafeEQ):
        return None
    a, b = Expr.of(tree.this), Expr.of(tree.expression)
    safe = isinstance(tree, exp.NullSafeEQ)
    if a.columns and a.columns <= own and not b.columns & own:
        return b, a, safe
    if b.columns and b.columns <= own and not a.columns & own:
        return a, b, safe
    return None


def _or_empty(call: exp.Expression, name: str) -> exp.Expression:
    """The column of an aggregate, as it is over no rows where the join found none."""
    function = call.this if isinstance(call, exp.Filter) else call
    if isinstance(function, ZERO_IF_EMPTY):
        return exp.Coalesce(this=placed(name), expressions=[exp.Literal.number(0)])
    if isinstance(function, LISTED):
        return exp.Coalesce(this=placed(name), expressions=[exp.Array()])
    return placed(name)


def _require(outer: frozenset[str], node: Node, at: exp.Expression) -> None:
    if not outer <= set(node.columns):
        raise refuse("a correlated subquery", "reads columns that are not grouped by", at, "write it as a join")
