"""SQL tree -> algebra: one SELECT at a time, or a located refusal.

Every relation a SELECT reads gets names that are unique in that SELECT, so that the algebra never needs a table
prefix. What is not in the lists here is refused by name; nothing is passed over silently.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from ..algebra.expressions import Expr, column, columns
from ..algebra.keys import in_source
from ..algebra.nodes import Aggregate, Join, JoinKind, Node, Project, Scan, UnionAll, Unit
from ..dialect import as_of
from .aggregates import over
from .asked_groups import asked_of_groups
from .expand import View, expand
from .functions import declare
from .generators import generated, is_generator, number_range, width
from .joins import either, full, on, parts, place
from .laterals import equal_outside, lateral, named_apart, one_by_one, unwrapped
from .one_row import holds, is_one_row, where_it_holds
from .pivots import as_select
from .refuse import refuse
from .relations import Catalog, Kind, Relation, Typer
from .renaming import cast_to, fresh, renamed
from .scalars import scalar
from .scope import Item, Scope, resolve
from .select_list import has_limit, lower_select_list, top_of, unordered, written_out
from .set_operations import combined
from .subqueries import Subqueries, whole_clauses
from .temporal import Versions, check_keys, versions
from .types import Types
from .windows import named_windows

ALLOWED_IN_SELECT = {
    "expressions", "from_", "joins", "where", "group", "having", "distinct", "with_", "order", "hint", "kind",
    "limit", "offset", "qualify", "windows", "laterals", "sort", "distribute", "cluster",
}  # fmt: skip
REFUSED_IN_SELECT = {
    "pivots": ("PIVOT of a joined table", "turns rows of the whole FROM into columns; use a subquery"),
    "sample": ("TABLESAMPLE", "keeps rows by chance"),
    "version": ("VERSION or TIMESTAMP AS OF", "reads one state of a table for ever"),
    "match": ("MATCH_RECOGNIZE", "finds patterns in an order of rows"),
}


JOINS = {
    **dict.fromkeys((("", ""), ("", "INNER"), ("", "CROSS")), JoinKind.INNER),
    **dict.fromkeys(((s, k) for s in ("LEFT", "RIGHT", "FULL") for k in ("", "OUTER")), JoinKind.LEFT),
    **dict.fromkeys((("", "SEMI"), ("LEFT", "SEMI")), JoinKind.SEMI),
    **dict.fromkeys((("", "ANTI"), ("LEFT", "ANTI")), JoinKind.ANTI),
}
"""(side, kind) of a JOIN -> what it is made of."""


@dataclass
class Lowering:
    """ask: what types the engine says that a relation has; deterministic: the user's own functions that give equal
    values for equal arguments; sources: every table that is read; expected_keys: columns that the project expects to be
    unique in these, by itself or by a view of it; typer: the types of any relation read so far."""

    catalog: Catalog
    ask: Typer
    deterministic: frozenset[str] = frozenset()
    sources: dict[str, Relation] = field(default_factory=dict)
    expected_keys: dict[str, tuple[str, ...]] = field(default_factory=dict)
    typer: Typer = field(init=False)

    def __post_init__(self) -> None:
        self.typer = Types(self.ask, self.sources)

    def query(self, tree: exp.Expression, ctes: Mapping[str, Node]) -> Node:
        """A SELECT, a set operation or one in parentheses. Its columns have the names the SQL gives them."""
        while isinstance(tree, exp.Subquery) and not tree.alias:
            self._only(tree, {"this", "with_"}, "a query in parentheses")
            ctes = self.with_ctes(tree, ctes)
            tree = tree.this
        ctes = self.with_ctes(tree, ctes)
        if isinstance(tree, exp.SetOperation):
            return self._set_operation(tree, ctes)
        if isinstance(tree, exp.Select):
            return self._select(tree, ctes)
        if isinstance(tree, exp.Values):
            self._only(tree, {"expressions", "alias"}, "VALUES")
            return renamed(self._values(tree), [c.name for c in _listed(tree)])
        raise refuse(f"{tree.key.upper()}", "is not a SELECT that is maintained", tree)

    def with_ctes(self, tree: exp.Expression, ctes: Mapping[str, Node]) -> Mapping[str, Node]:
        clause = tree.args.get("with_")
        if clause is None:
            return ctes
        if clause.args.get("recursive"):
            raise refuse("a recursive CTE", "has no law of change here yet", clause)
        known = dict(ctes)
        for cte in clause.expressions:
            names = [c.name for c in cte.args["alias"].columns]
            known[cte.alias.lower()] = renamed(self.query(cte.this, known), names)
        return known

    def _only(self, tree: exp.Expression, allowed: set[str], what: str) -> None:
        for name, value in tree.args.items():
            if value and name not in allowed:
                construct, why = REFUSED_IN_SELECT.get(name, (f"{name.strip('_')} in {what}", "is not maintained"))
                raise refuse(construct, why, value if isinstance(value, exp.Expression) else tree)

    def _set_operation(self, tree: exp.SetOperation, ctes: Mapping[str, Node]) -> Node:
        if tree.args.get("by_name"):
            raise refuse("UNION BY NAME", "is not maintained", tree, "list the columns in one order")
        allowed = {"this", "expression", "distinct", "with_", "order", "limit", "offset"}
        self._only(tree, allowed, tree.key.upper())
        left, right = self._one_type(tuple(self.query(side, ctes) for side in (tree.this, tree.expression)))
        node = combined(tree, left, right)
        return self._limited(tree, node) if has_limit(tree) else node

    def _limited(self, tree: exp.SetOperation, node: Node) -> Node:
        order = tree.args.get("order")
        if order is None:
            return unordered(tree, node)
        by, written = [], written_out(order, len(node.columns))
        for o in written:
            ordinal = isinstance(o.this, exp.Literal) and not o.this.is_string
            by.append(column(node.columns[int(o.this.name) - 1]).tree if ordinal else _of_result(o.this, node))
        return top_of(node, by, written, tree)

    def _one_type(self, inputs: tuple[Node, ...]) -> tuple[Node, ...]:
        """The inputs, cast to the types of their union: a term of the change with one input must have them too."""
        types = tuple(self.typer(i) for i in inputs)
        wanted = self.typer(UnionAll(inputs))
        return tuple(cast_to(i, have, wanted) for i, have in zip(inputs, types, strict=True))

    def _select(self, tree: exp.Select, ctes: Mapping[str, Node]) -> Node:
        self._only(tree, ALLOWED_IN_SELECT, "a SELECT")
        quantifier = tree.args.get("distinct")
        if quantifier is not None and quantifier.args.get("on"):
            raise refuse("DISTINCT ON", "keeps rows by their place in an order", quantifier)
        tree, scope = asked_of_groups(named_windows(tree)), Scope()
        source = self.rows(tree, scope, ctes)
        return lower_select_list(tree, source, scope, Subqueries(self, scope, ctes), self.typer)

    def rows(self, tree: exp.Select, scope: Scope, ctes: Mapping[str, Node]) -> Node:
        """What FROM and WHERE give. Conditions on columns of a SELECT around this one are left in the scope."""
        source = self.source(tree, scope, ctes)
        where = tree.args.get("where")
        source = Subqueries(self, scope, ctes).where(source, where.this) if where is not None else source
        check_keys(source, scope.versions)
        return source

    def source(self, tree: exp.Select, scope: Scope, ctes: Mapping[str, Node]) -> Node:
        """What FROM gives."""
        clause = tree.args.get("from_")
        return self._joined(clause.this, tree, scope, ctes) if clause is not None else Unit()

    def _joined(self, first: exp.Expression, select: exp.Select | None, scope: Scope, ctes: Mapping[str, Node]) -> Node:
        """A FROM item with what is joined to it. select: whose FROM it is; None in parentheses."""
        node, shown = self._item(first, scope, ctes)
        scope.join(shown)
        holders = [first] if select is None else [first, select]
        for join in (j for holder in holders for j in holder.args.get("joins") or []):
            if not isinstance(join.this, exp.Lateral):
                node = self._join(node, join, scope, ctes)
            elif isinstance(join.this.this, exp.Subquery):
                node = self._per_row(node, join, scope, ctes)
            else:
                node = self._generated(node, join, scope)
        for view in (select.args.get("laterals") or []) if select is not None else []:
            node = self._lateral(node, view, scope)
        return node

    def _generated(self, left: Node, join: exp.Join, scope: Scope) -> Node:
        """A generator that is joined to: JOIN LATERAL explode(…)."""
        side, condition = (join.args.get("side") or "").upper(), join.args.get("on")
        kind = (join.args.get("kind") or "").upper()
        always = condition is None or (isinstance(condition, exp.Boolean) and condition.this)
        if JOINS.get((side, kind)) not in (JoinKind.INNER, JoinKind.LEFT) or side in ("RIGHT", "FULL"):
            raise refuse(f"{side} {kind} JOIN LATERAL".replace("  ", " "), "has no law of change here yet", join)
        if side and condition is None:
            # Rows of which nothing is made are lost in Spark 4.2, without a word.
            raise refuse(
                "a LEFT JOIN LATERAL of a generator", "has no condition, which Spark takes for an inner join", join,
                "add ON TRUE, or write LATERAL VIEW OUTER",
            )  # fmt: skip
        if side and not always:
            raise refuse("a LEFT JOIN LATERAL of a generator", "has a condition", join, "write it as a subquery")
        self._only(join, {"this", "on", "kind", "side", "hint"}, "a JOIN LATERAL")
        node = self._lateral(left, join.this, scope, outer=bool(side))
        return node if always else place(node, Expr.of(scalar(resolve(condition, scope, {}), "ON")))

    def _lateral(self, node: Node, view: exp.Lateral, scope: Scope, *, outer: bool = False) -> Node:
        """What a generator makes of each row, as one more FROM item. outer: every row stays, if only with NULLs."""
        call = resolve(view.this, scope, {})
        alias = view.args.get("alias")
        users = tuple(c.name for c in alias.columns) if alias is not None else ()
        users = users or width(node, call, self.typer)
        made = tuple(scope.reserve(name) for name in users)
        name = alias.name if alias is not None else ""
        scope.add(Item(name, ((name.lower(),),) if name else (), tuple(zip(users, made, strict=True))))
        return generated(node, call, made, outer=outer or bool(view.args.get("outer")))

    def _per_row(self, left: Node, join: exp.Join, scope: Scope, ctes: Mapping[str, Node]) -> Node:
        """A subquery of FROM that reads the rows of the items before it."""
        side, kind = (join.args.get("side") or "").upper(), (join.args.get("kind") or "").upper()
        if JOINS.get((side, kind)) not in (JoinKind.INNER, JoinKind.LEFT) or side in ("RIGHT", "FULL"):
            raise refuse(f"{side} {kind} JOIN LATERAL".replace("  ", " "), "has no law of change here yet", join)
        self._only(join, {"this", "on", "kind", "side", "hint"}, "a JOIN LATERAL")
        alias, subquery = join.this.args.get("alias"), join.this.this
        name, users = (alias.name, [c.name for c in alias.columns]) if alias is not None else ("", [])
        condition, select = join.args.get("on"), unwrapped(subquery)
        always = condition is None or (isinstance(condition, exp.Boolean) and condition.this)
        if (
            always
            and isinstance(select, exp.Select)
            and is_one_row(select)
            and set(whole_clauses(select)) <= {"having"}
        ):
            if JOINS[side, kind] is JoinKind.INNER:
                left = Subqueries(self, scope, ctes).where(left, holds(select))
            return self._values_per_row(left, where_it_holds(select), name, users, scope, ctes)
        found = lateral(subquery, scope, self, ctes)
        if found is not None:
            (result, shown), read = found.over(left, self), found.read
        else:
            result, read = self.query(subquery, ctes), {}
            shown = list(result.columns)
        right, free = named_apart(result, [*shown, *read.values()], scope)
        columns_ = tuple(zip(users or shown, (free[n] for n in shown), strict=True))
        scope.add(Item(name, ((name.lower(),),) if name else (), columns_))
        node = Join(left, right, equal_outside(read, free), kind=JOINS[side, kind])
        return node if always else self._on(node, condition, scope)

    def _on_subqueries(self, join: Join, condition: exp.Expression, scope: Scope, ctes: Mapping[str, Node]) -> Node:
        """The join under its ON, in which there are subqueries: they are asked of the pairs, and where rows without a
        partner stay, of the right side."""
        asked = [p for p in parts(condition) if p.find(exp.Query)]
        plain = [p for p in parts(condition) if not p.find(exp.Query)]
        if join.kind is not JoinKind.INNER:
            if set(join.left.columns) & _named(exp.and_(*asked), scope):
                return self._on_pairs(join, condition, scope, ctes)
            right = Subqueries(self, scope, ctes).where(join.right, exp.and_(*asked))
            same = tuple(zip(join.right.columns, columns(join.right.columns), strict=True))
            join = replace(join, right=Project(right, same))
        if plain:
            join = self._on(join, exp.and_(*plain), scope)
        return join if join.kind is not JoinKind.INNER else Subqueries(self, scope, ctes).where(join, exp.and_(*asked))

    def _on_pairs(self, join: Join, condition: exp.Expression, scope: Scope, ctes: Mapping[str, Node]) -> Join:
        """An outer join under an ON whose subqueries read its left side: what the ON reads of that side, each value
        once, is joined to the right side as an inner join is, and the left side's rows to those pairs."""
        named = _named(condition, scope)
        read = [c for c in join.left.columns if c in named]
        values = Aggregate(join.left, tuple((c, column(c)) for c in read)) if read else Unit()
        pairs = self._on_subqueries(Join(values, join.right), condition, scope, ctes)
        keys = {c: scope.reserve(c) for c in read}
        outputs = [(keys.get(c, c), column(c)) for c in (*read, *join.right.columns)]
        equalities = tuple((column(c), column(key), True) for c, key in keys.items())
        return Join(join.left, Project(pairs, tuple(outputs)), equalities, kind=join.kind)

    def _on(self, join: Join, condition: exp.Expression, scope: Scope, *, keeps_right: bool = False) -> Join:
        """The join under its ON. keeps_right: rows of the right side that fail it are shown too."""
        e = Expr.of(scalar(resolve(condition, scope, {}), "ON"))
        if not e.columns <= set(join.met):
            raise refuse("ON", "reads columns of a SELECT further out", condition, "put the condition into WHERE")
        return on(join, e, keeps_right=keeps_right)

    def _values_per_row(
        self, left: Node, select: exp.Select, name: str, users: list[str], scope: Scope, ctes: Mapping[str, Node]
    ) -> Node:
        """Aggregates without groups: one row for every row, with as many values."""
        subqueries, made, node = Subqueries(self, scope, ctes), [], left
        for shown, subquery in one_by_one(select):
            e = Expr.of(scalar(resolve(subqueries.replaced(subquery), scope, {}), "LATERAL"))
            node = subqueries.attached(node)
            made.append((scope.reserve(shown), shown, e))
        listed = users or [shown for _, shown, _ in made]
        item = tuple(zip(listed, (free for free, _, _ in made), strict=True))
        scope.add(Item(name, ((name.lower(),),) if name else (), item))
        same = tuple(zip(left.columns, columns(left.columns), strict=True))
        return Project(node, (*same, *((free, e) for free, _, e in made)))

    def _join(self, left: Node, join: exp.Join, scope: Scope, ctes: Mapping[str, Node]) -> Node:
        side, kind = (join.args.get("side") or "").upper(), (join.args.get("kind") or "").upper()
        if (side, kind) not in JOINS:
            raise refuse(f"{side} {kind} JOIN".strip(), "has no law of change here yet", join)
        self._only(join, {"this", "on", "using", "kind", "side", "method", "hint"}, "a JOIN")
        met = None
        if as_of(join) is not None:
            met, shown = self._versions(left, join, scope, ctes)
            right = met.node
        else:
            right, shown = self._item(join.this, scope, ctes, joining=True)
        own = replace(scope)
        pairs = scope.join(shown, _using(join, shown, scope))
        # A RIGHT join is a LEFT one the other way round: columns are known by name, not by place.
        sides = (right, left) if side == "RIGHT" else (left, right)
        equalities = tuple((column(l), column(r), False) for l, r in pairs)
        if side == "RIGHT":
            equalities = tuple((r, l, safe) for l, r, safe in equalities)
            scope.show(dict(pairs))
        node = Join(*sides, equalities, kind=JOINS[side, kind])
        node = met.joined(node) if met is not None else node
        condition = join.args.get("on")
        if condition is not None and condition.find(exp.Query) and side == "FULL":
            kept = self._on_subqueries(node, condition, scope, ctes)
            alone = self._on_subqueries(Join(right, left, kind=JoinKind.ANTI), condition, scope, ctes)
            return either(kept, alone, node, self.typer(left))
        if condition is not None and condition.find(exp.Query):
            node = self._on_subqueries(node, condition, scope, ctes)
        elif condition is not None:
            node = self._on(node, condition, scope, keeps_right=side == "FULL")
        if side == "FULL":
            return self._full(node, pairs, scope)
        if not JOINS[side, kind].shows_right:
            first = {name for name, _ in pairs}
            scope.items, scope.hidden = own.items, own.hidden
            scope.visible = [v for v in own.visible if v[1] in first] + [v for v in own.visible if v[1] not in first]
        return node

    def _full(self, join: Join, pairs: list[tuple[str, str]], scope: Scope) -> Node:
        """A column of USING shows whichever side has a value."""
        node = full(join, self.typer(join.left))
        shown = {l: scope.reserve(l) for l, _ in pairs}
        scope.show(shown)
        either = [
            (shown[l], Expr.of(exp.Coalesce(this=column(l).tree.copy(), expressions=[column(r).tree.copy()])))
            for l, r in pairs
        ]
        same = tuple(zip(node.columns, columns(node.columns), strict=True))
        return Project(node, (*same, *either)) if either else node

    def _item(
        self, tree: exp.Expression, scope: Scope, ctes: Mapping[str, Node], *, joining: bool = False
    ) -> tuple[Node, Scope]:
        """One FROM item under names that are free in the scope, and what it shows."""
        if is_group(tree) and not tree.alias and not tree.args.get("pivots"):
            shown = scope.beside()
            return self._joined(tree.this, None, shown, ctes), shown
        # Behind a join, PIVOT is of all that is joined.
        node, alias, users, qualifiers = self._relation(tree, ctes, *([] if joining else ["pivots"]))
        if (pivots := tree.args.get("pivots")) and not joining:
            for pivot in pivots:
                node = self._pivoted(pivot, renamed(node, list(users)))
                alias, users = pivot.alias or alias, tuple(c.name for c in _listed(pivot)) or node.columns
            qualifiers = ((alias.lower(),),)
        node, internal = fresh(node, alias, scope.taken)
        return node, Scope.of(Item(alias, qualifiers, tuple(zip(users, internal, strict=True))))

    def _pivoted(self, pivot: exp.Pivot, node: Node) -> Node:
        name = "pivoted"
        return self.query(as_select(pivot, name, node.columns), {name: node})

    def _versions(self, left: Node, join: exp.Join, scope: Scope, ctes: Mapping[str, Node]) -> tuple[Versions, Scope]:
        """The right side of a temporal join. Its intervals are columns of the plan, but of nothing the user sees."""
        node, alias, users, qualifiers = self._relation(join.this, ctes, "version")
        parts = tuple(p.name for p in join.this.parts)
        of_cte = len(parts) == 1 and parts[0].lower() in ctes
        declared = None if of_cte else self.catalog.relation(parts).versioning
        found = versions(join, node, declared, left, scope)
        node, internal = fresh(found.node, alias, scope.taken)
        scope.reserved.update(internal)
        scope.versions.append(found.under(node, internal))
        item = Item(alias, qualifiers, tuple(zip(users, internal[: found.shown], strict=True)))
        return scope.versions[-1], Scope.of(item)

    def _relation(self, tree: exp.Expression, ctes: Mapping[str, Node], *more: str):
        """(relation, alias, column names as the user writes them, how columns may be qualified)"""
        alias = tree.alias
        listed = [c.name for c in _listed(tree)]
        if isinstance(tree, exp.Subquery):
            self._only(tree, {"this", "alias", "with_", "joins", *more}, "a subquery")
            if is_group(tree):
                node, names = self._group(tree, ctes)
                listed = listed or names
            else:
                node = self.query(tree.this, self.with_ctes(tree, ctes))
            qualifiers = ((alias.lower(),),) if alias else ()
        elif isinstance(tree, exp.Values):
            self._only(tree, {"expressions", "alias"}, "VALUES")
            node, qualifiers = self._values(tree), ((alias.lower(),),) if alias else ()
        elif isinstance(tree, exp.Table):
            self._only(tree, {"this", "db", "catalog", "alias", "joins", *more}, "a table")
            of = self._table if isinstance(tree.this, exp.Identifier) else self._function
            node, qualifiers = of(tree, ctes)
            alias = alias or tree.name
        else:
            raise refuse(f"{tree.key.upper()} in FROM", "has no law of change here yet", tree)
        users = tuple(listed) if listed else node.columns
        return node, alias or "subquery", users, qualifiers

    def _group(self, tree: exp.Expression, ctes: Mapping[str, Node]) -> tuple[Node, list[str]]:
        """Joins in parentheses with a name of their own, as one relation, and what the user calls its columns."""
        scope = Scope()
        node = self._joined(tree.this, None, scope, ctes)
        check_keys(node, scope.versions)
        shown = [internal for _, internal in scope.visible]
        return Project(node, tuple(zip(shown, columns(shown), strict=True))), [user for user, _ in scope.visible]

    def _function(self, tree: exp.Table, _: Mapping[str, Node]) -> tuple[Node, tuple[tuple[str, ...], ...]]:
        """Of the table functions those that read no table: RANGE, and generators over constants."""
        call = tree.this
        node = number_range(call)
        if node is None and is_generator(call):
            node = generated(Unit(), call, width(Unit(), call, self.typer), outer=False)
        if node is None:
            raise refuse("a table function", "is not a table whose changes can be read", tree)
        return node, ((tree.alias.lower(),),) if tree.alias else ()

    def _values(self, tree: exp.Values) -> Node:
        rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in tree.expressions]
        inputs = [
            Project(Unit(), tuple((f"col{i + 1}", Expr.of(scalar(e, "VALUES"))) for i, e in enumerate(row)))
            for row in rows
        ]
        return UnionAll(self._one_type(tuple(inputs))) if len(inputs) > 1 else inputs[0]

    def _table(self, tree: exp.Table, ctes: Mapping[str, Node]) -> tuple[Node, tuple[tuple[str, ...], ...]]:
        parts = tuple(p.name for p in tree.parts)
        lowered = tuple(p.lower() for p in parts)
        qualifiers = ((tree.alias.lower(),),) if tree.alias else tuple(lowered[i:] for i in range(len(lowered)))
        if len(parts) == 1 and lowered[0] in ctes:
            return ctes[lowered[0]], qualifiers
        relation = self.catalog.relation(parts)
        if relation.kind is Kind.VIEW:
            return self._view(relation), qualifiers
        self.sources[relation.name] = relation
        if relation.expected_key:
            self.expected_keys[relation.name] = relation.expected_key
        outputs = tuple((name, name) for name, _ in relation.columns)
        return Scan(relation.name, tree.alias or tree.name, outputs), qualifiers

    def _view(self, relation: Relation) -> Node:
        """A view is its definition, under the view's own column names."""
        expanded: View = expand(relation)
        declare(expanded.tree, self.deterministic)
        node = self.query(expanded.tree, {})
        by_name = {c.lower(): c for c in node.columns}
        outputs = [
            (name, column(by_name[shown.lower()]))
            for (name, _), shown in zip(relation.columns, expanded.outputs or node.columns, strict=True)
        ]
        view = Project(node, tuple(outputs))
        if relation.expected_key and (found := in_source(view, relation.expected_key)) is not None:
            # Of a view that leaves rows out it says less of the table. It is verified anyway, where the rows end up.
            self.expected_keys.setdefault(*found)
        return view


def _of_result(by: exp.Expression, result: Node) -> exp.Expression:
    """What a set operation is ordered by, over its columns."""
    names = {n.lower(): n for n in result.columns}
    unknown = next((c for c in by.find_all(exp.Column) if len(c.parts) > 1 or c.name.lower() not in names), None)
    if unknown is not None:
        raise refuse("ORDER BY of a set operation", "orders by what is not one of its columns", unknown)
    named = {c.copy(): column(names[c.name.lower()]).tree for c in by.find_all(exp.Column)}
    return over(scalar(by.copy(), "ORDER BY"), named)


def is_group(tree: exp.Expression) -> bool:
    """Whether parentheses in FROM are around FROM items, and not around a query."""
    if not isinstance(tree, exp.Subquery):
        return False
    within = tree.this
    if isinstance(within, exp.Subquery):
        return bool(within.alias or within.args.get("joins")) or is_group(within)
    return not isinstance(within, exp.Query)


def _using(join: exp.Join, item: Item, scope: Scope) -> tuple[str, ...]:
    """The columns that the join is by, those of NATURAL among them."""
    if (join.args.get("method") or "").upper() == "NATURAL":
        theirs = {name.lower() for name, _ in item.visible}
        return tuple(user for user, _ in scope.visible if user.lower() in theirs)
    if join.args.get("method"):
        raise refuse(f"{join.args['method']} JOIN", "is not maintained", join)
    return tuple(i.name for i in join.args.get("using") or ())


def _named(tree: exp.Expression, scope: Scope) -> set[str]:
    """The plan's columns that names in an expression, or in its subqueries, may mean."""
    found = (scope.lookup(c) for c in tree.find_all(exp.Column) if not isinstance(c.this, exp.Star))
    return {c.name for f in found if f is not None for c in f.find_all(exp.Column)}


def _listed(tree: exp.Expression) -> list[exp.Expression]:
    """The columns that an alias lists: `AS t (a, b)`."""
    return tree.args["alias"].columns if tree.args.get("alias") else []
