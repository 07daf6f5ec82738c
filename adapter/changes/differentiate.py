"""Δ: the change of a relation, by the laws and nothing else. Simplification is another pass.

change(R) has the columns of R and WEIGHT; summed over equal rows it is after(R) - before(R).
"""

from __future__ import annotations

from functools import singledispatch

from sqlglot import exp

from ..algebra.clock import CLOCK, at_time, reads
from ..algebra.expressions import Expr, column, columns
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
    weighted,
)
from ..names import OLDER, WEIGHT
from .affected import affected_part
from .derivation import KEY, MINUS_ONE, ONE, Derivation, at, is_nothing, nothing, passed, with_weight
from .matches import met_by, older_side, rows_met, told_once
from .partners import Partner, group_of, groups_below, partners
from .restrict import push, restrict
from .simplify import simplify

_ROWS_MET = "rows that meet changed rows of the other side"

MET = "met"
"""What a partner shows for the keys of groups."""


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
    left = told_once(simplify(_change_met(node.left, partners(node, node.left, d), d)), node, node.right, d)
    right = told_once(simplify(_change_met(node.right, partners(node, node.right, d), d)), node, node.left, d)
    if node.kind is not JoinKind.INNER:
        return _one_sided(node, left, right, d)
    terms = (_met(left, node, node.right, right, d), _met(right, node, node.left, left, d))
    return UnionAll(tuple(Project(t, passed(weighted(node.columns))) for t in terms))


def _one_sided(node: Join, left: Node, right: Node, d: Derivation) -> Node:
    """Linear in the left side: ΔJ(L, R) = J(ΔL, R⁻) + J(L*, R⁺) − J(L*, R⁻), with L* the rows of L⁺ that meet ΔR.

    Every other row of L⁺ has the same partners before and after.
    """
    names = passed(weighted(node.columns))
    if is_nothing(left) and is_nothing(right):
        return nothing(with_weight(at(node, Time.AFTER), ONE))
    terms: list[Node] = []
    rows = d.keys(rows_met(right, node, d), _ROWS_MET, "rows_met") if not is_nothing(right) else None
    for_left, for_rows = left, rows
    groups = _groups_met(node, d) if rows is not None and is_nothing(left) else None
    if rows is not None and not is_nothing(left) and d.large.intersection(s.source for s in scans(node.right)):
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


def _groups_met(node: Join, d: Derivation) -> tuple[tuple[Expr, ...], Named] | None:
    """Columns of the right side, groups of a large table, and what they have in changed ones: the change of these
    groups has read them already. A row of the left side meets either changed groups alone or none, if these columns are
    all among those that it is met by; else, or where there are no such groups, None."""
    below = groups_below(node.right)
    if below is None or d.large.isdisjoint(source for source, _ in below[0].leaves):
        return None
    found = _changed_groups(below[0], partners(node, node.right, d), d)
    if found is None:
        return None
    names, keys = found
    by = {group_of(r, *below): r for _, r, _ in node.equalities}
    return (tuple(by[e.column] for e in names), keys) if all(e.column in by for e in names) else None


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
    return _of_groups(node, (), d)


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
    found = _changed_groups(node, met, d) if node.groups else None
    if found is None and (node.groups or is_nothing(simplify(change(node.child, d)))):
        return nothing(with_weight(at(node, Time.AFTER), ONE))
    names, keys = found or ((), None)
    return UnionAll(
        tuple(
            with_weight(restrict(at(node, time), names, keys) if keys else at(node, time), weight)
            for time, weight in ((Time.AFTER, ONE), (Time.BEFORE, MINUS_ONE))
        )
    )


def _changed_groups(node: Aggregate, met: tuple[Partner, ...], d: Derivation) -> tuple[tuple[Expr, ...], Named] | None:
    """Columns of the groups, and what they have in changed ones; None if none changes. The same each time."""
    part, touched = affected_part(node.child, tuple(e for _, e in node.groups), d)
    if is_nothing(touched):
        return None
    names = tuple(node.groups[i][0] for i in part)
    for partner in met:
        if partner.group in names:
            key = KEY.format(names.index(partner.group))
            touched = simplify(_met_by_partner(touched, key, partner, d))
    if is_nothing(touched):
        return None
    return columns(names), d.keys(touched, "groups of the changed rows", "changed_groups")


def _met_by_partner(touched: Node, key: str, partner: Partner, d: Derivation) -> Node:
    """Those of the touched groups that the other side of a join can meet."""
    shown = ((KEY.format(0), partner.shown),)
    rows: Node = Project(at(partner.rows, Time.AFTER), shown)
    if not is_nothing(changed := simplify(change(partner.rows, d))):
        rows = UnionAll((rows, Project(changed, shown)))
    if not d.large.isdisjoint(source for source, _ in partner.rows.leaves):
        touched = d.keys(touched, "groups of the changed rows, those among them that nothing meets", "touched_groups")
        rows = push(rows, ((column(KEY.format(0)), key),), touched)
    rows = Project(rows, ((MET, column(KEY.format(0))),))
    return Join(touched, rows, ((column(key), column(MET), partner.null_safe),), None, JoinKind.SEMI)


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
