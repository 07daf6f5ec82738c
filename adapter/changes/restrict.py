"""R ⋉ K, with the semi-join pushed down as far as the plan allows, to the scans where possible.

Law: restrict(R, e, K) = R ⋉ K on e <=> K. Pushing it may only ever move the semi-join, never change what it keeps:
below a node it is pushed with the columns of K that the input can show (which keeps too much there), and it stays
above wherever the input could show only a part of the key.
"""

from __future__ import annotations

from functools import singledispatch

from ..algebra.expressions import Expr, columns
from ..algebra.nodes import (
    Aggregate,
    Filter,
    Generate,
    Join,
    JoinKind,
    Named,
    Node,
    Project,
    Scan,
    Semi,
    UnionAll,
    Unit,
    Window,
)
from ..algebra.transform import remembered, with_children

Pairs = tuple[tuple[Expr, str], ...]
"""(expression over the relation, column of the key set)"""


def restrict(node: Node, exprs: tuple[Expr, ...], keys: Named) -> Node:
    """The rows of `node` whose `exprs` are a row of `keys`. Without expressions: the node itself."""
    return push(node, tuple(zip(exprs, keys.columns, strict=True)), keys)


@remembered
@singledispatch
def push(node: Node, pairs: Pairs, keys: Named) -> Node:
    raise NotImplementedError(f"no restriction rule for {type(node).__name__}")


@push.register
def _(node: Scan | Named | Unit | Semi, pairs: Pairs, keys: Named) -> Node:
    return Semi(node, keys, pairs) if pairs else node


@push.register
def _(node: Filter, pairs: Pairs, keys: Named) -> Node:
    return with_children(node, (push(node.child, pairs, keys),))


@push.register
def _(node: Project, pairs: Pairs, keys: Named) -> Node:
    below = dict(node.outputs)
    return with_children(node, (push(node.child, tuple((e.substitute(below), k) for e, k in pairs), keys),))


@push.register
def _(node: UnionAll, pairs: Pairs, keys: Named) -> Node:
    def renamed(child: Node) -> Pairs:
        to = dict(zip(node.columns, columns(child.columns), strict=True))
        return tuple((e.substitute(to), k) for e, k in pairs)

    return with_children(node, tuple(push(c, renamed(c), keys) for c in node.inputs))


@push.register
def _(node: Join, pairs: Pairs, keys: Named) -> Node:
    left_names, right_names = set(node.left.columns), set(node.right.columns)
    of_left = tuple((e, k) for e, k in pairs if e.columns and e.columns <= left_names)
    # What a LEFT join shows of its right side is NULL where there was nothing: no condition on the right side itself.
    inner = node.kind is JoinKind.INNER
    of_right = tuple((e, k) for e, k in pairs if inner and e.columns and e.columns <= right_names)
    # An equality shows the other side's key too: l.a = r.b and a in K say b in K.
    to_right = {l: r for l, r, _ in node.equalities}
    to_left = {r: l for l, r, _ in node.equalities}
    via_left = tuple((to_left[e], k) for e, k in of_right if e in to_left)
    via_right = tuple((to_right[e], k) for e, k in of_left if e in to_right)
    joined = with_children(
        node, (push(node.left, of_left + via_left, keys), push(node.right, of_right + via_right, keys))
    )
    whole = len(of_left) == len(pairs) or len(of_right) == len(pairs)
    return joined if whole else Semi(joined, keys, pairs)


@push.register
def _(node: Aggregate, pairs: Pairs, keys: Named) -> Node:
    groups = dict(node.groups)
    shown = tuple((e.substitute(groups), k) for e, k in pairs if e.columns <= groups.keys())
    if not node.groups:
        # A row without a group stands for all of its input: nothing below may be left out.
        return Semi(node, keys, pairs) if pairs else node
    restricted = with_children(node, (push(node.child, shown, keys),))
    return restricted if len(shown) == len(pairs) else Semi(restricted, keys, pairs)


@push.register
def _(node: Generate, pairs: Pairs, keys: Named) -> Node:
    below = set(node.child.columns)
    shown = tuple((e, k) for e, k in pairs if e.columns <= below)
    restricted = with_children(node, (push(node.child, shown, keys),))
    return restricted if len(shown) == len(pairs) else Semi(restricted, keys, pairs)


@push.register
def _(node: Window, pairs: Pairs, keys: Named) -> Node:
    """Whole partitions may be left out, and nothing else."""
    plain = {e.column for e in node.partition}
    shown = tuple((e, k) for e, k in pairs if e in node.partition or (e.columns and e.columns <= plain))
    restricted = with_children(node, (push(node.child, shown, keys),))
    return restricted if len(shown) == len(pairs) else Semi(restricted, keys, pairs)
