"""T(R⁻) = T(R⁺) − T(ΔR): what a plan asks of one table for the same keys at both times is read once, as it is now.

T is linear: a semi-join with keys that are known, and the filters and projections around it. Its rows now are computed
under a name; those of before are they less the change of the table, which the refresh has read anyway. Bags are
subtracted, so that of equal rows as many are left as there were.

A table that such rows are joined with is asked for their keys then, of before and now: it is read once, too. And who
asks the table for some of those keys later (containment.py) chooses from the rows that were read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace

from sqlglot import exp

from ..algebra.clock import reads
from ..algebra.expressions import Expr, cast, column
from ..algebra.nodes import Filter, Generate, Join, JoinKind, Named, Node, Project, Scan, Semi, Time, UnionAll, walk
from ..algebra.transform import rebuild, remembered, with_children
from ..names import PREFIX, WEIGHT, free_name
from .column_types import types_of
from .containment import Containment
from .derivation import (
    KEY,
    ONE,
    Binding,
    Derivation,
    at,
    distinct,
    is_nothing,
    net,
    passed,
    types_of_feeds,
    with_weight,
)
from .differentiate import change
from .simplify import simplify

COPY = f"{PREFIX}copy"
"""The number of a row among those that are equal to it."""


@dataclass(frozen=True)
class Slice:
    """now: the binding of the rows as they are; before: the one of the rows as they were, told from them and the
    change; None where the table did not change. scanned: the rows, now and before, read from the table without being
    asked for keys of a partner. partner, keys: the slice whose keys the table is asked for, and their binding."""

    now: Binding
    before: Binding | None
    scanned: tuple[Node, Node]
    partner: str | None = None
    keys: str | None = None


@dataclass
class Slicing:
    """What is made of the relations of a plan, in their order. asked: the pieces that it reads at both times for some
    keys, without their time; whole: those that it reads at both times whole."""

    asked: frozenset[Node]
    whole: frozenset[Node]
    d: Derivation
    slices: list[Slice] = field(default_factory=list)
    bindings: list[Binding] = field(default_factory=list)
    _read: dict[Node, tuple[Named, Named]] = field(default_factory=dict)
    _rows_of: dict[str, tuple[Named, Node]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._keys = Containment(self.d.types, types_of_feeds(self.d.feeds.values(), self.d.types))

    def add(self, binding: Binding) -> None:
        """One more relation of the plan, behind the slices that it is the first to read."""
        self._append(replace(binding, node=self._over_slices(binding.node)))

    def last(self, nodes: Iterable[Node]) -> list[Node]:
        """Those behind all others. From then on, whoever reads a slice reads it with all columns that any needs."""
        nodes = list(map(self._over_slices, nodes))
        wide = {s.now.name: Named(s.now.name, s.now.node.columns) for s in self.slices}

        def over(n: Node) -> Node:
            found = wide.get(n.name, n) if isinstance(n, Named) else n
            return n if found.columns == n.columns else Project(found, passed(n.columns))

        made = {b.name: replace(b, node=rebuild(b.node, over)) for b in self.bindings}
        self.bindings[:] = made.values()
        self.slices[:] = (
            replace(s, now=made[s.now.name], before=made[s.before.name] if s.before is not None else None)
            for s in self.slices
        )
        return [rebuild(node, over) for node in nodes]

    def _append(self, binding: Binding) -> None:
        self.bindings.append(binding)
        self._keys.add(binding.name, binding.node)

    def _over_slices(self, node: Node) -> Node:
        if not self.asked:
            return node
        made: dict[int, Node] = {}

        def of(node: Node) -> Node:
            if id(node) not in made:
                found = self._read_once(node, self.asked)
                if found is None:
                    found = with_children(node, tuple(map(of, node.children)))
                if isinstance(found, Join) and found.as_of is None:
                    found = self._asked_by_partners(found)
                made[id(node)] = found
            return made[id(node)]

        return self._among_slices(of(node))

    def _read_once(self, node: Node, asked: Collection[Node]) -> Named | None:
        if not _is_piece(node, self.d, keyed=True) or (piece := _undated(node)) not in asked:
            return None
        now, before = self._read.get(piece) or self._slice(piece, piece)
        return now if node.leaves[0][1] is Time.AFTER else before

    def _asked_by_partners(self, join: Join) -> Join:
        """With a side that is read whole asked for the keys of the slices on the other side."""
        sides = list(join.children)
        for here, there in ((1, 0), (0, 1)) if join.kind is JoinKind.INNER else ((1, 0),):
            side = sides[here]
            if not _is_piece(side, self.d, keyed=False) or (whole := _undated(side)) not in self.whole:
                continue
            partners = (
                (e[here], slice_, e[there]) for e in join.equalities if (slice_ := self._shown(sides[there], e[there]))
            )
            for e, slice_, shown in partners:
                now, before = self._of_partner(whole, e, slice_, shown)
                sides[here] = now if side.leaves[0][1] is Time.AFTER else before
                break
        return with_children(join, tuple(sides))  # type: ignore[return-value]

    def _of_partner(self, whole: Node, e: Expr, partner: Named, shown: Expr) -> tuple[Named, Named]:
        rows, changed = self._rows_of[partner.name]
        values = tuple(Project(part, ((KEY.format(0), shown),)) for part in (rows, changed))
        node = simplify(distinct(UnionAll(values)))
        known = next((b for b in self.bindings if b.node == node), None)
        keys = known or self._bound("partner_keys", node, f"keys of the rows of {rows.name}, before and now")
        piece = Semi(whole, Named(keys.name, node.columns), ((e, KEY.format(0)),))
        return self._read.get(piece) or self._slice(piece, whole, partner=rows.name, keys=keys.name)

    def _shown(self, side: Node, e: Expr) -> Named | None:
        """The slice whose column this is."""
        if e.column is None or e.column not in side.columns:
            return None
        if isinstance(side, Named):
            return side if side.name in self._rows_of else None
        if isinstance(side, Filter) or (isinstance(side, Join) and side.kind is JoinKind.INNER):
            return next((n for child in side.children if (n := self._shown(child, e))), None)
        return self._shown(side.left, e) if isinstance(side, Join) else None

    def _slice(
        self, piece: Node, scanned: Node, partner: str | None = None, keys: str | None = None
    ) -> tuple[Named, Named]:
        (source, _), *_ = piece.leaves
        table = self.d.feeds[source].name.removesuffix("_change")
        rows_now = self._among_slices(at(piece, Time.AFTER))
        now = self._bound(f"{table}_slice", rows_now, f"rows of {table} with those keys, read once")
        rows, changed = Named(now.name, piece.columns), simplify(change(piece, self.d))
        older, before = rows, None
        if not is_nothing(changed):
            why = f"the same rows of {table} before: those that are there now, less what came since"
            before = self._bound(f"{table}_slice_before", _less(rows, changed, types_of(piece, self.d.types)), why)
            older = Named(before.name, piece.columns)
        states = (at(scanned, Time.AFTER), at(scanned, Time.BEFORE))
        self.slices.append(Slice(now, before, states, partner, keys))
        for name in (rows.name, older.name):
            self._rows_of[name] = (rows, changed)
        self._read[piece] = (rows, older)
        return rows, older

    def _bound(self, name: str, node: Node, why: str) -> Binding:
        self._append(self.d.bound(name, node, why))
        return self.bindings[-1]

    def _among_slices(self, node: Node) -> Node:
        """With rows chosen from those of a slice that a table was asked for by more keys."""

        def chosen(n: Node) -> Node:
            if not isinstance(n, Semi) or not isinstance(n.child, Scan) or n.child.time is not Time.AFTER:
                return n
            found = (self._from_wider(n.child, e, (n.keys, column(k))) for e, k in n.pairs)
            return with_children(n, (next(filter(None, found), n.child), n.keys))

        return rebuild(node, chosen) if self.slices else node

    def _from_wider(self, scan: Scan, e: Expr, keys: tuple[Node, Expr]) -> Node | None:
        """All rows of the scan whose e is one of the keys, and more, as they were read for a slice."""
        for number, slice_ in enumerate(self.slices):
            read = slice_.now.node
            # What is asked for keys of a partner may not be computed at all.
            if slice_.partner is not None or not isinstance(read, Semi) or not isinstance(read.child, Scan):
                continue
            (own, k), *more = read.pairs
            if more or read.child.source != scan.source or _column_of(read.child, own) != _column_of(scan, e):
                continue
            if own.column is not None and self._keys.within(keys, (read.keys, column(k))):
                names = self._widened(number, {c for _, c in scan.outputs})
                rows = Named(slice_.now.name, tuple(dict.fromkeys(names[c] for _, c in scan.outputs)))
                return Project(rows, tuple((name, column(names[c])) for name, c in scan.outputs))
        return None

    def _widened(self, number: int, needed: Set[str]) -> dict[str, str]:
        """Column of the table -> its name in the slice, which has them all from now on."""
        slice_ = self.slices[number]
        read = slice_.now.node
        assert isinstance(read, Semi) and isinstance(read.child, Scan)
        names = {c: name for name, c in read.child.outputs}
        if missing := sorted(needed - names.keys()):
            for c in missing:
                names[c] = free_name(c, {name.lower() for name in names.values()})
            wider = replace(read.child, outputs=(*read.child.outputs, *((names[c], c) for c in missing)))
            node = replace(read, child=wider)
            older = slice_.scanned[1] if slice_.before is not None else at(_undated(node), Time.BEFORE)
            self.slices[number] = replace(slice_, now=replace(slice_.now, node=node), scanned=(node, older))
            self.bindings[self.bindings.index(slice_.now)] = self.slices[number].now
            self._keys.add(slice_.now.name, node)
        return names


def slicing(relations: list[Node], d: Derivation) -> Slicing:
    """relations: of a plan, all of them."""
    if not d.large:
        return Slicing(frozenset(), frozenset(), d)
    nodes = {id(node): node for relation in relations for node in walk(relation)}.values()

    def at_both(*, keyed: bool) -> frozenset[Node]:
        pieces = [node for node in nodes if _is_piece(node, d, keyed=keyed)]
        times = ({_undated(p) for p in pieces if p.leaves[0][1] is time} for time in (Time.AFTER, Time.BEFORE))
        return frozenset.intersection(*map(frozenset, times))

    return Slicing(at_both(keyed=True), at_both(keyed=False), d)


def _is_piece(node: Node, d: Derivation, *, keyed: bool) -> bool:
    """Whether it is linear in one scan of a large table. keyed: asked for some keys, or read whole."""
    scan, asked = _read_by(node)
    return scan is not None and asked is keyed and scan.source in d.large and scan.time is not Time.UNDATED


@remembered
def _read_by(node: Node) -> tuple[Scan | None, bool]:
    """The scan that a relation is linear in, if it is, and whether it is asked for some keys."""
    if isinstance(node, Scan):
        return node, False
    if isinstance(node, Filter) and (is_nothing(node) or reads(node.predicate)):
        return None, False
    if not isinstance(node, Filter | Project | Semi):
        return None, False
    scan, asked = _read_by(node.child)
    return scan, asked or isinstance(node, Semi)


def _column_of(scan: Scan, e: Expr) -> str | None:
    """The table's column that an expression over a scan is."""
    return next((c for name, c in scan.outputs if name == e.column), None)


@remembered
def _undated(node: Node) -> Node:
    if isinstance(node, Scan):
        return replace(node, time=Time.UNDATED)
    return with_children(node, tuple(map(_undated, node.children)))


def _less(rows: Node, changed: Node, types: Mapping[str, str]) -> Node:
    """The rows without a change that came to them. types: of their columns."""
    back = exp.Neg(this=column(WEIGHT).tree.copy())
    taken_back = Project(changed, (*passed(rows.columns), (WEIGHT, Expr.of(back))))
    left = net(UnionAll((with_weight(rows, ONE), taken_back)), types)
    copies = exp.GenerateSeries(start=exp.Literal.number(1), end=cast(column(WEIGHT), "bigint").tree.copy())
    return Project(Generate(left, Expr.of(exp.Explode(this=copies)), (COPY,)), passed(rows.columns))
