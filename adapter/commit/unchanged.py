"""Seeing at a glance that a table is up to date: its ledger ends with what is asked for now, and no source has moved.

Most tables of most runs are. Reading the SELECT would take longer than looking at the versions of what it reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.metadata import version

from ..pipeline import digest
from .engine import Engine
from .history import read_commit
from .ledger import NO_OP, Entry
from .look import Seen, Settings, meaning_of
from .outcome import Code, Outcome
from .spec import Spec


def is_plain(seen: Seen, spec: Spec) -> bool:
    """Whether the same text asks for the same thing until a source gets another version: it reads no clock, nothing
    that it does not name, and no function that could be defined anew."""
    model = seen.model
    known = model.node is not None and not model.volatile and not model.kept and not seen.clock
    return known and seen.catalog.says_all and not spec.deterministic


def asked(spec: Spec, settings: Settings) -> str:
    """A digest of all that the user says of the table, and of the release that reads it: another may read it better."""
    # What is expected of keys, and who reads the table, changes how rows are written, and not which there are.
    told = replace(spec, place="", full_refresh=False, expected_keys={}, is_read=False)
    return digest((told, settings, _release()))


@cache
def _release() -> str:
    return version("dbt-spark-dynamic")


def up_to_date(spec: Spec, engine: Engine, until: Mapping[str, int]) -> Outcome | None:
    """That there is nothing to do; None where that has to be looked into. until: as `refresh` has it."""
    target = None if spec.full_refresh or spec.deterministic else engine.glance(spec.target)
    if target is None:
        return None
    entry = Entry.read(read_commit(target.version, engine.log(target, target.version)).user_metadata)
    # A commit between the one that the refresh was computed against and its own may be a stranger's.
    if entry is None or (entry.base >= 0 and entry.base != target.version - 1):
        return None
    if not entry.asked or entry.asked != asked(spec, meaning_of(engine)):
        return None
    for name, then in entry.sources.items():
        now = engine.glance(name)
        if now is None or (now.id, until.get(name, now.version)) != (then.id, then.version):
            return None
    versions: dict[str, tuple[int | None, int]] = {n: (c.version, c.version) for n, c in entry.read_by_select.items()}
    return Outcome(Code.NO_CHANGE, NO_OP, sources=versions, table=target.name, version=target.version)
