"""Spark and Delta inside this process, or one that keeps them: what a profile of only `type` and `schema` runs on.

    settings.py    what the user may choose, and where the store is by default
    java.py        a Java that Spark can use, from a package if need be, or one sentence
    trust.py       this machine's certificate authorities, for that one
    jars.py        Delta's two jars: fetched once, found ever after
    conf.py        settings → Spark's own configuration, pure
    store.py       the folder with tables, metastore and log; one process at a time
    session.py     one Spark per process, one session per connection
    serve.py       a Spark kept for other processes: `dbt-dynamic serve`
    served.py      what its store says of it           attach.py      a process that uses it

Imports pyspark only inside functions, and never dbt.
"""
