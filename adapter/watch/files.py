"""The project's files: whether they are other than they were, and at rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

SUFFIXES = {".sql", ".yml", ".yaml", ".py", ".md"}
"""Of files that a model is made of. Seeds are data: `dbt seed` loads them, and then their tables have commits."""

State = Mapping[Path, tuple[int, int]]


def state(files: Iterable[Path], folders: Iterable[Path]) -> State:
    """Path -> time of last change in nanoseconds, and size."""
    found: dict[Path, tuple[int, int]] = {}
    for path in [*files, *(p for folder in folders for p in folder.rglob("*") if p.suffix in SUFFIXES)]:
        try:
            stat = path.stat()
        except OSError:
            # Gone between being listed and being looked at, as an editor's own files are.
            continue
        found[path] = (stat.st_mtime_ns, stat.st_size)
    return found


class Files:
    """files, folders: what is looked at, as it is now."""

    def __init__(self, files: Iterable[Path], folders: Iterable[Path]) -> None:
        self._where = tuple(files), tuple(folders)
        self._built = self._last = state(*self._where)

    def again(self) -> None:
        """From now on, edited means: not as now."""
        self._built = self._last = state(*self._where)

    def edited(self) -> bool:
        """Whether they differ from what they were at the beginning, and not from what they were when last asked: an
        editor or a `git checkout` that is still writing is let finish."""
        now = state(*self._where)
        at_rest, self._last = now == self._last, now
        return at_rest and now != self._built
