"""Tests against real Spark, Delta and dbt, the projects they run, and the demo."""
