"""The changelog of a SELECT that does not keep its own: a table beside the versioned one, to which events are appended.

It has the ledger of a dynamic table. Each refresh reads what changed in the SELECT and appends that as events, in one
commit; of a SELECT that only filters and shows the rows of one table, commit by commit, so that no version is missed
however seldom it runs. The history is then a query over this table like over any other changelog.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from ..algebra.expressions import column
from ..algebra.nodes import Filter, Node, Project, Scan
from ..changes.change_plan import ChangePlan
from ..commit.apply import CHANGE, Applied, Applier
from ..commit.decide import decide, read_at_most
from ..commit.engine import Engine, SqlError
from ..commit.incremental import Incremental
from ..commit.ledger import APPEND, Entry
from ..commit.look import Seen, look
from ..commit.outcome import Code, Outcome
from ..commit.refresh import Refresh
from ..commit.sources import Change, are_few, has_no_feed
from ..commit.spec import Spec
from ..dialect import ChangeFeed, print_sql
from ..errors import ConfigError, SourceError, TargetError
from ..names import OPERATION, OPERATION_TIME, PREFIX, WEIGHT
from ..reading.relations import Columns
from ..sparksql.reads import ARRIVED, Span, table
from ..sparksql.render import Renderer
from ..sparksql.statements import equal, grouped, listed, literal, quoted
from .adoption import Adopted
from .options import Changelog, LateEvents
from .time_travel import not_one_table, oldest_known, rows_at

FEED = ("_change_type", "_commit_timestamp")
NEWS = f"{PREFIX}news"
ADDED: dict[Changelog, Columns] = {
    Changelog.ROWS: (),
    Changelog.CHANGES: ((OPERATION, "string"), (OPERATION_TIME, "timestamp")),
}
"""What the journal has beside the columns of the SELECT."""


@dataclass(frozen=True)
class Keeping:
    """key: columns of the SELECT; date: SQL over the journal's columns that dates an event; watermark: an interval, by
    which an event may be older than the newest one; late: what becomes of those that are older yet; adopted: a history
    to begin with, None if there is none; time_travel: whether to begin with what Delta still knows of the table's past.
    """

    kind: Changelog
    key: tuple[str, ...]
    date: str
    watermark: str | None
    late: LateEvents
    adopted: Adopted | None
    time_travel: bool = False


def keep(spec: Spec, engine: Engine, keeping: Keeping, until: Mapping[str, int] | None = None) -> Outcome:
    """Appends what is new. spec.sql: the SELECT; spec.target: the journal."""
    seen = look(spec, engine, until)
    if seen.position is not None and seen.position.entry is not None:
        seen = _extended(seen, seen.position.entry, spec, engine)
    journal = Journal(spec, engine, seen, keeping)
    decision = decide(seen, spec, engine)
    with engine.reading(read_at_most(seen, decision.changes)):
        outcome = journal.kept_up(journal.carry_out(decision))
    return replace(outcome, ignored=journal.ignored)


def _extended(seen: Seen, entry: Entry, spec: Spec, engine: Engine) -> Seen:
    """The journal with the SELECT's new columns, for which its older events have no value. Raises ConfigError for a
    column that is gone."""
    old, new = ({n.lower(): t.lower() for n, t in c} for c in (entry.columns, seen.model.columns))
    other = [n for n in old if old[n] != new.get(n)]
    if other:
        raise ConfigError(
            f"the column {other[0]} of the SELECT is gone or has another type, and the versions so far have it.",
            where=spec.place,
            why=f"{spec.target} keeps every version; it had {', '.join(f'{n} {t}' for n, t in entry.columns)}",
            remedy=f"keep the column with its type (CAST(NULL AS {old[other[0]]}) AS {other[0]} will do)",
        )
    assert seen.target is not None and seen.position is not None
    target, known = seen.target, {n.lower() for n, _ in seen.target.columns}
    if more := [f"{quoted(n)} {t}" for n, t in seen.model.columns if n.lower() not in known]:
        engine.write(f"ALTER TABLE {spec.target} ADD COLUMNS ({', '.join(more)})", {})
        target = engine.table(spec.target) or target
    # The ledger knows the columns of the SELECT alone, and so does who decides by it.
    position = replace(seen.position, entry=replace(entry, columns=seen.model.columns))
    return replace(seen, target=replace(target, columns=seen.model.columns), position=position)


class Journal(Refresh):
    """spec.sql: the SELECT. Its columns are the ledger's; the table has those of ADDED, too."""

    def __init__(self, spec: Spec, engine: Engine, seen: Seen, keeping: Keeping) -> None:
        super().__init__(spec, engine, seen)
        self.keeping, self.ignored = keeping, 0

    def _create(self, reason: str | None) -> Outcome:
        # An empty one is what a first run leaves that was stopped.
        if self.target is not None and self.engine.rows(f"SELECT 1 FROM {self.spec.target} LIMIT 1"):
            raise TargetError(
                f"{self.spec.target} is in the way: it is to hold the changelog of the versioned table, and was not "
                "made for that.",
                where=self.spec.place,
                why=reason or "",
                remedy="rename or drop it, or give the model another alias",
            )
        return super()._create(reason)

    def _content(self) -> str:
        """Every row there is, as an event of its own, or what came before it."""
        k = self.keeping
        rows = self._travelled() if k.time_travel else self._present()
        return f"SELECT * FROM (\n{rows}\n) WHERE NOT {k.date} IS NULL"

    def _present(self) -> str:
        """The rows there are now, after the history that is adopted."""
        k, query, now = self.keeping, self._query(), self._now(self.model.sources)
        rows = f"{self._event('upsert', now)} FROM (\n{query}\n)"
        if k.adopted is not None:
            rows += f"\nUNION ALL\n{k.adopted.events}"
        if k.adopted is not None and k.kind is Changelog.CHANGES:
            # What that history takes for current and is not there any more.
            lost = f"LEFT ANTI JOIN (\n{query}\n) AS q ON {equal('a', 'q', k.key)}"
            rows += f"\nUNION ALL\n{self._event('delete', now, 'a.')} FROM (\n{k.adopted.current}\n) AS a {lost}"
        return rows

    def _event(self, operation: str, at: str, prefix: str = "") -> str:
        added = f", '{operation}' AS {quoted(OPERATION)}, {at} AS {quoted(OPERATION_TIME)}"
        return f"SELECT {listed(self._names, prefix)}{added if self.keeping.kind is Changelog.CHANGES else ''}"

    def _travelled(self) -> str:
        """The rows of the oldest version of the table that is still known whole, and what each commit changed since."""
        scan, node = _plain(self.model.node), self.model.node
        now = self.catalog.delta(scan.source) if scan is not None else None
        if node is None or scan is None or now is None:
            raise not_one_table(self.spec.place)
        oldest = oldest_known(self.engine, now)
        self.notes.append(f"the history begins with version {oldest.version} of {now.name}: {oldest.why}")
        as_it_was = rows_at(now, oldest.version, oldest.columns)
        rows = print_sql(Renderer(lambda _: as_it_was.copy()).query(node), pretty=True)
        begun = f"{self._event('upsert', oldest.time)} FROM (\n{rows}\n)"
        if oldest.version == now.version:
            return begun
        changed = f"(\n{self._by_commit(scan.source, Span(oldest.version, now.version))}\n)"
        return f"{begun}\nUNION ALL\n{events(self.keeping, self._names, changed)}"

    @property
    def _names(self) -> list[str]:
        return [n for n, _ in self.model.columns]

    def _timed(self, rows: str) -> str:
        """Rows with the time of this refresh beside them."""
        return f"SELECT *, {self._now(self.model.sources)} AS {quoted(OPERATION_TIME)} FROM (\n{rows}\n)"

    def _now(self, sources) -> str:
        """When the newest of the commits was made that this refresh consumes."""
        times = [0]
        for name in sources:
            state = self.catalog.delta(name)
            if state is not None:
                times.append(self.engine.committed_at(state, state.version))
        return f"TIMESTAMP_MILLIS({max(times)})" if max(times) else "CURRENT_TIMESTAMP()"

    def _incremental(self, entry: Entry, changes: Mapping[str, Change], *, clock_moved: bool) -> Outcome:
        scan, change = _plain(self.model.node), next(iter(changes.values()), None)
        by_commit = self.keeping.kind is Changelog.CHANGES and change is not None and change.feed and not self.clock
        if scan is None or change is None or not by_commit:
            if scan is not None and change is not None and scan.source in self.seen.maps_in_order:
                self.notes.append(_untold(scan.source, change.span, "does not tell in which order maps are"))
            return super()._incremental(entry, changes, clock_moved=clock_moved)
        news = self._by_commit(scan.source, change.span)
        new = self._entry("", None, entry.generation, entry.sequence + 1, self._base(), change.rows)
        try:
            found = self.engine.pin(NEWS, news, few=False)
        except SqlError as error:
            if not has_no_feed(error):
                raise
            self.notes.append(_untold(scan.source, change.span, "cannot be read"))
            compared = {scan.source: replace(change, feed=False)}
            return super()._incremental(entry, compared, clock_moved=clock_moved)
        try:
            applied = self._applier(new).append(NEWS, found)
        finally:
            self.engine.unpin(NEWS)
        return self._outcome(Code.INCREMENTAL, new, entry, applied, change.rows)

    def _by_commit(self, source: str, span: Span) -> str:
        """What each commit of the one table below the SELECT changed in it: signed rows with OPERATION_TIME."""
        assert self.model.node is not None
        feed = ChangeFeed(this=table(source), start=span.before + 1, end=span.after)

        def changed(scan: Scan) -> exp.Expression:
            # A star would be the table's own columns, without those of its feed.
            read = [exp.column(c, quoted=True) for c in (*dict.fromkeys(c for _, c in scan.outputs), *FEED)]
            return exp.Subquery(this=exp.Select(expressions=read, from_=exp.From(this=feed.copy())))

        rows = print_sql(Renderer(changed).query(_with_feed(self.model.node)), pretty=True)
        arrived = ", ".join(literal(a) for a in ARRIVED)
        weight = f"SUM(CASE WHEN {quoted(FEED[0])} IN ({arrived}) THEN 1 ELSE -1 END)"
        (shown, by), time = grouped(self.model.columns), quoted(FEED[1])
        return (
            f"SELECT {shown}, {weight} AS {quoted(WEIGHT)}, {time} AS {quoted(OPERATION_TIME)}\n"
            f"FROM (\n{rows}\n) GROUP BY {by}, {time} HAVING {weight} <> 0"
        )

    def _plan(self, work: Incremental) -> ChangePlan:
        """Its rows are events, not those of the query."""
        return self.seen.plan(work.changed, few=are_few(work.changes), holds_rows=False)

    def _applier(self, entry: Entry) -> Appender:
        return Appender(
            self.engine, self.spec, self.model.columns, None, (), entry, self._commit, self.told_apart.refuse,
            self.measure, self._small(), self.seen.types, self.keeping, self._timed, self._ignore,
        )  # fmt: skip

    def _ignore(self, events: int) -> None:
        self.ignored += events


def _plain(node: Node | None) -> Scan | None:
    """The one table of which the SELECT filters and shows rows; None if it does more."""
    while isinstance(node, Filter | Project):
        node = node.child
    return node if isinstance(node, Scan) else None


def _untold(source: str, span: Span, why: str) -> str:
    """why: what is wrong with its change feed."""
    return (
        f"what changed in {source} after its version {span.before} was found by comparing that with its version "
        f"{span.after}, because its change feed {why}: versions in between are not in the history"
    )


def _with_feed(node: Node) -> Node:
    """The same over the table's change feed, with the feed's own columns."""
    if isinstance(node, Scan):
        return replace(node, outputs=(*node.outputs, *((c, c) for c in FEED)))
    if isinstance(node, Filter):
        return Filter(_with_feed(node.child), node.predicate)
    assert isinstance(node, Project)
    return Project(_with_feed(node.child), (*node.outputs, *((c, column(c)) for c in FEED)))


def events(keeping: Keeping, names: Sequence[str], changed: str) -> str:
    """A query of the journal's columns. changed: a relation of signed rows with OPERATION_TIME beside them."""
    if keeping.kind is Changelog.ROWS:
        return f"SELECT {listed(names)} FROM {changed} WHERE {quoted(WEIGHT)} > 0"
    at, weight, same = quoted(OPERATION_TIME), quoted(WEIGHT), [*keeping.key, OPERATION_TIME]
    return (
        f"SELECT {listed(names)}, 'upsert' AS {quoted(OPERATION)}, {at} FROM {changed} WHERE {weight} > 0\n"
        f"UNION ALL SELECT {listed(names, 'l.')}, 'delete', l.{at} FROM {changed} AS l\n"
        f"LEFT ANTI JOIN (SELECT {listed(same)} FROM {changed} WHERE {weight} > 0) AS c ON {equal('l', 'c', same)}\n"
        f"WHERE l.{weight} < 0"
    )


@dataclass
class Appender(Applier):
    """Appends changes as events. timed: puts the time of the refresh beside the rows of a query; ignore: told how many
    events were too late."""

    keeping: Keeping
    timed: Callable[[str], str]
    ignore: Callable[[int], None]

    def _signed(self, rows: int, pin: Callable[[str, str], int], technique: str | None = None) -> Applied:
        return self.append(f"({self.timed(f'SELECT * FROM {CHANGE}')})", rows)

    def held(self) -> str:
        """Of rows that are events all; otherwise the rows as they were last."""
        k = self.keeping
        if k.kind is Changelog.ROWS:
            return super().held()
        order = f"PARTITION BY {listed(k.key)} ORDER BY {quoted(OPERATION_TIME)} DESC, {quoted(OPERATION)} DESC"
        return (
            f"(SELECT {listed(self.names)} FROM (\n"
            f"  SELECT *, DENSE_RANK() OVER ({order}) AS {quoted(WEIGHT)} FROM {self.spec.target}\n"
            f") WHERE {quoted(WEIGHT)} = 1 AND {quoted(OPERATION)} = 'upsert')"
        )

    def append(self, changed: str, rows: int) -> Applied:
        """changed: as in `events`."""
        if rows == 0:
            return self._nothing()
        news = events(self.keeping, self.names, changed)
        date = self.keeping.date
        on_time = f"NOT {date} IS NULL"
        if self.keeping.watermark is not None and self.keeping.late is not LateEvents.ACCEPT:
            # Of what came before: events of one refresh are not late beside one another.
            floor = f"(SELECT MAX({date}) - INTERVAL {self.keeping.watermark} FROM {self.spec.target})"
            self._count(f"SELECT * FROM (\n{news}\n) WHERE {date} < {floor}")
            on_time = f"COALESCE({date} >= {floor}, TRUE)"
        self._write("append", f"INSERT INTO {self.spec.target} BY NAME\nSELECT * FROM (\n{news}\n) WHERE {on_time}")
        return Applied(APPEND, rows, 0, 0)

    def _count(self, late: str) -> None:
        n = int(self.engine.rows(f"SELECT COUNT(*) FROM (\n{late}\n)")[0][0])
        if n and self.keeping.late is LateEvents.ERROR:
            sample = self.engine.rows(f"{late} LIMIT 3")
            raise SourceError(
                f"{n} events are older than the watermark, and late_events='error' is set.",
                where=self.spec.place,
                why=f"each is more than {self.keeping.watermark} before the newest; for example {sample[0]!r}",
                remedy="raise watermark, or set late_events to 'accept' (they split the versions they fall into) "
                "or 'ignore'",
            )
        self.ignore(n)
