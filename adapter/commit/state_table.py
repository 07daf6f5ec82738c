"""The state table of a dynamic table: groups that it is made of (changes/apart.py), as a dynamic table beside it; where
it can only meet some of them, these (changes/partners.py); or values that its rows are asked to have or not
(changes/distinct_partners.py).

A refresh brings it up to the sources first, in a commit of its own, and then the table up to it. The ledger of the
table has the versions of both: what it was made from, and what that was made from. A process that dies between the two
leaves a state table that is ahead of what the ledger says; the next refresh reads what changed of it since.

It is begun where a refresh by change takes about as long as computing the table anew although little changed, and given
up where it turns out to have too many rows, or refreshes take longer with it than they took without. Trying it costs
what computing the groups takes; it is not tried again soon.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..algebra.keys import unique_key
from ..algebra.nodes import Node
from ..algebra.transform import remembered
from ..changes.additive import Own, adds_up
from ..changes.apart import Apart, all_apart
from ..changes.distinct_partners import with_distinct_partners
from ..changes.partners import of_groups_met
from ..dialect import print_sql
from ..errors import EngineError, Refusal
from ..names import STATE_SUFFIX, beside
from ..pipeline import columns_of, digest
from ..sparksql import reads
from ..sparksql.render import Renderer
from .costs import AT_LAST, LITTLE, Changed, saves_nothing
from .decide import changed_rows, costs, may_be_rewritten, size_of_sources, untimed
from .engine import Engine
from .look import Seen, is_large
from .sources import Change, change_of
from .spec import ChangelogMode, ConfigurationChange, RefreshMode, SchemaChange, Spec

STATE_OF = "dbt_spark_dynamic.state_of"
"""A property of a state table: the table that it belongs to. A table of its name without it is somebody else's."""

WORTH = 5.0
"""Seconds that a refresh takes from which on it pays to keep groups apart. With them it takes three to four, whatever
they are of, two for commits; and to find out that there are too many of them may take more than computing the table."""

ROWS_EACH = 8
"""Rows of the source for each row of a state table, at the least. Of more groups, finding those that changed takes what
it saves. With TPC-H at scale 10 (two cores), a MERGE of a hundred rows into 5 M takes 4 s, into 1.5 M, ten orders for
each, 1 s; of 260,000 into those 3 s, where the ten orders of each were looked up in 10 to 14 s."""

SLOW = 0.3
"""Of computing a table anew, what a refresh of it by a small change takes that is slow."""


def state_of(seen: Seen, spec: Spec) -> Apart | None:
    """What the table is made from by its ledger, as far as the model still is."""
    entry, node = seen.entry, seen.model.node
    state = entry.state if entry is not None else None
    if state is None or state.ended is not None or node is None or spec.full_refresh:
        return None
    # That a partner is worth asking follows from sizes, which may be others by now.
    models = (seen.content, of_groups_met(node, seen.types, lambda *_: True), *_said(node, seen))
    return next((apart for apart in _of_any(*models) if text_of(apart) == state.of), None)


def _said(node: Node, seen: Seen) -> tuple[Node, ...]:
    """A model, and the same with groups where its author has none: of the rows that others are asked to have or not."""
    return node, *with_distinct_partners(node, seen.source_keys, seen.types)


def _of_any(*models: Node) -> Iterator[Apart]:
    """Of a model that is said in several ways."""
    return (apart for model in dict.fromkeys(models) for apart in all_apart(model))


def text_of(apart: Apart) -> str:
    """The same for equal ones."""
    return digest(_query(apart.content))


def maintained_as(apart: Apart, spec: Spec) -> Spec:
    """The state table as a dynamic table."""
    return replace(
        spec, target=beside(spec.target, STATE_SUFFIX), sql=_query(apart.content), properties={STATE_OF: spec.target},
        layout="", partition_by=(), cluster_by=(), location="", constraints={}, unique_key=(), full_refresh=False,
        refresh_mode=RefreshMode.AUTO, changelog_mode=ChangelogMode.AUTO, on_schema_change=SchemaChange.IGNORE,
        on_configuration_change=ConfigurationChange.APPLY, may_rebuild=True, sink_by_key=False, is_read=True,
    )  # fmt: skip


def dropped(table: str) -> str:
    """The statement that drops one."""
    return f"DROP TABLE IF EXISTS {print_sql(reads.table(table))}"


def changed_since(seen: Seen, engine: Engine) -> Changed | None:
    """What changed of all that the SELECT reads since the last refresh; None where the sources do not say it."""
    consumed = seen.entry.sources if seen.entry is not None else {}
    changes = dict[str, Change]()
    for name in seen.model.sources:
        if name not in consumed:
            continue
        found = change_of(engine, seen.catalog.tables[name], consumed[name], seen.columns_read(name))
        if isinstance(found, Change):
            changes[name] = found
    return changed_rows(seen, changes)


def is_dear(seen: Seen, changed: Changed | None) -> bool:
    """Whether the state table saves nothing, by what refreshes with it took and those before."""
    position = seen.position
    if position is None or position.entry is None or position.entry.state is None or changed is None:
        return False
    alone = position.entry.state.alone
    return saves_nothing(position.past, alone, size_of_sources(seen), changed, untimed(seen))


def why_slow(seen: Seen, changed: Changed | None) -> str | None:
    """Why a refresh by this change takes long for how little changed, by what one like it took; None if none did."""
    if seen.state is not None or changed is None or changed.share >= LITTLE or seen.position is None:
        return None
    found = costs(seen, changed)
    if found is None or found.by_change < max(WORTH, SLOW * found.anew) or not seen.position.past.is_told(changed):
        return None
    return f"{changed}: {found}"


def to_begin(seen: Seen, spec: Spec, engine: Engine, changed: Changed | None) -> Apart | None:
    """What to keep apart from now on of a table that is slow to maintain by a change of so many rows: of several, the
    groups of the largest table, and of these those that are met at all. None where there are none, or the ledger is to
    have them."""
    entry, node = seen.entry, seen.model.node
    if entry is None or node is None or changed is None or changed.share >= LITTLE or seen.state is not None:
        return None
    if not may_be_rewritten(seen, spec) or seen.model.volatile or seen.clock or seen.partials is not None:
        return None
    ended = entry.state.ended if entry.state is not None else None
    if ended is not None and entry.sequence < ended + AT_LAST:
        return None
    anew = seen.position.past.anew if seen.position is not None else None
    if anew is None or anew.seconds < WORTH:
        return None
    sizes = {name: t.size for name, t in seen.catalog.tables.items() if is_large(t)}

    def largest(apart: Apart) -> int:
        return max((sizes.get(source, 0) for source, _ in apart.groups.leaves), default=0)

    found = sorted(filter(largest, _of_any(seen.content, *_said(node, seen))), key=largest, reverse=True)
    return next((apart for apart in found if _can_be_kept(apart, seen, spec, engine)), None)


def _can_be_kept(apart: Apart, seen: Seen, spec: Spec, engine: Engine) -> bool:
    """Whether its groups add up, the table's rows have the key that they had, and the name is free or its own."""
    try:
        columns = columns_of(apart.content, engine.columns)
    except (Refusal, EngineError):
        return False
    state = maintained_as(apart, spec)
    if not adds_up(apart.content, Own(state.target, dict(columns))):
        return False
    assert seen.model.node is not None
    of_groups = apart.content.columns[: len(apart.groups.groups)]
    key = unique_key(apart.over(state.target), {**seen.source_keys, state.target: of_groups})
    if key != unique_key(seen.model.node, seen.source_keys):
        return False
    there = engine.table(state.target)
    return there is None or (there.properties or {}).get(STATE_OF) == spec.target


@remembered
def _query(content: Node) -> str:
    return print_sql(Renderer(reads.undated).query(content))
