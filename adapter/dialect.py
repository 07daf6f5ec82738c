"""Spark SQL with Delta's additions: the one place where text becomes a tree and a tree becomes text.

sqlglot prints what it cannot express with a warning by default; here it raises, so that no statement with another
meaning is ever run.
"""

from __future__ import annotations

from sqlglot import ErrorLevel, exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError

__all__ = ["ChangeFeed", "DeltaSpark", "SqlglotError", "parse", "print_sql"]


class ChangeFeed(exp.Expression):
    """`t WITH ('readChangeFeed'='true', …)`: the rows that left and came between two versions, both inclusive.

    A table function would do, but a view over it goes stale once other tables are cached; this form does not.
    """

    arg_types = {"this": True, "start": True, "end": True, "alias": False}


class DeltaSpark(Spark):
    class Generator(Spark.Generator):
        TRANSFORMS = {
            **Spark.Generator.TRANSFORMS,
            ChangeFeed: lambda self, e: (
                f"{self.sql(e, 'this')} WITH ('readChangeFeed'='true', "
                f"'startingVersion'='{e.args['start']}', 'endingVersion'='{e.args['end']}')"
            ),
        }


def parse(sql: str) -> exp.Expression:
    """One statement as a tree, without its comments: those that are printed are ours.

    Raises sqlglot.errors.SqlglotError where it is not Spark SQL that sqlglot knows."""
    from sqlglot import parse_one

    tree = parse_one(sql, dialect=DeltaSpark)
    for node in tree.walk():
        node.comments = None
    return tree


def print_sql(tree: exp.Expression, *, pretty: bool = False) -> str:
    """The tree as Spark SQL. Raises sqlglot.errors.UnsupportedError rather than print another meaning."""
    return tree.sql(dialect=DeltaSpark, unsupported_level=ErrorLevel.RAISE, pretty=pretty)
