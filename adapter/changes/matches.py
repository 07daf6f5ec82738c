"""What the change of one side of a join meets on the other."""

from __future__ import annotations

from ..algebra.nodes import Join, JoinKind, Node, Project, Time, has_groups, scans
from .derivation import KEY, Derivation, at, distinct, is_nothing
from .restrict import restrict


def met_by(changed: Node, join: Join, side: Node, time: Time, d: Derivation) -> Node:
    """`side` of the join at its time; groups on it are computed only for the join keys that `changed` has.

    A side without groups is left to the join itself: a semi-join before an inner join on the same key gains nothing.
    The other kinds keep all of their left side, and an engine would sort the right one for that.
    """
    dated = at(side, time)
    saves = has_groups(side) or join.kind is not JoinKind.INNER
    if not (saves and join.equalities) or is_nothing(changed):
        return dated
    here, there = (1, 0) if side is join.right else (0, 1)
    met = Project(changed, tuple((KEY.format(i), e[there]) for i, e in enumerate(join.equalities)))
    keys = d.keys(distinct(met), "join keys of the changed rows", "join_keys")
    return restrict(dated, tuple(e[here] for e in join.equalities), keys)


def older_side(join: Join) -> Node:
    """The side that the other's change meets as it was before; the other one is met as it is now.

    Both ways are right, so it is the side whose older state is cheap to tell: without groups it is the newer one and
    its change, which is then written down twice; of two such sides, the one with fewer tables. Versions are looked up
    as they are now, where rows allow it.
    """
    if join.as_of is not None and not has_groups(join.left):
        return join.left
    return min(join.right, join.left, key=lambda side: (has_groups(side), len(scans(side))))
