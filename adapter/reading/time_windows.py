"""Windows of event time: window() for tumbling and hopping ones, session_window() for sessions.

Spark takes them apart only in a SELECT of one input, so that no join could ask for some of them. Here they become what
every node has a law for: an expression of the time, a generator, or window functions over the other groups.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from ..algebra.expressions import Expr, column
from ..algebra.nodes import Filter, Generate, Node, Project, TimeWindow, Window
from ..algebra.times import length, micros_of, number, time_at
from .functions import SESSION, TIME_WINDOWS, WINDOW, spark_name
from .refuse import refuse
from .relations import Typer
from .scalars import scalar
from .scope import Scope, placed, resolve, settled_names

START, END = "start", "end"


@dataclass(frozen=True)
class Timed:
    """The rows of a SELECT, each once for every window that it is in. at: their time; start, end, whole: the columns
    that the window has there; size: in microseconds, of a session its gap."""

    at: str
    start: str
    end: str
    whole: str
    size: int
    session: bool

    def over(self, groups: tuple[tuple[str, Expr], ...]) -> TimeWindow | None:
        """What the groups of an aggregate are windows by; None if they are by another thing."""
        of = {e.column: column(name) for name, e in groups}
        at = column(self.at)
        if self.start in of and self.end in of:
            return TimeWindow(at, self.size, of[self.end], 0, self.session, of[self.start])
        if self.whole in of:
            start, end = (_field(of[self.whole], name) for name in (START, END))
            return TimeWindow(at, self.size, end, 0, self.session, start)
        if self.session:
            return None
        if self.start in of:
            return TimeWindow(at, self.size, of[self.start], self.size)
        return TimeWindow(at, self.size, of[self.end], 0) if self.end in of else None


def time_windows(tree: exp.Select, source: Node, scope: Scope, types: Typer) -> tuple[exp.Select, Node, Timed | None]:
    """The SELECT with the columns of its windows in the place of the calls that make them, and the rows with these
    columns. Raises Refusal for windows that are not told from the rows here."""
    calls = _calls(tree)
    if not calls:
        return tree, source, None
    if len(set(calls)) > 1:
        raise refuse("more than one window of time in a SELECT", "is not one SELECT's work", calls[1], "use a subquery")
    call, session = calls[0], spark_name(calls[0]) == SESSION
    size, slide, first = _lengths(call, session)
    timed = Timed(*(scope.reserve(n) for n in ("event_time", "window_start", "window_end", "window")), size, session)
    time = Expr.of(scalar(resolve(call.expressions[0], scope, {}), "a window of time"))
    parts = _other_groups(tree, call, scope) if session else ()
    rows = _timed(source, time, timed.at, call, types)
    if session:
        rows = _sessions(rows, parts, timed, scope)
    elif slide == size:
        rows = _starting(rows, _last_start(timed.at, slide, first), timed)
    else:
        rows = _hopping(rows, timed, slide, first, scope)
    whole = _struct(column(timed.start), column(timed.end))
    rows = Project(rows, (*_passed(rows), (timed.whole, whole)))
    return _rewritten(tree, scope, timed), rows, timed


# --- the rows ---------------------------------------------------------------------------------------------------------


def _timed(source: Node, time: Expr, at: str, call: exp.Expression, types: Typer) -> Node:
    """The rows that have a time, with it as a TIMESTAMP."""
    (kind,) = types(Project(source, ((at, time),)))
    if kind not in ("timestamp", "date", "string"):
        raise refuse(
            "a window of time of what is no TIMESTAMP", "has no law of change here yet", call,
            "CAST the time to TIMESTAMP",
        )  # fmt: skip
    as_time = time if kind == "timestamp" else Expr.of(exp.cast(time.tree.copy(), "timestamp"))
    missing = exp.Is(this=column(at).tree.copy(), expression=exp.Null())
    return Filter(Project(source, (*_passed(source), (at, as_time))), Expr.of(exp.Not(this=missing)))


def _last_start(at: str, slide: int, first: int) -> exp.Expression:
    """When the last window begins that holds a row, in microseconds. first: when any of them begins."""
    micros = micros_of(column(at).tree)
    since = exp.Sub(this=micros, expression=number(first)) if first else micros
    rest = exp.Anonymous(this="PMOD", expressions=[since.copy(), number(slide)])
    return exp.Sub(this=micros.copy(), expression=rest)


def _starting(rows: Node, start: exp.Expression, timed: Timed) -> Node:
    began = Project(rows, (*_passed(rows), (timed.start, _at(start))))
    return Project(began, (*_passed(began), (timed.end, _later(column(timed.start), timed.size))))


def _hopping(rows: Node, timed: Timed, slide: int, first: int, scope: Scope) -> Node:
    last, most = _last_start(timed.at, slide, first), -(-timed.size // slide)
    begun = exp.Sub(this=exp.paren(last.copy()), expression=number((most - 1) * slide))
    every = exp.GenerateSeries(start=begun, end=last, step=exp.cast(number(slide), "bigint"))
    made = scope.reserve("window_micros")
    starts = Generate(rows, Expr.of(exp.Explode(this=every)), (made,))
    found = _starting(starts, column(made).tree.copy(), timed)
    if timed.size % slide == 0:
        return found
    holds = exp.LT(this=column(timed.at).tree.copy(), expression=column(timed.end).tree.copy())
    return Filter(found, Expr.of(holds))


def _sessions(rows: Node, parts: tuple[Expr, ...], timed: Timed, scope: Scope) -> Node:
    """Rows no further apart than the gap are of one session. Its first row is the last one up to a row that has none
    within the gap before it, its last row likewise the first one from there on."""
    at, before, after = (scope.reserve(n) for n in ("event_micros", "event_before", "event_after"))
    opening, closing = (scope.reserve(n) for n in ("session_first", "session_last"))
    rows = Project(rows, (*_passed(rows), (at, Expr.of(micros_of(column(timed.at).tree)))))
    beside = Window(
        rows, parts,
        ((before, _over(exp.Max, at, parts, at, False, "1")), (after, _over(exp.Min, at, parts, at, True, "1"))),
    )  # fmt: skip
    opens = _where_further(column(at), column(before), column(at), timed.size)
    closes = _where_further(column(after), column(at), column(at), timed.size, column(after))
    marked = Project(beside, (*_passed(rows), (opening, opens), (closing, closes)))
    first, last = scope.reserve("session_start"), scope.reserve("session_end")
    found = Window(
        marked, parts,
        (
            (first, _over(exp.Max, opening, parts, at, False, "CURRENT ROW")),
            (last, _over(exp.Min, closing, parts, at, True, "CURRENT ROW")),
        ),
    )  # fmt: skip
    end = exp.Add(this=column(last).tree.copy(), expression=number(timed.size))
    ends = ((timed.start, _at(column(first).tree.copy())), (timed.end, _at(end)))
    return Project(found, (*_passed(rows), *ends))


def _over(
    function: type[exp.Expression], of: str, parts: tuple[Expr, ...], at: str, descending: bool, until: str
) -> Expr:
    """function(of) OVER (PARTITION BY parts ORDER BY at RANGE BETWEEN UNBOUNDED PRECEDING AND until). From the other
    end it is ordered the other way round: Spark computes frames that grow in one pass."""
    to: exp.Expression | str = until if until == "CURRENT ROW" else exp.Literal.number(until)
    spec = exp.WindowSpec(
        kind="RANGE", start="UNBOUNDED", start_side="PRECEDING", end=to, end_side=None if to == until else "PRECEDING"
    )
    order = exp.Order(
        expressions=[exp.Ordered(this=column(at).tree.copy(), desc=descending or None, nulls_first=not descending)]
    )
    by = [p.tree.copy() for p in parts]
    call = function(this=column(of).tree.copy())
    return Expr.of(exp.Window(this=call, partition_by=by, order=order, spec=spec, over="OVER"))


def _where_further(later: Expr, earlier: Expr, then: Expr, gap: int, known: Expr | None = None) -> Expr:
    """`then` where the times are further apart than the gap, or one of them is not there; else NULL."""
    apart = exp.GT(
        this=exp.Sub(this=later.tree.copy(), expression=earlier.tree.copy()), expression=number(gap)
    )  # fmt: skip
    none = exp.Is(this=(known or earlier).tree.copy(), expression=exp.Null())
    return Expr.of(exp.Case(ifs=[exp.If(this=exp.or_(none, apart), true=then.tree.copy())]))


# --- the SELECT -------------------------------------------------------------------------------------------------------


def _calls(tree: exp.Select) -> list[exp.Expression]:
    return [n for n in tree.find_all(exp.Anonymous) if spark_name(n) in TIME_WINDOWS and _of(n, tree)]


def _of(node: exp.Expression, select: exp.Select) -> bool:
    """Whether it is of this SELECT, not of one within it."""
    return node.find_ancestor(exp.Select, exp.SetOperation) is select


def _other_groups(tree: exp.Select, call: exp.Expression, scope: Scope) -> tuple[Expr, ...]:
    """What a SELECT with sessions groups by beside them: sessions are of the rows that agree on it."""
    clause = tree.args.get("group")
    elements = clause.expressions if clause is not None else []
    if clause is None or call not in elements or any(v for k, v in clause.args.items() if k != "expressions"):
        raise refuse("session_window() that is not an element of GROUP BY", "has no law of change here yet", call)
    aliases = {e.alias.lower(): e.this for e in tree.expressions if isinstance(e, exp.Alias)}
    parts = []
    for e in elements:
        if e == call:
            continue
        if isinstance(e, exp.Literal) and not e.is_string:
            e = tree.expressions[int(e.name) - 1].unalias()
        elif isinstance(e, exp.Column) and len(e.parts) == 1 and scope.lookup(e) is None:
            e = aliases.get(e.name.lower(), e)
        parts.append(Expr.of(scalar(resolve(e, scope, {}), "GROUP BY")))
    return tuple(dict.fromkeys(parts))


def _rewritten(tree: exp.Select, scope: Scope, timed: Timed) -> exp.Select:
    """The SELECT over the columns of its windows.

    Groups are by the start of the window or by its end, whichever is shown, so that it shows its key."""
    tree, name = tree.copy(), SESSION if timed.session else WINDOW
    clause = tree.args.get("group")
    calls = _calls(tree)
    grouped = [c for c in calls if c.parent is clause]
    named = bool(grouped) and scope.lookup(exp.column(name)) is None
    every = [*calls, *(c for c in tree.find_all(exp.Column) if named and _of(c, tree) and _names(c, name))]
    read = [(n, _part(n)) for n in every if n.parent is not clause]
    shown = {part for n, part in read if _selected(_whole(n)).parent is tree}
    by, parts = _identity(timed, shown, grouped=bool(grouped))
    for n, part in read:
        _put(_whole(n), parts[part], tree, part or name)
    if grouped:
        listed = [
            placed(b) if e in grouped else e for e in clause.expressions for b in (by if e in grouped else by[:1])
        ]
        clause.set("expressions", listed)
    return tree


def _names(reference: exp.Column, name: str) -> bool:
    """Whether it is `window`, `window.start` or `window.end`."""
    parts = [p.name.lower() for p in reference.parts]
    return parts[0] == name and (len(parts) == 1 or (len(parts) == 2 and parts[1] in (START, END)))


def _part(node: exp.Expression) -> str:
    """What of a window is read: `start`, `end`, or nothing for all of it."""
    if isinstance(node, exp.Column):
        return node.name.lower() if len(node.parts) > 1 else ""
    return node.parent.expression.name.lower() if isinstance(node.parent, exp.Dot) else ""


def _whole(node: exp.Expression) -> exp.Expression:
    return node.parent if isinstance(node.parent, exp.Dot) else node


def _selected(node: exp.Expression) -> exp.Expression:
    return node.parent if isinstance(node.parent, exp.Alias) else node


def _identity(timed: Timed, shown: set[str], *, grouped: bool) -> tuple[list[str], dict[str, exp.Expression]]:
    """The columns that are grouped by, and over them the parts of a window."""
    start, end = column(timed.start), column(timed.end)
    if timed.session or not grouped:
        by = [timed.start, timed.end]
    elif START in shown:
        by, end = [timed.start], _later(start, timed.size)
    elif END in shown:
        by, start = [timed.end], _later(end, -timed.size)
    else:
        whole = column(timed.whole)
        both = {part: _field(whole, part).tree for part in (START, END)}
        return [timed.whole], {"": whole.tree, **both}
    whole = _struct(start, end) if grouped else column(timed.whole)
    return by, {START: start.tree, END: end.tree, "": whole.tree}


def _put(node: exp.Expression, instead: exp.Expression, tree: exp.Select, name: str) -> None:
    new: exp.Expression = settled_names(instead)
    if node.parent is tree and node.arg_key == "expressions":
        new = exp.alias_(new, name, quoted=True)
    node.replace(new)


# --- expressions ------------------------------------------------------------------------------------------------------


def _lengths(call: exp.Expression, session: bool) -> tuple[int, int, int]:
    """Size, slide and first start, in microseconds."""
    lengths = [length(e.name) if isinstance(e, exp.Literal) and e.is_string else None for e in call.expressions[1:]]
    if not lengths or None in lengths or (session and len(lengths) > 1) or len(lengths) > 3 or (lengths[0] or 0) <= 0:
        raise refuse(
            "a window of time of a length that is not a constant", "has no law of change here yet", call,
            "write it as a number and a unit, for example '30 minutes'",
        )  # fmt: skip
    size, *more = (n or 0 for n in lengths)
    return size, more[0] if more else size, more[1] if len(more) > 1 else 0


def _later(time: Expr, by: int) -> Expr:
    operator = exp.Add if by >= 0 else exp.Sub
    return Expr.of(time_at(operator(this=micros_of(time.tree), expression=number(abs(by)))))


def _at(micros: exp.Expression) -> Expr:
    return Expr.of(time_at(micros))


def _struct(start: Expr, end: Expr) -> Expr:
    fields = [
        exp.PropertyEQ(this=exp.to_identifier(n), expression=e.tree.copy()) for n, e in ((START, start), (END, end))
    ]
    return Expr.of(exp.Struct(expressions=fields))


def _field(whole: Expr, name: str) -> Expr:
    return Expr.of(exp.Dot(this=whole.tree.copy(), expression=exp.to_identifier(name, quoted=True)))


def _passed(node: Node) -> tuple[tuple[str, Expr], ...]:
    return tuple((n, column(n)) for n in node.columns)
