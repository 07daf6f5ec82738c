"""dbt with a stopwatch, as a process of its own: `python -m benchmarks.stopwatch FILE STARTED <arguments of dbt>`.

FILE gets the seconds of each step as JSON; STARTED is when the process was started, in seconds since 1970. Imports
nothing before dbt does that dbt would not."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any


def main() -> None:
    file, started, *arguments = sys.argv[1:]
    marks: dict[str, float] = {}
    sys.argv = ["dbt", *arguments]
    from dbt.cli.main import cli

    watch(marks)
    try:
        cli()
    finally:
        if "catalog ends" in marks:
            with open(file, "w") as out:
                json.dump(steps(marks, float(started)), out)


def steps(marks: dict[str, float], began: float) -> dict[str, float]:
    """Seconds of each step, and when the last one ended."""
    now, java = time.time(), marks.get("java", 0.0)
    return {
        "dbt": marks["connecting"] - began,
        "java": java,
        "spark": marks["connected"] - marks["connecting"] - java,
        "catalog": marks["catalog ends"] - marks["catalog"],
        "run": now - marks["catalog ends"] + marks["catalog"] - marks["connected"],
        "ended": now,
    }


def watch(marks: dict[str, float]) -> None:
    """marks: gets the seconds since 1970 of what happens first of each kind, and how long Java took."""
    from dbt.adapters.spark_dynamic import connections, cursor
    from dbt_spark_dynamic.embedded import session

    def once(before: str, after: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any, **named: Any) -> Any:
            marks.setdefault(before, time.time())
            try:
                return work(*arguments, **named)
            finally:
                marks.setdefault(after, time.time())

        return timed

    def launched(*arguments: Any, **named: Any) -> Any:
        from pyspark import java_gateway

        gateway = java_gateway.launch_gateway

        def timed(*arguments: Any, **named: Any) -> Any:
            since = time.time()
            try:
                return gateway(*arguments, **named)
            finally:
                marks["java"] = time.time() - since

        java_gateway.launch_gateway = timed
        return launch(*arguments, **named)

    launch, session.launch = session.launch, launched
    connections.open_session = once("connecting", "connected", connections.open_session)
    # The first statement of a run is about schemas: the metastore is opened for it.
    cursor.SessionCursor.execute = once("catalog", "catalog ends", cursor.SessionCursor.execute)


if __name__ == "__main__":
    main()
