"""Before, after and change of a source as Spark SQL: `VERSION AS OF`, and the change feed netted to signed rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from sqlglot import exp

from ..algebra.equal_values import of_several, told_by
from ..algebra.nodes import Scan, Time
from ..changes.derivation import Feed
from ..dialect import ChangeFeed
from ..names import WEIGHT
from .render import TableOf, reference

ARRIVED = ("insert", "update_postimage")


@dataclass(frozen=True)
class Span:
    """The versions of one source that a refresh lies between. before: consumed by the last one; after: by this one."""

    before: int
    after: int


def table(name: str) -> exp.Table:
    """A dotted name as a table, each part quoted. A part may hold a dot of its own in backticks."""
    return _table(name).copy()


@lru_cache(maxsize=1024)
def _table(name: str) -> exp.Table:
    parsed = exp.to_table(name, dialect="spark")
    for part in parsed.parts:
        part.set("quoted", True)
    return parsed


def at_version(name: str, version: int) -> exp.Table:
    """`name VERSION AS OF version`"""
    tree = table(name)
    tree.set("version", exp.Version(this="VERSION", kind="AS OF", expression=exp.Literal.number(version)))
    return tree


def dated(spans: Mapping[str, Span]) -> TableOf:
    """The table of a scan at its time. An undated scan reads the version this refresh consumes."""

    def table_of(scan: Scan) -> exp.Expression:
        span = spans[scan.source]
        return at_version(scan.source, span.before if scan.time is Time.BEFORE else span.after)

    return table_of


def undated(scan: Scan) -> exp.Expression:
    """The table as it is now, for questions about types."""
    return table(scan.source)


def net_change(feed: Feed, span: Span, types: Mapping[str, str]) -> exp.Expression:
    """SELECT columns, weight: what really came (+) and left (-), whatever commits it took.

    A row rewritten with the same values, or deleted and inserted again by a rebuild upstream, nets to nothing.
    types: of the source's columns, in lower case.
    """
    weight = exp.Sum(this=_sign())
    listed, groups = _grouped({c: exp.column(c, quoted=True) for c in feed.columns}, types)
    tree = _of_feed(feed, span, listed, weight)
    tree.set("group", groups)
    tree.set("having", exp.Having(this=exp.NEQ(this=weight.copy(), expression=exp.Literal.number(0))))
    return tree


def every_change(feed: Feed, span: Span) -> exp.Expression:
    """SELECT columns, weight: each row as often as it came (1) and left (-1), in a weight of the type of a net one."""
    listed = [exp.column(c, quoted=True) for c in feed.columns]
    return _of_feed(feed, span, listed, exp.cast(_sign(), "bigint"))


def _of_feed(feed: Feed, span: Span, listed: list[exp.Expression], weight: exp.Expression) -> exp.Select:
    # Delta's feed begins at the version after the one that was consumed.
    source = ChangeFeed(this=table(feed.source), start=span.before + 1, end=span.after)
    tree = exp.Select(expressions=[*listed, exp.alias_(weight, WEIGHT, quoted=True)])
    tree.set("from_", exp.From(this=source))
    return tree


def _sign() -> exp.Expression:
    arrived = exp.In(this=exp.column("_change_type"), expressions=[exp.Literal.string(a) for a in ARRIVED])
    return exp.Case(ifs=[exp.If(this=arrived, true=exp.Literal.number(1))], default=exp.Literal.number(-1))


def _grouped(
    columns: Mapping[str, exp.Expression], types: Mapping[str, str]
) -> tuple[list[exp.Expression], exp.Group | None]:
    """(the columns, GROUP BY) of a SELECT that puts rows together that are the same in them."""
    several = of_several(columns, types)
    listed: list[exp.Expression] = []
    groups: list[exp.Expression] = []
    for name, value in columns.items():
        if name in several:
            groups.extend(told_by(value, several[name]))
            listed.append(exp.alias_(exp.AnyValue(this=value), name, quoted=True))
        else:
            groups.append(value)
            listed.append(value.copy())
    return listed, exp.Group(expressions=groups) if groups else None


def narrowed(relation: str, columns: tuple[str, ...], types: Mapping[str, str]) -> exp.Expression:
    """The same from a relation that has more columns of it."""
    return summed(exp.Select(expressions=[exp.Star()], from_=exp.From(this=table(relation))), columns, types)


def turned(relation: str, column: str) -> exp.Expression:
    """SELECT whether a value of a column both came and left, of a relation of signed rows; NULL counts as a value.

    Where none did, the rows are net in whatever columns of theirs this is one of."""
    alias, both = "values", "both"
    weight = exp.column(WEIGHT, quoted=True)
    sides = exp.and_(
        exp.GT(this=exp.Max(this=weight.copy()), expression=exp.Literal.number(0)),
        exp.LT(this=exp.Min(this=weight.copy()), expression=exp.Literal.number(0)),
    )
    values = exp.Select(expressions=[exp.alias_(sides, both, quoted=True)], from_=exp.From(this=table(relation)))
    values.set("group", exp.Group(expressions=[exp.column(column, quoted=True)]))
    any_of_them = exp.Coalesce(this=exp.LogicalOr(this=reference(alias, both)), expressions=[exp.false()])
    found = exp.Subquery(this=values, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    return exp.Select(expressions=[any_of_them], from_=exp.From(this=found))


def net_difference(
    feed: Feed,
    span: Span,
    types: Mapping[str, str],
    read: Callable[[str, int], exp.Expression] = at_version,
) -> exp.Expression:
    """The same from two versions of a table that has no change feed: both are read whole."""
    sides = []
    for version, weight in ((span.after, 1), (span.before, -1)):
        source = read(feed.source, version)
        listed = [exp.column(c, quoted=True) for c in feed.columns]
        literal = exp.Literal.number(1) if weight == 1 else exp.Neg(this=exp.Literal.number(1))
        side = exp.Select(expressions=[*listed, exp.alias_(literal, WEIGHT, quoted=True)])
        side.set("from_", exp.From(this=source))
        sides.append(side)
    return summed(exp.Union(this=sides[0], expression=sides[1], distinct=False), feed.columns, types)


def summed(signed: exp.Expression, columns: tuple[str, ...], types: Mapping[str, str]) -> exp.Expression:
    """Signed rows with those put together that are the same; those whose weights cancel are gone."""
    alias = "signed"
    source = exp.Subquery(this=signed, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    weight = exp.Sum(this=reference(alias, WEIGHT))
    listed, groups = _grouped({c: reference(alias, c) for c in columns}, types)
    tree = exp.Select(expressions=[*listed, exp.alias_(weight, WEIGHT, quoted=True)])
    tree.set("from_", exp.From(this=source))
    tree.set("group", groups)
    tree.set("having", exp.Having(this=exp.NEQ(this=weight.copy(), expression=exp.Literal.number(0))))
    return tree
