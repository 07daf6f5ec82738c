"""Delta's jars: named after what is installed, and taken only if both are whole."""

from __future__ import annotations

import shutil
import zipfile

import pytest

from dbt_spark_dynamic.embedded import session
from dbt_spark_dynamic.embedded.jars import DeltaJars, installed_delta
from dbt_spark_dynamic.embedded.settings import EmbeddedSettings

JARS = DeltaJars(spark="4.2", scala="2.13", delta="4.4.0")
ARTIFACTS = ("io.delta_delta-spark_4.2_2.13-4.4.0.jar", "io.delta_delta-storage-4.4.0.jar")


@pytest.fixture
def fetched(tmp_path):
    folder = tmp_path / "ivy" / "jars"
    folder.mkdir(parents=True)
    for name in ARTIFACTS:
        with zipfile.ZipFile(folder / name, "w") as jar:
            jar.writestr("a.class", "x" * 1000)
    return tmp_path / "ivy"


def test_the_names_follow_the_installed_packages():
    assert installed_delta() == JARS
    assert JARS.packages == "io.delta:delta-spark_4.2_2.13:4.4.0,io.delta:delta-storage:4.4.0"


def test_what_was_fetched_is_found_ever_after(tmp_path, fetched):
    cache = tmp_path / "cache"
    assert JARS.found(cache) == []
    JARS.keep(fetched, cache)
    assert [path.name for path in JARS.found(cache)] == [
        "delta-spark_4.2_2.13-4.4.0.jar",
        "delta-storage-4.4.0.jar",
    ]
    assert {path.suffix for path in cache.rglob("*") if path.is_file()} == {".jar"}


@pytest.mark.parametrize("damage", ["missing", "cut off"])
def test_a_half_filled_cache_is_filled_again(tmp_path, fetched, damage):
    cache = tmp_path / "cache"
    JARS.keep(fetched, cache)
    jar = JARS.paths(cache)[0]
    if damage == "missing":
        jar.unlink()
    else:
        jar.write_bytes(jar.read_bytes()[:50])
    assert JARS.found(cache) == []
    JARS.keep(fetched, cache)
    assert len(JARS.found(cache)) == 2


def test_the_first_spark_has_them_on_its_class_path_as_every_later_one(tmp_path, monkeypatch, fetched):
    """What Spark fetches for itself, a Thrift or Connect server that it becomes does not find."""
    started, asked = [], []
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(session, "launch", lambda conf, store, **said: started.append(conf))

    def fetch(conf, store, **said):
        asked.append(conf["spark.jars.packages"])
        shutil.copytree(fetched, conf["spark.jars.ivy"], dirs_exist_ok=True)

    monkeypatch.setattr(session, "fetch", fetch)
    settings = EmbeddedSettings(tmp_path / "store", "in-memory")
    session.start(settings)
    session.start(settings)
    assert asked == [JARS.packages]
    assert started[0] == started[1]
    assert len(started[0]["spark.driver.extraClassPath"].split(":")) == 2 and "spark.jars.packages" not in started[0]
