"""Δ: the change of a relation, by the laws and nothing else. Simplification is another pass.

change(R) has the columns of R and WEIGHT; summed over equal rows it is after(R) - before(R).
"""

from __future__ import annotations

from functools import singledispatch

from sqlglot import exp

from ..algebra.clock import CLOCK, at_time, reads
from ..algebra.connect import is_inner
from ..algebra.expressions import Expr, column
from ..algebra.nodes import (
    Aggregate,
    AsOf,
    Filter,
    Generate,
    Join,
    JoinKind,
    Node,
    Project,
    Scan,
    Semi,
    Time,
    UnionAll,
    Unit,
    Window,
    weighted,
)
from ..names import OLDER, WEIGHT
from .affected import affected_part
from .chains import changed_first
from .derivation import MINUS_ONE, ONE, Derivation, at, is_nothing, nothing, passed, with_weight
from .matches import met_by, older_side, rows_met, told_once
from .partners import Partner, changed_groups, groups_met, partners
from .restrict import restrict
from .simplify import simplify

_ROWS_MET = "rows that meet changed rows of the other side"


@singledispatch
def change(node: Node, d: Derivation) -> Node:
    raise NotImplementedError(f"no law of change for {type(node).__name__}")


@change.register
def _(node: Scan, d: Derivation) -> Node:
    return d.feed(node)


@change.register
def _(node: Unit, d: Derivation) -> Node:
    return nothing(with_weight(node, ONE))


@change.register
def _(node: Filter, d: Derivation) -> Node:
    """Linear: Δσ(R) = σ(ΔR). A filter by the clock also wins and loses rows of R⁻ as the clock moves."""
    changed = Filter(change(node.child, d), at_time(node.predicate, Time.AFTER))
    return UnionAll((changed, *moved(node, d))) if moves(node, d) else changed


def moves(node: Filter, d: Derivation) -> bool:
    """Whether the filter keeps other rows than before although none changed."""
    return bool(reads(node.predicate)) and CLOCK in d.changed


def moved(node: Filter, d: Derivation) -> tuple[Node, Node]:
    """What a filter by the clock won and lost of R⁻ as the clock moved."""
    older = at(node.child, Time.BEFORE)
    is_met, was_met = (at_time(node.predicate, time) for time in (Time.AFTER, Time.BEFORE))
    won = with_weight(Filter(older, _and_not(is_met, was_met)), ONE)
    lost = with_weight(Filter(older, _and_not(was_met, is_met)), MINUS_ONE)
    return won, lost


def _and_not(met: Expr, other: Expr) -> Expr:
    """One predicate is true and the other is not: NOT and IS NULL, which readers of files know how to skip by."""
    one, not_met = exp.paren(met.tree.copy()), exp.paren(other.tree.copy())
    unknown = exp.Is(this=not_met.copy(), expression=exp.Null())
    return Expr.of(exp.and_(one, exp.paren(exp.Or(this=exp.Not(this=not_met), expression=unknown))))


@change.register
def _(node: Project, d: Derivation) -> Node:
    """Linear: Δπ(R) = π(ΔR)."""
    return Project(change(node.child, d), (*node.outputs, (WEIGHT, column(WEIGHT))))


@change.register
def _(node: Generate, d: Derivation) -> Node:
    """Linear: Δε(R) = ε(ΔR)."""
    made = Generate(change(node.child, d), node.call, node.made, node.outer)
    return Project(made, passed(weighted(node.columns)))


@change.register
def _(node: UnionAll, d: Derivation) -> Node:
    """Linear: Δ(R ∪ S) = ΔR ∪ ΔS."""
    return UnionAll(tuple(change(c, d) for c in node.inputs))


@change.register
def _(node: Join, d: Derivation) -> Node:
    """Bilinear: Δ(L ⋈ R) = ΔL ⋈ R⁻ + L⁺ ⋈ ΔR = ΔL ⋈ R⁺ + L⁻ ⋈ ΔR. N changed inputs give N terms, never 2^N."""
    if d.few and d.large and is_inner(node) and (ordered := changed_first(node, d.changed)) is not node:
        return change(ordered, d)
    met = partners(node, node.right, d)
    left = told_once(simplify(_change_met(node.left, partners(node, node.left, d), d)), node, node.right, d)
    right = told_once(simplify(_change_met(node.right, met, d)), node, node.left, d)
    if node.kind is not JoinKind.INNER:
        return _one_sided(node, left, right, met, d)
    terms = (_met(left, node, node.right, right, d), _met(right, node, node.left, left, d))
    return UnionAll(tuple(Project(t, passed(weighted(node.columns))) for t in terms))


def _one_sided(node: Join, left: Node, right: Node, met_groups: tuple[Partner, ...], d: Derivation) -> Node:
    """Linear in the left side: ΔJ(L, R) = J(ΔL, R⁻) + J(L*, R⁺) − J(L*, R⁻), with L* the rows of L⁺ that meet ΔR.

    Every other row of L⁺ has the same partners before and after. met_groups: of the right side.
    """
    names = passed(weighted(node.columns))
    if is_nothing(left) and is_nothing(right):
        return nothing(with_weight(at(node, Time.AFTER), ONE))
    terms: list[Node] = []
    rows = d.keys(rows_met(right, node, d), _ROWS_MET, "rows_met") if not is_nothing(right) else None
    for_left, for_rows = left, rows
    groups = groups_met(node, met_groups, d) if rows is not None and is_nothing(left) else None
    if rows is not None and not is_nothing(left) and d.reads_large(node.right):
        # All terms ask the right side for one set of keys, so that one reading may serve them.
        shown = passed(node.left.columns)
        for_left = for_rows = UnionAll((Project(left, shown), Project(rows, shown)))
    if not is_nothing(left):
        met = met_by(for_left, node, node.right, Time.AFTER if rows is None else Time.BEFORE, d)
        terms.append(Project(Join(left, met, node.equalities, node.residual, node.kind, node.as_of), names))
    if rows is not None and for_rows is not None:
        for time, weight in ((Time.AFTER, ONE), (Time.BEFORE, MINUS_ONE)):
            asked = at(node.right, time)
            met = restrict(asked, *groups) if groups is not None else met_by(for_rows, node, node.right, time, d)
            joined = Join(rows, met, node.equalities, node.residual, node.kind, node.as_of)
            terms.append(with_weight(joined, weight))
    return UnionAll(tuple(terms))


def _met(changed: Node, node: Join, side: Node, change_of_side: Node, d: Derivation) -> Node:
    """One term: the change of one side joined to the other side, as it is now or as it was before."""
    if is_nothing(changed) or is_nothing(change_of_side) or side is not older_side(node):
        return _joined(node, side, changed, met_by(changed, node, side, Time.AFTER, d))
    if side.has_groups:
        return _joined(node, side, changed, met_by(changed, node, side, Time.BEFORE, d))
    # R⁻ = R⁺ − ΔR: the state that is read anyway and a few rows, instead of another version of the table.
    now = Project(at(side, Time.AFTER), (*passed(side.columns), (OLDER, ONE)))
    taken_back = Project(change_of_side, (*passed(side.columns), (OLDER, _times(WEIGHT, MINUS_ONE))))
    both = _joined(node, side, changed, UnionAll((now, taken_back)))
    return Project(both, (*passed(node.columns), (WEIGHT, _times(WEIGHT, column(OLDER)))))


def _joined(node: Join, side: Node, changed: Node, met: Node) -> Node:
    if side is node.right:
        # Versions with a change of theirs taken back are signed rows like the change.
        as_of = _among_changed(node) if isinstance(met, UnionAll) else node.as_of
        return Join(changed, met, node.equalities, node.residual, as_of=as_of)
    return Join(met, changed, node.equalities, node.residual, as_of=_among_changed(node))


def _among_changed(node: Join) -> AsOf | None:
    return node.as_of.changed() if node.as_of is not None else None


def _times(name: str, by: Expr) -> Expr:
    factor = by.tree.copy()
    return Expr.of(exp.Mul(this=column(name).tree.copy(), expression=factor if by.column else exp.paren(factor)))


@change.register
def _(node: Aggregate, d: Derivation) -> Node:
    """Keyed: with K the groups of the changed rows, Δγ(R) = γ(R⁺ ⋉ K) − γ(R⁻ ⋉ K). Without groups, K is everything."""
    if node.groups:
        return _of_groups(node, (), d)
    if is_nothing(simplify(change(node.child, d))):
        return nothing(with_weight(at(node, Time.AFTER), ONE))
    return UnionAll((with_weight(at(node, Time.AFTER), ONE), with_weight(at(node, Time.BEFORE), MINUS_ONE)))


def _change_met(node: Node, met: tuple[Partner, ...], d: Derivation) -> Node:
    """The change of a side of a join, as far as the other side can meet it. met: of the relation's groups."""
    if not met:
        return change(node, d)
    match node:
        case Filter():
            return Filter(_change_met(node.child, met, d), node.predicate)
        case Project():
            return Project(_change_met(node.child, met, d), (*node.outputs, (WEIGHT, column(WEIGHT))))
        case Aggregate():
            return _of_groups(node, met, d)
    return change(node, d)


def _of_groups(node: Aggregate, met: tuple[Partner, ...], d: Derivation) -> Node:
    found = changed_groups(node, met, d)
    if found is None:
        return nothing(with_weight(at(node, Time.AFTER), ONE))
    return UnionAll(
        tuple(
            with_weight(restrict(at(node, time), *found), weight)
            for time, weight in ((Time.AFTER, ONE), (Time.BEFORE, MINUS_ONE))
        )
    )


@change.register
def _(node: Window, d: Derivation) -> Node:
    """Keyed: with K the partitions of the changed rows, Δω(R) = ω(R⁺ ⋉ K) − ω(R⁻ ⋉ K)."""
    by = node.partition
    part, touched = affected_part(node.child, by, d) if by else ((), simplify(change(node.child, d)))
    if is_nothing(touched):
        return nothing(with_weight(at(node, Time.AFTER), ONE))
    states: list[tuple[Node, Expr]] = [(at(node, Time.AFTER), ONE), (at(node, Time.BEFORE), MINUS_ONE)]
    if by:
        keys = d.keys(touched, "partitions of the changed rows", "changed_partitions")
        states = [(restrict(n, tuple(by[i] for i in part), keys), weight) for n, weight in states]
    return UnionAll(tuple(with_weight(n, weight) for n, weight in states))


@change.register
def _(node: Semi, d: Derivation) -> Node:
    """Linear: Δ(R ⋉ K) = ΔR ⋉ K. Only change plans have one, and the keys stand still in them."""
    return Semi(change(node.child, d), node.keys, node.pairs)
