"""A small dbt project for a process of its own, which has a store of its own, too."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from dbt_spark_dynamic.embedded.store import Store
from integration_tests.conftest import SMALL

CLI = [sys.executable, "-c", "from dbt.adapters.spark_dynamic.cli import cli; cli()"]
"""`dbt-dynamic`, of the Python that runs this."""

SHORT_LIVED = {
    "JDK_JAVA_OPTIONS": " ".join(
        ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", *(f"-D{k}={v}" for k, v in SMALL.items())]
    )
}
"""Environment of a Java that ends before it would have been worth its while to compile anything as well as it can, and
whose Spark plans statements over few rows."""


def shop_project(folder: Path, files: Mapping[str, str], project: str = "") -> dict[str, str]:
    """Writes these files, and these lines into dbt_project.yml; returns the environment of its processes."""
    settings = "type: spark_dynamic, schema: shop, catalog: in-memory"
    written = {
        "profiles.yml": f"shop: {{target: dev, outputs: {{dev: {{{settings}}}}}}}",
        "dbt_project.yml": f"name: shop\nversion: '1.0'\nprofile: shop\n{project}",
        **files,
    }
    for name, text in written.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    store = {"DBT_SPARK_DYNAMIC_STORE": str(folder / "store"), "DBT_SEND_ANONYMOUS_USAGE_STATS": "0"}
    return {**os.environ, **store}


def running_javas(store: Store) -> list[str]:
    """The processes that have the store's folder on their command line."""
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = process.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if str(store.folder) in line and "java" in line:
            found.append(line)
    return found
