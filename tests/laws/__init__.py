"""The laws of change, each against the executable meaning: after - before = meaning of the change."""
