"""q(R) = f(γ(R)): the groups that a model is made of, kept in a table of their own.

A model that compares sums with one another, takes the largest of many, or asks other tables by them shows what it makes
of γ(R), and not γ(R): to make one row again may take all groups, and these all of R. With their rows in a table that is
maintained by its own change (additive.py), the model is f of that table and whatever else it reads, and its change is
f's by the laws for f.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from ..algebra.expressions import Expr, column
from ..algebra.nodes import Aggregate, Join, JoinKind, Node, Project, Scan, Window, walk
from ..algebra.shown import Shown
from ..algebra.transform import rebuild
from ..names import free_name
from .padded import padded_apart

ROWS = Expr.of(exp.Count(this=exp.Star()))

COLUMN = "c{}"
"""The columns of such a table: c0, c1, … in the order of those of γ, whose own names may be none that a table can
have."""


@dataclass(frozen=True)
class Apart:
    """groups: γ, an aggregation in the model."""

    model: Node
    groups: Aggregate

    @cached_property
    def content(self) -> Node:
        """What the table holds: γ, and the number of rows of each group, by which it is seen that a group has gone."""
        counted = any(e == ROWS for _, e in self.groups.aggregates)
        number = () if counted else ((free_name("rows", {c.lower() for c in self.groups.columns}), ROWS),)
        groups = replace(padded_apart(self.groups), aggregates=(*self.groups.aggregates, *number))
        return Project(groups, tuple((COLUMN.format(i), column(c)) for i, c in enumerate(groups.columns)))

    @property
    def counting(self) -> Node | None:
        """One row: how many groups there are, about. None where tables have to be joined to know it."""
        node, exprs = self.groups.child, tuple(e for _, e in self.groups.groups)
        while isinstance(node, Project | Join):
            if isinstance(node, Project):
                below = dict(node.outputs)
                exprs = tuple(e.substitute(below) for e in exprs)
                node = node.child
            elif node.kind is JoinKind.LEFT and all(e.columns <= node.left.column_set for e in exprs):
                node = node.left
            else:
                return None
        if any(isinstance(n, Join) for n in walk(node)):
            return None
        keys = Project(node, tuple((COLUMN.format(i), e) for i, e in enumerate(exprs)))
        hashed = exp.Anonymous(this="XXHASH64", expressions=[column(c).tree.copy() for c in keys.columns])
        return Aggregate(keys, (), (("number", Expr.of(exp.ApproxDistinct(this=hashed))),))

    def over(self, table: str) -> Node:
        """f: the model over the table of that name."""
        there = Scan(table, "groups", tuple(zip(self.groups.columns, self.content.columns, strict=False)))
        return rebuild(self.model, lambda node: there if node == self.groups else node)


def all_apart(model: Node) -> Iterator[Apart]:
    """Of every aggregation that may be kept so: it has groups, also without aggregates, of rows that no group is needed
    for, and is not all that the model is."""
    root = Shown.by(model)
    for node in dict.fromkeys(n for n in walk(model) if isinstance(n, Aggregate) and n.groups):
        below = any(isinstance(n, Aggregate | Window) for n in walk(node.child))
        if not below and (root.asked or root.node != node):
            yield Apart(model, node)
