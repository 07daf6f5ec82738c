"""The watermark of a model that joins each row once, or makes the results of windows when they are complete: the least
of the newest times of its rows, and of its versions, less what they may be late by.

It never goes back. What is new since the last refresh is read from the change feed, so that it costs what changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from ..algebra import emission, kept
from ..algebra.clock import NOT_READ, WATERMARK, Reading
from ..algebra.expressions import Expr, column
from ..algebra.kept import AT
from ..algebra.nodes import Aggregate, Node, Project, Scan, Time, scans
from ..algebra.show import show
from ..changes.derivation import at
from ..dialect import ChangeFeed, print_sql
from ..pipeline import Model
from ..sparksql.reads import Span, dated, table, undated
from ..sparksql.render import Renderer
from .engine import Engine, SqlError
from .sources import has_no_feed, is_unreadable

TIMES = ("timestamp", "timestamp_ntz", "date")


@dataclass(frozen=True)
class Watermark:
    """late_by: how much later than the newest a time may come, as an interval in SQL; sides: how many there are;
    newest: of each side that has had a time, by what it is, the newest, in microseconds since 1970 in UTC."""

    late_by: str
    sides: int
    newest: Mapping[str, int] = field(default_factory=dict)

    def reading(self) -> Reading:
        """As what a model reads of the clock. While a side has had no time yet, nothing is complete."""
        if len(self.newest) < self.sides:
            return {WATERMARK: NOT_READ[WATERMARK]}
        return {WATERMARK: f"TIMESTAMP_MICROS({min(self.newest.values())}) - INTERVAL {self.late_by}"}


def sides_of(model: Model) -> tuple[Project, ...]:
    """What the watermark of a model is the least of."""
    assert model.node is not None
    return emission.sides(model.node) if model.emission is not None else kept.sides(model.node)


def untimed(sides: tuple[Project, ...], engine: Engine) -> tuple[str, str] | None:
    """A time that a watermark would be made of and is none, with its type."""
    for side in sides:
        ((_, kind),) = engine.columns(print_sql(Renderer(undated).query(side)))
        if kind not in TIMES:
            return dict(side.outputs)[AT].text, kind
    return None


def watermark(
    sides: tuple[Project, ...], late_by: str, spans: Mapping[str, Span], known: Mapping[str, int], engine: Engine
) -> Watermark:
    """The watermark over the sources as this refresh consumes them.

    spans: their versions, `before` -1 where the last refresh consumed another table or none; known: the newest times
    as of the last refresh. Raises SqlError."""
    # One table may be two sides, under two aliases.
    every, newest = {show(side): side for side in sides}, {}
    for name, side in every.items():
        found = None if _has_no_news(side, spans) else _newest(side, spans, name in known, engine)
        times = [t for t in (known.get(name), found) if t is not None]
        if times:
            newest[name] = max(times)
    return Watermark(late_by, len(every), newest)


def _has_no_news(side: Project, spans: Mapping[str, Span]) -> bool:
    return all(span.before == span.after for span in (spans[scan.source] for scan in scans(side)))


def _newest(side: Project, spans: Mapping[str, Span], is_known: bool, engine: Engine) -> int | None:
    """Of what is new since the last refresh, if that alone can be read; else of all rows there are."""
    since = spans[side.child.source] if is_known and isinstance(side.child, Scan) else None
    if since is not None and 0 <= since.before < since.after:

        def feed(scan: Scan) -> exp.Expression:
            return ChangeFeed(this=table(scan.source), start=since.before + 1, end=since.after)

        try:
            return _asked(side, Renderer(feed), engine)
        except SqlError as error:
            if not (has_no_feed(error) or is_unreadable(error)):
                raise
    return _asked(at(side, Time.AFTER), Renderer(dated(spans)), engine)


def _asked(side: Node, renderer: Renderer, engine: Engine) -> int | None:
    newest = exp.Cast(this=exp.Max(this=column(AT).tree), to=exp.DataType.build("timestamp", dialect="spark"))
    micros = Expr.of(exp.Anonymous(this="UNIX_MICROS", expressions=[newest]))
    ((found,),) = engine.rows(print_sql(renderer.query(Aggregate(side, (), (("newest", micros),)))))
    return None if found is None else int(found)
