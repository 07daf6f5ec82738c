"""What a table needs before a refresh: its configuration applied, its columns those of the SELECT, its key its own."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import ConfigError
from ..names import aside
from ..reading.relations import Kind
from .drift import Drift, drift
from .engine import Table
from .evolve import evolution
from .ledger import Entry
from .look import Seen, key_of
from .spec import ConfigurationChange, Spec


@dataclass(frozen=True)
class Layout:
    """rebuild, recompute: why the table is replaced, or its rows computed whole, if that is so; statements: to run
    before anything else; altered: what they end, for the user; notes: what was left as it is."""

    rebuild: str | None = None
    recompute: str | None = None
    statements: tuple[str, ...] = ()
    altered: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def layout(seen: Seen, entry: Entry, spec: Spec) -> Layout:
    """Writes nothing. Raises ConfigError for a change that the model does not want."""
    assert seen.target is not None
    columns = evolution(spec, seen.target, entry.columns, seen.model.columns)
    if columns is not None and columns.rebuild:
        return Layout(columns.why)
    # In its own property and not in the ledger, because the tables above this one read it there.
    if set(key_of(seen.target)) != set(seen.key or ()):
        return Layout("the key of the SELECT's rows changed")
    found = drift(spec, seen.target)
    notes: tuple[str, ...] = ()
    if found and spec.on_configuration_change is not ConfigurationChange.APPLY:
        notes, found = (_left(found, spec),), []
    if rebuilding := [d.what for d in found if not d.statements]:
        return Layout(f"the configuration changed: {', '.join(rebuilding)}")
    statements = tuple(s for d in found for s in d.statements)
    if columns is not None:
        # In this order what is configured can name columns that are new, and no longer names those that go.
        statements = (*columns.adding, *statements, *columns.dropping)
    return Layout(None, columns and columns.why, statements, tuple(d.what for d in found), notes)


def taking_its_place(spec: Spec, old: Table | None) -> tuple[str, ...]:
    """The statements by which a new table takes the place of what Delta cannot replace, none where it can.

    The new one is built aside first: who reads the old one misses it for a moment only, and not at all if that fails.
    """
    if old is None or (old.kind is Kind.DELTA and not any(d.moves for d in drift(spec, old))):
        return ()
    kind = "VIEW" if old.kind is Kind.VIEW else "TABLE"
    return f"DROP {kind} {spec.target}", f"ALTER TABLE {aside(spec.target)} RENAME TO {spec.target}"


def _left(found: list[Drift], spec: Spec) -> str:
    """Says what differs, as an error or for a warning; the first sentence is dbt's own."""
    mode = spec.on_configuration_change.value
    said = (
        "Configuration changes were identified and `on_configuration_change` was set "
        f"to `{mode}` for `{spec.target}`: {'; '.join(d.what for d in found)}."
    )
    if spec.on_configuration_change is ConfigurationChange.FAIL:
        raise ConfigError(
            said,
            where=spec.place,
            why="nothing was written",
            remedy="set on_configuration_change to 'apply', or run with --full-refresh",
        )
    return f"{said} The table is refreshed as it is."
