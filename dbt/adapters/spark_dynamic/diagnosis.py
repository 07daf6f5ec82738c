"""What `dbt debug` looks at behind the connection, on any way to reach Spark. Nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dbt_spark_dynamic.commit.engine import Engine, SqlError
from dbt_spark_dynamic.embedded.conf import CHANGE_FEED_DEFAULT, DELTA_EXTENSION

CATALOG = "spark.sql.catalog.spark_catalog"
DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
OLDEST_SPARK = 4
NOWHERE = "/no/such/table/of/dbt-spark-dynamic"


@dataclass(frozen=True)
class Finding:
    """what: was looked at; found: for the user; remedy: empty if all is well; fatal: dynamic tables cannot be had."""

    what: str
    found: str
    remedy: str = ""
    fatal: bool = False

    def line(self) -> str:
        verdict = "ERROR" if self.fatal else "warning" if self.remedy else "OK"
        return f"  {self.what}: {self.found} [{verdict}]" + (f"\n    remedy: {self.remedy}" if self.remedy else "")


def diagnose(engine: Engine, java: str | None) -> Iterator[Finding]:
    """java: what is known of the Java that runs Spark, None if only SQL reaches it."""
    if java is not None:
        yield Finding("java", java)
    yield _spark(engine)
    yield from _delta(engine)
    yield _catalog(engine)
    yield _change_feed(engine)


def _spark(engine: Engine) -> Finding:
    version = str(engine.rows("SELECT version()")[0][0]).split(" ")[0]
    old = int(version.split(".")[0]) < OLDEST_SPARK
    return Finding("spark", version, "use Spark 4.2 with Delta 4.4, on which this adapter is tested" if old else "")


def _delta(engine: Engine) -> Iterator[Finding]:
    def ask(statement: str) -> str:
        try:
            engine.rows(statement)
        except SqlError as error:
            return str(error)
        return ""

    jars = "put delta-spark and delta-storage on the class path of the driver and the executors"
    said = ask(f"SELECT * FROM delta.`{NOWHERE}`")
    missing = "DATA_SOURCE_NOT_FOUND" in said or "Failed to find the data source" in said
    yield Finding("delta jars", "not on the class path" if missing else "found", jars if missing else "", missing)
    yield from _setting(engine, "delta statements", "spark.sql.extensions", DELTA_EXTENSION)
    yield from _setting(engine, "delta tables", CATALOG, DELTA_CATALOG)


def _setting(engine: Engine, what: str, name: str, wanted: str) -> Iterator[Finding]:
    has = engine.setting(name)
    missing = wanted not in has
    remedy = f"start Spark with {name}={wanted}" if missing else ""
    yield Finding(what, f"{name} is {has or 'not set'}" if missing else "understood", remedy, missing)


def _catalog(engine: Engine) -> Finding:
    kind = engine.setting("spark.sql.catalogImplementation") or "unknown"
    schemas = len(engine.rows("SHOW SCHEMAS"))
    forgets = "tables are forgotten when Spark stops: set `catalog: hive` to keep them" if kind == "in-memory" else ""
    return Finding("catalog", f"{kind}, {schemas} schema{'s' if schemas != 1 else ''}", forgets)


def _change_feed(engine: Engine) -> Finding:
    on = engine.setting(CHANGE_FEED_DEFAULT).lower() == "true"
    remedy = f"set {CHANGE_FEED_DEFAULT}=true, so that tables that others create can be followed too"
    return Finding("change feed of new tables", "on" if on else "off", "" if on else remedy)


def report(findings: Iterator[Finding], say: Callable[[str], None]) -> str:
    """Tells each finding; returns the fatal ones as one message, empty if there is none."""
    fatal = []
    for finding in findings:
        say(finding.line())
        if finding.fatal:
            fatal.append(f"{finding.what}: {finding.found}; {finding.remedy}")
    return "; ".join(fatal)
