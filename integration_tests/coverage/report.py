"""docs/coverage.md: what became of each query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

NAMES = {"tpch": "TPC-H", "tpcds": "TPC-DS"}
QUERIES = {"tpch": 22, "tpcds": 99}


@dataclass
class Result:
    """One query. techniques: of each refresh after the first build; reasons: why it was recomputed, if it was; wrong:
    what differed, or the error; rows: of the table in the end."""

    techniques: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    rows: int = 0


def page(results: Mapping[str, Mapping[int, Result]], batches: int) -> str:
    lines = [
        "# Coverage",
        "",
        f"Each query is a dynamic table; after each of {batches} batches of inserts, updates and deletes over all",
        "tables it is refreshed and compared with itself, computed from scratch: row by row, copies counted, and",
        "doubles to ten digits. Where an ORDER BY with LIMIT leaves equal rows open, the comparison breaks the",
        "tie as the table does. Tables are small (TPC-H 0.005, TPC-DS 0.01): some queries find no row in the end, as",
        "the column says. Printed by `make coverage`.",
        "",
        "| | exact | never recomputed | of |",
        "|---|---|---|---|",
    ]
    for suite, of in results.items():
        exact = sum(not r.wrong for r in of.values())
        by_change = sum(not r.wrong and not r.reasons for r in of.values())
        lines.append(f"| {NAMES[suite]} | {exact} | {by_change} | {_of(len(of), QUERIES[suite])} |")
    for suite, of in results.items():
        lines += ["", f"## {NAMES[suite]}", "", "| query | | techniques | rows | |", "|---|---|---|---|---|"]
        for number, r in sorted(of.items()):
            told = ", ".join(f"{t} ×{n}" if n > 1 else t for t, n in Counter(r.techniques).items())
            fewer = [f"{len(r.techniques)} batches"] if len(r.techniques) < batches and not r.wrong else []
            why = "; ".join(dict.fromkeys((*r.wrong, *r.reasons, *fewer))).replace("|", "\\|")
            lines.append(f"| {number} | {'**wrong**' if r.wrong else 'exact'} | {told} | {r.rows} | {why} |")
    return "\n".join(lines) + "\n"


def _of(tried: int, every: int) -> str:
    return str(every) if tried == every else f"{tried} tried of {every}"
