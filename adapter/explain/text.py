"""An explanation as the user reads it: titled sections of text, and of SQL that runs as it stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..algebra.show import line
from .explanation import Explanation, Step
from .rehearsal import Rehearsed, Statement

INDENT = "  "


@dataclass(frozen=True)
class Section:
    """title; text: its body, without indentation; sql: whether it is SQL, to be shown as it is."""

    title: str
    text: str
    sql: bool = False

    @property
    def body(self) -> str:
        return self.text if self.sql else "\n".join(f"{INDENT}{part}".rstrip() for part in self.text.splitlines())


def sections(e: Explanation) -> list[Section]:
    """In the order in which questions come up."""
    found = [Section("Next run", e.next_run)]
    if e.stopped:
        found = [Section("Next run", f"stops with an error\n{e.stopped}")]
    if e.refusal is not None:
        found.append(Section("Recomputed, because", _refused(e)))
    if e.steps:
        found.append(Section("Algebra, and the law by which each node's change is derived", _algebra(e.steps)))
    found.append(Section("Key", e.key))
    found.append(Section("Changelog", e.changelog))
    if e.results:
        found.append(Section("Results of windows are made", e.results))
    if e.state is not None:
        about = f"{e.state.target}, which each run brings up to date before: {e.state.next_run}\n{tree(e.state.steps)}"
        found.append(Section("Made from groups that are kept beside it", about))
    found.append(Section("Sources", _sources(e)))
    found.append(Section("Techniques that the plan allows", _aligned([(t.name, t.when, t.cost) for t in e.techniques])))
    if e.rehearsed and e.assumed:
        found.append(Section("SQL", "of a refresh for which every source has one more version than it has now"))
    found += [_statements(r, e.rehearsed[0]) for r in e.rehearsed]
    return found


def heading(e: Explanation) -> str:
    return f"{e.target}  {e.place}".rstrip()


def text(e: Explanation) -> str:
    """All sections, one below the other."""
    return "\n\n".join([heading(e), *(f"{s.title.upper()}\n{s.body}" for s in sections(e))])


def _refused(e: Explanation) -> str:
    assert e.refusal is not None
    said = [str(e.refusal)]
    if e.refusal.fragment:
        said.append(f"where:  {e.refusal.fragment}")
    if e.refusal.remedy:
        said.append(f"remedy: {e.refusal.remedy}")
    return "\n".join(said)


def tree(steps: Sequence[Step]) -> str:
    """A line for each node: the class of its law, and the node, indented by its depth."""
    return _aligned([(s.law.kind, INDENT * s.depth + line(s.node)) for s in steps])


def _algebra(steps: Sequence[Step]) -> str:
    laws = dict.fromkeys(s.law for s in steps)
    return f"{tree(steps)}\n\n{_aligned([(law.kind, law.formula, f'reads {law.reads}') for law in laws])}"


def _sources(e: Explanation) -> str:
    if not e.sources:
        return "none"
    rows = [("", "consumed", "now", "")]
    rows += [(s.name, _version(s.consumed), _version(s.now), s.change) for s in e.sources]
    return _aligned(rows)


def _version(version: int | None) -> str:
    return "-" if version is None else f"v{version}"


def _aligned(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(f"{c:<{w}}" for c, w in zip(row, widths, strict=True)).rstrip() for row in rows)


def _statements(rehearsed: Rehearsed, first: Rehearsed) -> Section:
    """The statements of a case. What it has in common with the first one is not shown again."""
    statements = rehearsed.statements
    title = f"SQL of {rehearsed.outcome.technique}"
    if rehearsed is not first:
        common = sum(1 for _ in _common(statements, first.statements))
        title += f", after the same first {common} statements" if common else ""
        statements = statements[common:]
    if rehearsed is not first:
        title += f", {rehearsed.case.value}"
    return Section(title, "\n\n".join(shown(s) for s in statements), sql=True)


def _common(a: Sequence[Statement], b: Sequence[Statement]) -> Iterator[Statement]:
    for one, other in zip(a, b, strict=False):
        if one != other:
            return
        yield one


def shown(s: Statement) -> str:
    """A statement below a line that says what becomes of it."""
    head = f"-- {s.relation}, computed once:\n" if s.relation else "-- the one write, whose commit holds the ledger:\n"
    return f"{head}{s.sql};"
