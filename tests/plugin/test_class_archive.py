"""Which start leaves a sign, which fills the archive of classes, and which uses it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from dbt_spark_dynamic.embedded import class_archive
from dbt_spark_dynamic.embedded.class_archive import CLASS_PATH, KEPT, LEAST, ClassArchive
from dbt_spark_dynamic.embedded.java import OPTIONS

FILLED = b"x" * LEAST


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder with a Java, a Spark and a jar of Delta's."""
    for file in ("java/lib/modules", "spark/jars/core.jar", "delta.jar"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(file)
    return tmp_path


def archive_of(machine: Path, **conf: str) -> ClassArchive | None:
    said = {CLASS_PATH: str(machine / "delta.jar"), **conf}
    return ClassArchive.of(said, machine / "java", machine / "spark/jars", machine / "cache")


def known(machine: Path) -> ClassArchive:
    archive = archive_of(machine)
    assert archive is not None
    return archive


def started_twice(archive: ClassArchive) -> None:
    assert archive.options() == ""
    assert archive.options()


def dumping(monkeypatch: pytest.MonkeyPatch, content: bytes, classes: int = 30_000) -> None:
    """Java writes this, and has loaded so many classes."""

    def dump(_: Any, file: Path) -> str:
        file.write_bytes(content)
        return "Dynamic dump: no"

    monkeypatch.setattr(class_archive, "_classes", lambda _: classes)
    monkeypatch.setattr(class_archive, "_dump", dump)


def test_the_second_start_fills_what_the_third_uses(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dumping(monkeypatch, FILLED)
    archive = known(machine)
    assert archive.options() == ""
    archive.fill(None)
    assert archive.file.read_bytes() == b""
    assert "RecordDynamicDumpInfo" in archive.options()
    archive.fill(None)
    assert f'"-XX:SharedArchiveFile={archive.file}"' in archive.options()
    assert [file.name for file in archive.file.parent.iterdir()] == [archive.file.name]


def test_a_java_that_did_little_fills_nothing(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dumping(monkeypatch, FILLED, classes=9_000)
    archive = known(machine)
    started_twice(archive)
    archive.fill(None)
    assert "RecordDynamicDumpInfo" in archive.options()


def test_a_java_that_makes_none_is_not_asked_again(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dumping(monkeypatch, b"")
    archive = known(machine)
    started_twice(archive)
    archive.fill(None)
    assert archive.options() == ""
    assert archive.file.read_text() == "Dynamic dump: no"


def test_a_java_that_does_not_start_with_it_is_started_without_it(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dumping(monkeypatch, FILLED)
    archive = known(machine)
    started_twice(archive)
    archive.fill(None)
    assert archive.options()
    archive.distrust()
    assert archive.options() == ""


def test_a_java_that_does_not_start_to_fill_it_is_not_asked_again(machine: Path) -> None:
    archive = known(machine)
    started_twice(archive)
    archive.distrust()
    assert archive.options() == "" and archive.options() == ""


@pytest.mark.parametrize("file", ["java/lib/modules", "spark/jars/core.jar", "delta.jar"])
def test_every_java_and_every_class_path_has_its_own(machine: Path, file: str) -> None:
    before = known(machine)
    assert known(machine) == before
    (machine / file).write_text("another")
    assert known(machine) != before


def test_every_machine_has_its_own(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = known(machine)
    monkeypatch.setattr("socket.gethostname", lambda: "another")
    assert known(machine) != before


@pytest.mark.parametrize(
    "own", ["-Xshare:off", "-XX:SharedArchiveFile=/a", "-XX:ArchiveClassesAtExit=/a", "-javaagent:a"]
)
def test_users_who_say_it_themselves_are_left_alone(machine: Path, own: str) -> None:
    assert archive_of(machine, **{OPTIONS: f"-Xss4m {own}"}) is None


def test_so_are_those_who_say_it_in_the_environment(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-javaagent:a")
    assert archive_of(machine) is None


def test_a_class_path_that_is_not_there_yet_has_none(machine: Path) -> None:
    assert archive_of(machine, **{CLASS_PATH: ""}) is None
    assert archive_of(machine, **{CLASS_PATH: str(machine / "missing.jar")}) is None


def test_those_that_were_not_used_for_long_are_forgotten(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dumping(monkeypatch, FILLED)
    archive = known(machine)
    folder = archive.file.parent
    started_twice(archive)
    for age in range(1, KEPT + 2):
        for old in (folder / f"{age}.jsa", folder / f"{age}.jsa.77"):
            old.write_bytes(FILLED)
            os.utime(old, (0, 10**9 - age))
    archive.fill(None)
    kept = [archive.file.name, *(f"{age}.jsa" for age in range(1, KEPT))]
    assert sorted(file.name for file in folder.iterdir()) == sorted(kept)


def test_where_nothing_can_be_written_there_is_none(machine: Path) -> None:
    (machine / "cache").write_text("a file")
    assert known(machine).options() == ""
