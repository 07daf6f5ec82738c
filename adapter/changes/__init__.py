"""Algebra -> change plan: what has to be computed so that the table equals its query again.

A relation in a change plan always carries its time: before (the versions the last refresh consumed), after (the
versions this one consumes), or change (signed rows between the two, `WEIGHT` copies each). No undated scan survives.
"""
