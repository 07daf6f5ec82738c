"""Algebra -> one SELECT as a sqlglot tree.

Nodes that SQL can say in one SELECT are put into one: FROM, joins and WHERE gather in an open block until an
aggregate, a union or a second projection closes it. A closed block becomes a CTE that what is above reads by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import singledispatchmethod

from sqlglot import exp

from ..algebra.clock import Reading, told
from ..algebra.expressions import Expr, operand, replace_columns
from ..algebra.nodes import (
    Aggregate,
    AsOf,
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
    scans,
)
from ..algebra.transform import rebuild
from ..names import free_name
from ..reading.functions import IN_FROM, spark_name
from .naming import Title, term, title

TableOf = Callable[[Scan], exp.Expression]
"""The table a scan reads, at the scan's time, without alias."""


@dataclass
class Block:
    """A SELECT under construction. columns: plan name -> expression over the tables in FROM."""

    columns: dict[str, exp.Expression]
    source: exp.Expression | None = None
    joins: list[exp.Join] = field(default_factory=list)
    where: list[exp.Expression] = field(default_factory=list)
    groups: list[exp.Expression] | None = None
    distinct: bool = False
    windowed: bool = False
    laterals: list[exp.Lateral] = field(default_factory=list)

    @property
    def closed(self) -> bool:
        return self.groups is not None or self.distinct or self.windowed

    def expression(self, e: Expr) -> exp.Expression:
        return replace_columns(e.tree, self.columns)

    def select(self) -> exp.Select:
        """The finished SELECT, one column for each name."""
        listed = [output(e, n) for n, e in self.columns.items()]
        tree = exp.Select(expressions=listed or [exp.Literal.number(1)])
        if self.source is not None:
            tree.set("from_", exp.From(this=self.source))
            tree.set("joins", self.joins or None)
            tree.set("laterals", self.laterals or None)
        if self.where:
            tree = tree.where(*self.where, copy=False)
        if self.groups:
            tree.set("group", exp.Group(expressions=self.groups))
        if self.distinct:
            tree.set("distinct", exp.Distinct())
        return tree


class Renderer:
    """Renders the relations of one plan; the aliases it gives are unique in each statement."""

    def __init__(
        self,
        table_of: TableOf,
        named: Callable[[str], exp.Expression] = exp.to_table,
        clock: Mapping[Time, Reading] | None = None,
        temporal: Mapping[AsOf, Callable[[Join], Node]] | None = None,
    ) -> None:
        """named: where a relation that the plan has named is read; clock: its readings; temporal:
        how to make some of the temporal joins, others are left to the engine as the joins that they are."""
        self._table_of = table_of
        self._temporal = temporal or {}
        self._named = named
        self._clock = clock or {}
        self._aliases: set[str] = set()
        self._tables: set[str] = set()
        self._ctes: list[exp.CTE] = []
        self._shared: set[int] = set()
        self._said: dict[int, str] = {}

    def query(self, node: Node) -> exp.Expression:
        """A complete query whose columns are the node's, in order."""
        node = rebuild(node, self._made)
        self._aliases, self._ctes, self._shared, self._said = set(), [], _shared(node), {}
        # A CTE must not stand before a table of its name.
        self._tables = {s.source.split(".")[-1].strip("`").lower() for s in scans(node)}
        tree = self._query(node)
        if self._ctes:
            tree.set("with_", exp.With(expressions=self._ctes))
        return told(tree, self._clock)

    def _made(self, node: Node) -> Node:
        if isinstance(node, Join) and node.as_of in self._temporal:
            return self._temporal[node.as_of](node)
        return node

    def _query(self, node: Node) -> exp.Expression:
        if isinstance(node, UnionAll):
            return self._union(node)
        return self._block(node).select()

    def _alias(self, name: str) -> str:
        alias = free_name(name, self._aliases)
        self._aliases.add(alias.lower())
        return alias

    def _over(self, query: exp.Expression, node: Node) -> Block:
        """A block that reads a finished query of the node as a CTE."""
        name = self._said[id(node)] = self._cte(query, title(node))
        return _reading(name, name, node.columns)

    def _cte(self, query: exp.Expression, of: Title) -> str:
        name = free_name(of.name, self._aliases | self._tables)
        self._aliases.add(name.lower())
        if of.says:
            _first(query).comments = [f" {of.says} "]
        self._ctes.append(exp.CTE(this=query, alias=exp.TableAlias(this=exp.to_identifier(name, quoted=True))))
        return name

    def _open(self, node: Node) -> Block:
        """The node as a block that can still take conditions and joins. What stands in several places is said once."""
        if id(node) in self._said:
            name = self._said[id(node)]
            return _reading(name, self._alias(name), node.columns)
        block = self._block(node)
        return self._over(block.select(), node) if block.closed or id(node) in self._shared else block

    def _joinable(self, node: Node) -> Block:
        """The node as a block that can still take joins: they cannot stand behind a LATERAL VIEW."""
        block = self._open(node)
        return self._over(block.select(), node) if block.laterals else block

    @singledispatchmethod
    def _block(self, node: Node) -> Block:
        raise NotImplementedError(f"no SQL for {type(node).__name__}")

    @_block.register
    def _(self, node: Scan) -> Block:
        alias = self._alias(node.alias)
        source = aliased(self._table_of(node), alias)
        return Block({name: reference(alias, c) for name, c in node.outputs}, source)

    @_block.register
    def _(self, node: Named) -> Block:
        alias = self._alias(node.name)
        source = aliased(self._named(node.name), alias)
        return Block({n: reference(alias, n) for n in node.names}, source)

    @_block.register
    def _(self, node: Unit) -> Block:
        return Block({})

    @_block.register
    def _(self, node: Filter) -> Block:
        block = self._open(node.child)
        block.where.append(block.expression(node.predicate))
        return block

    @_block.register
    def _(self, node: Project) -> Block:
        block = self._open(node.child) if not _only_renames(node) else self._block(node.child)
        block.columns = {name: block.expression(e) for name, e in node.outputs}
        return block

    @_block.register
    def _(self, node: UnionAll) -> Block:
        return self._over(self._union(node), node)

    def _union(self, node: UnionAll) -> exp.Expression:
        first, *others = (self._term(n) for n in node.inputs)
        for other in others:
            first = exp.Union(this=first, expression=other, distinct=False)
        return first

    def _term(self, node: Node) -> exp.Expression:
        tree = self._query(node)
        if not isinstance(node, UnionAll) and (says := term(node)):
            tree.comments = [f" {says} "]
        return tree

    @_block.register
    def _(self, node: Join) -> Block:
        left, right = self._joinable(node.left), self._joinable(node.right)
        if node.kind is not JoinKind.INNER:
            return self._one_sided(node, left, right)
        if right.source is None or left.source is None:
            return self._with_unit(node, left, right)
        left, right = self._apart(left, node.left, node.right), self._apart(right, node.right, node.left)
        if right.joins:
            right = self._over(right.select(), node.right)
        columns, on = {**left.columns, **right.columns}, _on(node, left, right)
        join = (
            exp.Join(this=right.source, on=exp.and_(*on, copy=False))
            if on
            else exp.Join(this=right.source, kind="CROSS")
        )
        return Block(columns, left.source, [*left.joins, join], left.where + right.where)

    def _apart(self, block: Block, node: Node, partner: Node) -> Block:
        """One side of a join. Rows of what is computed are chosen before they meet a table: of none of them, Spark then
        knows before Delta is asked for the files of that table, which is a job of its own."""
        chosen = block.where and not scans(node) and scans(partner)
        return self._over(block.select(), node) if chosen else block

    def _one_sided(self, node: Join, left: Block, right: Block) -> Block:
        """Conditions of the right side stay below the join: above it they would drop rows that have no partner, and
        what is computed there would have a value where there is none."""
        left = self._apart(left, node.left, node.right)
        if left.source is None:
            left = self._over(left.select(), node.left)
        computed = any(not isinstance(e, exp.Column) for e in right.columns.values())
        if right.source is None or right.joins or right.where or right.laterals or computed:
            right = self._over(right.select(), node.right)
        on = _on(node, left, right)
        kind = {JoinKind.SEMI: "SEMI", JoinKind.ANTI: "ANTI"}.get(node.kind)
        condition = exp.and_(*on, copy=False) if on else exp.true()
        join = exp.Join(this=right.source, side="LEFT", kind=kind, on=condition)
        columns = {**left.columns, **right.columns} if node.kind.shows_right else left.columns
        return Block(columns, left.source, [*left.joins, join], left.where)

    def _with_unit(self, node: Join, left: Block, right: Block) -> Block:
        """One side is a single row without a table: its columns are constants of the other."""
        base = right if left.source is None else left
        base.columns = {**left.columns, **right.columns}
        base.where = left.where + right.where
        for l, r, safe in node.equalities:
            equal = exp.NullSafeEQ if safe else exp.EQ
            base.where.append(equal(this=operand(base.expression(l)), expression=operand(base.expression(r))))
        if node.residual is not None:
            base.where.append(base.expression(node.residual))
        return base

    @_block.register
    def _(self, node: Semi) -> Block:
        block = self._joinable(node.child)
        if block.source is None:
            block = self._over(block.select(), node.child)
        keys = self._block(node.keys)
        on = [
            exp.NullSafeEQ(this=operand(block.expression(e)), expression=keys.columns[k].copy()) for e, k in node.pairs
        ]
        block.joins.append(exp.Join(this=keys.source, side="LEFT", kind="SEMI", on=exp.and_(*on, copy=False)))
        return block

    @_block.register
    def _(self, node: Generate) -> Block:
        in_from = spark_name(node.call.tree) in IN_FROM
        block = self._joinable(node.child) if in_from else self._open(node.child)
        if block.source is None:
            block = self._over(block.select(), node.child)
        alias = self._alias("made")
        call = block.expression(node.call)
        names = [exp.to_identifier(n, quoted=True) for n in node.made]
        shown = exp.TableAlias(this=exp.to_identifier(alias, quoted=True), columns=names)
        if in_from:
            block.joins.append(exp.Join(this=exp.Lateral(this=call, alias=shown), kind="CROSS"))
        else:
            block.laterals.append(exp.Lateral(this=call, view=True, outer=node.outer or None, alias=shown))
        block.columns = {**block.columns, **{n: reference(alias, n) for n in node.made}}
        return block

    @_block.register
    def _(self, node: Window) -> Block:
        block = self._block(node.child) if self._is_beside(node) else self._open(node.child)
        block.columns = {**block.columns, **{name: block.expression(e) for name, e in node.calls}}
        block.windowed = True
        return block

    def _is_beside(self, node: Window) -> bool:
        """Whether one SELECT can hold it and the window below, of which it reads nothing and nothing else does."""
        below = node.child
        if not isinstance(below, Window) or {id(below)} & (self._shared | self._said.keys()):
            return False
        read = frozenset().union(*(e.columns for e in node.partition), *(e.columns for _, e in node.calls))
        return not read & {name for name, _ in below.calls}

    @_block.register
    def _(self, node: Aggregate) -> Block:
        block = self._open(node.child)
        groups = {name: block.expression(e) for name, e in node.groups}
        if node.aggregates and any(not e.find(exp.Column) for e in groups.values()):
            # GROUP BY 1 means the first column, not the number, and what an engine folds to a number is one too:
            # group by columns of a subquery instead.
            inner = {name: free_name(name, {c.lower() for c in block.columns}) for name in groups}
            block.columns |= {inner[name]: e for name, e in groups.items()}
            name = self._cte(block.select(), title(node.child))
            block = _reading(name, name, tuple(block.columns))
            groups = {name: block.columns[inner[name]] for name in groups}
        columns = {**groups, **{name: block.expression(e) for name, e in node.aggregates}}
        if not node.aggregates:
            return replace(block, columns=columns, distinct=True)
        return replace(block, columns=columns, groups=[e.copy() for e in groups.values()])


def _shared(node: Node) -> set[int]:
    """The joins, by their identity, that stand in several places of a plan."""
    met, several, waiting = set(), set(), [node]
    while waiting:
        node = waiting.pop()
        if id(node) not in met:
            met.add(id(node))
            waiting.extend(node.children)
        elif len(node.leaves) > 1:
            several.add(id(node))
    return several


def _reading(cte: str, alias: str, names: tuple[str, ...]) -> Block:
    table = exp.Table(this=exp.to_identifier(cte, quoted=True))
    return Block({n: reference(alias, n) for n in names}, table if alias == cte else aliased(table, alias))


def _first(query: exp.Expression) -> exp.Expression:
    """The SELECT that stands first."""
    while isinstance(query, exp.Union):
        query = query.this
    return query


def _only_renames(node: Project) -> bool:
    """A projection that drops or renames columns can be the SELECT list of whatever is below, a DISTINCT excepted."""
    return all(e.column is not None for _, e in node.outputs) and not (
        isinstance(node.child, Aggregate) and not node.child.aggregates
    )


def _on(node: Join, left: Block, right: Block) -> list[exp.Expression]:
    """The conditions of a join, over the tables of both blocks."""
    on: list[exp.Expression] = [
        (exp.NullSafeEQ if safe else exp.EQ)(this=operand(left.expression(l)), expression=operand(right.expression(r)))
        for l, r, safe in node.equalities
    ]
    if node.residual is not None:
        met = {**left.columns, **right.columns}
        on.append(exp.paren(replace_columns(node.residual.tree, met), copy=False))
    return on


def output(e: exp.Expression, name: str) -> exp.Expression:
    """An expression of a SELECT list. A column keeps its name without being told: besides being shorter to read, a
    column named as itself keeps Spark 4.2 from planning some windows over a UNION ALL (PLAN_VALIDATION_FAILED)."""
    if isinstance(e, exp.Column) and e.name == name:
        return e
    return exp.Alias(this=e, alias=exp.to_identifier(name, quoted=True))


def reference(table: str, name: str) -> exp.Column:
    """`table`.`name`"""
    return exp.Column(this=exp.to_identifier(name, quoted=True), table=exp.to_identifier(table, quoted=True))


def aliased(table: exp.Expression, alias: str) -> exp.Expression:
    table.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    return table
