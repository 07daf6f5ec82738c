"""python -m docs.printing: writes every page that is printed from the code, and removes those that no longer are."""

from __future__ import annotations

from pathlib import Path

from .pages import pages

DOCS = Path(__file__).parents[1]


def main() -> None:
    printed = pages()
    for old in (DOCS / "operators").glob("*.md"):
        if str(old.relative_to(DOCS)) not in printed:
            old.unlink()
    for path, text in printed.items():
        (DOCS / path).parent.mkdir(exist_ok=True)
        (DOCS / path).write_text(text)
    print(f"{len(printed)} pages in {DOCS.name}/")


if __name__ == "__main__":
    main()
