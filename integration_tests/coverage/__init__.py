"""The 22 queries of TPC-H and the 99 of TPC-DS as dynamic tables, each compared with itself after mixed batches.

generate.py   data and texts, by the DuckDB that carries both generators
batches.py    inserts, updates and deletes in every table
report.py     docs/coverage.md
__main__.py   `make coverage`: hours on two cores; `--only` takes a part, and parts add up in the report
"""
