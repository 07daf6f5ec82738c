"""What is refreshed when, decided without a clock, Spark or dbt."""
