"""A relation under other column names, or with other types."""

from __future__ import annotations

from ..algebra.expressions import cast, column, columns
from ..algebra.nodes import Node, Project, Scan
from ..names import free_name


def renamed(node: Node, names: list[str]) -> Node:
    """The relation under other column names, by position; no names: as it is."""
    if not names:
        return node
    return Project(node, tuple(zip(names, columns(node.columns), strict=True)))


def fresh(node: Node, alias: str, taken: set[str]) -> tuple[Node, tuple[str, ...]]:
    """The relation under column names that are not taken (compared without case), and those names."""
    used = {t.lower() for t in taken}
    names: list[str] = []
    for name in node.columns:
        free = name if name.lower() not in used else free_name(f"{alias}_{name}", used)
        used.add(free.lower())
        names.append(free)
    if tuple(names) == node.columns:
        return node, tuple(names)
    if isinstance(node, Scan):
        outputs = tuple((new, source) for new, (_, source) in zip(names, node.outputs, strict=True))
        return Scan(node.source, node.alias, outputs), tuple(names)
    return renamed(node, names), tuple(names)


def cast_to(node: Node, types: tuple[str, ...], wanted: tuple[str, ...]) -> Node:
    """The relation with its columns cast where their type is not the wanted one."""
    if types == wanted:
        return node
    outputs = [
        (name, column(name) if have == want else cast(column(name), want))
        for name, have, want in zip(node.columns, types, wanted, strict=True)
    ]
    return Project(node, tuple(outputs))
