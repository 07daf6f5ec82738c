"""The history of a changelog as SQL: which events begin a version, and when the next event ends it.

Every step is a function of the events of one key, so that a refresh computes the keys again of which it has news.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..algebra.orderable import orderable
from ..names import PREFIX
from ..reading.relations import Columns
from ..sparksql.statements import listed, literal, quoted
from .options import HardDeletes, History, Strategy

TIME, DELETED, LAST = f"{PREFIX}time", f"{PREFIX}deleted", f"{PREFIX}last"
"""Of an event: when it happened, whether it ended its row, and its place among the events of one key and time."""

WAS_DELETED, WAS = f"{PREFIX}was_deleted", f"{PREFIX}was"
"""Of the event before: whether it ended the row, and its values."""

BEGINS, BEGAN, UNTIL, FORMER = (f"{PREFIX}{n}" for n in ("begins", "began", "until", "former"))
"""Whether an event begins a version or ends the row, when its version began, when the next one does, and what the
version before it showed."""

WRITES = ("i", "u", "c", "r", "+i", "+u", "ua", "insert", "update", "upsert", "create", "read",
          "update_after", "update_postimage")  # fmt: skip
DELETES = ("d", "-d", "delete")
BEFORE = ("-u", "ub", "update_before", "update_preimage")
"""How changelogs spell what an event did, in lower case. What a row was before an update is said again by the event
before it, if there was one: Flink, Debezium and Canal leave it out or send it, as they please."""


def history(changelog: str, columns: Columns, asked: History) -> str:
    """The SELECT whose result is the history. changelog: a query with these columns."""
    names = [n for n, _ in columns]
    steps = [
        ("changelog", changelog),
        ("dated", _dated(names, asked)),
        ("events", _events(columns, asked)),
    ]
    if _compares(asked):
        steps += [("compared", _compared(columns, asked)), ("versions", _versions(columns, asked))]
    else:
        steps.append(("versions", f"SELECT *, {_next(TIME, asked)} AS {quoted(UNTIL)} FROM events"))
    ctes = ",\n".join(f"{name} AS (\n{query}\n)" for name, query in steps)
    return f"WITH {ctes}\n{_shown(names, asked)}"


def _dated(names: Sequence[str], asked: History) -> str:
    """Each event with its time, and whether it ended the row."""
    shown = [*asked.values(names), *(s for s in asked.sequence if s in asked.hidden)]
    deleted, where = _deleted(asked)
    date = _date(asked, deleted)
    return f"SELECT {listed(shown)}, {date} AS {quoted(TIME)}, {deleted} AS {quoted(DELETED)}\nFROM changelog{where}"


def dating(asked: History) -> str:
    """SQL over the changelog that dates an event. An error where nothing does, or where what it did is not known."""
    return _date(asked, _deleted(asked)[0])


def _date(asked: History, deleted: str) -> str:
    time = quoted(asked.time)
    if asked.operation_time is not None and asked.operation_time != asked.time and asked.operation is not None:
        # A deleted row tells when it was last written, not when it was deleted.
        time = f"CASE WHEN {deleted} THEN {quoted(asked.operation_time)} ELSE {time} END"
    told = literal(f"versioned table: an event has no {asked.time}, which dates it; its {', '.join(asked.key)}: ")
    keys = ", ', ', ".join(f"COALESCE(CAST({quoted(k)} AS STRING), 'NULL')" for k in asked.key)
    return f"COALESCE({time}, RAISE_ERROR(CONCAT({told}, {keys})))"


def _deleted(asked: History) -> tuple[str, str]:
    """(condition on an event that it ended its row, WHERE clause that leaves out what is no event)"""
    if asked.operation is None:
        return "FALSE", ""
    op = f"LOWER({quoted(asked.operation)})"
    wrong = literal(f"versioned table: the operation ({asked.operation}) of an event is neither an insert, an update "
                    "nor a delete, but ")  # fmt: skip
    deleted = (
        f"CASE WHEN {op} IN {_strings(WRITES)} THEN FALSE WHEN {op} IN {_strings(DELETES)} THEN TRUE "
        f"ELSE RAISE_ERROR(CONCAT({wrong}, COALESCE({op}, 'NULL'))) END"
    )
    passed = BEFORE + (DELETES if asked.hard_deletes is HardDeletes.IGNORE else ())
    return deleted, f"\nWHERE NOT COALESCE({op}, '') IN {_strings(passed)}"


def _strings(values: Iterable[str]) -> str:
    return f"({', '.join(literal(v) for v in values)})"


def _events(columns: Columns, asked: History) -> str:
    """One event for each key and time. Of several the last counts, and a repeated one once; where nothing says which
    is the last, a row that is written wins over one that ends, and greater values over smaller ones: it has to be the
    same one whatever arrives first."""
    known = {*asked.key, *asked.sequence, *asked.hidden}
    rest = [orderable(quoted(n), t) for n, t in columns if n not in known]
    order = [*(f"{quoted(s)} DESC" for s in asked.sequence), quoted(DELETED), *(f"{value} DESC" for value in rest)]
    last = f"ROW_NUMBER() OVER (PARTITION BY {listed(asked.key)}, {quoted(TIME)} ORDER BY {', '.join(order)})"
    return f"SELECT * FROM (SELECT *, {last} AS {quoted(LAST)} FROM dated) WHERE {quoted(LAST)} = 1"


def _window(asked: History) -> str:
    return f"OVER (PARTITION BY {listed(asked.key)} ORDER BY {quoted(TIME)})"


def _next(column: str, asked: History) -> str:
    return f"LEAD({quoted(column)}) {_window(asked)}"


def _compares(asked: History) -> bool:
    return asked.strategy is Strategy.CHECK or asked.hard_deletes is HardDeletes.NEW_RECORD


def _compared(columns: Columns, asked: History) -> str:
    """Each event with what the one before it was."""
    before = [f"LAG({quoted(DELETED)}) {_window(asked)} AS {quoted(WAS_DELETED)}"]
    if asked.strategy is Strategy.CHECK:
        before.append(f"LAG({_tracked(columns, asked)}) {_window(asked)} AS {quoted(WAS)}")
    return f"SELECT *, {', '.join(before)} FROM events"


def _tracked(columns: Columns, asked: History) -> str:
    types = dict(columns)
    values = (orderable(quoted(n), types[n]) for n in asked.compared(tuple(types)))
    return f"STRUCT({', '.join(values) or 'TRUE'})"


def _carried(names: Sequence[str], asked: History) -> list[str]:
    """What a version that says that the row is gone takes from the version before: all but the key."""
    return [c for c in asked.values(names) if c not in asked.key]


def _versions(columns: Columns, asked: History) -> str:
    """The events that begin a version, or end the row, each with the time of the next of them."""
    begins = _begins(columns, asked)
    carried = _carried([n for n, _ in columns], asked) if asked.hard_deletes is HardDeletes.NEW_RECORD else ()
    before = f", LAG(STRUCT({listed(carried)})) {_window(asked)} AS {quoted(FORMER)}" if carried else ""
    if not asked.untracked_in_place:
        until = f"{_next(TIME, asked)} AS {quoted(UNTIL)}"
        return f"SELECT *, {until}{before} FROM (SELECT * FROM compared WHERE {begins})"
    # The last event of each version instead, with the time of the first.
    began = f"MAX(CASE WHEN {quoted(BEGINS)} THEN {quoted(TIME)} END) {_window(asked)}"
    another = f"{PREFIX}another"
    return (
        f"SELECT *, {_next(BEGAN, asked)} AS {quoted(UNTIL)}{before} FROM (\n"
        f"  SELECT * FROM (\n"
        f"    SELECT *, {began} AS {quoted(BEGAN)}, {_next(BEGINS, asked)} AS {quoted(another)}\n"
        f"    FROM (SELECT *, {begins} AS {quoted(BEGINS)} FROM compared) "
        f"WHERE {quoted(BEGINS)} OR NOT {quoted(DELETED)}\n"
        f"  ) WHERE COALESCE({quoted(another)}, TRUE))"
    )


def _begins(columns: Columns, asked: History) -> str:
    fresh = f"COALESCE({quoted(WAS_DELETED)}, TRUE)"
    other = "TRUE"
    if asked.strategy is Strategy.CHECK:
        other = f"({fresh} OR NOT {_tracked(columns, asked)} <=> {quoted(WAS)})"
    return f"CASE WHEN {quoted(DELETED)} THEN NOT {fresh} ELSE {other} END"


def _shown(names: Sequence[str], asked: History) -> str:
    """The versions in dbt's columns."""
    meta = {k: quoted(v) for k, v in asked.names.items()}
    began = BEGAN if asked.untracked_in_place else TIME
    record = asked.hard_deletes is HardDeletes.NEW_RECORD
    carried = set(_carried(names, asked)) if record else set()
    shown = [
        f"CASE WHEN {quoted(DELETED)} THEN {quoted(FORMER)}.{quoted(c)} ELSE {quoted(c)} END AS {quoted(c)}"
        if c in carried
        else quoted(c)
        for c in asked.values(names)
    ]
    until = quoted(UNTIL) if asked.valid_to_current is None else f"COALESCE({quoted(UNTIL)}, {asked.valid_to_current})"
    shown += [
        f"{_scd_id((*asked.key, began))} AS {meta['dbt_scd_id']}",
        f"{quoted(TIME)} AS {meta['dbt_updated_at']}",
        f"{quoted(began)} AS {meta['dbt_valid_from']}",
        f"{until} AS {meta['dbt_valid_to']}",
    ]
    if record:
        shown.append(f"CASE WHEN {quoted(DELETED)} THEN 'True' ELSE 'False' END AS {meta['dbt_is_deleted']}")
    where = "" if record else f"\nWHERE NOT {quoted(DELETED)}"
    return f"SELECT {', '.join(shown)}\nFROM versions{where}"


def _scd_id(columns: Sequence[str]) -> str:
    """dbt-spark's own recipe (its macro snapshot_hash_arguments), so that rows of a snapshot keep their identity."""
    return "MD5(" + " || '|' || ".join(f"COALESCE(CAST({quoted(c)} AS STRING), '')" for c in columns) + ")"
