"""Spark SQL with Delta's additions: the one place where text becomes a tree and a tree becomes text.

sqlglot prints what it cannot express with a warning by default; here it raises, so that no statement with another
meaning is ever run.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from sqlglot import ErrorLevel, exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.helper import seq_get
from sqlglot.optimizer.simplify import simplify
from sqlglot.tokens import TokenType

from .pipes import PipesParser

__all__ = [
    "ChangeFeed",
    "Clock",
    "DeltaSpark",
    "SqlglotError",
    "as_of",
    "is_processing_time",
    "parse",
    "parse_expression",
    "print_sql",
    "without_as_of",
]

SPAN = "span"
"""Where in the text a clause stands that Spark must not see: (first character, the one behind its last)."""

PROCESSING_TIME = ("proctime", "current_timestamp", "now", "localtimestamp")


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

AS_WRITTEN = frozenset("array_size get_json_object log2 log10 parse_json to_char unix_date".split())
"""Functions that sqlglot prints as others, which give another value or type for some arguments, or not at all."""


class ChangeFeed(exp.Expression):
    """`t WITH ('readChangeFeed'='true', …)`: the rows that left and came between two versions, both inclusive.

    A table function would do, but a view over it goes stale once other tables are cached; this form does not.
    """

    arg_types = {"this": True, "start": True, "end": True, "alias": False}


class Clock(exp.Expression):
    """A function of the session's clock, or the watermark. time: None in a model, in a change plan the state of the
    clock that it reads."""

    arg_types = {"this": True, "time": False}


def _as_written(name: str) -> Callable[[list[exp.Expression]], exp.Expression]:
    return lambda args: exp.Anonymous(this=name.upper(), expressions=args)


def _picked(function: type[exp.Func]) -> Callable[[list[exp.Expression]], exp.Expression]:
    """`first(x, true)` is `first(x) IGNORE NULLS`."""

    def read(args: list[exp.Expression]) -> exp.Expression:
        call = function(this=seq_get(args, 0))
        ignored = seq_get(args, 1)
        return exp.IgnoreNulls(this=call) if isinstance(ignored, exp.Boolean) and ignored.this else call

    return read


def _not_a_number(args: list[exp.Expression]) -> exp.Expression:
    """`nanvl(x, 0)`, with a DOUBLE for 0 as Spark has it: of a FLOAT x grouped by it in a WITH, it gives 0.0 for every
    row otherwise."""
    otherwise = seq_get(args, 1)
    if otherwise is not None and otherwise.is_number:
        args = [args[0], exp.cast(otherwise, "double"), *args[2:]]
    return exp.Anonymous(this="NANVL", expressions=args)


def _by_name(name: str) -> Callable[[list[exp.Expression]], exp.Expression]:
    return lambda args: exp.AnonymousAggFunc(this=name.upper(), expressions=args)


class DeltaSpark(Spark):
    class Tokenizer(Spark.Tokenizer):
        # A quote within a string is written twice, since Spark 4.
        STRING_ESCAPES = [*Spark.Tokenizer.STRING_ESCAPES, "'", '"']

    class Parser(PipesParser):
        """Tells `FOR SYSTEM_TIME AS OF` from Delta's own time travel, and takes the ON that FLIP-132 writes behind
        `FROM a, b FOR SYSTEM_TIME AS OF a.t`."""

        FUNCTION_PARSERS = {
            name: how for name, how in Spark.Parser.FUNCTION_PARSERS.items() if name.lower() not in AGGREGATES_BY_NAME
        }
        # Aggregates that sqlglot takes for scalar functions, or prints as another one.
        FUNCTIONS = {
            **Spark.Parser.FUNCTIONS,
            "EVERY": exp.LogicalAnd.from_arg_list,
            "MEAN": exp.Avg.from_arg_list,
            "SOME": exp.LogicalOr.from_arg_list,
            "STD": exp.Stddev.from_arg_list,
            "FIRST": _picked(exp.First),
            "LAST": _picked(exp.Last),
            "NANVL": _not_a_number,
            **{name.upper(): _by_name(name) for name in AGGREGATES_BY_NAME},
            **{name.upper(): _as_written(name) for name in AS_WRITTEN},
        }

        # `v:a.b[0]`, of a VARIANT.
        COLON_IS_VARIANT_EXTRACT = True
        COLON_CHAIN_IS_SINGLE_EXTRACT = False

        STATEMENT_PARSERS = {
            **Spark.Parser.STATEMENT_PARSERS,
            TokenType.TABLE: lambda self: self._parse_pipe_syntax_query(
                exp.select("*").from_(self._parse_table_parts())
            ),
        }

        def parse(self, raw_tokens, sql=None):
            """`window(` is the function; what names a window stands before AS."""
            for token, after in pairwise(raw_tokens):
                if token.token_type is TokenType.WINDOW and after.token_type is TokenType.L_PAREN:
                    token.token_type = TokenType.VAR
            return super().parse(raw_tokens, sql)

        def _parse_version(self) -> exp.Version | None:
            first, second = self._curr, self._next
            version = super()._parse_version()
            if version is not None and (first.text.upper(), second.text.upper()) == ("FOR", "SYSTEM_TIME"):
                version.meta[SPAN] = (first.start, self._prev.end + 1)
            return version

        def _parse_join(self, *args, **kwargs) -> exp.Join | None:
            comma = self._curr
            join = super()._parse_join(*args, **kwargs)
            listed = join is not None and comma.token_type is TokenType.COMMA and as_of(join) is not None
            if join is not None and listed and self._match(TokenType.ON):
                join.set("on", self._parse_disjunction())
                join.set("kind", None)
                join.meta[SPAN] = (comma.start, comma.end + 1)
            if join is not None and join.side and self._prev.token_type is not TokenType.TRUE:
                _without_on_true(join)
            return join

    class Generator(Spark.Generator):
        TRANSFORMS = {
            **Spark.Generator.TRANSFORMS,
            exp.Version: lambda self, e: (
                f"FOR SYSTEM_TIME AS OF {self.sql(e, 'expression')}" if SPAN in e.meta else self.version_sql(e)
            ),
            Clock: lambda self, e: f"{e.name}({e.args.get('time') or ''})",
            ChangeFeed: lambda self, e: (
                f"{self.sql(e, 'this')} WITH ('readChangeFeed'='true', "
                f"'startingVersion'='{e.args['start']}', 'endingVersion'='{e.args['end']}')"
                + (f" AS {self.sql(e, 'alias')}" if e.args.get("alias") else "")
            ),
        }


def _without_on_true(join: exp.Join) -> None:
    """Takes back the ON TRUE that sqlglot adds to a join of a generator: without it, Spark makes another join."""
    on = join.args.get("on")
    if isinstance(join.this, exp.Lateral) and not isinstance(join.this.this, exp.Subquery) and on == exp.true():
        join.set("on", None)


def _refuse_compiled_sqlglot() -> None:
    """Raises ImportError where the optional compiled build of sqlglot is installed: it refuses every dialect but its
    own (https://github.com/tobymao/sqlglot/issues/7923), at the first statement and in words of its own."""
    try:
        DeltaSpark().generator()
    except TypeError as error:
        raise ImportError(
            "dbt-spark-dynamic adds Delta's SQL to sqlglot's Spark dialect, which sqlglot's compiled build (the "
            "package sqlglotc, from sqlglot[c]) does not allow. Remove it (pip uninstall sqlglotc), or install "
            "dbt-spark-dynamic into an environment without it."
        ) from error


_refuse_compiled_sqlglot()

DIALECT = DeltaSpark()


def parse(sql: str) -> exp.Expression:
    """One statement as a tree, without its comments: those that are printed are ours.

    Raises sqlglot.errors.SqlglotError where it is not Spark SQL that sqlglot knows."""
    from sqlglot import parse_one

    tree = parse_one(sql, dialect=DIALECT).transform(_as_spark_means, copy=False)
    for node in tree.walk():
        node.comments = None
    return tree


def _as_spark_means(node: exp.Expression) -> exp.Expression | None:
    """`ANY(x)` is an aggregate, except beside a comparison; what is listed without a delimiter has none between;
    LIMIT ALL is none, and any other a number; `v:a` is a call; what stands behind a query in parentheses is its own."""
    if isinstance(node, exp.Subquery) and any(node.args.get(c) for c in BEHIND):
        _take_in(node)
    if isinstance(node, exp.Any) and not isinstance(node.parent, exp.Binary):
        return exp.LogicalOr(this=node.this.unnest())
    if isinstance(node, exp.JSONExtract) and node.args.get("variant_extract"):
        return _of_variant(node)
    if isinstance(node, exp.GroupConcat) and node.args.get("separator") is None:
        node.set("separator", exp.Literal.string(""))
    if isinstance(node, exp.Limit | exp.Offset):
        if isinstance(node, exp.Limit) and node.expression.sql().upper() == "ALL":
            return None
        if not isinstance(node.expression, exp.Literal):
            node.set("expression", simplify(node.expression))
    return node


def _of_variant(extract: exp.JSONExtract) -> exp.Expression:
    """`v:a` is what VARIANT_GET finds in v. Raises SqlglotError for a path that it does not know."""
    path, value = "$", extract.this
    for part in extract.expression.expressions[1:]:
        name = part.this
        if isinstance(part, exp.JSONPathKey) and isinstance(name, str):
            quote = '"' if "'" in name else "'"
            path += f"[{quote}{name}{quote}]" if part.args.get("quoted") else f".{name}"
        elif isinstance(part, exp.JSONPathSubscript) and isinstance(name, int):
            path += f"[{name}]"
        else:
            raise ParseError(f"a part of a path in a VARIANT that is no name and no number: {extract.sql()}")
    if isinstance(value, exp.JSONExtract) and value.args.get("variant_extract"):
        value = _of_variant(value)
    asked = [value, exp.Literal.string(path), exp.Literal.string("variant")]
    return exp.Anonymous(this="VARIANT_GET", expressions=asked)


BEHIND = ("order", "limit", "offset")
"""Clauses that may stand behind a query in parentheses."""


def _take_in(subquery: exp.Subquery) -> None:
    """(SELECT …) ORDER BY a LIMIT 1 is (SELECT … ORDER BY a LIMIT 1), or where the query has such clauses of its own,
    (SELECT * FROM (SELECT …) ORDER BY a LIMIT 1)."""
    if isinstance(subquery.this, exp.Subquery):
        _take_in(subquery.this)
    behind = {clause: tree for clause in BEHIND if (tree := subquery.args.get(clause))}
    query = subquery.unnest()
    if behind and any(query.args.get(c) for c in BEHIND):
        query = exp.Select(expressions=[exp.Star()]).from_(exp.Subquery(this=subquery.this), copy=False)
        subquery.set("this", query)
    for clause, tree in behind.items():
        query.set(clause, tree)
        subquery.set(clause, None)


def parse_expression(sql: str) -> exp.Expression:
    """One scalar expression as a tree. Raises SqlglotError like `parse`."""
    return parse(f"SELECT {sql}").expressions[0]


def as_of(join: exp.Join) -> exp.Expression | None:
    """The time of `JOIN t FOR SYSTEM_TIME AS OF time`, None for a join that has none. A constant is Delta's own time
    travel."""
    version = join.this.args.get("version") if isinstance(join.this, exp.Table) else None
    if version is None or SPAN not in version.meta or version.args["kind"] != "AS OF":
        return None
    time = version.expression
    return time if time.find(exp.Column) or is_processing_time(time) else None


def is_processing_time(time: exp.Expression) -> bool:
    """Whether it is a call of the clock: PROCTIME(), as FLIP-132 has it, or one of Spark's own."""
    name = time.this if isinstance(time, exp.Anonymous) else time.sql_name() if isinstance(time, exp.Func) else ""
    return str(name).lower() in PROCESSING_TIME


def without_as_of(sql: str) -> str:
    """The statement with its temporal joins written as ordinary ones, line by line where it was: the same columns by
    the same names and types, for Spark to analyse. A statement that sqlglot does not know is left as it is."""
    try:
        joins = [j for j in parse(sql).find_all(exp.Join) if as_of(j) is not None]
    except SqlglotError:
        return sql
    edits = [(j.this.args["version"].meta[SPAN], "") for j in joins]
    edits += [(j.meta[SPAN], " JOIN ") for j in joins if SPAN in j.meta]
    for (start, end), instead in sorted(edits, reverse=True):
        sql = sql[:start] + instead + "\n" * sql[start:end].count("\n") + sql[end:]
    return sql


def print_sql(tree: exp.Expression, *, pretty: bool = False, copy: bool = True) -> str:
    """The tree as Spark SQL. Raises sqlglot.errors.UnsupportedError rather than print another meaning. copy=False: of
    a tree that nobody needs any more, as printing changes it."""
    return tree.sql(dialect=DIALECT, unsupported_level=ErrorLevel.RAISE, pretty=pretty, copy=copy)
