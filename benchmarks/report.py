"""docs/benchmarks.md, from what `python -m benchmarks.tpch` measured."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

HEAD = """# Benchmarks

Printed by `python -m benchmarks.tpch`; [benchmarks/README.md](../benchmarks/README.md) has the others. All ratios are
of one process on one machine of two cores.

## TPC-H, scale {scale}

The 22 queries as dynamic tables. Orders come with their lines, by the benchmark's refresh functions, and in a mixed
change as many go; then every table is refreshed. *Scattered*: their keys lie all over the tables; *recent*: behind all
others. A ratio says how many such refreshes take as long as CREATE TABLE AS of the same query, timed in the same
process{compared}. Below 1, the refresh is the slower one.
"""


@dataclass(frozen=True)
class Refreshed:
    """One refresh. seconds, build: of wall time, the latter of CREATE TABLE AS; equal: None where it was not compared
    with its query."""

    query: int
    share: float
    kind: str
    technique: str
    seconds: float
    build: float
    statements: int
    equal: bool | None

    @property
    def ratio(self) -> float:
        """How many refreshes fit into one build."""
        return self.build / self.seconds


def page(found: Sequence[Refreshed], scale: str) -> str:
    compared = "; each table equalled its query afterwards" if all(r.equal for r in found) else ""
    parts = [HEAD.format(scale=scale, compared=compared), _means(found), _chart(found), _queries(found)]
    return "\n".join(parts)


def _means(found: Sequence[Refreshed]) -> str:
    lines = ["| changed | | geometric mean | least | at least 0.9 |", "|---|---|---|---|---|"]
    for share, kind in _cases(found):
        these = [r for r in found if (r.share, r.kind) == (share, kind)]
        least = min(these, key=lambda r: r.ratio)
        enough = sum(r.ratio >= 0.9 for r in these)
        lines.append(
            f"| {share:.3%} | {kind} | {mean(these):.1f} | {least.ratio:.2f} (query {least.query}) "
            f"| {enough} of {len(these)} |"
        )
    return "\n".join(lines) + "\n"


def _chart(found: Sequence[Refreshed]) -> str:
    shares = sorted({r.share for r in found})
    lines = ["```mermaid", "xychart-beta", '    title "Refreshes in the time of one build, geometric mean"']
    lines.append("    x-axis [" + ", ".join(f'"{share:.3%}"' for share in shares) + "]")
    lines.append('    y-axis "builds"')
    for kind in ("scattered, mixed", "recent, mixed"):
        these = [[r for r in found if (r.share, r.kind) == (share, kind)] for share in shares]
        if all(these):
            lines.append(f"    line [{', '.join(f'{mean(t):.2f}' for t in these)}]")
    return "\n".join([*lines, "```", "", "The upper line: recent keys; the lower: scattered keys; both mixed.", ""])


def _queries(found: Sequence[Refreshed]) -> str:
    """A line for each query: its build, and how each change was applied."""
    cases = _cases(found)
    lines = ["## By query", "", "| query | build | " + " | ".join(f"{s:.3%} {k}" for s, k in cases) + " |"]
    lines.append("|---" * (len(cases) + 2) + "|")
    for query in sorted({r.query for r in found}):
        these = {(r.share, r.kind): r for r in found if r.query == query}
        cells = [f"{r.ratio:.1f} {r.technique}" if (r := these.get(case)) else "" for case in cases]
        build = statistics.median(r.build for r in these.values())
        lines.append(f"| {query} | {build:.1f} s | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def mean(found: Iterable[Refreshed]) -> float:
    """Geometric, of the ratios."""
    return statistics.geometric_mean(r.ratio for r in found)


def _cases(found: Iterable[Refreshed]) -> list[tuple[float, str]]:
    return list(dict.fromkeys((r.share, r.kind) for r in found))
