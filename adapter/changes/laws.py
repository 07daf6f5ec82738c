"""The law of change of each node, as data: what `explain` shows beside a node and the operator pages begin with.

The laws themselves are carried out in `differentiate.py`, `affected.py`, `restrict.py`, `additive.py`,
`padded.py`, `held_partials.py` and `top.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch

from sqlglot import exp

from ..algebra.clock import reads
from ..algebra.nodes import Aggregate, Filter, Generate, Join, JoinKind, Node, Project, Scan, UnionAll, Unit, Window


@dataclass(frozen=True)
class Law:
    """kind: its class; formula: with R⁻ and R⁺ the relation before and after, ΔR its signed rows between; reads: what a
    refresh has to read for it, in one clause."""

    kind: str
    formula: str
    reads: str


SOURCE = Law("source", "ΔT = the change feed of T, netted", "the rows that came and left since the last refresh")
CONSTANT = Law("constant", "Δ1 = ∅", "nothing: it never changes")
FILTER = Law("linear", "Δσ(R) = σ(ΔR)", "changed rows alone")
MOVING = Law(
    "linear",
    "Δσ(R) = σ⁺(ΔR) + (σ⁺ − σ⁻)(R⁻), σ⁻ and σ⁺ by the clock before and after",
    "changed rows, and those that the clock has moved past",
)
PROJECT = Law("linear", "Δπ(R) = π(ΔR)", "changed rows alone")
GENERATE = Law("linear", "Δε(R) = ε(ΔR)", "changed rows alone")
UNION = Law("linear", "Δ(R ∪ S) = ΔR ∪ ΔS", "changed rows alone")
INNER = Law(
    "bilinear", "Δ(L ⋈ R) = ΔL ⋈ R⁺ + L⁻ ⋈ ΔR", "of each side, the rows that the other side's changed rows join"
)
ONE_SIDED = Law(
    "one-sided",
    "ΔJ(L, R) = J(ΔL, R⁻) + J(L*, R⁺) − J(L*, R⁻), L* = rows of L⁺ that meet ΔR",
    "what changed on the left, and the rows of the left side that meet changed rows of the right one",
)
PADDED = Law(
    "bilinear",
    "γ(L ⟕ R) = γ((L ⋈ R) ∪ (L ⟕ ∅)), as the aggregates do not see rows without a partner beside those with one",
    "what changed on the left with its partners, and the rows of the left side that changed rows of the right one join",
)
GROUPS = Law(
    "keyed", "Δγ(R) = γ(R⁺ ⋉ K) − γ(R⁻ ⋉ K), K = groups of the changed rows", "the groups that have changed rows"
)
DISTINCT = Law("keyed", "Δδ(R) = δ(R⁺ ⋉ K) − δ(R⁻ ⋉ K), K = the changed rows", "rows equal to a changed row")
WHOLE = Law("keyed", "Δγ(R) = γ(R⁺) − γ(R⁻)", "all rows: without GROUP BY they are one group")
PARTITIONS = Law(
    "keyed",
    "Δω(R) = ω(R⁺ ⋉ K) − ω(R⁻ ⋉ K), K = partitions of the changed rows",
    "the partitions that have changed rows",
)
ONE_PARTITION = Law("keyed", "Δω(R) = ω(R⁺) − ω(R⁻)", "all rows: without PARTITION BY they are one partition")
ADDITIVE = Law(
    "additive", "γ(R⁺) = γ(R⁻) ⊕ γ(ΔR)", "changed rows alone; groups that change and table cannot settle are keyed"
)
PARTIAL = Law(
    "additive",
    "γ = π ∘ γ′, γ′(R⁺) = γ′(R⁻) ⊕ γ′(ΔR), γ′ = what the aggregates are made of",
    "changed rows alone, and γ′(R⁻) in the ledger; groups that change and ledger cannot settle are keyed",
)
OF_GROUPS = Law(
    "additive",
    "Δf(γ) = f(γ⁺) − the table's own rows, γ⁺ = γ(R⁺) as it is made below",
    "no source: the groups, of which there are few, and the table's own rows",
)
TOP = Law(
    "top",
    "τ(R⁺) = τ((τ(R⁻) − Δ⁻) ∪ Δ⁺), Δ⁺ and Δ⁻ = the rows of ΔR that came and that left",
    "changed rows and the table's own; partitions that these cannot settle are keyed",
)
KEPT = Law(
    "kept",
    "Δ(L ⋈ V) = (L⁺ ⋉ K) ⋈ V⁺ − what the table holds for K, K = keys of ΔL",
    "the changed rows of the left side and the versions they meet now: past results are kept",
)

EMITTED = Law(
    "emitted",
    "Δε(R) = ε⁺(R⁺ ⋉ K) − what the table holds for K, K = results that the clock has made due, or late rows correct",
    "rows of the windows that are due, and the table's own rows for them: others stay as they were made",
)


def adding_up(node: Aggregate, law: Law) -> Law:
    """ADDITIVE or PARTIAL as it is for an aggregation: one that has COUNT(DISTINCT e) reads more."""
    if not any(e.tree.find(exp.Distinct) for _, e in node.aggregates):
        return law
    also = "changed rows, and those that are equal to one in group and e"
    return replace(
        law,
        formula=f"{law.formula}; COUNT(DISTINCT e) ⊕ Σ Δδ(R), δ over group and e",
        reads=law.reads.replace("changed rows alone", also),
    )


@singledispatch
def law_of(node: Node) -> Law:
    """The law by which `change` derives a node of a model."""
    raise NotImplementedError(f"no law of change for {type(node).__name__}")


def _always(kind: type[Node], law: Law) -> None:
    law_of.register(kind, lambda _: law)


for _kind, _law in {Scan: SOURCE, Unit: CONSTANT, Project: PROJECT, Generate: GENERATE, UnionAll: UNION}.items():
    _always(_kind, _law)


@law_of.register
def _(node: Filter) -> Law:
    return MOVING if reads(node.predicate) else FILTER


@law_of.register
def _(node: Join) -> Law:
    if node.as_of is not None and node.as_of.kept:
        return KEPT
    return INNER if node.kind is JoinKind.INNER else ONE_SIDED


@law_of.register
def _(node: Aggregate) -> Law:
    if not node.groups:
        return WHOLE
    return GROUPS if node.aggregates else DISTINCT


@law_of.register
def _(node: Window) -> Law:
    return PARTITIONS if node.partition else ONE_PARTITION
