"""The change plan of a model: which law is used at its root, and all that is computed for it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from ..algebra.emission import Emission
from ..algebra.equal_values import ungrouped
from ..algebra.expressions import columns
from ..algebra.kept import is_kept, joined_once, key_of_joined
from ..algebra.keys import SourceKeys, unique_key
from ..algebra.nodes import Aggregate, Join, JoinKind, Named, Node, Semi, Time, Unit, Window, walk
from ..errors import Bug
from .additive import Added, Own, added
from .affected import affected
from .chains import Chaining
from .change_plan import ChangePlan, Shape
from .check import check
from .column_types import Types
from .derivation import CHANGE, ROWS, Binding, Derivation, at, net, nothing
from .differentiate import change
from .emitted import emitted_plan
from .held_partials import maintained_by
from .partials import Partials
from .restrict import restrict
from .simplify import simplify
from .slices import slicing
from .top import moves_up, top


def _untouched(node: Node) -> Node:
    return node


def plan(
    model: Node,
    changed: frozenset[str],
    keys: SourceKeys,
    own: Own | None = None,
    *,
    by_key: bool = True,
    declared: tuple[str, ...] | None = None,
    emission: Emission | None = None,
    large: Collection[str] = (),
    types: Types | None = None,
    shown: Mapping[str, str] | None = None,
    partials: Partials | None = None,
    held: bool = False,
    grown: frozenset[str] = frozenset(),
    few: bool = True,
    whole: Callable[[Node], Node] = _untouched,
    simplified: bool = True,
) -> ChangePlan:
    """The change plan of a model for the sources that changed.

    model: a plan with undated scans; own: the table that holds its result, None if it must not be read;
    by_key=False: as signed rows even where a key is known; declared: the key that rows are merged by, needed where the
    model keeps the results of joins. simplified=False keeps what the laws give, for the tests that compare the two.
    emission: when the results of its windows are made, for which its own table is read. large: sources of which what is
    asked for at both times is read once; types: as in `Derivation`; shown: of the model's own columns. partials: what
    the model is made of, where the ledger is to keep that; held: whether it does already. grown: of the sources that
    changed, those that no row left; few: whether so few rows changed that chains of joins begin at them. whole: the
    same rows of a relation, made in a way that takes less where all of them are made.
    """
    d = Derivation(model, changed, frozenset(large), types or {}, grown, few)
    key = unique_key(model, keys)
    merged_by = key if by_key else None
    tidy = simplify if simplified else _untouched
    if emission is not None:
        assert own is not None
        plan_ = emitted_plan(model, emission, own, merged_by, d, tidy)
    elif is_kept(model):
        plan_ = _joined_once(model, declared or key, d, tidy)
    elif by_key and changed and own is not None and (found := added(model, own, d)) is not None:
        plan_ = _additive(model, found, tidy)
    elif changed and own is not None and partials is not None:
        # First rows are not made of all groups before it was seen how many of these changed.
        kept = maintained_by(partials, own, merged_by, d, whole, held=held, few=moves_up(model, merged_by))
        plan_ = replace(kept, result=replace(kept.result, node=tidy(kept.result.node)))
    elif changed and own is not None and (first := top(model, own, merged_by, d)) is not None:
        came = first.newcomers
        tidied = replace(came, rows=tidy(came.rows)) if came is not None else None
        plan_ = replace(first, result=replace(first.result, node=tidy(first.result.node)), newcomers=tidied)
    elif by_key and changed and key == ():
        everything = d.keys(Unit(), "the one row")
        rows = Binding(ROWS, tidy(at(whole(model), Time.AFTER)), "what it is now")
        plan_ = ChangePlan((), (), rows, Shape.UPSERT, key, everything)
    elif by_key and key and _keyed(model, key):
        plan_ = _upsert(model, key, d, tidy)
    else:
        signed = net(tidy(change(model, d)), ungrouped(shown or {}))
        result = Binding(CHANGE, signed, "net change of the result")
        plan_ = ChangePlan((), (), result, Shape.SIGNED, key, None)
    return check(_gathered(plan_, d, tidy))


def _upsert(model: Node, key: tuple[str, ...], d: Derivation, tidy) -> ChangePlan:
    """R⁺ ⋉ K replaces the table's own rows for K: what they were need not be computed."""
    exprs = columns(key)
    touched = d.keys(tidy(affected(model, exprs, d)), "keys of the result that may have changed")
    rows = tidy(restrict(at(model, Time.AFTER), exprs, touched))
    result = Binding(ROWS, rows, "what those keys have now")
    return ChangePlan((), (), result, Shape.UPSERT, key, touched)


def _joined_once(model: Node, key: tuple[str, ...] | None, d: Derivation, tidy) -> ChangePlan:
    """Joins that keep their results: rows that came or changed meet the versions there are now. No other row is
    touched, so that it keeps what it met; a row that left takes with it whatever the table holds for its key."""
    rows = joined_once(model)
    exprs = key_of_joined(model, key) if key is not None else None
    if rows is None or exprs is None or key is None:
        raise Bug("a join that keeps its results without a key of the rows that are joined.")
    touched = d.keys(tidy(affected(rows, exprs, d)), "keys of the rows to join")
    result = Binding(ROWS, tidy(restrict(at(model, Time.AFTER), columns(key), touched)), "what they meet now")
    return ChangePlan((), (), result, Shape.UPSERT, key, touched)


def _additive(model: Node, found: Added, tidy) -> ChangePlan:
    again = Binding(
        ROWS, tidy(found.again or nothing(at(model, Time.AFTER))), "what the groups computed again have now"
    )
    additions = replace(found.additions, rows=tidy(found.additions.rows))
    return ChangePlan(
        (), (), again, Shape.ADDITIVE, additions.key, found.falling, additions,
        falls_easily=found.falls_easily,
    )  # fmt: skip


def _gathered(plan_: ChangePlan, d: Derivation, tidy) -> ChangePlan:
    """The plan with the bindings and feeds that its result really reads."""
    bindings = tuple(Binding(b.name, tidy(b.node), b.why) for b in d.bindings)
    read = _names_read(plan_.result.node) | ({plan_.affected.name} if plan_.affected else set())
    read |= _names_read(plan_.additions.rows) if plan_.additions else set()
    read |= _names_read(plan_.newcomers.rows) if plan_.newcomers else set()
    read |= {n.name for n in (plan_.falling, plan_.too_late, plan_.touched) if n is not None}
    kept: list[Binding] = []
    for b in reversed(bindings):
        if b.name in read:
            kept.insert(0, b)
            read |= _names_read(b.node)
    if d.few:
        chained = Chaining(d)
        for b in kept:
            chained.add(b)
        plan_ = replace(plan_, result=replace(plan_.result, node=chained.begun(plan_.result.node)))
        kept = chained.bindings
    last = [plan_.result.node, *([plan_.additions.rows] if plan_.additions else [])]
    once = slicing([*(b.node for b in kept), *last], d)
    for b in kept:
        once.add(b)
    node, *added = once.last(last)
    result = replace(plan_.result, node=node)
    if plan_.additions:
        plan_ = replace(plan_, additions=replace(plan_.additions, rows=added[0]))
    read |= {name for b in once.bindings for name in _names_read(b.node)}
    feeds = tuple(f for f in d.feeds.values() if f.name in read)
    return replace(plan_, feeds=feeds, bindings=tuple(once.bindings), result=result, slices=tuple(once.slices))


def _names_read(node: Node) -> set[str]:
    return {n.name for n in walk(node) if isinstance(n, Named)}


def _keyed(model: Node, key: tuple[str, ...]) -> bool:
    """Whether asking for some keys of the result reads less than the whole: there are groups, and the key is theirs."""
    if not model.has_groups:
        return False
    probe = Named("probe", tuple(f"p{i}" for i in range(len(key))))
    return not _left_above_groups(restrict(model, columns(key), probe))


def _left_above_groups(node: Node) -> bool:
    """True if a semi-join could not be pushed below some aggregate."""
    if isinstance(node, Semi):
        return node.child.has_groups
    if isinstance(node, Aggregate | Window):
        return not any(isinstance(n, Semi) for n in walk(node))
    if isinstance(node, Join) and node.kind is not JoinKind.INNER:
        # Its rows are told one by one from what changed: asking for keys would compute more.
        return _left_above_groups(node.left)
    if isinstance(node, Join):
        return all(_left_above_groups(c) for c in node.children if c.has_groups)
    return any(_left_above_groups(c) for c in node.children)
