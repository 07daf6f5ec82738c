"""A page for each operator: its law, its class, what it reads, and its smallest example with the SQL of its change."""

from __future__ import annotations

from functools import cache

from dbt_spark_dynamic.commit.spec import Spec
from dbt_spark_dynamic.explain.explanation import Explanation, Step, explain
from dbt_spark_dynamic.explain.rehearsal import Statement
from dbt_spark_dynamic.explain.text import shown, tree
from dbt_spark_dynamic.names import PREFIX

from .examples import CONSTRUCTS, OPERATORS, WRITES, Example, Operator
from .markdown import page, sql, table
from .shop import Shop

FEED, WRITTEN_FROM = "readChangeFeed", ("upserts", "additions", "held")

OPERATORS_SAY = (
    "A model's SELECT is read as a tree of these. Each derives its own change from the changes of its inputs, so that "
    "they may be nested in any order. R⁻ and R⁺ are a relation before and after, ΔR the signed rows between the two."
)
INDEX_ENDS = (
    "`dbt-dynamic explain MODEL` prints the tree, the laws and the SQL of a model of yours. What is recomputed instead "
    "is in [limits](../limits.md). These pages are printed from the code by `make docs`."
)
WRITES_SAY = (
    "A refresh ends in one statement: a single Delta commit of data and ledger. Conditions with `BETWEEN` let Delta "
    "skip the files that hold none of the rows; their values are those of the change at hand."
)
PAGE_ENDS = (
    "`orders_change` and its like are the net changes of the sources ([scan](scan.md)); how the result is written is "
    "in [writes](../writes.md). [All operators](README.md)."
)


def operator_pages() -> dict[str, str]:
    """Path below docs/ -> text."""
    pages = {f"operators/{o.page}.md": _page(o) for o in OPERATORS}
    return {"operators/README.md": _index(), "writes.md": _writes(), **pages}


@cache
def explanation(example: Example) -> Explanation:
    e = example
    spec = Spec(
        "shop.model", e.sql, unique_key=e.unique_key, versionings=dict(e.versionings), emission=e.emission,
        late_by=e.late_by,
    )  # fmt: skip
    return explain(spec, Shop())


def _page(o: Operator) -> str:
    tests = ", ".join(f"[{t.split('::')[1]}](../../{t.split('::')[0]})" for t in o.tests)
    parts = [
        f"# {o.title}",
        table(("class", "law", "reads"), [(law.kind, law.formula, law.reads) for law in o.laws]),
        f"State kept: none but the table itself. Held to its meaning by {tests}.",
    ]
    for number, example in enumerate(o.examples, 1):
        parts += [f"## Example {number}" if len(o.examples) > 1 else "## Example", *_example(o, example)]
    return page(*parts, PAGE_ENDS)


def _example(o: Operator, example: Example) -> list[str]:
    e = explanation(example)
    plain = e.rehearsed[0]
    # The net change of a source is the same on every page: the scan's has it.
    relations = [s for s in plain.statements if s.relation and (FEED not in s.sql or o.page == "scan")]
    return [
        example.says,
        sql(example.sql),
        f"```\n{tree(e.steps)}\n```",
        f"A refresh computes this, and applies it by `{plain.outcome.technique}`:",
        sql(_all(relations)),
    ]


def _index() -> str:
    operators = [(f"[{o.title}]({o.page}.md)", o.laws[0].kind, o.laws[0].formula) for o in OPERATORS]
    constructs = [(name, _nodes(explanation(Example("", query)).steps)) for name, query in CONSTRUCTS.items()]
    return page(
        "# Operators",
        OPERATORS_SAY,
        table(("operator", "class", "law"), operators),
        "## What other SQL becomes",
        table(("SQL", "becomes"), constructs),
        INDEX_ENDS,
    )


def _nodes(steps: tuple[Step, ...]) -> str:
    return " · ".join(dict.fromkeys(f"{type(s.node).__name__} ({s.law.kind})" for s in steps))


def _writes() -> str:
    parts = ["# Writes", WRITES_SAY]
    for technique, example in WRITES.items():
        case = next(r for r in explanation(example).rehearsed if r.outcome.technique == technique)
        parts += [f"## {technique}", example.says, sql(example.sql)]
        parts.append(sql(_all([s for s in case.statements if _writes_or_is_written(s)])))
    return page(*parts)


def _writes_or_is_written(s: Statement) -> bool:
    return s.relation is None or s.relation.removeprefix(PREFIX) in WRITTEN_FROM


def _all(statements: list[Statement]) -> str:
    return "\n\n".join(shown(s) for s in statements)
