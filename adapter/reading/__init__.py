"""Model SQL -> algebra, by Spark's own rules; what is not understood becomes a `Refusal` with its place.

lower.py       a query: set operations, FROM, WHERE, SELECT      grouping.py  SELECT list, GROUP BY, HAVING
scope.py       which column a name means                         joins.py     where a condition belongs
scalars.py     which expressions are understood                  functions.py what is known of Spark's functions
temporal.py    joins at a time                               versions.py  the versions that a relation holds
relations.py   what the catalog answers                          expand.py    views as their definitions
types.py       the types of what is computed             one_row.py   subqueries that are one value
sources.py     every table a query reads                         refuse.py    a refusal with its line
"""
