"""dbt's own tests for adapters (dbt-tests-adapter) on Spark and Delta, and what of them is not run and why.

suite.py       all classes there are, and those of them that need nothing changed
excluded.py    the ones that are not run, each with its reason
"""
