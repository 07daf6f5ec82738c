"""`python -m benchmarks.peers.declarative FOLDER BATCHES SHAPE`: a materialized view of Spark's declarative pipelines.

What `spark-pipelines run` does is done here in one process that is warm, without the start that the command pays for
each time. The pipeline reads `orders` as of each batch; a materialized view is computed anew at each update.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt_spark_dynamic.embedded.session import open_remote
from integration_tests.kafka_broker import free_port
from integration_tests.maintained import Maintained

from ..session import benchmark_session, console_of
from .base import SCHEMA, register
from .process import in_batches, say
from .shapes import NAMED, Shape

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFINITION = "CREATE MATERIALIZED VIEW m USING parquet AS {sql}"
"""Not Delta: the second update of a view that is a Delta table fails with DELTA_CANNOT_CHANGE_PROVIDER, as of pyspark
4.2.0 and Delta 4.4.0."""


def update(folder: Path, batches: int, shape: Shape) -> None:
    with benchmark_session(console_of(120)) as (spark, store), connected(spark) as remote:
        register(spark, folder)
        dated = "FROM orders VERSION AS OF {}"
        took = in_batches(
            batches, lambda n: run(remote, shape.batch_sql.replace("FROM orders", dated.format(n)), store)
        )
        say({**took, "how": "computed anew"})
        say({"different": Maintained(spark, SCHEMA, {"m": shape.batch_sql}).difference("m")})


def run(remote: SparkSession, sql: str, storage: Path) -> None:
    """One update of a pipeline of one view, as the command line has it."""
    from pyspark.pipelines.graph_element_registry import graph_element_registration_context
    from pyspark.pipelines.spark_connect_graph_element_registry import SparkConnectGraphElementRegistry
    from pyspark.pipelines.spark_connect_pipeline import create_dataflow_graph, handle_pipeline_events, start_run

    graph = create_dataflow_graph(remote, default_catalog=None, default_database=SCHEMA, sql_conf={})
    registry = SparkConnectGraphElementRegistry(remote, graph)
    with graph_element_registration_context(registry), contextlib.redirect_stdout(sys.stderr):
        registry.register_sql(DEFINITION.format(sql=sql), Path("m.sql"))
        handle_pipeline_events(
            start_run(
                remote,
                graph,
                full_refresh=[],
                full_refresh_all=False,
                refresh=[],
                dry=False,
                storage=storage.joinpath("pipeline").as_uri(),
            )
        )


@contextlib.contextmanager
def connected(spark: SparkSession) -> Iterator[Any]:
    """A session of Spark Connect, which pipelines need, on the Spark of this process."""
    java, port = spark._jvm, free_port()
    conf = java.org.apache.spark.SparkEnv.get().conf()
    conf.set("spark.connect.grpc.binding.address", "127.0.0.1")
    conf.set("spark.connect.grpc.binding.port", str(port))
    service = java.org.apache.spark.sql.connect.service.SparkConnectService
    service.start(spark.sparkContext._jsc.sc())
    remote = open_remote(f"sc://127.0.0.1:{port}")
    try:
        yield remote
    finally:
        remote.stop()
        service.stop(java.scala.Option.empty(), java.scala.Option.empty())


if __name__ == "__main__":
    update(Path(sys.argv[1]), int(sys.argv[2]), NAMED[sys.argv[3]])
