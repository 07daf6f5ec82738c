"""Dynamic tables beside what else keeps such tables: Flink, Spark's pipelines, and a stream with a MERGE by hand.

Every peer is a process of its own and meets the same changes; see `__main__`.
"""
