"""Plan -> Spark SQL, as a sqlglot tree until the last line.

render.py      a relation as one SELECT       reads.py  a table at a version, and its net change
statements.py  the INSERTs and MERGEs that move a table    bounds.py  where in the table a change's keys lie
"""
