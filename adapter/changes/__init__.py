"""Algebra -> change plan: what has to be computed so that the table equals its query again.

A relation in a change plan always carries its time: before (the versions the last refresh consumed), after (the
versions this one consumes), or change (signed rows between the two, `WEIGHT` copies each). No undated scan survives.

    plan.py           which law is used at the root, and all that is computed for it
    differentiate.py  Δ: the linear, bilinear and keyed laws      affected.py  whose keys may have changed
    additive.py       counts and sums added to the table's own    restrict.py  a semi-join pushed to the scans
    matches.py        the unchanged side of a join                simplify.py  what cannot have rows is cut away
    derivation.py     the relations that a plan names             check.py     the contract of a plan
"""
