"""docs/benchmarks.md, from what `python -m benchmarks.tpch` measured."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .time_spent import FEEDS, QUESTIONS, WRITING

HEAD = """# Benchmarks

Printed by `python -m benchmarks.tpch`; [benchmarks/README.md](../benchmarks/README.md) has the others. Each ratio is of
one process on one machine of two cores.

The 22 queries of TPC-H as dynamic tables. Orders come with their lines, by the refresh functions of TPC-H, and in a
mixed change as many go; then every table is refreshed. *Scattered*: their keys lie all over the tables; *recent*:
behind all others. A ratio says how many such refreshes take as long as CREATE TABLE AS of the same query, timed in the
same process after two small changes: of tables that rows have left, Spark takes up to half as long again for a scan.
Below 1, the refresh is the slower one. *All together*: the same of the seconds of all 22. Each table has been refreshed
twice before: the first refreshes of averages, shares and the like take as long as a build, because the ledger begins to
keep what they are made of, or a state table is begun; and Java runs slowly what it has not run before. *Again*: another
change of that size came just before. What a refresh takes is known from those before it, so that the first after a
larger change may be done in the dearer way. As in one `dbt run`, what queries have in common is read for the first that
needs it, query 1 or 3 most often: the change feed of a table, and the rows of tables that meet these feeds.
"""

WORST = 5


@dataclass(frozen=True)
class Refreshed:
    """One refresh. seconds, build: of wall time, the latter of CREATE TABLE AS; equal: None where it was not compared
    with its query; spent: seconds of its statements, by what they are for; again: whether another one of such a change
    came just before; then: of a refresh that took longer than build, seconds of another build just after it."""

    query: int
    share: float
    kind: str
    technique: str
    seconds: float
    build: float
    statements: int
    equal: bool | None
    spent: Mapping[str, float] = field(default_factory=dict)
    again: bool = False
    then: float | None = None

    @property
    def case(self) -> tuple[float, str]:
        """What changed, as the page says it."""
        return self.share, f"{self.kind}, again" if self.again else self.kind

    @property
    def ratio(self) -> float:
        """How many refreshes fit into one build."""
        return self.build / self.seconds


def page(measured: Mapping[str, Sequence[Refreshed]]) -> str:
    """measured: by scale, the smallest first."""
    parts = [HEAD]
    for scale, found in measured.items():
        parts += [f"## Scale {scale}\n", _means(found), _compared(found), _chart(found), _queries(found, scale)]
        parts.append(_longer(found, scale))
        parts.append(_slowest(found, scale))
    for (small, those), (large, these) in itertools.pairwise(measured.items()):
        parts.append(_growth(small, those, large, these))
    return "\n".join(filter(None, parts))


def _compared(found: Sequence[Refreshed]) -> str:
    if all(r.equal for r in found):
        return "Each table equalled its query after each change.\n"
    last = _cases(found)[-1]
    if all(r.equal for r in found if r.case == last):
        return "Each table equalled its query after the last of these changes.\n"
    return ""


def _growth(small: str, those: Sequence[Refreshed], large: str, these: Sequence[Refreshed]) -> str:
    """As many changed rows of more: how refreshes and builds grow from one scale to the other."""
    times = float(large) / float(small)
    before = {(round(r.share / times, 9), r.case[1], r.query): r for r in those}
    lines = []
    for share, kind in _cases(these):
        pairs = [(r, o) for r in these if r.case == (share, kind) and (o := before.get((share, kind, r.query)))]
        if pairs:
            refresh, build = (
                statistics.geometric_mean(getattr(r, of) / getattr(o, of) for r, o in pairs)
                for of in ("seconds", "build")
            )
            most, of = max((r.seconds / o.seconds, r.query) for r, o in pairs)
            lines.append(
                f"| {share * times:.3%}, {share:.3%} | {kind} | {refresh:.1f} | {most:.1f} (query {of}) | {build:.1f} |"
            )
    if not lines:
        return ""
    head = [
        f"## From scale {small} to {large}", "",
        "As many rows change. By how much more a refresh takes, and a build: geometric means over the queries.", "",
        "| changed | | refresh | at most | build |", "|---|---|---|---|---|",
    ]  # fmt: skip
    return "\n".join([*head, *lines]) + "\n"


def _means(found: Sequence[Refreshed]) -> str:
    lines = ["| changed | | geometric mean | all together | least | at least 0.9 |", "|---|---|---|---|---|---|"]
    for share, kind in _cases(found):
        these = [r for r in found if r.case == (share, kind)]
        least = min(these, key=lambda r: r.ratio)
        enough = sum(r.ratio >= 0.9 for r in these)
        together = sum(r.build for r in these) / sum(r.seconds for r in these)
        lines.append(
            f"| {share:.3%} | {kind} | {mean(these):.1f} | {together:.1f} | {least.ratio:.2f} (query {least.query}) "
            f"| {enough} of {len(these)} |"
        )
    return "\n".join(lines) + "\n"


def _chart(found: Sequence[Refreshed]) -> str:
    shares = sorted({r.share for r in found})
    lines = ["```mermaid", "xychart-beta", '    title "Refreshes in the time of one build, geometric mean"']
    lines.append("    x-axis [" + ", ".join(f'"{share:.3%}"' for share in shares) + "]")
    lines.append('    y-axis "builds"')
    said = []
    for kind in ("scattered, mixed", "recent, mixed"):
        these = [[r for r in found if r.case == (share, kind)] for share in shares]
        if all(these):
            means = [f"{mean(t):.2f}" for t in these]
            lines.append(f"    line [{', '.join(means)}]")
            said.append(f"from {means[0]} to {means[-1]}: {kind}")
    return "\n".join([*lines, "```", "", f"The lines {'; '.join(said)}.", ""])


def _queries(found: Sequence[Refreshed], scale: str) -> str:
    """A line for each query: its build, and how each change was applied."""
    cases = _cases(found)
    lines = [
        f"### By query, at scale {scale}",
        "",
        "| query | build | " + " | ".join(f"{s:.3%} {k}" for s, k in cases) + " |",
    ]
    lines.append("|---" * (len(cases) + 2) + "|")
    for query in sorted({r.query for r in found}):
        these = {r.case: r for r in found if r.query == query}
        cells = [f"{r.ratio:.1f} {r.technique}" if (r := these.get(case)) else "" for case in cases]
        build = statistics.median(r.build for r in these.values())
        lines.append(f"| {query} | {build:.1f} s | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _longer(found: Sequence[Refreshed], scale: str) -> str:
    """Refreshes that took longer than the build that all are compared with, beside one of the sources they read."""
    these = [r for r in found if r.then]
    if not these:
        return ""
    ratios = [r.then / r.seconds for r in these if r.then]
    head = [
        f"### Longer than a build at scale {scale}", "",
        "Refreshes with a ratio below 1, and what CREATE TABLE AS took just after them, of the very sources they had"
        f" read. Against that one, {sum(ratio >= 0.9 for ratio in ratios)} of these {len(these)} are at least 0.9.", "",
        "| changed | | query | refresh | built before | ratio | built then | ratio |",
        "|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    lines = [
        f"| {r.share:.3%} | {r.case[1]} | {r.query} | {r.seconds:.1f} s {r.technique} | {r.build:.1f} s "
        f"| {r.ratio:.2f} | {r.then:.1f} s | {ratio:.2f} |"
        for r, ratio in zip(these, ratios, strict=True)
    ]
    return "\n".join([*head, *lines]) + "\n"


def _slowest(found: Sequence[Refreshed], scale: str) -> str:
    """Where the time of those goes that come off worst, of the smallest change that was timed so."""
    timed = [r for r in found if r.spent]
    if not timed:
        return ""
    share, kind = _cases(timed)[0]
    worst = sorted((r for r in timed if r.case == (share, kind)), key=lambda r: r.ratio)[:WORST]
    head = [
        f"### The slowest {WORST} at scale {scale}: {share:.3%}, {kind}", "",
        "Seconds of a refresh, by what its statements are for. The rest is looking at the tables and their logs, the"
        " change plan, and SQL.", "",
        "| query | build | refresh | feeds | relations of the change plan | questions | writing | the rest |",
        "|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    lines = []
    for r in worst:
        relations = {what: took for what, took in r.spent.items() if what not in (FEEDS, QUESTIONS, WRITING)}
        longest = sorted(relations.items(), key=lambda item: -item[1])[:3]
        named = ", ".join(f"{what} {took:.1f}" for what, took in longest)
        of_all = f"{sum(relations.values()):.1f}" + (f" ({named})" if named else "")
        feeds, questions, writing = (f"{r.spent.get(what, 0.0):.1f}" for what in (FEEDS, QUESTIONS, WRITING))
        rest = max(r.seconds - sum(r.spent.values()), 0.0)
        lines.append(
            f"| {r.query} | {r.build:.1f} s | {r.seconds:.1f} s | {feeds} | {of_all} | {questions} | {writing} "
            f"| {rest:.1f} |"
        )
    return "\n".join([*head, *lines]) + "\n"


def mean(found: Iterable[Refreshed]) -> float:
    """Geometric, of the ratios."""
    return statistics.geometric_mean(r.ratio for r in found)


def _cases(found: Iterable[Refreshed]) -> list[tuple[float, str]]:
    return list(dict.fromkeys(r.case for r in found))
