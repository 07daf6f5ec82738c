"""Histories of random changelogs, against what a history is, written down in Python."""
