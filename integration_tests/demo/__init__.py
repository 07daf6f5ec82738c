"""The demo: TPC-H as Delta tables, waves of changes, dynamic tables kept equal to their queries.

`python -m integration_tests.demo` runs it; `data`, `waves`, `check` and `project` are used by the
tests and the benchmarks as well.
"""
