"""T(R⁻) = T(R⁺) − T(ΔR): what a plan asks of one table for the same keys at both times is read once, as it is now.

T is linear: a semi-join with keys that are known, and the filters and projections around it. Its rows now are computed
under a name; those of before are they less the change of the table, which the refresh has read anyway. Bags are
subtracted, so that of equal rows as many are left as there were.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

from sqlglot import exp

from ..algebra.clock import reads
from ..algebra.expressions import Expr, cast, column
from ..algebra.nodes import Filter, Generate, Named, Node, Project, Scan, Semi, Time, UnionAll, walk
from ..algebra.transform import rebuild, with_children
from ..names import PREFIX, WEIGHT
from .derivation import ONE, Binding, Derivation, at, is_nothing, net, passed, with_weight
from .differentiate import change
from .simplify import simplify

COPY = f"{PREFIX}copy"


@dataclass(frozen=True)
class Slice:
    """now: the binding of the rows as they are; before: the one of the rows as they were, told from them and the
    change; scanned: the same rows, read from the older version of the table."""

    now: Binding
    before: Binding
    scanned: Node


@dataclass
class Slicing:
    """What is made of the relations of a plan, in their order. asked: the pieces that it reads at both times, without
    their time; large: the tables that are worth it."""

    asked: frozenset[Node]
    large: Collection[str]
    d: Derivation
    slices: list[Slice] = field(default_factory=list)
    bindings: list[Binding] = field(default_factory=list)
    _read: dict[Node, tuple[Named, Named]] = field(default_factory=dict)

    def add(self, binding: Binding) -> None:
        """One more relation of the plan, behind the slices that it is the first to read."""
        node = self.over_slices(binding.node)
        self.bindings.append(replace(binding, node=node))

    def over_slices(self, node: Node) -> Node:
        made: dict[int, Node] = {}

        def of(node: Node) -> Node:
            if id(node) not in made:
                piece = _undated(node) if _is_piece(node, self.large) else None
                if piece in self.asked and piece is not None:
                    now, before = self._read.get(piece) or self._slice(piece)
                    made[id(node)] = now if node.leaves[0][1] is Time.AFTER else before
                else:
                    made[id(node)] = with_children(node, tuple(map(of, node.children)))
            return made[id(node)]

        return of(node)

    def _slice(self, piece: Node) -> tuple[Named, Named]:
        (source, _), *_ = piece.leaves
        table = self.d.feeds[source].name.removesuffix("_change")
        now = self._bound(f"{table}_slice", at(piece, Time.AFTER), f"rows of {table} with those keys, read once")
        rows, changed = Named(now.name, piece.columns), simplify(change(piece, self.d))
        self._read[piece] = (rows, rows)
        if not is_nothing(changed):
            why = f"the same rows of {table} before: those that are there now, less what came since"
            before = self._bound(f"{table}_slice_before", _less(rows, changed), why)
            self.slices.append(Slice(now, before, at(piece, Time.BEFORE)))
            self._read[piece] = (rows, Named(before.name, piece.columns))
        return self._read[piece]

    def _bound(self, name: str, node: Node, why: str) -> Binding:
        binding = Binding(self.d.free_name(name), node, why)
        self.d.bindings.append(binding)
        self.bindings.append(binding)
        return binding


def slicing(relations: list[Node], large: Collection[str], d: Derivation) -> Slicing:
    """relations: of a plan, all of them."""
    at_times: dict[Time, set[Node]] = {Time.AFTER: set(), Time.BEFORE: set()}
    for piece in _pieces(relations, large) if large else ():
        at_times[piece.leaves[0][1]].add(_undated(piece))  # type: ignore[index]
    return Slicing(frozenset(at_times[Time.AFTER] & at_times[Time.BEFORE]), large, d)


def _pieces(relations: list[Node], large: Collection[str]) -> Iterator[Node]:
    seen: set[int] = set()
    for relation in relations:
        for node in walk(relation):
            if id(node) not in seen and _is_piece(node, large):
                yield node
            seen.add(id(node))


def _is_piece(node: Node, large: Collection[str]) -> bool:
    """Whether it is linear in one scan of a large table, and asked for some keys alone."""
    keyed = False
    while isinstance(node, Filter | Project | Semi):
        if isinstance(node, Filter) and (is_nothing(node) or reads(node.predicate)):
            return False
        keyed = keyed or isinstance(node, Semi)
        node = node.child
    return keyed and isinstance(node, Scan) and node.source in large and node.time is not Time.UNDATED


def _undated(node: Node) -> Node:
    return rebuild(node, lambda n: replace(n, time=Time.UNDATED) if isinstance(n, Scan) else n)


def _less(rows: Node, changed: Node) -> Node:
    """The rows without a change that came to them."""
    back = exp.Neg(this=column(WEIGHT).tree.copy())
    taken_back = Project(changed, (*passed(rows.columns), (WEIGHT, Expr.of(back))))
    left = net(UnionAll((with_weight(rows, ONE), taken_back)))
    copies = exp.GenerateSeries(start=exp.Literal.number(1), end=cast(column(WEIGHT), "bigint").tree.copy())
    return Project(Generate(left, Expr.of(exp.Explode(this=copies)), (COPY,)), passed(rows.columns))
