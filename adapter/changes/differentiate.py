"""Δ: the change of a relation, by the laws and nothing else. Simplification is another pass.

change(R) has the columns of R and WEIGHT; summed over equal rows it is after(R) - before(R).
"""

from __future__ import annotations

from functools import singledispatch

from ..algebra.expressions import column, columns
from ..algebra.nodes import Aggregate, Filter, Join, Node, Project, Scan, Semi, Time, UnionAll, Unit, weighted
from ..algebra.transform import with_children
from ..names import WEIGHT
from .affected import affected
from .derivation import MINUS_ONE, ONE, Derivation, at, is_nothing, nothing, passed, with_weight
from .matches import met_by
from .restrict import restrict
from .simplify import simplify


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
    """Linear: Δσ(R) = σ(ΔR)."""
    return with_children(node, (change(node.child, d),))


@change.register
def _(node: Project, d: Derivation) -> Node:
    """Linear: Δπ(R) = π(ΔR)."""
    return Project(change(node.child, d), (*node.outputs, (WEIGHT, column(WEIGHT))))


@change.register
def _(node: UnionAll, d: Derivation) -> Node:
    """Linear: Δ(R ∪ S) = ΔR ∪ ΔS."""
    return UnionAll(tuple(change(c, d) for c in node.inputs))


@change.register
def _(node: Join, d: Derivation) -> Node:
    """Bilinear: Δ(L ⋈ R) = ΔL ⋈ R⁺ + L⁻ ⋈ ΔR. N changed inputs give N terms, never 2^N."""
    left = simplify(change(node.left, d))
    right = simplify(change(node.right, d))
    first = Join(left, met_by(left, node, node.right, Time.AFTER, d), node.equalities, node.residual)
    second = Join(met_by(right, node, node.left, Time.BEFORE, d), right, node.equalities, node.residual)
    return UnionAll(tuple(Project(j, passed(weighted(node.columns))) for j in (first, second)))


@change.register
def _(node: Aggregate, d: Derivation) -> Node:
    """Keyed: with K the groups of the changed rows, Δγ(R) = γ(R⁺ ⋉ K) − γ(R⁻ ⋉ K). Without groups, K is everything."""
    exprs = tuple(e for _, e in node.groups)
    touched = simplify(affected(node.child, exprs, d)) if exprs else simplify(change(node.child, d))
    if is_nothing(touched):
        return nothing(with_weight(at(node, Time.AFTER), ONE))
    if not exprs:
        return UnionAll((with_weight(at(node, Time.AFTER), ONE), with_weight(at(node, Time.BEFORE), MINUS_ONE)))
    keys = d.keys(touched, "groups of the changed rows")
    names = columns(tuple(name for name, _ in node.groups))
    return UnionAll(
        tuple(
            with_weight(restrict(at(node, time), names, keys), weight)
            for time, weight in ((Time.AFTER, ONE), (Time.BEFORE, MINUS_ONE))
        )
    )


@change.register
def _(node: Semi, d: Derivation) -> Node:
    raise NotImplementedError("a semi-join with a key set belongs to change plans; models have none")
