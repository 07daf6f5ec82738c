"""What a sink was given, as the commits of a Delta table remember it: beside the messages themselves, or apart."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from ..commit.engine import Engine, Table
from ..commit.history import read_commit
from ..commit.ledger import TXN_APP, TXN_VERSION, USER_METADATA
from ..names import DELIVERY


@dataclass(frozen=True)
class Delivery:
    """The state of a table that its sink was brought to.

    table: its name; id, version: of the table then; commit: what tells that version from one of the same number of
    another table; number: 1, 2, … of the deliveries to this sink; sink: the id of the table when the first was made,
    the same in all; over: False while its messages are being written, by who cannot commit them all at once."""

    table: str
    id: str
    version: int
    commit: str
    number: int
    sink: str
    over: bool = True

    @property
    def text(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"), sort_keys=True)

    @classmethod
    def read(cls, text: str) -> Delivery:
        return cls(**json.loads(text))

    def settings(self) -> dict[str, str]:
        """The session settings under which a Delta commit makes it, once."""
        step = 2 * self.number - (0 if self.over else 1)
        return {
            USER_METADATA: json.dumps({DELIVERY: asdict(self)}, separators=(",", ":"), sort_keys=True),
            TXN_APP: f"{DELIVERY}:{self.table}:{self.sink}",
            TXN_VERSION: str(step),
        }


def newest(engine: Engine, table: Table, *, over: bool = False) -> Delivery | None:
    """The last delivery that a commit of the table tells of; None if none does, as far back as its log reaches. over:
    only of those whose messages are all there."""
    for version in range(engine.version(table), -1, -1):
        actions = engine.log(table, version)
        if not actions:
            return None
        commit = read_commit(version, actions)
        try:
            found = Delivery(**json.loads(commit.user_metadata or "")[DELIVERY])
        except (ValueError, KeyError, TypeError):
            if commit.replaces_table:
                return None
            continue
        if found.over or not over:
            return found
    return None
