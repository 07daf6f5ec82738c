"""A model's SELECT, maintained by change. This folder is imported as `dbt_spark_dynamic`.

    pipeline.py    the story in order: a reader starts here
    reading/       model SQL -> algebra, or a located refusal
    algebra/       what a model means: frozen nodes, their keys, their meaning over bags
    changes/       algebra -> change plan, by the laws
    sparksql/      change plan -> Spark SQL
    commit/        Spark SQL -> a table that has moved, and the ledger in the same commit
    versions/      the history of a changelog, as one more SELECT to maintain
    embedded/      Spark and Delta inside this process
    dialect.py     SQL text <-> trees    names.py  every reserved name    errors.py  what can go wrong

Data flows downwards through the first five rooms. None of them imports dbt, and only `commit` and `embedded` are given
or start a Spark session.
"""
