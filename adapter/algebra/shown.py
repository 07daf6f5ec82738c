"""What a relation shows of what stands below its projections and conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from .expressions import Expr, column
from .nodes import Filter, Node, Project


@dataclass(frozen=True)
class Shown:
    """node: the first below that is neither; of: column of the relation -> what it shows of the node's; asked: the
    conditions on the way, over the node's columns."""

    node: Node
    of: Mapping[str, Expr]
    asked: tuple[Expr, ...] = ()

    @classmethod
    def by(cls, relation: Node) -> Shown:
        return cls(relation, {name: column(name) for name in relation.columns}).below()

    def below(self) -> Shown:
        """The same, from the first node on that is neither."""
        shown = self
        while isinstance(shown.node, Filter | Project):
            if isinstance(shown.node, Filter):
                shown = replace(shown, node=shown.node.child, asked=(*shown.asked, shown.node.predicate))
            else:
                shown = shown.over(shown.node.child, dict(shown.node.outputs))
        return shown

    def over(self, node: Node, by: Mapping[str, Expr]) -> Shown:
        """The same over a node whose columns these expressions read, each in the place of a column."""
        of = {name: e.substitute(by) for name, e in self.of.items()}
        return Shown(node, of, tuple(e.substitute(by) for e in self.asked))
