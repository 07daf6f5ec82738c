"""Which groups on one side of a join the other side can meet at all.

Law: if π_l(L) ⊆ π_p(P) before and after, groups of R whose key is not in π_p(P) meet no row of L on l = g, so that
their change changes nothing: K may be less by them. P is a table of which L keeps some rows, by a filter: parts of one
brand beside the average of every part, of which a change of lines touches most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from ..algebra.clock import reads
from ..algebra.expressions import Expr, column, columns
from ..algebra.nodes import Aggregate, Filter, Join, JoinKind, Named, Node, Project, Scan, Time, UnionAll
from ..algebra.shown import Shown
from ..algebra.transform import rebuild
from .affected import affected, affected_part
from .column_types import Types, of_one_type
from .derivation import KEY, Derivation, at, is_nothing
from .restrict import push
from .simplify import simplify

MET = "met"
"""What a partner shows for the keys of groups."""


@dataclass(frozen=True)
class Partner:
    """group: the column of the groups that they are met by; rows: P; shown: the same over P; null_safe: whether NULLs
    meet."""

    group: str
    rows: Node
    shown: Expr
    null_safe: bool


Worth = Callable[[Aggregate, Node], bool]
"""Whether groups are worth asking a partner's rows which of them are met."""


def partners(join: Join, side: Node, d: Derivation) -> tuple[Partner, ...]:
    """Of a side of groups over large tables; none where every group may be met."""
    return _partners(join, side, d.types, lambda groups, _: d.reads_large(groups))


def _partners(join: Join, side: Node, types: Types, worth: Worth) -> tuple[Partner, ...]:
    """Of each column that groups are met by, the first that is worth it."""
    found = _groups_below(side)
    if found is None or join.as_of is not None or not (side is join.right or join.kind is JoinKind.INNER):
        return ()
    here, there = (1, 0) if side is join.right else (0, 1)
    other = join.left if side is join.right else join.right
    met: dict[str, Partner] = {}
    for e in join.equalities:
        if (group := _group_of(e[here], *found)) is not None:
            for rows, shown in _kept(other, e[there], types):
                if group not in met and worth(found[0], rows):
                    met[group] = Partner(group, rows, shown, e[2])
    return tuple(met.values())


def of_groups_met(node: Node, types: Types, worth: Worth) -> Node:
    """The same rows, made without groups that no join meets: all rows that groups are made of are joined with a partner
    that is worth it."""

    def of_these(node: Node) -> Node:
        if not isinstance(node, Join):
            return node
        left, right = (_of_those(side, _partners(node, side, types, worth)) for side in node.children)
        return replace(node, left=left, right=right)

    return rebuild(node, of_these)


def _of_those(side: Node, met: tuple[Partner, ...]) -> Node:
    """A side of a join, of those of its groups that have these partners."""
    if met and isinstance(side, Filter | Project):
        return replace(side, child=_of_those(side.child, met))
    for partner in met:
        assert isinstance(side, Aggregate)
        rows = Project(partner.rows, ((MET, partner.shown),))
        by = (dict(side.groups)[partner.group], column(MET), partner.null_safe)
        side = replace(side, child=Join(side.child, rows, (by,), None, JoinKind.SEMI))
    return side


def changed_groups(node: Aggregate, met: tuple[Partner, ...], d: Derivation) -> tuple[tuple[Expr, ...], Named] | None:
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
    if not is_nothing(changed := simplify(affected(partner.rows, (partner.shown,), d))):
        rows = UnionAll((rows, changed))
    if d.reads_large(partner.rows):
        touched = d.keys(touched, "groups of the changed rows, whatever meets them", "touched_groups")
        rows = push(rows, ((column(KEY.format(0)), key),), touched)
    rows = Project(rows, ((MET, column(KEY.format(0))),))
    return Join(touched, rows, ((column(key), column(MET), partner.null_safe),), None, JoinKind.SEMI)


def groups_met(node: Join, met: tuple[Partner, ...], d: Derivation) -> tuple[tuple[Expr, ...], Named] | None:
    """Columns of the right side, groups of a large table, and what they have in changed ones: the change of these
    groups has read them already. met: of the right side. A row of the left side meets either changed groups alone or
    none, if these columns are all among those that it is met by; else, or where there are no such groups, None."""
    below = _groups_below(node.right)
    if below is None or not d.reads_large(below[0]):
        return None
    found = changed_groups(below[0], met, d)
    if found is None:
        return None
    names, keys = found
    by = {_group_of(r, *below): r for _, r, _ in node.equalities}
    return (tuple(by[e.column] for e in names), keys) if all(e.column in by for e in names) else None


def _groups_below(node: Node) -> tuple[Aggregate, Mapping[str, Expr]] | None:
    """The groups below projections and conditions, and what is shown of them; None if that is not what it is."""
    shown = Shown.by(node)
    if any(map(reads, shown.asked)) or not isinstance(shown.node, Aggregate) or not shown.node.groups:
        return None
    return shown.node, shown.of


def _group_of(e: Expr, groups: Aggregate, shown: Mapping[str, Expr]) -> str | None:
    """The column of the groups that a column of what is shown of them is; None if it is none."""
    name = shown[e.column].column if e.column is not None else None
    return name if name in dict(groups.groups) else None


def _kept(node: Node, e: Expr, types: Types) -> Iterator[tuple[Node, Expr]]:
    """Relations with a filter, one table each, that show every value that a column of the node can have."""
    if e.column is None:
        return
    if is_filtered(node):
        yield node, e
        return
    match node:
        case Filter():
            yield from _kept(node.child, e, types)
        case Project():
            yield from _kept(node.child, dict(node.outputs)[e.column], types)
        case Join(as_of=None):
            here = 0 if e.column in node.left.columns else 1
            if here == 0 or node.kind is JoinKind.INNER:
                yield from _kept(node.children[here], e, types)
            if node.kind is JoinKind.INNER or (node.kind is JoinKind.SEMI and here == 0):
                for q in node.equalities:
                    if q[here] == e and not q[2] and of_one_type((node.left, q[0]), (node.right, q[1]), types):
                        yield from _kept(node.children[1 - here], q[1 - here], types)


def is_filtered(node: Node) -> bool:
    """Whether it is some rows of one table."""
    chosen = False
    while isinstance(node, Filter | Project):
        if isinstance(node, Filter) and reads(node.predicate):
            return False
        chosen = chosen or isinstance(node, Filter)
        node = node.child
    return chosen and isinstance(node, Scan)
