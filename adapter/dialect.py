"""Spark SQL with Delta's additions: the one place where text becomes a tree and a tree becomes text.

sqlglot prints what it cannot express with a warning by default; here it raises, so that no statement with another
meaning is ever run.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import ErrorLevel, exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError

__all__ = ["ChangeFeed", "Clock", "DeltaSpark", "SqlglotError", "parse", "print_sql"]


AGGREGATES_BY_NAME = frozenset(
    """
    approx_top_k approx_top_k_accumulate approx_top_k_combine bitmap_and_agg bitmap_construct_agg bitmap_or_agg
    count_min_sketch histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint kll_merge_agg_double
    kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float measure percentile
    percentile_cont percentile_disc schema_of_variant_agg theta_intersection_agg theta_sketch_agg theta_union_agg
    try_avg try_sum tuple_intersection_agg_double tuple_intersection_agg_integer tuple_sketch_agg_double
    tuple_sketch_agg_integer tuple_union_agg_double tuple_union_agg_integer vector_avg vector_sum
    """.split()
)
"""Aggregate functions of Spark that have no class of their own here."""


class ChangeFeed(exp.Expression):
    """`t WITH ('readChangeFeed'='true', …)`: the rows that left and came between two versions, both inclusive.

    A table function would do, but a view over it goes stale once other tables are cached; this form does not.
    """

    arg_types = {"this": True, "start": True, "end": True, "alias": False}


class Clock(exp.Expression):
    """A function of the session's clock. time: None in a model, in a change plan the state of the clock it reads."""

    arg_types = {"this": True, "time": False}


def _by_name(name: str) -> Callable[[list[exp.Expression]], exp.Expression]:
    return lambda args: exp.AnonymousAggFunc(this=name.upper(), expressions=args)


class DeltaSpark(Spark):
    class Parser(Spark.Parser):
        # Aggregates that sqlglot takes for scalar functions, or prints as another one.
        FUNCTIONS = {
            **Spark.Parser.FUNCTIONS,
            "EVERY": exp.LogicalAnd.from_arg_list,
            "MEAN": exp.Avg.from_arg_list,
            "SOME": exp.LogicalOr.from_arg_list,
            "STD": exp.Stddev.from_arg_list,
            **{name.upper(): _by_name(name) for name in AGGREGATES_BY_NAME},
        }

    class Generator(Spark.Generator):
        TRANSFORMS = {
            **Spark.Generator.TRANSFORMS,
            Clock: lambda self, e: f"{e.name}({e.args.get('time') or ''})",
            ChangeFeed: lambda self, e: (
                f"{self.sql(e, 'this')} WITH ('readChangeFeed'='true', "
                f"'startingVersion'='{e.args['start']}', 'endingVersion'='{e.args['end']}')"
            ),
        }


def parse(sql: str) -> exp.Expression:
    """One statement as a tree, without its comments: those that are printed are ours.

    Raises sqlglot.errors.SqlglotError where it is not Spark SQL that sqlglot knows."""
    from sqlglot import parse_one

    tree = parse_one(sql, dialect=DeltaSpark).transform(_any_as_aggregate, copy=False)
    for node in tree.walk():
        node.comments = None
    return tree


def _any_as_aggregate(node: exp.Expression) -> exp.Expression:
    """`ANY(x)` is an aggregate, except beside a comparison."""
    if isinstance(node, exp.Any) and not isinstance(node.parent, exp.Binary):
        return exp.LogicalOr(this=node.this.unnest())
    return node


def print_sql(tree: exp.Expression, *, pretty: bool = False) -> str:
    """The tree as Spark SQL. Raises sqlglot.errors.UnsupportedError rather than print another meaning."""
    return tree.sql(dialect=DeltaSpark, unsupported_level=ErrorLevel.RAISE, pretty=pretty)
