"""`python flink_job.py SHAPE.json`: what Flink maintains, for the Python of Flink's own environment.

The job ends with its changelog. It is run over a small workload, of which the result is told; then over the orders as
they are at first; then over these and all changes, and what the last takes longer than the one before is what the
changes take: a process that is warm, with its state full. Results go into a sink that takes them and keeps nothing.
"""

import json
import sys
import time

from pyflink.table import EnvironmentSettings, TableEnvironment

SETTINGS = {
    "parallelism.default": "2",
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "5 s",
    "table.exec.mini-batch.size": "50000",
    "pipeline.object-reuse": "true",
    "table.local-time-zone": "UTC",
}

# No version of an order may come too late, nor a rate be forgotten that an order of long ago still meets.
LATE = "WATERMARK FOR made_at AS made_at - INTERVAL '999' DAY(3)"


def environment(jars):
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for name, value in {**SETTINGS, "pipeline.jars": ";".join(jars)}.items():
        env.get_config().set(name, value)
    return env


def register(env, folder, stream, temporal):
    def table(name, columns, path):
        env.execute_sql(
            f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'filesystem', 'format' = 'parquet', "
            f"'parquet.utc-timezone' = 'true', 'path' = 'file://{path}')"
        )

    # With a time attribute, mini-batches would follow event time: only the temporal join needs one.
    order = "op STRING, id BIGINT, customer INT, currency INT, amount DECIMAL(12, 2), made_at TIMESTAMP(3)"
    table("log", f"{order}, {LATE}" if temporal else order, stream)
    key = "PRIMARY KEY ({0}) NOT ENFORCED"
    table("customers", f"customer INT, nation INT, {key.format('customer')}", f"{folder}/customers.parquet")
    since = "dbt_valid_from TIMESTAMP(3), WATERMARK FOR dbt_valid_from AS dbt_valid_from"
    table("rates", f"currency INT, rate INT, {since}, {key.format('currency')}", f"{folder}/rates.parquet")
    env.execute_sql("CREATE VIEW orders AS SELECT * FROM FROM_CHANGELOG(input => TABLE log, op => DESCRIPTOR(op))")


def timed(shape, stream):
    env = environment(shape["jars"])
    register(env, shape["folder"], stream, shape["temporal"])
    env.execute_sql(f"CREATE TABLE maintained ({shape['columns']}) WITH ('connector' = 'blackhole')")
    started = time.perf_counter()
    env.execute_sql(f"INSERT INTO maintained {shape['sql']}").wait()
    return time.perf_counter() - started


def checksum(shape):
    env = environment(shape["jars"])
    register(env, shape["small"], f"{shape['small']}/whole", shape["temporal"])
    row = None
    with env.execute_sql(shape["checksum"]).collect() as rows:
        # One row that changes: the last is what it is at the end.
        for changed in rows:
            row = changed
    return [str(value) for value in row]


def main(path):
    with open(path) as file:
        shape = json.load(file)
    print(json.dumps({"checksum": checksum(shape)}), flush=True)
    first = timed(shape, f"{shape['folder']}/first")
    whole = timed(shape, f"{shape['folder']}/whole")
    print(json.dumps({"seconds": whole - first, "built": first, "how": "mini-batches"}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
