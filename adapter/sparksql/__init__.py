"""Plan -> Spark SQL, as a sqlglot tree until the last line.

render.py      a relation as one SELECT       reads.py   a table at a version, and its net change
naming.py      what a part of it is called    bounds.py  where in the table a change's keys lie
statements.py  the INSERTs and MERGEs that move a table
"""
