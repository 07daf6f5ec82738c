"""Java's classes as Java has them in memory, in one file: a start maps them instead of finding twenty thousand of them
in three hundred jars, and reading, checking and linking each (class data sharing, JEP 350).

The first start that finds Delta's jars leaves an empty file, by which the second knows that it is not the only one; the
second fills it at its end, in some seconds; the third has its classes there. A machine that lives for one run pays
nothing.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..commit.classic import java_class
from .java import image_of, options_asked

CLASS_PATH = "spark.driver.extraClassPath"

FOLDER = "classes"

ENOUGH = 18_000
"""Classes of a Java that has carried out models: without them an archive spares little."""

LEAST = 2**20
"""Bytes of an archive. A file that has fewer, but some, says why there is none."""

KEPT = 3
"""Archives, some hundred megabytes each, that a machine keeps: those that were used last."""

HOUR = 3600

OWN = re.compile(r"-Xshare|-XX:\S*Archive|-javaagent|-agent")
"""Options under which Java is left alone: it takes one archive, and makes none beside an agent."""

QUIET = "-Xlog:cds*=error"
"""Java tells of every class that it leaves out."""


@dataclass
class ClassArchive:
    """Of one Java, one class path, and one machine. file: absent, empty, or filled; fills: whether the Java that was
    started is to fill it."""

    file: Path
    fills: bool = field(default=False, compare=False)

    @classmethod
    def of(cls, conf: Mapping[str, str], java_home: Path, spark_jars: Path, cache: Path) -> ClassArchive | None:
        """None where Java is to be left alone, or where Delta's jars are not on the class path yet."""
        listed = conf.get(CLASS_PATH, "")
        if not listed or OWN.search(options_asked(conf)):
            return None
        jars = [*sorted(spark_jars.glob("*.jar")), *map(Path, listed.split(os.pathsep))]
        try:
            name = _fingerprint([image_of(java_home), *jars])
        except OSError:
            return None
        return cls(cache / FOLDER / f"{name}.jsa")

    def options(self) -> str:
        """For a Java that is to be started, as words. Marks that there was a start."""
        with suppress(OSError):
            size = self.file.stat().st_size if self.file.exists() else None
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self.file.touch()
            self.fills = size == 0
            if self.fills:
                return f"-XX:+RecordDynamicDumpInfo {QUIET}"
            if size is not None and size >= LEAST:
                # Quoted, because Spark splits the options as a shell would.
                return f'"-XX:SharedArchiveFile={self.file}" {QUIET}'
        return ""

    def fill(self, gateway: Any) -> None:
        """By a Java that was started to, and is not needed any more."""
        with suppress(Exception):
            if not self.fills or self.file.stat().st_size or _classes(gateway) < ENOUGH:
                return
            draft = self.file.with_name(f"{self.file.name}.{os.getpid()}")
            said = _dump(gateway, draft)
            if draft.exists() and draft.stat().st_size >= LEAST:
                draft.replace(self.file)
                self._forget_older()
            else:
                draft.unlink(missing_ok=True)
                self.file.write_text(said or "Java made none")

    def distrust(self) -> None:
        """After a Java that did not start, whatever it was. One that was to fill it is not asked again."""
        with suppress(OSError):
            if self.fills:
                self.file.write_text("Java did not start")
            else:
                self.file.unlink(missing_ok=True)

    def _forget_older(self) -> None:
        """Other archives, and what is left of a Java that was killed while it wrote one."""
        used = {file: about.st_mtime for file in self.file.parent.iterdir() if (about := file.stat()).st_size >= LEAST}
        drafts = [file for file, at in used.items() if file.suffix != ".jsa" and at < time.time() - HOUR]
        archives = sorted((file for file in used if file.suffix == ".jsa"), key=lambda file: -used[file])
        for file in [*drafts, *archives[KEPT:]]:
            file.unlink(missing_ok=True)


def _fingerprint(files: Iterable[Path]) -> str:
    """Java refuses an archive of other files than these. And a file that is there because another machine put it there
    says nothing of this one: an image of a container, a home on a network."""
    digest = hashlib.sha256(socket.gethostname().encode())
    for file in files:
        about = file.stat()
        digest.update(f"{file}\n{about.st_size}\n{about.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]


def _classes(gateway: Any) -> int:
    name = java_class(gateway, "javax.management.ObjectName")("java.lang:type=ClassLoading")
    return int(_asked(gateway, "getAttribute", name, "LoadedClassCount"))


def _dump(gateway: Any, file: Path) -> str:
    """What Java answers, whether it has written the file or not."""
    name = java_class(gateway, "javax.management.ObjectName")("com.sun.management:type=DiagnosticCommand")
    arguments = _array(gateway, "java.lang.Object", _array(gateway, "java.lang.String", "dynamic_dump", str(file)))
    signature = _array(gateway, "java.lang.String", "[Ljava.lang.String;")
    return str(_asked(gateway, "invoke", name, "vmCds", arguments, signature))


def _asked(gateway: Any, method: str, *arguments: Any) -> Any:
    """A method of Java's server of beans, found at its interface: its class is not for others to call."""
    server = java_class(gateway, "java.lang.management.ManagementFactory").getPlatformMBeanServer()
    methods = java_class(gateway, "java.lang.Class").forName("javax.management.MBeanServer").getMethods()
    found = next(m for m in methods if m.getName() == method)
    return found.invoke(server, _array(gateway, "java.lang.Object", *arguments))


def _array(gateway: Any, kind: str, *values: Any) -> Any:
    array = gateway.new_array(java_class(gateway, kind), len(values))
    for i, value in enumerate(values):
        array[i] = value
    return array
