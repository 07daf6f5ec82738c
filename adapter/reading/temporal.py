"""Temporal joins (SQL:2011, FLIP-132): `JOIN t FOR SYSTEM_TIME AS OF time` as an ordinary join in the algebra.

At an event time a row meets the version of its key with valid_from <= time < valid_to, so that the laws of joins keep
the result right as either side changes: R[t] = q(A[t]). At processing time it meets the latest rows there are when it
is processed, and keeps what it met.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from ..algebra.expressions import Expr, column
from ..algebra.nodes import AsOf, Join, Node, walk
from ..dialect import as_of, is_processing_time
from ..errors import Impossible, Refusal
from .joins import on
from .refuse import line_of, printed
from .scalars import scalar
from .scope import Scope, resolve
from .versions import intervals, latest

if TYPE_CHECKING:
    from .relations import Versioning


@dataclass(frozen=True)
class Versions:
    """The right side of a temporal join. node: its versions; shown: how many of its columns are the user's; key: (the
    user's name, column of node), () if it is not known; tree: the join, for messages."""

    node: Node
    shown: int
    as_of: AsOf
    key: tuple[tuple[str, str], ...]
    tree: exp.Join

    def under(self, node: Node, names: tuple[str, ...]) -> Versions:
        """The same under other column names."""
        to = dict(zip(self.node.columns, names, strict=True))
        at = self.as_of
        named = replace(at, valid_from=to.get(at.valid_from, ""), valid_to=to.get(at.valid_to, ""))
        return replace(self, node=node, as_of=named, key=tuple((user, to[k]) for user, k in self.key))

    def joined(self, join: Join) -> Join:
        """The join of these versions, with the condition that they are valid at the time of the row they meet."""
        if (time := self.as_of.time) is None:
            return replace(join, as_of=self.as_of)
        starts, ends = column(self.as_of.valid_from).tree, column(self.as_of.valid_to).tree
        at = exp.paren(time.tree.copy()) if time.column is None else time.tree
        begun = exp.LTE(this=starts.copy(), expression=at.copy())
        is_open = exp.Is(this=ends.copy(), expression=exp.Null())
        lasting = exp.paren(exp.or_(is_open, exp.LT(this=at.copy(), expression=ends.copy())))
        return replace(on(join, Expr.of(exp.and_(begun, lasting))), as_of=self.as_of)


def is_temporal(tree: exp.Expression) -> bool:
    """Whether a query has a temporal join anywhere."""
    return any(as_of(join) is not None for join in tree.find_all(exp.Join))


def only_maintained(refusal: Refusal) -> Impossible:
    """What else is refused in a SELECT with a temporal join: there is no recomputing it as it is written."""
    if isinstance(refusal, Impossible):
        return refusal
    why = f"{refusal.why}, and Spark cannot run a SELECT with FOR SYSTEM_TIME AS OF as it is written"
    remedy = "leave the temporal join in a model of its own, and do this in another that selects from it"
    return Impossible(refusal.construct, why, refusal.remedy or remedy, refusal.fragment, refusal.line)


def versions(join: exp.Join, node: Node, declared: Versioning | None, left: Node, scope: Scope) -> Versions:
    """What a temporal join meets. node: its right side as a relation; scope: what is to the left of it.

    Raises Impossible where there is no version to be found.
    """
    side = (join.args.get("side") or "").upper()
    if side in ("RIGHT", "FULL"):
        raise impossible(
            f"a {side} temporal join", "would show versions that no row asked for at any time", join,
            "make it a LEFT JOIN from the rows to the versions",
        )  # fmt: skip
    time = _time(join, left, scope)
    name = join.this.alias_or_name
    if time is None:
        rows, key = latest(node, declared)
        return Versions(rows, len(node.columns), AsOf(None, single=bool(key), kept=True), _users(key), join)
    found = intervals(node, declared)
    if found is None:
        why = "has neither intervals of validity nor a declared key and event time, so it is known only as it is now"
        if declared is not None and declared.latest_only:
            why = "keeps only the latest row of each key, so its older versions are gone"
        raise impossible(
            f"the temporal join of {name} at an event time", f"needs its versions, but {name} {why}", join,
            f"keep the versions of {name} in a versioned_table (history_from='time_travel' begins it with those that "
            "Delta still knows) and join that; or, if it is only ever appended to, declare unique_key and event_time "
            "on it; or join its latest rows: FOR SYSTEM_TIME AS OF PROCTIME()",
        )  # fmt: skip
    # Without a known key, an equality on some other column may let a row meet several things at one time.
    valid = AsOf(time, found.valid_from, found.valid_to, single=bool(found.key))
    return Versions(found.node, len(node.columns), valid, _users(found.key), join)


def check_keys(node: Node, asked: list[Versions]) -> None:
    """Raises Impossible for a temporal join that does not ask for one key. node: the rows of FROM and WHERE."""
    for v in asked:
        mark = v.node.columns[0]
        join = next(n for n in walk(node) if isinstance(n, Join) and n.as_of is not None and mark in n.right.columns)
        equated = {r.column for _, r, _ in join.equalities}
        missing = [user for user, k in v.key if k not in equated]
        if join.equalities and not missing:
            continue
        name = v.tree.this.alias_or_name
        key = f"its key ({', '.join(missing)})" if missing else "its key"
        raise impossible(
            f"the temporal join of {name}", f"has no equality on {key}: a row would meet every key's version", v.tree,
            f"add to ON: {' AND '.join(f'{name}.{k} = …' for k in missing) or f'{name}.<key> = …'}",
        )  # fmt: skip


def _users(key: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((k, k) for k in key)


def _time(join: exp.Join, left: Node, scope: Scope) -> Expr | None:
    """The time of a row of the left side; None for the time at which it is processed."""
    tree = as_of(join)
    assert tree is not None
    if is_processing_time(tree):
        return None
    remedy = "name an event time of the rows to the left (FOR SYSTEM_TIME AS OF o.order_time), or PROCTIME()"
    try:
        time = Expr.of(scalar(resolve(tree, scope, {}), "FOR SYSTEM_TIME AS OF"))
    except Refusal as refusal:
        raise impossible("FOR SYSTEM_TIME AS OF", f"cannot be evaluated: {refusal.reason}", tree, remedy) from refusal
    if not time.columns or not time.columns <= set(left.columns):
        raise impossible("FOR SYSTEM_TIME AS OF", "has no event time of a row to the left of it", join, remedy)
    return time


def impossible(construct: str, why: str, at: exp.Expression, remedy: str) -> Impossible:
    return Impossible(construct, why, remedy, printed(at), line_of(at))
