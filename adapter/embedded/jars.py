"""Delta's two jars, for exactly the Spark and Delta that are installed here.

Spark fetches them once, by its own dependency resolution; they are then copied into a folder named
by their version, and every later start puts them on the class path directly, which saves the
resolution and needs no network.
"""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Collection
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .start_error import StartError

# delta-spark declares some thirty dependencies that Spark already ships or that only Delta's other
# readers need. Patterns, because Spark has no "without dependencies": every group but io.delta, and
# Delta's kernel.
EXCLUDED = "[a-hj-z]*:*,i[!o]*:*,io.[!d]*:*,io.delta:delta-kernel*"


PACKAGES = {"kafka": "spark-sql-kafka-0-10", "avro": "spark-avro"}

# What these packages declare and Spark itself ships.
SHIPPED = "org.apache.hadoop:*,org.slf4j:*,org.scala-lang:*"


@dataclass(frozen=True)
class DeltaJars:
    """The two artifacts by their Maven names; spark: Spark's 'major.minor'; scala: Scala's; delta: delta-spark's."""

    spark: str
    scala: str
    delta: str

    @property
    def artifacts(self) -> tuple[str, str]:
        return (f"delta-spark_{self.spark}_{self.scala}", "delta-storage")

    @property
    def packages(self) -> str:
        """As Spark's spark.jars.packages wants them."""
        return ",".join(f"io.delta:{artifact}:{self.delta}" for artifact in self.artifacts)

    def paths(self, cache: Path) -> list[Path]:
        """Where the two jars are kept, whether they are there or not."""
        folder = cache / f"{self.artifacts[0]}-{self.delta}"
        return [folder / f"{artifact}-{self.delta}.jar" for artifact in self.artifacts]

    def found(self, cache: Path) -> list[Path]:
        """The two jars, or nothing unless both are there and whole."""
        paths = self.paths(cache)
        return paths if all(is_whole(path) for path in paths) else []

    def keep(self, ivy: Path, cache: Path) -> None:
        """Copy what Spark fetched below `ivy` to where it is looked for; a copy is there whole or not at all."""
        for artifact, path in zip(self.artifacts, self.paths(cache), strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = path.with_name(f"{path.name}.{os.getpid()}")
            shutil.copyfile(ivy / "jars" / f"io.delta_{artifact}-{self.delta}.jar", draft)
            draft.replace(path)


def packages_for(formats: Collection[str]) -> tuple[str, ...]:
    """The packages, in Maven's coordinates, that reading streams of these formats takes and Spark does not bring."""
    if not PACKAGES.keys() & formats:
        return ()
    spark, scala = version("pyspark"), scala_version()
    return tuple(f"org.apache.spark:{PACKAGES[f]}_{scala}:{spark}" for f in sorted(PACKAGES.keys() & formats))


def installed_delta() -> DeltaJars:
    """The jars that fit the installed pyspark and delta-spark. Raises StartError if one of them is missing."""
    try:
        spark, delta = version("pyspark"), version("delta-spark")
    except PackageNotFoundError as error:
        raise StartError(
            f"The embedded Spark needs the Python package {error.name}, which is not installed: "
            f"run: pip install dbt-spark-dynamic"
        ) from error
    return DeltaJars(spark=".".join(spark.split(".")[:2]), scala=scala_version(), delta=delta)


def spark_jars() -> Path:
    """The folder of Spark's own jars."""
    from pyspark.find_spark_home import _find_spark_home

    return Path(_find_spark_home()) / "jars"


def scala_version() -> str:
    folder = spark_jars()
    core = next(folder.glob("spark-core_*.jar"), None)
    if core is None:
        raise StartError(f"Spark's own jars are not in {folder}: unset SPARK_HOME or point it to a whole Spark.")
    return core.name.removeprefix("spark-core_").split("-")[0]


def is_whole(jar: Path) -> bool:
    # A zip's index is at its end: a file that was cut off is no zip.
    return jar.is_file() and zipfile.is_zipfile(jar)
