"""Which Java is taken, and what is said where there is none."""

from __future__ import annotations

import stat
import subprocess

import pytest

from dbt_spark_dynamic.embedded import java
from dbt_spark_dynamic.embedded.java import find_java_home, java_version, write_launcher
from dbt_spark_dynamic.embedded.start_error import StartError


def fake_java(folder, version):
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2024-01-01' >&2\n")
    program.chmod(0o755)
    return program


@pytest.fixture
def no_bundled_java(monkeypatch):
    monkeypatch.setattr(java, "bundled_java", lambda: None)


def env(home=None, path=None):
    found = {"PATH": str(path / "bin") if path else ""}
    return found | ({"JAVA_HOME": str(home)} if home else {})


@pytest.mark.parametrize(("version", "major"), [("1.8.0_392", 8), ("11.0.2", 11), ("17.0.9", 17), ("25", 25)])
def test_version(tmp_path, version, major):
    assert java_version(fake_java(tmp_path, version)) == major


def test_java_home_comes_before_path(tmp_path):
    fake_java(tmp_path / "a", "17.0.1")
    fake_java(tmp_path / "b", "21.0.1")
    assert find_java_home(tmp_path, env(tmp_path / "a", tmp_path / "b")) == tmp_path / "a"


def test_an_old_java_home_is_passed_over_for_the_path(tmp_path):
    fake_java(tmp_path / "a", "1.8.0")
    program = fake_java(tmp_path / "b", "21.0.1")
    # As on most systems: PATH holds a link, and the Java is elsewhere.
    links = tmp_path / "links" / "bin"
    links.mkdir(parents=True)
    (links / "java").symlink_to(program)
    assert find_java_home(tmp_path, env(tmp_path / "a", links.parent)) == tmp_path / "b"


def test_whether_the_extra_is_needed(tmp_path):
    fake_java(tmp_path / "old", "11")
    fake_java(tmp_path / "new", "17")
    assert not java.is_installed(env())
    assert not java.is_installed(env(tmp_path / "old"))
    assert java.is_installed(env(tmp_path / "old", tmp_path / "new"))


def test_no_java_is_one_sentence(tmp_path, no_bundled_java):
    with pytest.raises(StartError) as said:
        find_java_home(tmp_path, env())
    assert str(said.value) == (
        "Spark needs Java, and neither JAVA_HOME nor PATH has one: install a Java 17 or later and "
        "set JAVA_HOME to it, or run: pip install 'dbt-spark-dynamic[java]'."
    )


def test_an_old_java_is_one_sentence(tmp_path, no_bundled_java):
    program = fake_java(tmp_path, "11.0.2")
    with pytest.raises(StartError) as said:
        find_java_home(tmp_path, env(tmp_path))
    assert f"needs Java 17 or later, but {program} is version 11: install" in str(said.value)
    assert "\n" not in str(said.value)


def test_a_java_that_does_not_run_is_none(tmp_path, no_bundled_java):
    program = fake_java(tmp_path, "17")
    program.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(StartError, match="neither JAVA_HOME nor PATH has one"):
        find_java_home(tmp_path, env(tmp_path))


def test_the_launcher_drops_the_module_and_keeps_everything_else(tmp_path):
    echo = tmp_path / "it's java" / "echo"
    echo.parent.mkdir()
    echo.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    echo.chmod(echo.stat().st_mode | stat.S_IXUSR)
    home = write_launcher(tmp_path / "store", echo)
    arguments = ["-Da=b c", "--add-modules=jdk.incubator.vector", "--add-opens=x", "", "it's"]
    said = subprocess.run([home / "bin/java", *arguments], capture_output=True, text=True)
    _trust_store, *kept, _end = said.stdout.split("|")
    assert kept == ["-Da=b c", "--add-opens=x", "", "it's"]


def test_the_bundled_java_is_the_last_resort(tmp_path, monkeypatch):
    bundled = fake_java(tmp_path / "bundled", "21")
    monkeypatch.setattr(java, "bundled_java", lambda: bundled)
    assert find_java_home(tmp_path / "store", env()) == tmp_path / "store"
    assert str(bundled) in (tmp_path / "store/bin/java").read_text()
