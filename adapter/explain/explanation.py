"""All that there is to say about a model before it is refreshed, gathered in one value."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..algebra.clock import WATERMARK
from ..algebra.emission import Emission
from ..algebra.keys import SourceKeys, unique_key
from ..algebra.nodes import Aggregate, Filter, Join, Node, Project, Scan, Window, walk
from ..algebra.times import MICROS
from ..changes.change_plan import ChangePlan, Shape
from ..changes.laws import ADDITIVE, EMITTED, OF_GROUPS, PADDED, PARTIAL, TOP, Law, adding_up, law_of
from ..changes.padded import joins_apart
from ..commit import problems
from ..commit.costs import never_anew, seconds
from ..commit.decide import (
    Decision,
    bars,
    changed_rows,
    costs,
    dear_plan,
    decide,
    may_be_rewritten,
    size_of_sources,
)
from ..commit.engine import Engine, SqlError
from ..commit.ledger import CREATE, RECOMPUTE, REWRITE, ExpectedKey
from ..commit.look import Seen, look, over_state
from ..commit.outcome import Code
from ..commit.sources import are_few, grown
from ..commit.spec import ChangelogMode, Spec
from ..commit.state_table import changed_since, maintained_as, state_of, text_of
from ..errors import DynamicTableError, Refusal
from ..pipeline import Model
from ..reading.relations import Kind
from .rehearsal import Case, Rehearsed, rehearse


@dataclass(frozen=True)
class Source:
    """A table that is read. consumed, now: its versions, None where there is none; change: what is known of it."""

    name: str
    consumed: int | None
    now: int | None
    change: str


@dataclass(frozen=True)
class Step:
    """A node of the algebra, how deep below the root it stands, and the law by which its change is derived."""

    depth: int
    node: Node
    law: Law


@dataclass(frozen=True)
class Technique:
    """A way to bring the table up to its sources that the plan allows. when: the case it is for; cost: what it is
    expected to take, or to read where nothing was timed yet."""

    name: str
    when: str
    cost: str = ""


@dataclass(frozen=True)
class Explanation:
    """code, next_run: what the next run would do; stopped: the error it would stop with instead; steps: the algebra,
    empty where the SELECT is refused; key: what rows are merged by, and where it comes from; changelog: the same of
    how changes reach the table; techniques: cheapest first; rehearsed: what would be sent to Spark, by case;
    results: when those of windows are made, empty where they are what the rows are at any time; state: the table of
    groups that it is made from, which every run brings up to date before; None without one."""

    target: str
    place: str
    code: Code
    next_run: str
    stopped: str | None
    refusal: Refusal | None
    steps: tuple[Step, ...]
    key: str
    changelog: str
    sources: tuple[Source, ...]
    techniques: tuple[Technique, ...]
    rehearsed: tuple[Rehearsed, ...]
    assumed: bool
    results: str = ""
    state: Explanation | None = None


def explain(spec: Spec, engine: Engine) -> Explanation:
    """Writes nothing, and computes nothing. Raises DynamicTableError for what no refresh can be made of."""
    try:
        seen, state = _over_state(look(spec, engine), spec, engine)
        decision, stopped = _decision(seen, spec, engine)
        node, cases = seen.model.node, _cases(seen, spec, engine, decision)
        shape = seen.plan(frozenset(seen.model.sources)) if node is not None else None
        return Explanation(
            target=spec.target,
            place=spec.place,
            code=decision.code,
            next_run=_next_run(decision, seen, spec, state),
            stopped=stopped,
            refusal=seen.model.refusal,
            steps=_steps(seen.model, shape) if shape is not None else (),
            key=_key(seen, spec),
            changelog=_changelog(spec, seen, shape),
            sources=_sources(seen, decision),
            techniques=_techniques(seen, spec, cases, decision),
            rehearsed=(*_chosen_anew(seen, spec, engine, decision), *cases),
            assumed=not (decision.changes or decision.clock_moved),
            results=results_made(spec.emission) if spec.emission is not None else "",
            state=state,
        )
    except SqlError as error:
        raise problems.explained(error, spec) from error


def _over_state(seen: Seen, spec: Spec, engine: Engine) -> tuple[Seen, Explanation | None]:
    """With the state table as it is now."""
    apart = state_of(seen, spec)
    if apart is None:
        return seen, None
    state = maintained_as(apart, spec)
    if (table := engine.table(state.target)) is None:
        return seen, None
    there, changed = (table.name, table.version), changed_since(seen, engine)
    over = over_state(seen, spec, engine, apart, text_of(apart), there, changed)
    return (seen, None) if over is None else (over, explain(state, engine))


def results_made(emission: Emission) -> str:
    """When the results of windows are made, a line for each kind of them."""
    clock = "the watermark" if emission.clock == WATERMARK else "the time of the refresh"
    said = [f"complete when {clock} has passed {_offset(emission.complete)}"]
    if emission.first != emission.complete:
        rate = f", and again every {_lasting(emission.every)}" if emission.every is not None else ""
        rate = f", and again with every {emission.rows} rows" if emission.rows is not None else rate
        said.insert(0, f"first when {clock} has passed {_offset(emission.first)}{rate}")
    if emission.stop is None:
        said.append("rows that change after that correct them at once")
    else:
        at_once = (
            f"correct them at once until it has passed {_offset(emission.stop)}, and then " if emission.late else ""
        )
        said.append(f"rows that change after that {at_once}are ignored and counted")
    return "\n".join(said)


def _offset(micros: int) -> str:
    if not micros:
        return "the end of their window"
    return f"the end of their window {'plus' if micros > 0 else 'less'} {_lasting(abs(micros))}"


def _lasting(micros: int) -> str:
    """A length of time in the largest unit that it is a whole number of."""
    unit = next(u for u in reversed(MICROS) if micros % MICROS[u] == 0)
    return f"{micros // MICROS[unit]} {unit}" + ("s" if micros != MICROS[unit] else "")


def _decision(seen: Seen, spec: Spec, engine: Engine) -> tuple[Decision, str | None]:
    """What the next run does, or what it stops with; then as for a table that has nothing to do."""
    try:
        decision = decide(seen, spec, engine)
    except DynamicTableError as error:
        return Decision(Code.NO_CHANGE), str(error)
    if decision.code is Code.INCREMENTAL and decision.changes:
        by_change = seen.plan(frozenset(decision.changes), grown(decision.changes), few=are_few(decision.changes))
        if (dear := dear_plan(seen, spec, changed_rows(seen, decision.changes), by_change)) is not None:
            return replace(decision, code=Code.RECOMPUTE, reason=dear, rewrite=True), None
    return decision, None


def _next_run(decision: Decision, seen: Seen, spec: Spec, state: Explanation | None) -> str:
    said = f"{decision.code.value}, because"
    if decision.code is Code.CREATED:
        return f"{said} {decision.reason or 'there is no such table yet'}"
    if decision.code is Code.RECOMPUTE:
        return f"{said} {decision.reason}"
    if decision.code is Code.NO_CHANGE and state is not None and state.code is not Code.NO_CHANGE:
        return f"by what changes of {state.target}: {state.next_run}"
    if decision.code is Code.NO_CHANGE:
        return f"{said} no source has new data"
    because = [f"{len(decision.changes)} of {len(seen.model.sources)} sources changed"] if decision.changes else []
    because += ["the clock moved"] if decision.clock_moved else []
    return f"{said} {' and '.join(because)}{_weighed(decision, seen, spec)}"


def _weighed(decision: Decision, seen: Seen, spec: Spec) -> str:
    """What was expected of both ways, where earlier refreshes say it, and why the dearer one is taken nevertheless."""
    changed = changed_rows(seen, decision.changes)
    found = costs(seen, changed)
    if found is None:
        return ""
    met = [bar for bar in bars(seen, spec) if bar.is_met(found)]
    if not met:
        return f": {found}"
    asked = "the model does not leave it open" if not may_be_rewritten(seen, spec) else None
    assert seen.position is not None
    return f": {found}, but {asked or never_anew(seen.position.past, size_of_sources(seen), changed, met[-1])}"


def _cases(seen: Seen, spec: Spec, engine: Engine, decision: Decision) -> tuple[Rehearsed, ...]:
    """One for each technique that a refresh may come to once the table is there."""
    if not seen.model.sources:
        return ()
    if seen.model.refusal is not None:
        recompute = Decision(Code.RECOMPUTE, seen.model.refusal.reason)
        return (rehearse(spec, engine, seen, recompute, Case.GENERAL),)
    found: list[Rehearsed] = []
    for case in Case:
        if case is Case.GENERAL and spec.changelog_mode is ChangelogMode.APPEND:
            continue
        by_change = replace(decision, code=Code.INCREMENTAL, reason=None)
        rehearsed = rehearse(spec, engine, seen, by_change, case)
        if all(r.statements != rehearsed.statements for r in found):
            found.append(rehearsed)
    return tuple(found)


def _chosen_anew(seen: Seen, spec: Spec, engine: Engine, decision: Decision) -> tuple[Rehearsed, ...]:
    """The refresh that writes the table anew, where the next one does."""
    return (rehearse(spec, engine, seen, decision, Case.GENERAL),) if decision.rewrite else ()


def _steps(model: Model, shape: ChangePlan) -> tuple[Step, ...]:
    at_root = {Aggregate: ADDITIVE} if shape.shape is Shape.ADDITIVE else {Window: TOP} if shape.falling else {}
    at_root = {Aggregate: PARTIAL} if shape.partials is not None else at_root
    at_root = {Filter: EMITTED} if model.emission is not None else at_root
    assert model.node is not None
    first = next((n for n in walk(model.node) if type(n) in at_root), None)
    apart: tuple[Join, ...] = ()
    if isinstance(first, Aggregate):
        at_root = {Aggregate: adding_up(first, at_root[Aggregate])}
        apart = joins_apart(first)
    above = shape.partials.above if shape.partials is not None and shape.shape is Shape.SIGNED else ()

    def below(node: Node, depth: int) -> list[Step]:
        if _only_passes(node):
            return below(node.children[0], depth)
        law = at_root[type(node)] if node is first else OF_GROUPS if node in above else law_of(node)
        law = PADDED if node in apart else law
        return [Step(depth, node, law), *(s for c in node.children for s in below(c, depth + 1))]

    return tuple(below(model.node, 0))


def _only_passes(node: Node) -> bool:
    """A projection that leaves columns out and does nothing else."""
    return isinstance(node, Project) and all(e.column == name for name, e in node.outputs)


def _key(seen: Seen, spec: Spec) -> str:
    derived = unique_key(seen.model.node, seen.source_keys) if seen.model.node is not None else None
    if seen.key is None:
        by_row = spec.changelog_mode in (ChangelogMode.RETRACT, ChangelogMode.APPEND)
        if by_row and derived is not None:
            return f"none is used, because changelog_mode='{spec.changelog_mode.value}' is set"
        if seen.expected_key is not None:
            return _expected(seen.expected_key)
        return "none: no columns are known to be unique in the result; unique_key can declare some"
    if not seen.key:
        return "none is needed: there is at most one row"
    listed = ", ".join(seen.key)
    if derived is None:
        return f"({listed}), declared by unique_key and checked at every refresh"
    assert seen.model.node is not None
    origin = f"({listed}), derived from {_origin(seen.model.node, seen.source_keys)}"
    if seen.checked:
        origin += f"; unique_key ({', '.join(seen.checked)}) is checked at every refresh"
    return origin


def _expected(key: ExpectedKey) -> str:
    listed = ", ".join(key.columns)
    if key.found and key.holds is False:
        return "none: no columns are known to be unique in the result; unique_key or a test can say so"
    if key.found:
        return f"({listed}), found in rows that changed; verified at every refresh"
    if key.holds is False:
        return f"none: ({listed}) was found not to be unique, although the project expects it to be"
    return f"({listed}), as the project expects by a test, a constraint or a unique_key; verified at every refresh"


def _origin(node: Node, sources: SourceKeys) -> str:
    """The part of the model that makes its key unique."""
    if isinstance(node, Aggregate):
        return "GROUP BY" if node.aggregates else "DISTINCT"
    if isinstance(node, Scan):
        return f"the key of {node.source}"
    if isinstance(node, Filter) and unique_key(node.child, sources) != unique_key(node, sources):
        return "ROW_NUMBER() … = 1"
    if isinstance(node, Join) and node.kind.shows_right:
        both = [_origin(c, sources) for c in node.children if unique_key(c, sources) is not None]
        return " and ".join(dict.fromkeys(both))
    return _origin(node.children[0], sources)


def _changelog(spec: Spec, seen: Seen, shape: ChangePlan | None) -> str:
    mode = spec.changelog_mode
    if mode is not ChangelogMode.AUTO:
        return f"{mode.value}, as set by changelog_mode"
    expected = seen.expected_key is not None and seen.expected_key.holds is not False
    if seen.key is None and not expected:
        return "retract: exact copies of rows come and go; append where none go"
    if shape is not None and shape.shape is Shape.SIGNED:
        return "upsert by the key; append where no row goes"
    return "upsert by the key"


def _sources(seen: Seen, decision: Decision) -> tuple[Source, ...]:
    entry = seen.entry
    found = []
    for name in seen.model.sources:
        table = seen.catalog.tables[name]
        consumed = entry.sources.get(name) if entry is not None else None
        if table.kind is not Kind.DELTA:
            found.append(Source(name, None, None, f"{table.provider}: cannot say what changed"))
            continue
        how = "change feed" if table.has_change_feed else "no change feed"
        change = decision.changes.get(name)
        if change is not None:
            how = "change feed" if change.feed else "two versions compared"
            how = f"{'some' if change.rows is None else change.rows} changed rows, {how}"
        found.append(Source(name, consumed.version if consumed else None, table.version, how))
    found += [Source(f"the clock, {name}", None, None, f"now {value}") for name, value in seen.clock.items()]
    return tuple(found)


def _techniques(seen: Seen, spec: Spec, cases: tuple[Rehearsed, ...], decision: Decision) -> tuple[Technique, ...]:
    whole = Technique(
        RECOMPUTE, "the whole SELECT again, applied as a difference; right whatever changed", _of_all(seen)
    )
    if seen.model.refusal is not None:
        return (replace(whole, when=f"the only one, because {seen.model.refusal}"),)
    if not cases:
        return (Technique(CREATE, "once: it reads no table that could change"),)
    if len(cases) == 1:
        by_change = [Technique(cases[0].outcome.technique, "whatever changed", _of_change(seen, decision))]
    else:
        by_change = [Technique(c.outcome.technique, c.case.value, _of_change(seen, decision)) for c in cases]
    found = costs(seen, None)
    if found is None or not may_be_rewritten(seen, spec):
        return (*by_change, whole)
    when = "the whole SELECT again, in place of all rows; where by change takes much longer"
    return (*by_change, Technique(REWRITE, when, f"expected {seconds(found.anew)}"), whole)


def _of_change(seen: Seen, decision: Decision) -> str:
    """What a refresh by change takes now, or reads; of the next one, if nothing changed yet."""
    changed = changed_rows(seen, decision.changes)
    found = costs(seen, changed)
    if found is not None:
        return f"expected {seconds(found.by_change)}" + ("" if changed is not None else " where little changed")
    counts = [c.rows for c in decision.changes.values()]
    if not counts or None in counts:
        return "reads what changed"
    return f"reads {sum(c or 0 for c in counts):,} changed rows"


def _of_all(seen: Seen) -> str:
    found, size = costs(seen, None), size_of_sources(seen)
    if found is not None:
        return f"at least {seconds(found.anew)}"
    return f"reads {size / 2**20:,.1f} MB" if size else "reads all of its sources"
