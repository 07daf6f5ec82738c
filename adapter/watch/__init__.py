"""Eager maintenance: which tables are to be refreshed when, after which commits of the tables they read.

lag.py        how far a table may be behind: `target_lag`
graph.py      which of the tables read which
schedule.py   what is due, pure: no clock, no Spark, no dbt
wave.py       tables that are brought to one state of their sources
watch.py      the loop: looks for commits, carries out waves, starts over after an edit
project.py    what the loop asks of dbt and Spark
leases.py     one watcher per table on one machine
events.py     what happened, as data; show.py and metrics.py for people and for Prometheus

The rooms below it know nothing of it. It imports neither dbt nor pyspark.
"""
