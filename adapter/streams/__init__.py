"""Streams as sources: landed once, in a Delta table under the source's own name, and maintained from there.

declaration.py   what `meta: {stream: …}` of a source says, checked; pure
upserts.py       what a batch of a stream with a key says last of each key, as SQL; pure
landing.py       from the stream into the table, exactly once: what is there now, or all that comes

What stands on the table is ordinary SQL over a table with commits, so nothing that a streaming engine refuses is
refused here, and no state is kept beside the tables. Imports pyspark nowhere: a session is given.
"""
