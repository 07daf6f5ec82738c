"""Tests without Spark: the laws, generated queries in DuckDB, and units."""
