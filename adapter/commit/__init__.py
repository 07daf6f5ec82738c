"""Spark SQL -> a table that has moved: what was consumed, what is written, and both in one Delta commit.

refresh.py      one refresh: look, decide, compute, write once, make sure; look.py and decide.py are the first two
spec.py         what was asked for                outcome.py   what was done
ledger.py       what a table has consumed         history.py   what a Delta log says of a commit
layout.py       what the table needs before: drift.py its configuration, evolve.py its columns
sources.py      whether a source can say what changed
incremental.py  feeds and relations, computed once            measure.py   what is asked about them
apply.py        the change, written              computed.py which relations need be
engine.py       what is needed of Spark; classic.py over a session here, remote.py by SQL alone
changelog.py    its changes as a relation in the three encodings
clock.py        what the session's clock says     watermark.py the clock of event time
catalog.py, describe.py   tables and views as they are        problems.py  errors in the user's words
"""
