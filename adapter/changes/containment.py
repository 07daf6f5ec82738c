"""Whether every value of a column is one that a column of another relation has, by how the two are made.

T ⋉ K₂ = (T ⋉ K₁) ⋉ K₂ where every key of K₂ is one of K₁: rows that were read for some keys need not be read again for
some of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..algebra.expressions import Expr, column
from ..algebra.nodes import Aggregate, Filter, Generate, Join, JoinKind, Named, Node, Project, Semi, UnionAll, Window
from .column_types import Types, type_of, types_of

PAIRING = (JoinKind.INNER, JoinKind.SEMI)
"""Of which each row has met one of the other side."""

Values = tuple[Node, Expr]
"""Those that an expression has in the rows of a relation."""


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
        return isinstance(node, UnionAll) and all(self._within(part, others, known) for part in _parts(node, e))

    def _among(self, values: Values) -> Iterator[Values]:
        """Values that all of these are among."""
        node, e = values
        assert e.column is not None
        if isinstance(node, Named) and node.name in self._relations:
            yield self._relations[node.name], e
        elif isinstance(node, Semi):
            yield node.child, e
            met = ((node.keys, column(k)) for own, k in node.pairs if own == e)
            yield from (keys for keys in met if self._are_of_one_type(values, keys))
        elif isinstance(node, Filter | Window | Generate) and e.column in node.child.column_set:
            yield node.child, e
        elif isinstance(node, Project | Aggregate) and (below := _below(node, e)) is not None:
            yield node.child, below
        elif isinstance(node, Join):
            yield from self._among_sides(node, e)

    def _among_sides(self, join: Join, e: Expr) -> Iterator[Values]:
        here = 0 if e.column in join.left.column_set else 1
        if here and join.kind is not JoinKind.INNER:
            # Where there was no partner it is NULL.
            return
        yield join.children[here], e
        if join.kind in PAIRING and join.as_of is None:
            for equal in join.equalities:
                met = (join.children[1 - here], equal[1 - here])
                if equal[here] == e and self._are_of_one_type((join.children[here], e), met):
                    yield met

    def _had(self, values: Values, others: Values) -> Iterator[tuple[Values, ...]]:
        """Values of which the others have those that are among all of them."""
        node, e = others
        assert e.column is not None
        if isinstance(node, Named) and node.name in self._relations:
            yield ((self._relations[node.name], e),)
        elif isinstance(node, Project | Aggregate) and (below := _below(node, e)) is not None:
            yield ((node.child, below),)
        elif isinstance(node, UnionAll):
            yield from ((part,) for part in _parts(node, e))
        elif isinstance(node, Filter) and isinstance(node.child, Semi):
            kept = Filter(node.child.child, node.predicate)
            yield ((Semi(kept, node.child.keys, node.child.pairs), e),)
        elif isinstance(node, Semi):
            (own, k), *more = node.pairs
            keys = (node.keys, column(k))
            if not more and own == e and self._are_of_one_type((node.child, e), keys):
                yield (node.child, e), keys
        elif isinstance(node, Join) and node.kind is JoinKind.SEMI and node.as_of is None and node.residual is None:
            for l, r, null_safe in node.equalities if len(node.equalities) == 1 else ():
                sides = (node.left, e), (node.right, r)
                if l == e and (null_safe or self._are_known(values)) and self._are_of_one_type(*sides):
                    yield sides

    def _are_known(self, values: Values) -> bool:
        """Whether none is NULL, since each was found equal to something."""
        node, e = values
        if isinstance(node, UnionAll):
            return all(map(self._are_known, _parts(node, e)))
        paired = node.equalities if isinstance(node, Join) and node.kind in PAIRING and node.as_of is None else ()
        if any(e in (l, r) and not null_safe for l, r, null_safe in paired):
            return True
        return e.column is not None and any(map(self._are_known, self._among(values)))

    def _are_of_one_type(self, one: Values, other: Values) -> bool:
        """Whether equal values of them are one value: '01' and 1 are equal, and so are 1 and '1'."""
        found = type_of(*one, self._types)
        return found is not None and found == type_of(*other, self._types)


def _are_the_same(values: Values, others: Values) -> bool:
    (node, e), (other, of) = values, others
    if isinstance(node, Named) and isinstance(other, Named):
        return node.name == other.name and e == of
    return e == of and node == other


def _below(node: Project | Aggregate, e: Expr) -> Expr | None:
    """What a column is made of; None of one that an aggregate computes."""
    outputs = node.outputs if isinstance(node, Project) else node.groups
    return next((of for name, of in outputs if name == e.column), None)


def _parts(union: UnionAll, e: Expr) -> list[Values]:
    assert e.column is not None
    place = union.columns.index(e.column)
    return [(child, column(child.columns[place])) for child in union.inputs]
