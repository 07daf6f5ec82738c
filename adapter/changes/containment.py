"""Whether every value of a column is one that a column of another relation has, by how the two are made.

T ⋉ K₂ = (T ⋉ K₁) ⋉ K₂ where every key of K₂ is one of K₁: rows that were read for some keys need not be read again for
some of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..algebra.expressions import column
from ..algebra.nodes import Aggregate, Filter, Join, JoinKind, Named, Node, Project, Semi, UnionAll
from .column_types import Types, of_one_type, types_of
from .values import PAIRING, Values, among, below, parts


@dataclass
class _Typed(Mapping[str, Mapping[str, str]]):
    """Types of tables, of change feeds, and of relations as soon as somebody asks for them."""

    known: dict[str, Mapping[str, str]]
    relations: Mapping[str, Node]

    def __getitem__(self, name: str) -> Mapping[str, str]:
        if name not in self.known:
            self.known[name] = types_of(self.relations[name], self)
        return self.known[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self.known, **self.relations})

    def __len__(self) -> int:
        return len({**self.known, **self.relations})


class Containment:
    """types: of the columns of tables and of change feeds."""

    def __init__(self, *types: Types) -> None:
        self._relations: dict[str, Node] = {}
        self._types = _Typed({name: columns for known in types for name, columns in known.items()}, self._relations)

    def add(self, name: str, node: Node) -> None:
        """One more relation that is computed under a name."""
        self._relations[name] = node
        self._types.known.pop(name, None)

    def within(self, values: Values, others: Values) -> bool:
        """Whether that can be told. NULL is a value like any other."""
        return self._within(values, others, {})

    def _within(self, values: Values, others: Values, known: dict[tuple[Values, Values], bool]) -> bool:
        if values[1].column is None or others[1].column is None:
            return False
        asked = (values, others)
        if asked not in known:
            known[asked] = False
            known[asked] = (
                _are_the_same(values, others)
                or any(self._within(more, others, known) for more in self._among(values))
                or self._are_all_within(values, others, known)
                or any(all(self._within(values, part, known) for part in parts) for parts in self._had(values, others))
            )
        return known[asked]

    def _are_all_within(self, values: Values, others: Values, known: dict[tuple[Values, Values], bool]) -> bool:
        node, e = values
        return isinstance(node, UnionAll) and all(self._within(part, others, known) for part in parts(node, e))

    def _among(self, values: Values) -> Iterator[Values]:
        """Values that all of these are among."""
        for more, equal in among(values, self._relations):
            if not equal or of_one_type(values, more, self._types):
                yield more

    def _had(self, values: Values, others: Values) -> Iterator[tuple[Values, ...]]:
        """Values of which the others have those that are among all of them."""
        node, e = others
        assert e.column is not None
        if isinstance(node, Named) and node.name in self._relations:
            yield ((self._relations[node.name], e),)
        elif isinstance(node, Project | Aggregate) and (of := below(node, e)) is not None:
            yield ((node.child, of),)
        elif isinstance(node, UnionAll):
            yield from ((part,) for part in parts(node, e))
        elif isinstance(node, Filter) and isinstance(node.child, Semi):
            kept = Filter(node.child.child, node.predicate)
            yield ((Semi(kept, node.child.keys, node.child.pairs), e),)
        elif isinstance(node, Semi):
            (own, k), *more = node.pairs
            keys = (node.keys, column(k))
            if not more and own == e and of_one_type((node.child, e), keys, self._types):
                yield (node.child, e), keys
        elif isinstance(node, Join) and node.kind is JoinKind.SEMI and node.as_of is None and node.residual is None:
            for l, r, null_safe in node.equalities if len(node.equalities) == 1 else ():
                sides = (node.left, e), (node.right, r)
                if l == e and (null_safe or self._are_known(values)) and of_one_type(*sides, self._types):
                    yield sides

    def _are_known(self, values: Values) -> bool:
        """Whether none is NULL, since each was found equal to something."""
        node, e = values
        if isinstance(node, UnionAll):
            return all(map(self._are_known, parts(node, e)))
        paired = node.equalities if isinstance(node, Join) and node.kind in PAIRING else ()
        if any(e in (l, r) and not null_safe for l, r, null_safe in paired):
            return True
        return e.column is not None and any(map(self._are_known, self._among(values)))


def _are_the_same(values: Values, others: Values) -> bool:
    (node, e), (other, of) = values, others
    if isinstance(node, Named) and isinstance(other, Named):
        return node.name == other.name and e == of
    return e == of and node == other
