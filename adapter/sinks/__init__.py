"""Tables as streams: what changed in a table since the last delivery, written to a sink in one of three encodings.

declaration.py   what `sink: {…}` of a model says, checked; pure
delivery.py      one delivery: what changed since the last one, netted, encoded, given to the destination
record.py        what was delivered, as commits of a Delta table remember it
destination.py   a refresh with the delivery that follows it, to one of these
delta.py         a Delta table as the destination: exactly once, the record being its own commits
files.py         a folder as the destination: exactly once where renaming a folder is atomic, the record lying in it
kafka.py         a topic as the destination: at least once, repeated messages being recognizable
"""
