"""What a model means: relational algebra over bags.

nodes.py       the operators            expressions.py  scalar SQL, carried unopened
keys.py        what is unique           transform.py    a plan from a plan
prune.py       columns nobody reads     connect.py      joins in an order that has keys
show.py        a plan as text, for fingerprints
clock.py       what filters read of it  kept.py         joins whose results are kept
evaluate.py    the meaning of every operator over Python rows: the oracle of the laws
"""
