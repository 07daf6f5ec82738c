"""Settings → Spark's configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbt_spark_dynamic.embedded import conf
from dbt_spark_dynamic.embedded.conf import brings_delta, spark_conf, with_jars, with_packages
from dbt_spark_dynamic.embedded.jars import EXCLUDED, DeltaJars
from dbt_spark_dynamic.embedded.java import OPTIONS, VARIABLES
from dbt_spark_dynamic.embedded.settings import EmbeddedSettings

JARS = DeltaJars(spark="4.2", scala="2.13", delta="4.4.0")
STORE = Path("/data/my store")


def settings(**keys):
    return EmbeddedSettings(store=STORE, **keys)


def test_everything_of_the_embedded_spark_is_in_the_store():
    made = spark_conf(settings())
    assert made["spark.sql.warehouse.dir"] == "file:///data/my%20store/warehouse"
    assert made["spark.hadoop.javax.jdo.option.ConnectionURL"] == (
        "jdbc:derby:;databaseName=/data/my store/metastore_db;create=true"
    )
    assert '"-Dderby.system.home=/data/my store"' in made[OPTIONS]


def test_names_in_memory_need_no_metastore():
    made = spark_conf(settings(catalog="in-memory"))
    assert "derby" not in str(made)


def test_the_users_settings_win_and_options_are_joined():
    user = {"spark.sql.shuffle.partitions": "7", OPTIONS: "-Da=b", "spark.sql.extensions": "x.Y"}
    made = spark_conf(settings(conf=user, driver_memory="9g"))
    assert made["spark.sql.shuffle.partitions"] == "7"
    assert made["spark.driver.memory"] == "9g"
    assert made["spark.sql.extensions"] == f"{conf.DELTA_EXTENSION},x.Y"
    assert "-Xss4m" in made[OPTIONS]
    assert made[OPTIONS].endswith("-Da=b")


def test_a_second_garbage_collector_is_never_asked_for():
    assert "-XX:+UseParallelGC" in spark_conf(settings())[OPTIONS]
    made = spark_conf(settings(conf={OPTIONS: "-XX:+UseZGC"}))[OPTIONS]
    assert "Parallel" not in made


@pytest.mark.parametrize("name", VARIABLES)
def test_nor_where_the_environment_asks_for_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "-Da=b -XX:+UseG1GC -XX:ReservedCodeCacheSize=1g")
    made = spark_conf(settings())[OPTIONS]
    assert "Parallel" not in made and "ReservedCodeCacheSize" not in made


def test_the_room_for_compiled_code_is_the_user_s_to_change():
    assert "-XX:ReservedCodeCacheSize=512m" in spark_conf(settings())[OPTIONS]
    made = spark_conf(settings(conf={OPTIONS: "-XX:ReservedCodeCacheSize=1g"}))[OPTIONS]
    assert made.count("ReservedCodeCacheSize") == 1


def test_the_room_for_classes_is_the_user_s_to_change():
    assert "-XX:MetaspaceSize=256m" in spark_conf(settings())[OPTIONS]
    made = spark_conf(settings(conf={OPTIONS: "-XX:MaxMetaspaceSize=200m"}))[OPTIONS]
    assert made.count("MetaspaceSize") == 1


def test_files_of_one_machine_have_no_checksum_files_beside_them_unless_the_user_wants_them():
    assert conf.UNCHECKED.items() <= spark_conf(settings()).items()
    wanted = {name: "org.apache.hadoop.fs.LocalFileSystem" for name in conf.UNCHECKED}
    assert wanted.items() <= spark_conf(settings(conf=wanted)).items()


def test_past_statements_are_kept_for_whoever_has_a_user_interface_to_look_at_them():
    assert spark_conf(settings())["spark.sql.ui.retainedExecutions"] == "10"
    for shown in ("spark.ui.enabled", "spark.eventLog.enabled"):
        assert "spark.sql.ui.retainedExecutions" not in spark_conf(settings(conf={shown: "true"}))


def test_a_cluster_keeps_its_own_sizes_warehouse_and_metastore():
    made = spark_conf(settings(master="spark://host:7077"))
    assert made["spark.master"] == "spark://host:7077"
    ours = {name.removeprefix("spark.") for name in made}
    assert ours == {
        "app.name",
        "master",
        "driver.extraJavaOptions",
        "sql.extensions",
        "sql.catalog.spark_catalog",
        "sql.catalogImplementation",
        "databricks.delta.properties.defaults.enableChangeDataFeed",
        "sql.parquet.pushdown.inFilterThreshold",
    }


def test_jars_go_to_the_class_path_here_and_to_the_executors_of_a_cluster():
    paths = [Path("/c/a.jar"), Path("/c/b.jar")]
    here = with_jars({"spark.driver.extraClassPath": "/mine.jar"}, paths, is_local=True)
    assert here == {"spark.driver.extraClassPath": "/c/a.jar:/c/b.jar:/mine.jar"}
    assert with_jars({}, paths, is_local=False) == {"spark.jars": "/c/a.jar,/c/b.jar"}


def test_deltas_jars_are_fetched_alone():
    user = {"spark.jars.packages": "org.x:y:1", "spark.jars": "/mine.jar", "spark.jars.excludes": "io.delta:*"}
    user["spark.jars.repositories"] = "https://mirror"
    assert with_packages(user, JARS, Path("/ivy")) == {
        "spark.jars.packages": JARS.packages,
        "spark.jars.ivy": "/ivy",
        "spark.jars.excludes": EXCLUDED,
        "spark.jars.repositories": "https://mirror",
    }


@pytest.mark.parametrize("name", conf.JAR_SETTINGS)
def test_a_delta_of_the_users_choice_is_left_alone(name):
    assert brings_delta({name: "io.delta:delta-spark_2.13:4.0.0"})
    assert not brings_delta({name: "org.postgresql:postgresql:42.7.4"})


def test_the_heap_is_half_of_the_memory_within_limits():
    gigabyte = conf.GIGABYTE
    assert [conf.default_heap(n * gigabyte) for n in (1, 4, 6, 64)] == [
        "1024m",
        "2048m",
        "3072m",
        "4096m",
    ]


def test_how_the_cores_are_shared_is_the_user_s_to_change():
    assert conf.FAIR_POOL.is_file()
    assert spark_conf(settings())["spark.scheduler.allocation.file"] == conf.FAIR_POOL.as_uri()
    assert spark_conf(settings(conf={"spark.scheduler.mode": "FIFO"}))["spark.scheduler.mode"] == "FIFO"
