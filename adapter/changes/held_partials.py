"""R[t] = f(γ′(A[t])), where the rows of γ′ (partials.py) are those that the ledger keeps and what changed.

γ′(A⁺) = γ(γ′(A⁻) ⊎ γ′(ΔA)): as in additive.py, with the kept rows in the place of the table's own. Groups that fall are
computed again, of the others nothing is read but the change. Where the ledger does not keep rows yet, γ′ is computed
whole, for the next refresh to add to.

Where f makes one row of each group, the rows of the groups that changed take the place of the table's own. Otherwise
any row may be another one: f is computed of all groups, which are few, and what it has and the table has not, or the
other way round, is the change. Of first rows (top.py) the ledger keeps nothing before some of them had to be found
again: until then, the table's own rows tell as much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from ..algebra.equal_values import ungrouped
from ..algebra.expressions import Expr, cast, column
from ..algebra.nodes import Aggregate, Filter, Join, JoinKind, Named, Node, Project, Time, UnionAll, Unit
from .accumulators import Combine, reference, zero
from .additive import Own, added
from .affected import affected_part
from .change_plan import ChangePlan, Shape
from .derivation import (
    CHANGE,
    MINUS_ONE,
    ONE,
    ROWS,
    Binding,
    Derivation,
    at,
    distinct,
    is_nothing,
    net,
    passed,
    with_weight,
)
from .partials import HELD, PARTIALS, ROWS_HELD, Partials


def maintained_by(
    p: Partials,
    own: Own,
    key: tuple[str, ...] | None,
    d: Derivation,
    whole: Callable[[Node], Node],
    *,
    held: bool,
    few: bool = False,
) -> ChangePlan:
    """held: whether the rows of γ′ before the refresh are known, as HELD; key: the model's own, None where its rows are
    not to be merged by one; whole: as `plan` has it; few: whether it is known that few groups changed."""
    shown = p.key if key is not None else None
    first = _touched(p, d) if not held and not few and p.hides_groups and p.keys else None
    groups = _added_to(p, d) if held else _computed(p, whole(p.aggregate), shown, own, d)
    made = p.made_of(Named(groups.now, p.aggregate.columns))
    if shown is not None:
        result = Binding(ROWS, made, "what those groups have now")
        return ChangePlan(
            (), (), result, Shape.UPSERT, shown, groups.touched, falling=groups.falling,
            falls_easily=groups.falls_easily, partials=p, touched=first,
        )  # fmt: skip
    there = own.read(tuple((name, name) for name in made.columns))
    both = net(UnionAll((with_weight(made, ONE), with_weight(there, MINUS_ONE))), ungrouped(own.types))
    result = Binding(CHANGE, both, "what is made of all groups now, less what the table has")
    return ChangePlan(
        (), (), result, Shape.SIGNED, key, None, falling=groups.falling, falls_easily=groups.falls_easily,
        moved=groups.touched, partials=p, touched=first,
    )  # fmt: skip


def _touched(p: Partials, d: Derivation) -> Named | None:
    """Groups of the changed rows: told before γ′ is computed, which may be of all rows that there are."""
    _, touched = affected_part(p.aggregate.child, tuple(e for _, e in p.aggregate.groups), d)
    return d.keys(touched, "groups of the changed rows", "changed_groups") if not is_nothing(touched) else None


@dataclass(frozen=True)
class _Groups:
    """now: the relation of γ′(A⁺); touched: the groups that may be others than before, None where nobody asks for them;
    falling, falls_easily: as a change plan has them."""

    now: str
    touched: Named | None
    falling: Named | None = None
    falls_easily: bool = True


def _added_to(p: Partials, d: Derivation) -> _Groups:
    """From what the ledger keeps and what changed."""
    found = added(p.aggregate, Own(HELD, p.types, computed=True), d)
    assert found is not None
    parts = [_but(Named(HELD, tuple(p.types)), found.falling), _but(found.additions.rows, found.falling)]
    parts += [found.again] if found.again is not None else []
    now = d.bound(PARTIALS, _combined(p, UnionAll(tuple(parts)), found.additions.combine), "what it adds up to")
    return _Groups(now.name, Named(found.additions.changes, p.keys), found.falling, found.falls_easily)


def _computed(p: Partials, all_groups: Node, shown: tuple[str, ...] | None, own: Own, d: Derivation) -> _Groups:
    """Whole, for the ledger to keep. all_groups: γ′; shown: the columns of the table that are the groups, where they
    are asked for."""
    now = d.bound(PARTIALS, at(all_groups, Time.AFTER), "what the aggregates are made of")
    if shown is None:
        return _Groups(now.name, None)
    groups = _groups(p.keys, shown, Named(now.name, p.aggregate.columns), own)
    return _Groups(now.name, d.keys(groups, "groups now and before"))


def _groups(keys: tuple[str, ...], shown: tuple[str, ...], now: Node, own: Own) -> Node:
    """keys: their columns in γ′; shown: in the table."""
    if not keys:
        return Unit()
    there = own.read(tuple(zip(keys, shown, strict=True)))
    return distinct(UnionAll((Project(now, passed(keys)), there)))


def _but(rows: Node, falling: Named | None) -> Node:
    """Without the groups that are computed again."""
    if falling is None:
        return rows
    keys = [name for name in rows.columns if name in falling.columns]
    renamed = Project(falling, tuple((f"falling_{name}", column(name)) for name in falling.columns))
    return Join(rows, renamed, tuple((column(k), column(f"falling_{k}"), True) for k in keys), None, JoinKind.ANTI)


def _combined(p: Partials, parts: Node, combine: tuple[Combine, ...]) -> Node:
    """γ of rows of γ′: their sums, their least and their greatest. Of a group without rows nothing is kept: should it
    come back, it has no part in what it is then."""
    calls = {Combine.ADD: exp.Sum, Combine.LEAST: exp.Min, Combine.GREATEST: exp.Max}
    operands = tuple(
        (name, Expr.of(calls[how](this=reference(name))))
        for name, how in zip(p.aggregate.columns, combine, strict=True)
        if how is not Combine.GROUP
    )
    together: Node = Aggregate(parts, passed(p.keys), operands)
    if p.keys:
        together = Filter(together, Expr.of(exp.GT(this=reference(ROWS_HELD), expression=zero())))
    return Project(together, (*passed(p.keys), *((name, cast(column(name), p.types[name])) for name, _ in operands)))
