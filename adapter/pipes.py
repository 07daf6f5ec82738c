"""Pipe syntax: `FROM t |> WHERE … |> LIMIT 3 |> …` as the nested SELECTs that it stands for.

sqlglot puts each operator into the SELECT of those before it, whatever stands there already: a WHERE behind a LIMIT
becomes one in front of it. Here an operator joins that SELECT only where SQL carries it out last, and otherwise reads
it as a subquery, under the name that the table had: Spark still knows it by that.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.tokens import TokenType

OPEN = {"expressions", "from_", "joins", "where", "order"}
"""What a SELECT may have that still shows all that FROM does, row for row."""

SHOWN = ("expressions", "distinct", "hint", "kind", "windows")
"""What a SELECT operator says."""


class PipesParser(Spark.Parser):
    def _parse_pipe_syntax_query(self, query):
        while self._match(TokenType.PIPE_GT):
            query = self._piped(query)
        return query

    def _piped(self, query):
        """The query with the next operator."""
        if self._match(TokenType.WHERE, advance=False):
            return _rows(query, "where", "order").where(self._parse_where(), copy=False)
        if self._match(TokenType.SELECT, advance=False):
            return self._piped_select(_rows(query, "where"))
        if self._match_text_seq("AGGREGATE"):
            return self._piped_aggregate(_rows(query, "where"))
        if self._match(TokenType.ALIAS):
            return _derived(query, self._parse_id_var())
        if self._match_set((TokenType.PIVOT, TokenType.UNPIVOT), advance=False):
            return self._piped_pivot(_rows(query))
        if self._match_set((TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET), advance=False):
            ordered = () if self._match(TokenType.ORDER_BY, advance=False) else ("order",)
            return self._parse_query_modifiers(_rows(query, "where", *ordered))
        return self._piped_columns(query) or self._piped_join(query) or self._piped_set_operation(query)

    def _piped_columns(self, query):
        if self._match_text_seq("EXTEND"):
            shown = [exp.Star(), *self._parse_expressions()]
        elif self._match_text_seq("DROP"):
            shown = [exp.Star(except_=self._parse_csv(self._parse_id_var))]
        else:
            return None
        return _rows(query, "where").select(*shown, append=False, copy=False)

    def _piped_pivot(self, query):
        query = _derived(query) if query.args.get("joins") else query
        query.args["from_"].this.set("pivots", self._parse_pivots())
        return query

    def _piped_select(self, query):
        select = self._parse_select(consume_pipe=False)
        for clause in SHOWN:
            query.set(clause, select.args.get(clause))
        return query

    def _piped_aggregate(self, query):
        """Its groups come first, then its aggregates."""
        grouped = self._match(TokenType.GROUP_BY, advance=False)
        aggregates = [] if grouped else self._parse_expressions()
        groups = self._parse_expressions() if self._match(TokenType.GROUP_BY) else []
        plain = [g.unalias() for g in groups]
        if any(isinstance(g, exp.Literal | exp.Rollup | exp.Cube | exp.GroupingSets) for g in plain):
            self.raise_error("Groups of AGGREGATE that are places or sets")
        query.set("expressions", [*groups, *aggregates])
        if groups:
            query.set("group", exp.Group(expressions=[g.copy() for g in plain]))
        return query

    def _piped_join(self, query):
        join = self._parse_join()
        if join is None:
            return None
        # A condition on what is joined to holds before the join, and its names mean what they did then.
        query = _rows(query) if join.side in ("RIGHT", "FULL") or not query.args.get("joins") else _rows(query, "where")
        query.append("joins", join)
        return query

    def _piped_set_operation(self, query):
        operation = self.parse_set_operation(_rows(query, "where"))
        if operation is None:
            self.raise_error(f"Unsupported pipe syntax operator: '{self._curr.text}'.")
        return operation


def _rows(query: exp.Query, *merged: str) -> exp.Select:
    """A SELECT that shows all of the query's rows, to which an operator can be added. merged: the clauses that it may
    stand in one SELECT with."""
    allowed = (OPEN - {"where", "order"}) | set(merged)
    if isinstance(query, exp.Select) and _is_star(query) and {n for n, v in query.args.items() if v} <= allowed:
        return query
    return _derived(query)


def _is_star(select: exp.Select) -> bool:
    star = select.expressions[0]
    return len(select.expressions) == 1 and type(star) is exp.Star and not any(star.args.values())


def _derived(query: exp.Query, name: exp.Expression | None = None) -> exp.Select:
    """SELECT * of the query. name: its name, by default that of the table it reads if there is only one."""
    if name is None and isinstance(query, exp.Select) and not query.args.get("joins"):
        clause = query.args.get("from_")
        name = exp.to_identifier(clause.this.alias_or_name, quoted=True) if clause is not None else None
    nested = query if isinstance(query, exp.Subquery) and not query.alias else exp.Subquery(this=query)
    if name is not None and name.name:
        nested.set("alias", exp.TableAlias(this=name))
    return exp.Select(expressions=[exp.Star()], from_=exp.From(this=nested))
