"""Markdown, as far as the pages need it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def page(*parts: str) -> str:
    """Paragraphs, tables and blocks, an empty line between any two."""
    return "\n\n".join(parts) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def sql(text: str) -> str:
    return f"```sql\n{text}\n```"


def names(of: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(of))
