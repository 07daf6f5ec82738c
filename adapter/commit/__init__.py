"""Spark SQL -> a table that has moved: what was consumed, what is written, and both in one Delta commit."""
