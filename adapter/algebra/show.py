"""A plan as an indented tree: what `explain` prints, what a golden file holds, and what a fingerprint is taken of."""

from __future__ import annotations

from functools import singledispatch

from .expressions import Expr
from .nodes import (
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
    Time,
    UnionAll,
    Unit,
    Window,
)


def show(node: Node, depth: int = 0) -> str:
    """One line for each node, children indented below it."""
    lines = ["  " * depth + line(node)]
    lines += [show(child, depth + 1) for child in node.children if not isinstance(node, Semi) or child is node.child]
    return "\n".join(lines)


def _listed(outputs: tuple[tuple[str, Expr], ...]) -> str:
    return ", ".join(name if e.column == name else f"{name} = {e.text}" for name, e in outputs)


@singledispatch
def line(node: Node) -> str:
    raise NotImplementedError(f"no line for {type(node).__name__}")


@line.register
def _(node: Scan) -> str:
    at = "" if node.time is Time.UNDATED else f" {node.time.value}"
    columns = ", ".join(n if n == c else f"{n} = {c}" for n, c in node.outputs)
    return f"Scan {node.source}{at} [{columns}]"


@line.register
def _(node: Named) -> str:
    return f"Named {node.name} [{', '.join(node.names)}]"


@line.register
def _(node: Unit) -> str:
    return "Unit"


@line.register
def _(node: Filter) -> str:
    return f"Filter {node.predicate.text}"


@line.register
def _(node: Project) -> str:
    return f"Project [{_listed(node.outputs)}]"


@line.register
def _(node: UnionAll) -> str:
    return f"UnionAll [{', '.join(node.columns)}]"


@line.register
def _(node: Join) -> str:
    on = [f"{l.text} {'<=>' if safe else '='} {r.text}" for l, r, safe in node.equalities]
    on += [node.residual.text] if node.residual is not None else []
    kind = "" if node.kind is JoinKind.INNER else f"{node.kind.value} "
    return f"Join {kind}{' AND '.join(on) or 'cross'}"


@line.register
def _(node: Generate) -> str:
    return f"Generate {'outer ' if node.outer else ''}[{', '.join(node.made)}] = {node.call.text}"


@line.register
def _(node: Window) -> str:
    return f"Window [{_listed(node.calls)}]"


@line.register
def _(node: Semi) -> str:
    pairs = ", ".join(f"{e.text} <=> {k}" for e, k in node.pairs)
    return f"Semi {pairs} in {node.keys.name}"


@line.register
def _(node: Aggregate) -> str:
    groups = f" by [{_listed(node.groups)}]" if node.groups else ""
    return f"Aggregate{groups} [{_listed(node.aggregates)}]"
