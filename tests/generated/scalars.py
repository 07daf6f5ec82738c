"""Random scalar SQL over typed columns: expressions of a wanted kind, predicates, aggregate calls.

Left out is what engines define differently (division, rounding, coercion between strings and numbers, overflow): a
difference found must be ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

KINDS = ("int", "string", "decimal", "date", "bool", "wide", "approx")
"""wide: a sum of decimals, which is not multiplied again; approx: an average, on which no arithmetic is done."""

LITERALS: dict[str, tuple[str, ...]] = {
    "int": ("0", "1", "2", "3"),
    "string": ("'a'", "'b'", "'bb'", "''"),
    "decimal": ("1.50", "2.25", "0.5"),
    "wide": ("1.50", "3.75", "10.00"),
    "date": ("DATE '2024-01-31'", "DATE '2024-06-01'"),
    "bool": ("TRUE", "FALSE"),
    "approx": ("1.5", "0.75"),
}


@dataclass(frozen=True)
class Column:
    """text: how a query refers to it; kind: one of KINDS."""

    text: str
    kind: str


Columns = Sequence[Column]


class Scalars:
    """Draws from one `Random`, so that a query is a function of its seed."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def column(self, columns: Columns, kind: str) -> str | None:
        fitting = [c.text for c in columns if c.kind == kind]
        return self.random.choice(fitting) if fitting else None

    def atom(self, columns: Columns, kind: str) -> str:
        """A column of the kind if there is one, most often; else a literal."""
        found = self.column(columns, kind)
        if found is None or self.chance(15):
            return self.random.choice(LITERALS[kind])
        return found

    def expression(self, columns: Columns, kind: str, depth: int = 2) -> str:
        """An expression of the kind; literals alone only where no column fits."""
        if depth == 0 or kind == "approx" or self.chance(60):
            return self.column(columns, kind) or self.random.choice(LITERALS[kind])
        if self.chance(20):
            return self._case(columns, kind, depth)
        if self.chance(20):
            return f"COALESCE({self.atom(columns, kind)}, {self.random.choice(LITERALS[kind])})"
        return getattr(self, f"_{kind}")(columns, depth)

    def _case(self, columns: Columns, kind: str, depth: int) -> str:
        when, then, other = (
            self.predicate(columns, 0),
            self.atom(columns, kind),
            self.expression(columns, kind, depth - 1),
        )
        if self.chance(25):
            return f"IF({when}, {then}, {other})"
        return f"CASE WHEN {when} THEN {then}{f' ELSE {other}' if self.chance(70) else ''} END"

    def _int(self, columns: Columns, depth: int) -> str:
        a = self.atom(columns, "int")
        choices = [f"{a} + {self.atom(columns, 'int')}", f"{a} - {self.atom(columns, 'int')}", f"{a} * 2", f"-({a})"]
        choices += [f"{f}({d})" for d in [self.column(columns, "date")] if d for f in ("YEAR", "MONTH")]
        choices += [f"LENGTH({s})" for s in [self.column(columns, "string")] if s]
        return f"({self.random.choice(choices)})"

    def _string(self, columns: Columns, depth: int) -> str:
        a = self.atom(columns, "string")
        choices = [f"{a} || {self.atom(columns, 'string')}", f"UPPER({a})", f"SUBSTRING({a}, 1, 1)"]
        for kind in ("int", "decimal", "wide", "date"):
            of = self.column(columns, kind)
            choices += [f"CAST({of} AS STRING)"] if of else []
        return f"({self.random.choice(choices)})"

    def _decimal(self, columns: Columns, depth: int) -> str:
        return f"({self.atom(columns, 'decimal')} {self.random.choice('+-')} {self.atom(columns, 'decimal')})"

    def _wide(self, columns: Columns, depth: int) -> str:
        return f"({self.atom(columns, 'wide')} {self.random.choice('+-')} {self.atom(columns, 'wide')})"

    def _date(self, columns: Columns, depth: int) -> str:
        return f"COALESCE({self.atom(columns, 'date')}, {self.atom(columns, 'date')})"

    def _bool(self, columns: Columns, depth: int) -> str:
        return f"({self.predicate(columns, depth - 1)})"

    # --- predicates

    def predicate(self, columns: Columns, depth: int = 1) -> str:
        """A condition over at least one column; TRUE where there is none."""
        if not columns:
            return "TRUE"
        if depth > 0 and self.chance(30):
            a, b = self.predicate(columns, depth - 1), self.predicate(columns, depth - 1)
            return self.random.choice((f"({a} AND {b})", f"({a} OR {b})", f"NOT ({a})"))
        chosen = self.random.choice(columns)
        a, other = chosen.text, self.atom(columns, chosen.kind)
        choices = [f"{a} {op} {other}" for op in ("=", "<>", "<", ">=")]
        choices += [f"{a} IS NULL", f"{a} IS NOT NULL"]
        literals = ", ".join(self.random.sample(LITERALS[chosen.kind], 2))
        if chosen.kind == "bool":
            return self.random.choice([a, f"NOT {a}", f"{a} = {other}", *choices[4:]])
        if chosen.kind != "approx":
            choices += [f"{a} <=> {other}", f"{a} IN ({literals})", f"{a} NOT IN ({literals})"]
        if chosen.kind == "string":
            choices.append(f"{a} LIKE 'b%'")
        if chosen.kind == "int":
            choices.append(f"{a} BETWEEN 1 AND 2")
        return self.random.choice(choices)

    # --- aggregates

    def aggregate(self, columns: Columns, kind: str) -> str:
        """An aggregate over the columns whose value is of the kind."""
        of = self.expression(columns, kind, 1)
        calls = [f"MIN({of})", f"MAX({of})"]
        if kind == "int":
            any_kind = self.random.choice([c.kind for c in columns] or ["int"])
            some = self.expression(columns, any_kind, 1)
            calls += ["COUNT(*)", "COUNT(*)", f"COUNT({some})", f"SUM({of})", f"SUM({of})"]
            calls += [f"COUNT_IF({self.predicate(columns, 0)})"]
            calls += [f"COUNT(DISTINCT {some})"] * 2 + [f"SUM(DISTINCT {of})"]
        elif kind == "wide":
            summed = self.random.choice(("decimal", "wide"))
            if self.column(columns, summed):
                calls += [f"SUM({self.column(columns, summed)})"] * 3
        elif kind == "approx":
            averaged = self.random.choice(("int", "decimal"))
            if found := self.column(columns, averaged):
                calls = [f"AVG({found})", f"AVG({found})", f"MEDIAN({found})"]
        elif kind == "string":
            calls += [f"LISTAGG({of}, ',') WITHIN GROUP (ORDER BY {of})", f"MAX_BY({of}, {of})"]
            if (listed := self.column(columns, self.random.choice(("int", "string", "date")))) and self.chance(15):
                return f"CAST(SORT_ARRAY(COLLECT_SET({listed})) AS STRING)"
        elif kind == "bool":
            calls = [f"BOOL_OR({of})", f"BOOL_AND({of})"]
        call = self.random.choice(calls)
        if self.chance(10):
            call = f"{call} FILTER (WHERE {self.predicate(columns, 0)})"
        return call

    def over_groups(self, groups: Columns, columns: Columns, kind: str) -> str:
        """A value of the kind that a grouped SELECT can show: of its groups, its aggregates, or both."""
        found = self.column(groups, kind)
        if found and self.chance(40):
            return found
        call = self.aggregate(columns, kind)
        if kind == "int" and self.chance(15):
            return f"({call} + {self.aggregate(columns, 'int')})"
        if kind == "string" and self.chance(25):
            return f"CASE WHEN {self.aggregate(columns, 'int')} > 1 THEN 'many' ELSE 'few' END"
        if kind in ("int", "wide", "decimal") and self.chance(15):
            return f"COALESCE({call}, 0)"
        return call
