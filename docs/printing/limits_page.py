"""What is recomputed, why, and what to do: read off the places in the code that refuse."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dbt_spark_dynamic
from dbt_spark_dynamic.commit.catalog import SessionCatalog
from dbt_spark_dynamic.dialect import AGGREGATES_BY_NAME, SqlglotError
from dbt_spark_dynamic.pipeline import Model, compile_model
from dbt_spark_dynamic.reading import functions
from dbt_spark_dynamic.reading.lower import REFUSED_IN_SELECT

from .markdown import names, page, table
from .shop import Shop

CODE = Path(dbt_spark_dynamic.__file__).parent
REMEDY_OF = {"refuse": 3, "Refusal": 2}
"""What makes a refusal -> where its remedy stands among the arguments."""

ANYHOW = "rewrite that part, or have it recomputed"


@dataclass(frozen=True)
class Limit:
    """As the code says it; parts that depend on the SELECT are in italics."""

    construct: str
    why: str
    remedy: str


SAYS = (
    "What has no law of change here is recomputed, and applied as a difference, so that readers of the table's change "
    "feed see only real changes. The result line names the construct and the reason, `dbt-dynamic explain MODEL` its "
    "line too, and `refresh_mode: incremental` makes it an error. This page is printed from the code by `make docs`."
)

TRIED = functions.OF_THE_SESSION.union(functions.CLOCK, functions.RANDOM, AGGREGATES_BY_NAME)
"""Functions that may have no law here."""

ARGUMENTS = ("", "amount", "items", "amount, 2", "amount, 2, 3")
"""What functions are tried with."""


def limits_page() -> str:
    return page(
        "# Limits",
        SAYS,
        "## In the SELECT",
        table(("construct", "why", "what to do"), [(m.construct, m.why, m.remedy or ANYHOW) for m in limits()]),
        "## Functions",
        "In a SELECT list, without OVER:",
        table(("why", "functions"), [(why, names(of)) for why, of in refused_functions().items()]),
        "## At the moment of a refresh",
        "A model that is maintained by change is computed whole this once, and the result line says so, when",
        "\n".join(f"- {reason}" for reason in reasons()),
    )


def limits() -> list[Limit]:
    """Every refusal in the code, once, in the order of the rooms and files."""
    found = [Limit(construct, why, "") for construct, why in REFUSED_IN_SELECT.values()]
    for file in sorted(CODE.rglob("*.py")):
        if file.name != "refuse.py":
            found += _limits_in(ast.parse(file.read_text()))
    return list(dict.fromkeys(sorted(found, key=lambda limit: limit.construct.lower().strip("`*"))))


def refused_functions() -> dict[str, list[str]]:
    """Why a model is recomputed that uses them -> functions, as the compiler says it of the smallest such model."""
    found: dict[str, list[str]] = {}
    for name in sorted(TRIED):
        models = [_read(f"SELECT {name}({arguments}) AS v FROM orders") for arguments in ARGUMENTS]
        known = [m for m in models if m is not None]
        if known and all(m.node is None for m in known):
            refusal = known[0].refusal
            assert refusal is not None
            found.setdefault(refusal.why, []).append(name)
    return found


def _read(query: str) -> Model | None:
    """None where the function cannot have these arguments."""
    shop = Shop()
    try:
        model = compile_model(query, (("v", "int"),), SessionCatalog(shop), shop.columns)
    except SqlglotError:
        return None
    return model if model.tree is not None else None


def reasons() -> list[str]:
    """Why a refresh is not by change although the SELECT could be."""
    module = ast.parse((CODE / "commit" / "decide.py").read_text())
    found: list[str] = []
    for call in _calls(module, ("Decision",)):
        if len(call.args) > 1 and isinstance(call.args[1], ast.Constant | ast.JoinedStr):
            found.append(_text(call.args[1], module))
    for function in ast.walk(module):
        if isinstance(function, ast.FunctionDef) and function.name in ("accepted", "_columns_moved"):
            returned = [r.value for r in ast.walk(function) if isinstance(r, ast.Return) and r.value is not None]
            found += [_text(v, function) for v in returned if isinstance(v, ast.Constant | ast.JoinedStr)]
    return list(dict.fromkeys(r for r in found if r))


def _limits_in(module: ast.Module) -> Iterator[Limit]:
    for function in ast.walk(module):
        if not isinstance(function, ast.FunctionDef):
            continue
        for call in _calls(function, tuple(REMEDY_OF)):
            assert isinstance(call.func, ast.Name)
            by_name = {k.arg: k.value for k in call.keywords}
            remedies = [by_name["remedy"]] if "remedy" in by_name else call.args[REMEDY_OF[call.func.id] :][:1]
            construct, why, remedy = (
                "".join(_text(part, function) for part in parts) for parts in (call.args[:1], call.args[1:2], remedies)
            )
            if construct:
                yield Limit(construct, why, remedy)


def _calls(tree: ast.AST, functions: tuple[str, ...]) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions and node.args:
            yield node


def _text(value: ast.expr, function: ast.AST) -> str:
    """What an argument says; what is known only when it runs, in italics. Empty where it says nothing of its own."""
    if isinstance(value, ast.Constant):
        return str(value.value or "")
    if isinstance(value, ast.JoinedStr):
        text = "".join(
            _text(part, function) if isinstance(part, ast.Constant) else f"*{_hole(part)}*" for part in value.values
        )
        return text.replace("*name*()", "*function*()")
    if isinstance(value, ast.IfExp):
        return f"{_text(value.body, function)}, or {_text(value.orelse, function)}"
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        return _text(value.func.value, function)
    if isinstance(value, ast.Name):
        assigned = [a for a in ast.walk(function) if isinstance(a, ast.Assign) and _assigns(a, value.id)]
        return _text(assigned[0].value, function) if assigned else ""
    return ""


def _assigns(statement: ast.Assign, name: str) -> bool:
    return any(isinstance(t, ast.Name) and t.id == name for t in statement.targets)


HOLES = {
    **dict.fromkeys(("lower", "spark_name"), "function"),
    **dict.fromkeys(("args", "side"), "other"),
    "upper": "clause",
    "len": "so many",
    "first": "reason",
}
"""What fills a part of a text in -> a word for it, where its own name is none."""


def _hole(part: ast.expr) -> str:
    """A word for a part of a text that is filled in."""
    found = [n.attr if isinstance(n, ast.Attribute) else n.id for n in ast.walk(part) if _is_named(n)]
    return HOLES.get(found[0], found[0]) if found else "…"


def _is_named(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute | ast.Name)
