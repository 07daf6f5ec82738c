"""Random SELECTs over the shapes that are maintained, nested in any order, as Spark SQL that DuckDB understands too.

Among them outer, semi, anti, range and lateral joins, INTERSECT and EXCEPT with and without ALL, subqueries of WHERE,
HAVING and the select list, windows with frames, top-N of a key and of the whole, grouping sets, rows made of arrays.

FROM items are tables, a view, CTEs (used more than once), and subqueries; joined by comma, CROSS, ON, USING, and with
themselves.
A query is a function of its seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from .scalars import Column, Scalars
from .tables import TABLES, VIEW, VIEW_COLUMNS

KIND_OF = {
    "INT": "int", "BIGINT": "int", "STRING": "string", "DECIMAL(10,2)": "decimal", "DECIMAL(6,1)": "decimal",
    "DATE": "date", "BOOLEAN": "bool",
}  # fmt: skip

MOST_ROWS = 400
"""What a FROM clause may be expected to give: joins that would give more are not made."""

SET_OPERATIONS = ("UNION ALL", "UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL")
FRAMES = ("1 PRECEDING AND CURRENT ROW", "1 PRECEDING AND 1 FOLLOWING", "CURRENT ROW AND 1 FOLLOWING")

Outputs = tuple[Column, ...]
"""The columns of a query: their bare names and kinds."""


@dataclass(frozen=True)
class Source:
    """Something that can stand in FROM. text: without alias; rows: about how many it has."""

    text: str
    columns: Outputs
    rows: int


@dataclass(frozen=True)
class Query:
    sql: str
    columns: Outputs
    rows: int


def random_query(random: Random) -> str:
    """One SELECT whose columns have names of their own, nested up to three deep."""
    return Queries(random).model(random.choice((0, 1, 1, 1, 2, 2, 3))).sql


def _columns(typed: Sequence[tuple[str, str]]) -> Outputs:
    return tuple(Column(name, KIND_OF[kind]) for name, kind in typed)


BASE = (
    *(Source(name, _columns(typed), 8) for name, typed in TABLES.items()),
    Source(VIEW, _columns(VIEW_COLUMNS), 4),
)


class Queries:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.scalars = Scalars(random)
        self._names = 0

    def _name(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    def _chance(self, percent: int) -> bool:
        return self.scalars.chance(percent)

    def model(self, depth: int) -> Query:
        ctes: list[tuple[str, Query]] = []
        for _ in range(self.random.choice((0, 0, 1, 2))):
            query = self._query(depth - 1, None, tuple(_source(n, q) for n, q in ctes))
            ctes.append((self._name("cte"), query))
        body = self._query(depth, None, tuple(_source(n, q) for n, q in ctes))
        body = self._first_of_each(body) if self._chance(12) else self._topped(body)
        if not ctes:
            return body
        listed = ", ".join(f"{name} AS ({query.sql})" for name, query in ctes)
        return Query(f"WITH {listed} {body.sql}", body.columns, body.rows)

    def _query(self, depth: int, kinds: tuple[str, ...] | None, ctes: tuple[Source, ...]) -> Query:
        """A SELECT or a UNION. kinds: what its columns must be, None for anything."""
        first = self._select(depth, kinds, ctes)
        if depth <= 0 or not self._chance(20):
            return first
        second = self._select(depth - 1, tuple(c.kind for c in first.columns), ctes)
        how = self.random.choice(SET_OPERATIONS)
        return Query(f"{first.sql} {how} {second.sql}", first.columns, first.rows + second.rows)

    def _topped(self, query: Query) -> Query:
        """Now and then the first rows alone, of one order that is complete."""
        if not self._chance(8):
            return query
        by = list(range(1, len(query.columns) + 1))
        self.random.shuffle(by)
        ordered = ", ".join(f"{n}{self.random.choice(('', ' DESC'))}" for n in by)
        most, skipped = self.random.randint(1, 4), self.random.choice(("", "", " OFFSET 1"))
        return Query(f"{query.sql} ORDER BY {ordered} LIMIT {most}{skipped}", query.columns, min(query.rows, most))

    def _first_of_each(self, query: Query) -> Query:
        """The first rows of each partition, or of all, by an order that is complete: of a query or of a table."""
        if self._chance(50):
            table = self.random.choice(BASE)
            query = Query(f"SELECT * FROM {table.text}", table.columns, table.rows)
        inner, place = self._name("t"), self._name("c")
        columns = [Column(f"{inner}.{c.text}", c.kind) for c in query.columns]
        by = self.random.sample(columns, min(len(columns), self.random.choice((0, 1, 1, 1, 2))))
        order = [c.text + self.random.choice(("", " DESC", " DESC NULLS FIRST")) for c in self._shuffled(columns)]
        parts = [f"PARTITION BY {', '.join(c.text for c in by)}"] if by else []
        call = f"ROW_NUMBER() OVER ({' '.join(parts)} ORDER BY {', '.join(order)})"
        test = self.random.choice(("= 1", "= 1", "<= 2", "< 4"))
        hidden = {c.text for c in columns if c not in by and self._chance(20)}
        outputs = tuple(o for o, c in zip(query.columns, columns, strict=True) if c.text not in hidden) or query.columns
        listed = [f"{inner}.{c.text}" for c in outputs]
        if self._chance(40):
            sql = f"SELECT {', '.join(listed)} FROM ({query.sql}) AS {inner} QUALIFY {call} {test}"
            return Query(sql, outputs, query.rows)
        ranked = f"SELECT {', '.join(f'{c.text}' for c in columns)}, {call} AS {place} FROM ({query.sql}) AS {inner}"
        if self._chance(30):
            listed.append(f"{inner}.{place}")
            outputs = (*outputs, Column(place, "int"))
        sql = f"SELECT {', '.join(listed)} FROM ({ranked}) AS {inner} WHERE {inner}.{place} {test}"
        return Query(sql, outputs, query.rows)

    def _shuffled(self, columns: Sequence[Column]) -> list[Column]:
        return self.random.sample(columns, len(columns))

    # --- FROM

    def _source(self, depth: int, ctes: tuple[Source, ...]) -> Source:
        if ctes and self._chance(50):
            return self.random.choice(ctes)
        if depth > 0 and self._chance(40):
            query = self._topped(self._query(depth - 1, None, ctes))
            return Source(f"({query.sql})", query.columns, query.rows)
        return self.random.choice(BASE)

    def _from(self, depth: int, ctes: tuple[Source, ...]) -> tuple[str, list[tuple[str, Source]], list[str], int]:
        """(FROM clause, the items in it by alias, conditions left to WHERE, rows)"""
        source = self._source(depth, ctes)
        alias = self._name("t")
        text, items, where, rows = f"{source.text} AS {alias}", [(alias, source)], [], source.rows
        # A JOIN binds tighter than a comma, and sees only what stands on its own side of it.
        commas = self._chance(30)
        for _ in range(self.random.choice((0, 0, 0, 1, 1, 2))):
            same = self._chance(20)
            other = source if same else self._source(depth - 1, ctes)
            other_alias = self._name("t")
            on = self._equalities(items, other_alias, other)
            expected = rows * other.rows // (3 if on else 1)
            if expected > MOST_ROWS:
                continue
            item = f"{other.text} AS {other_alias}"
            rows = max(expected, 1)
            shared = self._shared(items, other)
            if commas:
                text += f", {item}"
                where += on
            elif shared and self._chance(25):
                text += f" {self._join_kind()} {item} USING ({shared})"
            elif on and self._chance(20):
                # What is kept of the left side shows no column of the right one.
                text += f" {self.random.choice(('SEMI', 'ANTI'))} JOIN {item} ON {' AND '.join(on)}"
                continue
            elif not on and (apart := self._apart(items, other_alias, other)):
                text += f" {self._join_kind()} {item} ON {apart}"
            elif not on:
                text += f" CROSS JOIN {item}"
            else:
                if self._chance(20):
                    on.append(self.scalars.predicate(_visible([*items, (other_alias, other)])))
                text += f" {self._join_kind()} {item} ON {' AND '.join(on)}"
            items.append((other_alias, other))
        if commas or not (made := self._made(items, text, depth, ctes)):
            return text, items, where, rows
        return made[1], [*items, made[0]], where, rows * 2

    def _made(
        self, items: list[tuple[str, Source]], text: str, depth: int, ctes: tuple[Source, ...]
    ) -> tuple[tuple[str, Source], str] | None:
        """Now and then one more item, made of the rows before it."""
        if depth > 0 and self._chance(12):
            return self._per_row(items, text, depth, ctes)
        return self._unnested(items, text) if self._chance(8) else None

    def _per_row(
        self, items: list[tuple[str, Source]], text: str, depth: int, ctes: tuple[Source, ...]
    ) -> tuple[tuple[str, Source], str]:
        """A subquery of FROM that reads the rows before it: rows, the first of them, groups, or aggregates of all."""
        rest, inner, _ = self._inner(_visible(items), depth, ctes)
        alias, columns, shape = self._name("t"), self.random.sample(inner, 1), self.random.randrange(4)
        if shape == 0:
            columns = [*columns, Column("COUNT(*)", "int")]
            rest += f" GROUP BY {columns[0].text}"
        elif shape == 1:
            columns = [Column("COUNT(*)", "int"), Column(f"MAX({columns[0].text})", columns[0].kind)]
            rest += self.random.choice(("", " HAVING COUNT(*) > 1", " HAVING COUNT(*) = 0"))
        elif shape == 2:
            rest += f" ORDER BY {', '.join(c.text for c in self._shuffled(inner))} LIMIT {self.random.randint(1, 2)}"
        outputs = tuple(Column(self._name("c"), c.kind) for c in columns)
        listed = ", ".join(f"{c.text} AS {o.text}" for c, o in zip(columns, outputs, strict=True))
        join = self.random.choice(("CROSS JOIN LATERAL ({}) AS {}", "LEFT JOIN LATERAL ({}) AS {} ON TRUE"))
        return (alias, Source("", outputs, 2)), f"{text} {join.format(f'SELECT {listed}{rest}', alias)}"

    def _unnested(self, items: list[tuple[str, Source]], text: str) -> tuple[tuple[str, Source], str]:
        """A column whose rows are the elements of an array of two values."""
        columns, alias = _visible(items), self._name("t")
        kind = self.random.choice(columns).kind
        array = f"ARRAY({self.scalars.atom(columns, kind)}, {self.scalars.column(columns, kind)})"
        made = Source("", (Column("x", kind),), 2)
        return (alias, made), f"{text} LATERAL VIEW EXPLODE({array}) {alias} AS x"

    def _apart(self, items: list[tuple[str, Source]], alias: str, other: Source) -> str | None:
        """A condition for a join that is no equality."""
        pairs = self._pairs(_visible(items), _visible([(alias, other)]))
        if not pairs or self._chance(50):
            return None
        a, b = self.random.choice(pairs)
        return f"{a.text} {self.random.choice(('<', '<=', '>', '<>'))} {b.text}"

    @staticmethod
    def _pairs(left: list[Column], right: list[Column]) -> list[tuple[Column, Column]]:
        return [(a, b) for a in left for b in right if a.kind == b.kind and a.kind in ("int", "string", "date")]

    def _join_kind(self) -> str:
        return self.random.choice(("JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"))

    def _equalities(self, items: list[tuple[str, Source]], alias: str, other: Source) -> list[str]:
        pairs = self._pairs(_visible(items), _visible([(alias, other)]))
        if not pairs or self._chance(10):
            return []
        chosen = self.random.sample(pairs, min(len(pairs), self.random.choice((1, 1, 2))))
        return [f"{a.text} {'<=>' if self._chance(25) else '='} {b.text}" for a, b in chosen]

    def _shared(self, items: list[tuple[str, Source]], other: Source) -> str | None:
        """A column name that USING can join on: in `other` and in exactly one item so far, of one kind."""
        if len(items) > 1:
            return None
        mine = {c.text: c.kind for c in items[0][1].columns}
        shared = [c.text for c in other.columns if mine.get(c.text) == c.kind and c.kind in ("int", "string")]
        return self.random.choice(shared) if shared else None

    # --- SELECT

    def _select(self, depth: int, kinds: tuple[str, ...] | None, ctes: tuple[Source, ...]) -> Query:
        text, items, where, rows = self._from(depth, ctes)
        columns = _visible(items)
        if self._chance(40):
            where = [*where, self.scalars.predicate(columns)]
        if depth > 0 and self._chance(25):
            where = [*where, self._subquery_test(columns, depth, ctes)]
        tail = f" FROM {text}" + (f" WHERE {' AND '.join(where)}" if where else "")
        shape = self.random.randrange(100)
        if shape < 18:
            return self._windowed(columns, kinds, tail, rows)
        if shape < 45:
            values = [self._scalar_subquery(columns, depth, ctes)] if depth > 0 and self._chance(20) else []
            return self._plain(columns, items, kinds, tail, rows, values)
        if shape < 85:
            return self._grouped(columns, kinds, tail, rows, self._compared(depth, ctes))
        return self._total(columns, kinds, tail)

    def _compared(self, depth: int, ctes: tuple[Source, ...]) -> str:
        """Now and then a condition of HAVING with a subquery in it."""
        if depth <= 0 or not self._chance(8):
            return ""
        return f"COUNT(*) >= {self._scalar_subquery([], depth, ctes, 'int').text}"

    def _scalar_subquery(
        self, columns: list[Column], depth: int, ctes: tuple[Source, ...], kind: str | None = None
    ) -> Column:
        """One value for each row of the outer query, most often of the rows that its own column picks."""
        rest, inner, _ = self._inner(columns, depth, ctes)
        kind = kind or self.random.choice(["int", *(c.kind for c in inner)])
        return Column(f"(SELECT {self.scalars.aggregate(inner, kind)}{rest})", kind)

    def _inner(
        self, columns: list[Column], depth: int, ctes: tuple[Source, ...]
    ) -> tuple[str, list[Column], list[tuple[Column, Column]]]:
        """(FROM and WHERE of a subquery, its columns, pairs of an outer and an inner column that can be compared)"""
        source, alias = self._source(depth - 1, ctes), self._name("t")
        inner = [Column(f"{alias}.{c.text}", c.kind) for c in source.columns]
        pairs = self._pairs(columns, inner)
        met = []
        if pairs and self._chance(70):
            outer, own = self.random.choice(pairs)
            met.append(f"{own.text} {self.random.choice(('=', '=', '=', '<=>', '<'))} {outer.text}")
        if self._chance(30):
            met.append(self.scalars.predicate(inner, 0))
        return f" FROM {source.text} AS {alias}" + (f" WHERE {' AND '.join(met)}" if met else ""), inner, pairs

    def _subquery_test(self, columns: list[Column], depth: int, ctes: tuple[Source, ...]) -> str:
        """A condition with a subquery in it: EXISTS, IN, or a comparison with an aggregate; often correlated."""
        rest, _, pairs = self._inner(columns, depth, ctes)
        asked, shown = self.random.choice(pairs) if pairs else (None, None)
        shape = self.random.randrange(4)
        if shape == 0 or asked is None or shown is None:
            test = f"{self.random.choice(('', 'NOT '))}EXISTS (SELECT 1{rest})"
        elif shape <= 2:
            test = f"{asked.text} {self.random.choice(('', 'NOT '))}IN (SELECT {shown.text}{rest})"
        else:
            call = self.random.choice(("MIN", "MAX"))
            test = f"{asked.text} {self.random.choice(('=', '<', '>='))} (SELECT {call}({shown.text}){rest})"
        return test if self._chance(70) else f"({test} OR {self.scalars.predicate(columns, 0)})"

    def _windowed(self, columns: list[Column], kinds: tuple[str, ...] | None, tail: str, rows: int) -> Query:
        """Columns and window functions whose value no two orders of the rows make different. One at the most counts
        equal rows apart: of two, nothing says which value of the one goes with which of the other."""
        listed, outputs, apart = [], [], False
        for kind in self._wanted(kinds, columns, 3):
            if kind == "int" and self._chance(70):
                e, counts = self._window(columns, apart=not apart)
                apart |= counts
            elif kind in ("string", "date", "decimal") and self._chance(30) and self.scalars.column(columns, kind):
                e = f"{self.random.choice(('MIN', 'MAX'))}({self.scalars.column(columns, kind)}) {self._over(columns)}"
            else:
                e = self.scalars.expression(columns, kind)
            outputs.append(Column(self._name("c"), kind))
            listed.append(f"{e} AS {outputs[-1].text}")
        rank, _ = self._window(columns, apart=not apart)
        if not apart and self._chance(50):
            rank = f"ROW_NUMBER() {self._over(columns, complete=True)}"
        qualify = f" QUALIFY {rank} <= {self.random.randint(1, 2)}" if self._chance(30) else ""
        return Query(f"SELECT {', '.join(listed)}{tail}{qualify}", tuple(outputs), rows)

    def _window(self, columns: list[Column], *, apart: bool) -> tuple[str, bool]:
        """(a window function, whether it counts equal rows apart). apart: whether it may."""
        of = self.scalars.expression(columns, "int", 1)
        calls = [f"{call}({of}) {self._over(columns)}" for call in ("SUM", "COUNT", "MIN", "MAX")]
        calls += [f"{call}() {self._over(columns, ordered=True)}" for call in ("RANK", "DENSE_RANK")]
        ranged = self.scalars.column(columns, "int")
        if ranged:
            by = f"PARTITION BY {self.random.choice(columns).text} ORDER BY {ranged}"
            calls.append(f"SUM({of}) OVER ({by} RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING)")
        complete = self._over(columns, complete=True)
        counting = [f"ROW_NUMBER() {complete}", f"NTILE(2) {complete}"]
        counting += [f"{call}({of}) {complete}" for call in ("LAG", "LEAD", "FIRST_VALUE")]
        framed = f"{complete[:-1]} ROWS BETWEEN {self.random.choice(FRAMES)})"
        counting += [f"{call}({of}) {framed}" for call in ("SUM", "MAX", "COUNT")]
        chosen = self.random.choice([*calls, *counting] if apart else calls)
        return chosen, chosen in counting

    def _over(self, columns: list[Column], *, ordered: bool = False, complete: bool = False) -> str:
        """complete: in an order that leaves no two rows side by side but equal ones."""
        by = self.random.sample(columns, min(len(columns), self.random.choice((0, 1, 1, 2))))
        parts = [f"PARTITION BY {', '.join(c.text for c in by)}"] if by else []
        if complete:
            every = self._shuffled(columns)
            parts.append(f"ORDER BY {', '.join(c.text + self.random.choice(('', ' DESC')) for c in every)}")
        elif ordered or self._chance(30):
            direction = self.random.choice(("", " DESC NULLS LAST", " NULLS LAST"))
            parts.append(f"ORDER BY {self.random.choice(columns).text}{direction}")
        return f"OVER ({' '.join(parts)})"

    def _wanted(self, kinds: tuple[str, ...] | None, columns: list[Column], most: int) -> tuple[str, ...]:
        if kinds is not None:
            return kinds
        return tuple(self.random.choice(columns).kind for _ in range(self.random.randint(1, most)))

    def _plain(
        self,
        columns: list[Column],
        items: list[tuple[str, Source]],
        kinds: tuple[str, ...] | None,
        tail: str,
        rows: int,
        values: list[Column],
    ) -> Query:
        """values: of subqueries, which stand in the select list and nowhere else."""
        distinct = "DISTINCT " if self._chance(30) else ""
        if kinds is None and len(items) == 1 and self._chance(15):
            return Query(f"SELECT {distinct}*{tail}", items[0][1].columns, rows)
        listed, outputs, known = [], [], list(columns)
        for kind in kinds or (*(v.kind for v in values), *self._wanted(None, columns, 4)):
            value = next((v for v in values if v.kind == kind), None)
            values = [v for v in values if v is not value]
            e = value.text if value else self.scalars.expression(known, kind)
            name = self._output_name(e, [c.text for c in outputs])
            listed.append(e if e.split(".")[-1] == name and self._chance(50) else f"{e} AS {name}")
            outputs.append(Column(name, kind))
            # A later column may be computed from an earlier one by its alias.
            fresh = name not in {c.text.split(".")[-1] for c in columns}
            if fresh and not value and listed[-1] != e and self._chance(20):
                known.append(outputs[-1])
        return Query(f"SELECT {distinct}{', '.join(listed)}{tail}", tuple(outputs), rows)

    def _output_name(self, expression: str, taken: list[str]) -> str:
        """Often the column's own name, so that names meet again further up."""
        bare = expression.split(".")[-1]
        if bare.isidentifier() and expression.count(".") == 1 and bare not in taken and self._chance(60):
            return bare
        return self._name("c")

    def _grouped(
        self, columns: list[Column], kinds: tuple[str, ...] | None, tail: str, rows: int, compared: str
    ) -> Query:
        """compared: a condition for HAVING, or none."""
        groups = [Column(self.scalars.expression(columns, k, 1), k) for k in self._wanted(None, columns, 2)]
        groups = [g for i, g in enumerate(groups) if "." in g.text and g not in groups[:i]] or [columns[0]]
        wanted = kinds or (*(g.kind for g in groups), *self._aggregate_kinds())
        listed, outputs, by = [], [], [g.text for g in groups]
        for i, kind in enumerate(wanted):
            shown = kinds is None and i < len(groups) and self._chance(85)
            e = groups[i].text if shown else self.scalars.over_groups(groups, columns, kind)
            name = self._output_name(e, [c.text for c in outputs])
            listed.append(f"{e} AS {name}")
            outputs.append(Column(name, kind))
            if shown and self._chance(40):
                fresh = name not in {c.text.split(".")[-1] for c in columns}
                by[i] = str(i + 1) if not fresh or self._chance(50) else name
        having = f" HAVING {compared}" if compared else ""
        if not having and self._chance(30):
            predicate = f"{self.scalars.aggregate(columns, 'int')} >= {self.random.randint(0, 2)}"
            having = f" HAVING {predicate if self._chance(70) else self.scalars.predicate(groups)}"
        together = by[0] if len(by) == 1 else ", ".join(by)
        if not any(b.isdigit() or "." not in b for b in by) and self._chance(20):
            sets = f"GROUPING SETS (({together}), ({by[0]}), ())"
            together = self.random.choice((f"ROLLUP ({together})", f"CUBE ({together})", sets))
        sql = f"SELECT {', '.join(listed)}{tail} GROUP BY {together}{having}"
        return Query(sql, tuple(outputs), min(rows, 6))

    def _aggregate_kinds(self) -> list[str]:
        every = ("int", "int", "int", "wide", "approx", "string", "date", "decimal", "bool")
        return [self.random.choice(every) for _ in range(self.random.randint(0, 3))]

    def _total(self, columns: list[Column], kinds: tuple[str, ...] | None, tail: str) -> Query:
        """Aggregates without GROUP BY: one row, or none where a HAVING says so."""
        wanted = kinds or tuple(self._aggregate_kinds()) or ("int",)
        outputs = tuple(Column(self._name("c"), kind) for kind in wanted)
        listed = [f"{self.scalars.over_groups([], columns, c.kind)} AS {c.text}" for c in outputs]
        having = f" HAVING COUNT(*) > {self.random.randint(0, 3)}" if self._chance(20) else ""
        return Query(f"SELECT {', '.join(listed)}{tail}{having}", outputs, 1)


def _source(name: str, query: Query) -> Source:
    return Source(name, query.columns, query.rows)


def _visible(items: list[tuple[str, Source]]) -> list[Column]:
    """The columns of FROM items, qualified."""
    return [Column(f"{alias}.{c.text}", c.kind) for alias, source in items for c in source.columns]
