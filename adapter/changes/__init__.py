"""Algebra -> change plan: what has to be computed so that the table equals its query again.

A relation in a change plan always carries its time: before (the versions the last refresh consumed), after (the
versions this one consumes), or change (signed rows between the two, `WEIGHT` copies each). No undated scan survives.

    plan.py           which law is used at the root               change_plan.py  what it makes
    differentiate.py  Δ: the linear, bilinear and keyed laws      affected.py     whose keys may have changed
    additive.py       counts and sums added to the table's own    restrict.py     a semi-join pushed to the scans
    accumulators.py   one COUNT, SUM, MIN or MAX of them          simplify.py     what cannot have rows is cut away
    top.py            first rows, from the table's own
    matches.py        what the change of a join's side meets      check.py        the contract of a plan
    derivation.py     the relations that a plan names             slices.py       what both times ask for, read once
    literal_keys.py   keys that are known, as literals            column_types.py whose columns are of which type
"""
