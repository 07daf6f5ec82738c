"""The plugin that dbt discovers by the profile's `type: spark_dynamic`.

credentials.py     the profile: dbt-spark's keys and those of the embedded Spark
connections.py     one Spark session per dbt connection; dbt-spark's other methods unchanged
cursor.py          a statement on that session: rows, counts, errors in plain words
literals.py        Python values as Spark SQL, exactly
failures.py        what Spark and Delta really said
impl.py            the adapter: dbt-spark's with its faults mended
dynamic_table.py   the adapter's verbs for the materialization `dynamic_table`
stream_sources.py  streams as sources, landed before the models that stand on them
watching.py        a dbt project as `dbt-dynamic watch` needs it
cli/               the command line beside dbt's own
constraints.py     contracts                 grants.py         permissions, or none
catalog.py         docs and freshness        docs.py           persist_docs
diagnosis.py       dbt debug                 python_models.py  Python models in this process
"""

from dbt.adapters.base import AdapterPlugin

from dbt.adapters.spark_dynamic.credentials import SparkDynamicCredentials
from dbt.adapters.spark_dynamic.impl import SparkDynamicAdapter
from dbt.include import spark_dynamic

Plugin = AdapterPlugin(
    adapter=SparkDynamicAdapter,
    credentials=SparkDynamicCredentials,
    include_path=spark_dynamic.PACKAGE_PATH,
    dependencies=["spark"],
    # dbt would name the macro package after the folder, which is `macros` in a checkout.
    project_name="dbt_spark_dynamic",
)
