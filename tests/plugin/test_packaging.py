"""What is built is what is imported: wheel, source distribution, and a wheel made from that."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# dbt-core and dbt-adapters own these; a wheel that had them would overwrite theirs.
NOT_OURS = ("dbt/__init__.py", "dbt/adapters/__init__.py", "dbt/include/__init__.py")
USE = """
import json, sys
from pathlib import Path
from dbt.adapters.spark_dynamic import Plugin
from dbt.include.spark_dynamic import PACKAGE_PATH
import dbt_spark_dynamic.embedded.conf as conf
print(json.dumps([PACKAGE_PATH, conf.__file__, conf.LOG4J.is_file(), Plugin.project_name]))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution, and the wheel that was built from it."""
    checkout = tmp_path_factory.mktemp("checkout") / "project"
    names = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(names, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            (checkout / name).write_bytes((ROOT / name).read_bytes())
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(checkout)]
    said = subprocess.run(command, capture_output=True, text=True)
    assert said.returncode == 0, said.stdout + said.stderr
    return out


def python_files(folder: str) -> set[str]:
    return {
        str(path.relative_to(ROOT / folder))
        for path in (ROOT / folder).rglob("*.py")
        if "__pycache__" not in path.parts
    }


def test_the_wheel_has_every_file_under_the_name_it_is_imported_by(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    macros = {str(path.relative_to(ROOT / "macros")) for path in (ROOT / "macros").rglob("*.*ml")}
    macros |= {str(path.relative_to(ROOT / "macros")) for path in (ROOT / "macros").rglob("*.sql")}
    assert {f"dbt_spark_dynamic/{name}" for name in python_files("adapter")} <= names
    assert {f"dbt/{name}" for name in python_files("dbt")} <= names
    assert {f"dbt/include/spark_dynamic/macros/{name}" for name in macros} <= names
    assert "dbt_spark_dynamic/embedded/log4j2.properties" in names
    assert "dbt_spark_dynamic/embedded/fairscheduler.xml" in names
    assert not names & set(NOT_OURS)
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {
        "dbt",
        "dbt_spark_dynamic",
    }


def test_the_source_distribution_has_what_a_wheel_is_made_of(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[-1] for name in archive.getnames()}
    assert {"setup.py", "pyproject.toml", "LICENSE", "macros/dbt_project.yml"} <= names


@pytest.mark.parametrize("as_wheel", [True, False], ids=["wheel", "checkout"])
def test_plugin_macros_and_package_data_are_found(built: Path, tmp_path: Path, as_wheel: bool) -> None:
    """A wheel beside dbt on the path, as in site-packages; and this checkout as it is installed now."""
    path = ""
    if as_wheel:
        (wheel,) = built.glob("*.whl")
        zipfile.ZipFile(wheel).extractall(tmp_path)
        path = (
            f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
            "sys.meta_path[:] = [f for f in sys.meta_path if '__editable__' not in str(f)]\n"
        )
    said = subprocess.run([sys.executable, "-c", path + USE], cwd=tmp_path, capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    home = tmp_path / "dbt/include/spark_dynamic/macros" if as_wheel else ROOT / "macros"
    code = tmp_path / "dbt_spark_dynamic" if as_wheel else ROOT / "adapter"
    assert json.loads(said.stdout) == [
        str(home),
        str(code / "embedded/conf.py"),
        True,
        "dbt_spark_dynamic",
    ]
