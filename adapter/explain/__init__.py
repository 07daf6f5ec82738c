"""What a refresh would do, said before it is done. Nothing is computed and nothing is written.

explanation.py  what there is to say, gathered          rehearsal.py  a refresh on an engine that only takes notes
text.py         the same as the user reads it
"""
