"""The session's own resolution of names, asked once for each name in a refresh."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..dialect import print_sql
from ..errors import ConfigError
from ..reading.relations import Kind, Relation, Versioning
from ..sparksql.reads import table
from .engine import Engine, Table


class SessionCatalog:
    """A Catalog for reading; keeps the state of every table it has seen: one refresh sees one version of each.

    versionings: by dotted name, what is declared of versions that relations hold; until: table -> the version as which
        it is seen, where it is not the latest; expected_keys: by dotted name, columns expected to be unique."""

    def __init__(
        self,
        engine: Engine,
        versionings: Mapping[str, Versioning] | None = None,
        until: Mapping[str, int] | None = None,
        expected_keys: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        self._engine, self._until = engine, until or {}
        self._versionings = {_plain(name): v for name, v in (versionings or {}).items()}
        self._expected_keys = {_plain(name): key for name, key in (expected_keys or {}).items()}
        self._seen: dict[tuple[str, ...], Relation] = {}
        self.tables: dict[str, Table] = {}

    def relation(self, parts: tuple[str, ...]) -> Relation:
        if parts not in self._seen:
            name = ".".join("`" + p.replace("`", "``") + "`" for p in parts)
            found = self._engine.table(name)
            if found is None:
                raise ConfigError(
                    f"the relation {'.'.join(parts)} does not exist.", remedy="build it first, or correct its name"
                )
            self.tables.setdefault(found.name, self._seen_as(found))
            versioning, key = self._versionings.get(_plain(found.name)), self.expected_key(found.name)
            self._seen[parts] = Relation(
                found.name, found.kind, found.columns, found.view, found.provider, versioning, key
            )  # fmt: skip
        return self._seen[parts]

    def expected_key(self, name: str) -> tuple[str, ...]:
        """Columns of a table or view that are expected to be unique in it, () if nobody expects any to be."""
        return self._expected_keys.get(_plain(name), ())

    @property
    def says_all(self) -> bool:
        """Whether what the SELECT reads is said by its text: Delta tables alone, each named with its schema."""
        named = all(len(parts) > 1 for parts in self._seen)
        return named and all(t.kind is Kind.DELTA for t in self.tables.values())

    def again(self, name: str) -> Table:
        """The table read anew, for when the refresh itself has altered it."""
        found = self._engine.table(print_sql(table(name)))
        assert found is not None
        self.tables[name] = self._seen_as(found)
        return self.tables[name]

    def _seen_as(self, found: Table) -> Table:
        version = min(found.version, self._until.get(found.name, found.version))
        return replace(found, version=version, latest=found.version)

    def at(self, name: str, version: int) -> Relation:
        """One more table, as it is at a version."""
        self._until = {**self._until, name: version}
        return self.relation(tuple(part.name for part in table(name).parts))

    def delta(self, name: str) -> Table | None:
        """The state of a Delta source, None if it is no Delta table."""
        state = self.tables[name]
        return state if state.kind is Kind.DELTA else None


def _plain(name: str) -> str:
    """A dotted name as it compares: quoted or not, with the default catalog or without."""
    return name.replace("`", "").lower().removeprefix("spark_catalog.")
