"""The writing half of a refresh: a computed change becomes one INSERT or one MERGE."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import NamedTuple, cast

from sqlglot import exp

from ..algebra.nodes import Node
from ..changes.additive import Additions
from ..changes.change_plan import ChangePlan, Shape
from ..changes.column_types import Types
from ..changes.derivation import Binding, types_of_feeds
from ..changes.falling import Falls
from ..changes.literal_keys import SHORT, Values, asked_for, with_literal_keys
from ..changes.newcomers import Newcomers
from ..changes.partials import HELD as HELD_PARTIALS
from ..changes.partials import PARTIALS
from ..errors import TargetError
from ..names import COPIES, FALLEN, NOT_UNIQUE, PREFIX, WEIGHT
from ..reading.relations import Columns
from ..sparksql import key_bits
from ..sparksql import statements as sql
from ..sparksql.found_keys import ENOUGH_ROWS
from ..sparksql.render import Renderer
from . import problems
from .bytes_read import BytesRead, added, counted
from .computed import Computed
from .engine import Engine, SqlError, Written
from .held import MOST_GROUPS, NotKept, held
from .incremental import Incremental
from .ledger import ADDITIVE, APPEND, KEYED, MERGE, NO_OP, RETRACT, TOP, Entry, ExpectedKey
from .lending import Lender
from .measure import Measure
from .rows_met import RowsMet
from .spec import ChangelogMode, Spec

CHANGE, HELD = f"{PREFIX}result_change", f"{PREFIX}held"
UPSERTS, ADDITIONS, NEWCOMERS = f"{PREFIX}upserts", f"{PREFIX}additions", f"{PREFIX}newcomers"


class NotHeld(TargetError):
    """The old result, computed again, is not what the table holds: an order of equal rows that SQL leaves open, or the
    last digits of a floating-point sum. Nothing was written."""


class NotUnique(Exception):
    """The key that the project expects is none; says so. Nothing was written."""


class Dearer(Exception):
    """The table is sooner written anew than brought up to date by what changed; says why. Nothing was written."""


@dataclass(frozen=True)
class Applied:
    """too_late: how many changed rows no result is made of any more; note: what the user is told of it."""

    technique: str
    inserted: int
    updated: int
    deleted: int
    too_late: int = 0
    note: str | None = None


class Told(NamedTuple):
    """A relation as SQL, or by its name. reads: bytes that whoever computes it reads, None where nothing says it."""

    sql: str
    reads: int | None


@dataclass
class Applier:
    """key: what rows are merged by, None for whole rows; checked: a key that is declared and must be verified;
    commit: runs the one write under the ledger entry; check_unique: raises if the query has rows; measure: what is
    asked about what was computed; small: tables that are sooner read whole than looked at for a few keys; types: of
    the columns of the tables that are read; weigh: told how many rows of the table are to be made again, raises Dearer
    if that is too many; search: told how many of the rows changed that the table's are the first of, where these have
    to be found again, raises SoonerKept if that is better done in another way; expected: a key that only the project
    says the rows have, where they are merged as a whole; worth_looking: whether a look through the whole table is
    little beside a merge of so many whole rows; sizes: of what is read; fell: whether groups had to be computed again
    the last time, None if nothing was added then; met: rows of tables that all models of the process have in common.
    """

    engine: Engine
    spec: Spec
    columns: Columns
    key: tuple[str, ...] | None
    checked: tuple[str, ...]
    entry: Entry
    commit: Callable[[str, Entry], Written]
    check_unique: Callable[[str], None]
    measure: Measure
    small: Collection[str]
    types: Types
    weigh: Callable[[int], None] = field(default=lambda rows: None, kw_only=True)
    search: Callable[[int], None] = field(default=lambda changed: None, kw_only=True)
    expected: ExpectedKey | None = field(default=None, kw_only=True)
    worth_looking: Callable[[int], bool] = field(default=lambda rows: True, kw_only=True)
    sizes: BytesRead = field(default_factory=BytesRead, kw_only=True)
    fell: bool | None = field(default=None, kw_only=True)
    met: RowsMet | None = field(default=None, kw_only=True)

    @property
    def names(self) -> list[str]:
        return [n for n, _ in self.columns]

    def plan(self, plan: ChangePlan, work: Incremental, renderer: Renderer) -> Applied:
        """Computes the plan's relations in order and applies the last one."""
        computed = Computed(plan)
        tell = self._telling(computed, work, renderer)
        if plan.affected is not None and self._may_find_out(plan):
            self._compute(computed, work, tell, until=plan.affected.name)
            if not computed.settled:
                try:
                    return self._unless_one_falls(computed, work, tell)
                except SqlError as error:
                    if FALLEN not in str(error):
                        raise
        self._compute(computed, work, tell)
        return self._apply(computed, work, tell)

    def _apply(self, computed: Computed, work: Incremental, tell: Callable[[Binding], Told]) -> Applied:
        plan, rows = computed.plan, computed.rows
        if computed.settled:
            return self._nothing()
        if plan.partials is not None:
            return self._of_partials(plan, work, tell)
        settled = TOP if plan.falling is not None and rows[plan.falling.name] == 0 else None
        if plan.shape is Shape.SIGNED:
            if settled is None and plan.falling is not None and plan.moved is not None:
                self.search(work.rows[plan.moved.name])
            late = self._too_late(plan, work)
            changed = self._pin(work, "result_change", tell(plan.result))
            signed = self._signed(changed, lambda name, q: work.pin(name, q), settled)
            return replace(signed, too_late=late)
        if settled is not None and plan.affected is not None and plan.key is not None:
            self.weigh(rows[plan.affected.name])
            # Rows that are a part of what is computed already, one for every key, and none of them in the table.
            kept = tell(plan.result)
            kept = kept._replace(sql=sql.upserts_of_rows(kept.sql))
            return self._upsert(plan.key, settled, rows[plan.affected.name], kept, net=True)
        again = plan.affected is not None and rows[plan.affected.name] > 0
        if again:
            self.weigh(rows[plan.affected.name])
        upserts = self._pin_upserts(plan, work, tell(plan.result)) if again else 0
        if plan.additions is None or (again and rows[plan.affected.name] == rows[plan.additions.changes]):
            assert plan.key is not None
            return self._upsert(plan.key, KEYED, upserts)
        more = tell(Binding("additions", plan.additions.rows, "what is added to the table's own rows"))
        if not again:
            # Columns of a relation that is computed: to compute them once more takes less than to keep them.
            return self._add(plan.additions, f"(\n{more.sql}\n)", rows[plan.additions.changes], again=False)
        more = more._replace(sql=sql.additions(more.sql, UPSERTS, *self._keys(plan, work), self.names))
        return self._add(plan.additions, ADDITIONS, self._pin(work, "additions", more), again=True)

    def _of_partials(self, plan: ChangePlan, work: Incremental, tell: Callable[[Binding], Told]) -> Applied:
        """The commit has the rows that the next refresh adds to beside those that are made of them."""
        assert plan.partials is not None
        with self._reading_computed(work.rows[PARTIALS]):
            rows = self.measure.printed(work.name(PARTIALS), tuple(plan.partials.types.items()))
        applier = replace(self, entry=replace(self.entry, partials=held(plan.partials, rows)))
        result = tell(plan.result)
        again = HELD_PARTIALS not in work.rows or (plan.falling is not None and work.rows[plan.falling.name] > 0)
        technique = KEYED if again else ADDITIVE
        if plan.shape is Shape.SIGNED:
            changed = self._pin(work, "result_change", result)
            return applier._signed(changed, lambda name, q: work.pin(name, q), technique)
        assert plan.affected is not None and plan.key is not None
        upserts = sql.upserts_from_rows(result.sql, *self._keys(plan, work), self.names)
        told = Told(f"(\n{upserts}\n)", result.reads)
        return applier._upsert(plan.key, technique, work.rows[plan.affected.name], told)

    def _telling(self, computed: Computed, work: Incremental, renderer: Renderer) -> Callable[[Binding], Told]:
        """How a relation over those that are computed is said in SQL."""
        narrowed = self._narrowing(computed.plan, work, renderer)

        def told(binding: Binding, read: Node) -> Told:
            return Told(sql.explained(binding.why, narrowed(read)), self.sizes.by(read))

        def pin(binding: Binding, most: int | None) -> int | None:
            return self._pin_at_most(work, binding.name, told(binding, binding.node), most)

        def tell(binding: Binding) -> Told:
            read = computed.read(binding.node)
            return told(binding, self.met.over(read, pin) if self.met is not None else read)

        return tell

    def _compute(
        self, computed: Computed, work: Incremental, tell: Callable[[Binding], Told], until: str | None = None
    ) -> None:
        """Pins the relations of the plan that are not yet, until one of them says that the table stays as it is, or up
        to one of them."""
        for b in computed.plan.bindings:
            if b.name == until or computed.settled:
                break
            if b.name in computed.rows or computed.is_told(b.name):
                continue
            told, few = tell(b), False if computed.is_many(b.name) else None
            if b.name == PARTIALS:
                # Of more than can be kept, it is enough to know that they are more.
                told, few = told._replace(sql=sql.at_most(MOST_GROUPS + 1, told.sql)), True
            computed.rows[b.name] = self._pin(work, b.name, told, few=few)
            touched = computed.plan.touched
            if touched is not None and b.name == touched.name and computed.rows[b.name] > MOST_GROUPS:
                # Few of them will have gone.
                raise NotKept("rows of more groups changed than can be kept in the ledger")

    def _pin(self, work: Incremental, name: str, told: Told, *, few: bool | None = None) -> int:
        # More than a few may be joined with large tables in a way that only adaptive execution sees to be wrong.
        # Partials are of all rows that there are, and what is due by the clock is of more rows than came.
        moved = work.rows_in if work.few and work.rows_in and name != PARTIALS else None
        with self.engine.reading(told.reads, moved):
            return work.pin(name, told.sql, few=few)

    def _pin_at_most(self, work: Incremental, name: str, told: Told, most: int | None) -> int | None:
        """Rows that others may have in common with this refresh, if they are no more than that."""
        if most is None:
            return self._pin(work, name, told)
        with self.engine.reading(told.reads, work.rows_in if work.few else None):
            return cast(Lender, self.engine).pin_at_most(work.name(name), told.sql, most, few=work.few)

    def _too_late(self, plan: ChangePlan, work: Incremental) -> int:
        """How many changed rows no result is made of any more."""
        if plan.too_late is None:
            return 0
        with self._reading_computed(work.rows[plan.too_late.name]):
            return self.measure.number(
                f"SELECT {sql.quoted(plan.too_late.columns[0])} FROM {work.name(plan.too_late.name)}"
            )

    def _narrowing(self, plan: ChangePlan, work: Incremental, renderer: Renderer) -> Callable[[Node], exp.Expression]:
        """Relations as SQL, with the keys that are known as literals, where tables are large enough for that."""
        computed = {b.name: b.types for b in plan.bindings}
        types = {**self.types, **types_of_feeds(plan.feeds, self.types), **computed}
        measured: dict[tuple[str, str], Values | None] = {}

        def measure(node: Node) -> None:
            for name, columns in asked_for(node, self.small).items():
                new = [c for c in columns if (name, c) not in measured]
                if new and (rows := work.rows.get(name, 0)):
                    with self._reading_computed(rows):
                        found = self.measure.values(work.name(name), new, rows)
                    measured.update({(name, c): found.get(c) for c in new})

        def narrowed(node: Node) -> exp.Expression:
            measure(node)
            met = self.met.types if self.met is not None else {}
            known = with_literal_keys(
                node, lambda relation, c: measured.get((relation.name, c)), self.small, {**types, **met},
                lambda relation: 0 < work.rows.get(relation, 0) <= SHORT,
            )  # fmt: skip
            return renderer.query(known)

        return narrowed

    def _pin_upserts(self, plan: ChangePlan, work: Incremental, result: Told) -> int:
        told = result._replace(sql=sql.upserts_from_rows(result.sql, *self._keys(plan, work), self.names))
        upserts = self._pin(work, "upserts", told)
        if self.checked and upserts:
            assert plan.key is not None
            self._check_unique(sql.duplicates_after_upserts(self.spec.target, UPSERTS, plan.key, self.checked))
        return upserts

    def _keys(self, plan: ChangePlan, work: Incremental) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        """The relation of the keys that are computed again, the key's columns in the table, and in that relation."""
        assert plan.affected is not None and plan.key is not None
        names = dict(zip(plan.key, plan.affected.columns, strict=False))
        found = self._found_by(plan.key)
        return work.name(plan.affected.name), found, tuple(names[c] for c in found)

    def _found_by(self, key: tuple[str, ...]) -> tuple[str, ...]:
        """The columns of a key that rows are joined by: one that is only NULL (VOID) tells no rows apart, and Spark
        finds nothing by it."""
        void = {n for n, t in self.columns if t == "void"}
        return tuple(c for c in key if c not in void)

    def _may_find_out(self, plan: ChangePlan) -> bool:
        """Whether the MERGE is to see that no group falls, which saves one reading of the table where none does, and
        costs one where some do. Of a small table that is little beside the statement that fails."""
        falls = plan.additions.falls if plan.additions is not None else None
        if falls is not None and falls.easily:
            return self.fell is False and self.spec.target not in self.small
        return (falls is not None or plan.newcomers is not None) and not self.fell

    def _unless_one_falls(self, computed: Computed, work: Incremental, tell: Callable[[Binding], Told]) -> Applied:
        """Which groups fall is not asked before: few ever do, and the MERGE sees every row anyway. If one does, it
        fails with FALLEN, and nothing is written."""
        plan = computed.plan
        if plan.newcomers is not None:
            return self._set_beside(plan.newcomers, plan, work, tell)
        assert plan.additions is not None and plan.additions.falls is not None
        rows = tell(Binding("additions", plan.additions.falls.rows, "what is added to the table's own rows"))
        changed = computed.rows[plan.additions.changes]
        return self._add(plan.additions, f"(\n{rows.sql}\n)", changed, again=False, falls=plan.additions.falls)

    def _set_beside(
        self, newcomers: Newcomers, plan: ChangePlan, work: Incremental, tell: Callable[[Binding], Told]
    ) -> Applied:
        """Rows that came, beside the table's. They are computed before: a MERGE reads its source twice."""
        assert plan.key is not None
        first = Binding("newcomers", newcomers.rows, "the first rows of those that came")
        rows = self._pin(work, first.name, tell(first))
        if rows == 0:
            return self._nothing()
        self.weigh(rows)
        key = self._found_by(plan.key)

        def merge(bounds: str) -> str:
            return sql.merge_newcomers(self.spec.target, NEWCOMERS, self.names, key, newcomers, bounds)

        return self._merged_by(key, TOP, NEWCOMERS, rows, counted(0, rows), merge)

    def _add(
        self, additions: Additions, relation: str, rows: int, *, again: bool, falls: Falls | None = None
    ) -> Applied:
        """relation: what is added, by its name or as a query in parentheses; again: whether some of its rows are put
        in the place of the table's instead; rows: how many there are of both; falls: when it is to fail."""
        key = self._found_by(additions.key)

        def merge(bounds: str) -> str:
            return sql.merge_additions(
                self.spec.target, relation, self.columns, key, additions.combine, additions.counted, bounds,
                upserts=again, falls=falls,
            )  # fmt: skip

        return self._merged_by(key, KEYED if again else ADDITIVE, relation, rows, counted(0, rows), merge)

    def difference(self, query: str) -> Applied:
        """What separates the table from the query's result now, applied."""
        pins: list[str] = []

        def pin(name: str, text: str) -> int:
            pins.append(f"{PREFIX}{name}")
            return self.engine.pin(pins[-1], text, few=False)

        try:
            rows = pin("result_change", sql.difference(query, self.held(), self.columns))
            return self._signed(rows, pin)
        finally:
            for name in reversed(pins):
                self.engine.unpin(name)

    def held(self) -> str:
        """The relation of the rows that the table holds for the query."""
        return self.spec.target

    def _signed(self, rows: int, pin: Callable[[str, str], int], technique: str | None = None) -> Applied:
        """technique: what it is called, where that does not follow from how the rows are written."""
        if rows == 0:
            return self._nothing()
        with self._reading_computed(rows):
            came, left = self.measure.came_and_left(CHANGE)
            if self.spec.changelog_mode is ChangelogMode.APPEND and left:
                raise problems.append_retracts(self._examples_that_left(), self.spec)
            if self.checked:
                self._check_unique(sql.duplicates_after_change(self.spec.target, CHANGE, self.checked))
            if not left:
                return self._append(technique or APPEND, came)
            self.weigh(max(came, left))
            if self.key:
                upserts = pin("upserts", sql.upserts_from_change(CHANGE, self.key, self.names))
                return self._upsert(self.key, technique or MERGE, upserts, net=True)
            expected = self._expected_to_hold(came + left)
            if expected is None:
                return self._retract(pin, technique, came, left)
            try:
                return self._by_expected_key(expected, pin, technique)
            except NotUnique as found:
                refuted = replace(self.entry, expected_key=replace(expected, holds=False))
                applied = replace(self, entry=refuted)._retract(pin, technique, came, left)
                return applied if expected.found else replace(applied, note=str(found))

    def _examples_that_left(self) -> list[tuple[object, ...]]:
        return self.measure.examples(
            f"SELECT {sql.listed(self.names)} FROM {CHANGE} WHERE {sql.quoted(WEIGHT)} < 0 LIMIT 3"
        )

    def _append(self, technique: str, came: int) -> Applied:
        """Rows are inserted without a look at the table."""
        if self.expected is not None and self.expected.holds:
            # Nobody looks whether their keys are taken.
            self.entry = replace(self.entry, expected_key=replace(self.expected, holds=None))
        self._write(technique, sql.insert(self.spec.target, f"({sql.rows_that_came(CHANGE, self.names)})", self.names))
        return Applied(technique, came, 0, 0)

    def _expected_to_hold(self, rows: int) -> ExpectedKey | None:
        """A key that is none by law, unless it is known not to hold, or not worth looking whether it does."""
        expected = self.expected
        if expected is None or expected.holds is None:
            if not self.worth_looking(rows):
                return None
            expected = expected or self._found_key(rows)
        return expected if expected is not None and expected.holds is not False else None

    def _found_key(self, rows: int) -> ExpectedKey | None:
        """What the rows of the change may be told apart by, where nobody says it and it is worth knowing."""
        asked = self.spec.changelog_mode is ChangelogMode.AUTO and self.spec.target not in self.small
        if not asked or rows < ENOUGH_ROWS:
            return None
        key = self.measure.key_of(CHANGE, tuple((n, t) for n, t in self.columns if problems.comparable(t)))
        found = ExpectedKey(key or (), None if key else False, found=True)
        self.entry = replace(self.entry, expected_key=found)
        return found

    def _by_expected_key(self, expected: ExpectedKey, pin: Callable[[str, str], int], technique: str | None) -> Applied:
        """By a key that the rows have only if the project is right, which is verified: of the table's rows after it was
        built or rows were inserted, and otherwise of those that come. Raises NotUnique, with nothing written."""
        key = expected.columns
        if not expected.holds and (found := self._sharing(key)):
            raise NotUnique(problems.unexpected(self.spec, key, found))
        entry = replace(self.entry, expected_key=replace(expected, holds=True))
        try:
            upserts = pin("upserts", sql.upserts_as_expected(CHANGE, key, self.names))
            return replace(self, entry=entry)._upsert(key, technique or MERGE, upserts, as_expected=True)
        except SqlError as error:
            if NOT_UNIQUE in str(error):
                raise NotUnique(problems.unexpected(self.spec, key)) from error
            raise

    def _sharing(self, key: tuple[str, ...]) -> list[tuple[object, ...]]:
        """Examples of keys that rows of the table share, with how many do."""
        table, types = self.spec.target, dict(self.columns)
        with self._reading_target():
            if table not in self.small and self.measure.is_unique(table, tuple((c, types[c]) for c in key)):
                return []
            return self.measure.examples(sql.duplicates_in(f"SELECT {sql.listed(key)} FROM {table}", key))

    def _retract(self, pin: Callable[[str, str], int], technique: str | None, came: int, left: int) -> Applied:
        """By whole rows, with as many copies of each as there are."""
        bits = self._bits(sql.rows_that_left(CHANGE), self.names, left)
        with self._reading_target():
            pin("held", sql.copies_held(self.spec.target, CHANGE, self.columns, bits))
        self._check_held()
        bounds = self._bounds(HELD, self.names, bits)
        name = technique or RETRACT
        merge = sql.merge_retractions(self.spec.target, CHANGE, HELD, self.columns, bounds)
        self._merge(name, merge, counted(0, came + left))
        return Applied(name, came, 0, left)

    def _upsert(
        self,
        key: tuple[str, ...],
        technique: str,
        rows: int,
        told: Told | None = None,
        *,
        net: bool = False,
        as_expected: bool = False,
    ) -> Applied:
        """told: the upserts, as a query in parentheses that the MERGE computes, where they are not computed yet; net:
        whether each of them is known to be another row than the table's; as_expected: whether they say which keys the
        table must have, and that it is a failure if it is otherwise."""
        if rows == 0:
            return self._nothing()
        upserts, reads = told or Told(UPSERTS, counted(0, rows))
        comparable = [n for n, t in self.columns if problems.comparable(t)]
        key = self._found_by(key)

        def merge(bounds: str) -> str:
            return sql.merge_upserts(
                self.spec.target, upserts, key, self.names, comparable, bounds, net=net, as_expected=as_expected
            )

        return self._merged_by(key, technique, upserts, rows, reads, merge)

    def _merged_by(
        self,
        key: Sequence[str],
        technique: str,
        relation: str,
        rows: int,
        reads: int | None,
        merge: Callable[[str], str],
    ) -> Applied:
        """One MERGE of a relation of so many rows by a key. reads: as in `Told`; merge: the statement, of where in the
        table its rows are."""
        with self.engine.reading(reads):
            bounds = self._bounds(relation, key, self._bits(relation, key, rows))
        written = self._merge(technique, merge(bounds), reads)
        return Applied(technique, written.inserted, written.updated, written.deleted)

    def _bounds(self, relation: str, key: Sequence[str], bits: str) -> str:
        """Where in the table the rows with the relation's keys are; nothing where that is not worth knowing. bits: what
        `_bits` says of them."""
        if self.spec.target in self.small:
            return ""
        return " AND ".join(filter(None, (self.measure.bounds(relation, self._typed(key)), bits)))

    def _bits(self, relation: str, key: Sequence[str], rows: int) -> str:
        """Which rows of the table may have a key of the relation, which has so many; nothing where that is not worth
        knowing."""
        columns = self._typed(key)
        if self.spec.target in self.small or not self.measure.told_by_bits(rows, columns):
            return ""
        for statement in (key_bits.DECLARED, key_bits.filled(relation, rows, columns)):
            self.engine.write(statement, {})
        return key_bits.met(rows, columns)

    def _typed(self, key: Sequence[str]) -> Columns:
        return tuple((n, t) for n, t in self.columns if n in key)

    def _nothing(self) -> Applied:
        with self._reading_computed(0):
            self._write(NO_OP, sql.touch(self.spec.target))
        return Applied(NO_OP, 0, 0, 0)

    def _check_unique(self, query: str) -> None:
        with self._reading_target():
            self.check_unique(query)

    def _reading_computed(self, rows: int) -> AbstractContextManager[None]:
        """rows: of a relation that is computed, beside which nothing is read."""
        return self.engine.reading(counted(0, rows))

    def _reading_target(self, more: int | None = 0) -> AbstractContextManager[None]:
        """more: bytes that are read beside it."""
        return self.engine.reading(added(more, self.sizes.of(self.spec.target)))

    def _merge(self, technique: str, statement: str, reads: int | None) -> Written:
        with self._reading_target(reads):
            return self._write(technique, statement)

    def _write(self, technique: str, statement: str) -> Written:
        entry = self.entry if self.entry.technique else replace(self.entry, technique=technique)
        return self.commit(statement, entry)

    def _check_held(self) -> None:
        short = f"{sql.quoted(COPIES)} + {sql.quoted(WEIGHT)} < 0"
        missing = self.measure.examples(f"SELECT {sql.listed(self.names)} FROM {HELD} WHERE {short} LIMIT 3")
        if missing:
            raise NotHeld(
                f"{self.spec.target} does not hold rows that its query has just lost.",
                where=self.spec.place,
                why=f"for example {missing[0]!r}",
                remedy="rebuild it with `dbt run --full-refresh`",
            )
