"""Versioned tables: the history of every key of a changelog, as one more SELECT that is maintained by change.

A changelog is a bag of events, and its history a function of that bag: no order of arrival, no split into batches can
make a difference. So a versioned table is a dynamic table whose SELECT is written here, around the user's own.
"""
