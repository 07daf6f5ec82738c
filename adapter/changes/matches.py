"""What the change of one side of a join meets on the other."""

from __future__ import annotations

from collections.abc import Mapping

from ..algebra.expressions import Expr, columns
from ..algebra.nodes import Aggregate, Filter, Join, JoinKind, Named, Node, Project, Time, Window, walk
from .column_types import types_of
from .derivation import KEY, Derivation, at, distinct, is_nothing, net
from .restrict import push, restrict
from .simplify import simplify


def met_by(changed: Node, join: Join, side: Node, time: Time, d: Derivation) -> Node:
    """`side` of the join at its time; groups on it are computed only for the join keys that `changed` has.

    A side without groups is left to the join itself: a semi-join before an inner join on the same key gains nothing.
    The other kinds keep all of their left side, and an engine would sort the right one for that.
    """
    dated = at(side, time)
    if not _asks_for_keys(changed, join, side):
        return dated
    here, there = (1, 0) if side is join.right else (0, 1)
    ours, theirs = (tuple(e[at_side] for e in join.equalities) for at_side in (here, there))
    relation, shown = _computed(changed)
    names = [e.substitute(shown).column for e in theirs]
    if relation is not None and None not in names:
        return push(dated, tuple(zip(ours, names, strict=True)), relation)
    met = Project(changed, tuple((KEY.format(i), e) for i, e in enumerate(theirs)))
    keys = d.keys(distinct(met), "join keys of the changed rows", "join_keys")
    return restrict(dated, ours, keys)


def _computed(changed: Node) -> tuple[Named | None, Mapping[str, Expr]]:
    """The relation that a change is read from as it is, and its columns by those of the change."""
    if isinstance(changed, Named):
        return changed, dict(zip(changed.columns, columns(changed.columns), strict=True))
    if isinstance(changed, Project) and isinstance(changed.child, Named):
        return changed.child, dict(changed.outputs)
    return None, {}


def rows_met(right: Node, join: Join, d: Derivation) -> Node:
    """The rows of L⁺ that meet changed rows of the right side of a one-sided join, and some that only might."""
    candidates = met_by(right, join, join.left, Time.AFTER, d)
    if join.equalities and join.residual is None:
        return simplify(candidates)
    as_of = join.as_of.changed() if join.as_of is not None else None
    return simplify(Join(candidates, right, join.equalities, join.residual, JoinKind.SEMI, as_of))


def told_once(changed: Node, join: Join, side: Node, d: Derivation) -> Node:
    """The change of the other side of the join, under a name where `met_by` asks it for its keys and the join for its
    rows, and it takes more than a feed to tell: in a chain of joins over groups each would tell all that stand before
    it once more. So it is of one row over all: most often it is what it was, and then nobody need read what it would
    have met."""
    other = join.left if side is join.right else join.right
    if not _asks_for_keys(changed, join, side) and (is_nothing(changed) or not _is_one_row(other)):
        return changed
    if not any(isinstance(n, Join | Aggregate | Window) for n in walk(changed)):
        return changed
    return d.keys(simplify(net(changed, types_of(side, d.types))), "net change of one side of a join", "side_change")


def _is_one_row(node: Node) -> bool:
    """Whether it is made of one group of all rows."""
    while isinstance(node, Filter | Project):
        node = node.child
    return isinstance(node, Aggregate) and not node.groups


def _asks_for_keys(changed: Node, join: Join, side: Node) -> bool:
    saves = side.has_groups or join.kind is not JoinKind.INNER
    return bool(saves and join.equalities) and not is_nothing(changed)


def older_side(join: Join) -> Node:
    """The side that the other's change meets as it was before; the other one is met as it is now.

    Both ways are right, so it is the side whose older state is cheap to tell: without groups it is the newer one and
    its change, which is then written down twice; of two such sides, the one with fewer tables. Versions are looked up
    as they are now, where rows allow it.
    """
    if join.as_of is not None and not join.left.has_groups:
        return join.left
    return min(join.right, join.left, key=lambda side: (side.has_groups, side.scan_count))
