"""Settings → Spark's configuration. The same settings, machine, environment and jars give the same."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from ..changes.literal_keys import MOST_KEYS, PUSHED_VALUES
from .jars import EXCLUDED, SHIPPED, DeltaJars
from .java import OPTIONS, options_asked
from .settings import APPLICATION, EmbeddedSettings
from .store import Store

DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
CHANGE_FEED_DEFAULT = "spark.databricks.delta.properties.defaults.enableChangeDataFeed"
LOG4J = Path(__file__).with_name("log4j2.properties")
FAIR_POOL = Path(__file__).with_name("fairscheduler.xml")
GIGABYTE = 1024**3
LARGEST_DEFAULT_HEAP = 4 * GIGABYTE

# Java refuses to start with two garbage collectors. Ours is the one for throughput on a small heap.
COLLECTOR = re.compile(r"-XX:\+Use\w+GC")

ROOM = {
    # Spark makes new classes for most statements. In Java's default of 240m their code and all other crowd each other
    # after half an hour of refreshes: what is not in use this very moment is thrown away, and compiled again, by one
    # core of two.
    "ReservedCodeCacheSize": "512m",
    # Java collects all garbage each time the classes of a starting Spark have outgrown the room that it began with, 20
    # MB: five times, for two thirds of a second.
    "MetaspaceSize": "256m",
}

# Java compiles a second time, as well as it can, what has been called some 5,000 times. Of Spark that is most within
# minutes, and the cores that compile it are those that run it. At five times as many calls, small refreshes side by
# side take a sixth less of them, and large scans, joins and writes a twelfth less time after a start.
PATIENCE = {
    "Tier4InvocationThreshold": "25000",
    "Tier4MinInvocationThreshold": "3000",
    "Tier4CompileThreshold": "75000",
    "Tier4BackEdgeThreshold": "200000",
}

# On a local disk Hadoop writes a checksum file beside every file, and starts a process for the rights of each of both.
# A Delta commit has a dozen files, and whoever looks for the next one lists all of them.
UNCHECKED = {
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
}

# The user's value is joined to ours instead of replacing it: (setting, separator).
JOINED = (
    (OPTIONS, " "),
    ("spark.driver.extraClassPath", os.pathsep),
    ("spark.jars", ","),
    ("spark.jars.packages", ","),
    ("spark.sql.extensions", ","),
)
# A user who names Delta's jars in one of these has chosen a Delta, and gets no second one from us.
JAR_SETTINGS = ("spark.jars", "spark.jars.packages", "spark.driver.extraClassPath")
# What a user wants besides, and what of that is to be left out.
USERS_JARS = ("spark.jars", "spark.jars.packages", "spark.jars.excludes")
# What shows the plans of statements.
SHOWN = ("spark.ui.enabled", "spark.eventLog.enabled")
# Where nobody can look at it, Spark need not keep the plans of its last thousand statements, nor write each of them out
# with all details whenever a stage of it is done: a sixteenth of what planning takes.
FORGOTTEN = {
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.sql.ui.explainMode": "simple",
}


def spark_conf(settings: EmbeddedSettings) -> dict[str, str]:
    """Everything that Spark is started with, except Delta's jars; the user's settings win over ours."""
    ours = delta_conf()
    ours |= machine_conf(settings) if settings.is_local else cluster_conf(settings)
    if settings.driver_memory:
        ours["spark.driver.memory"] = settings.driver_memory
    return merged(ours, dict(settings.conf))


def merged(ours: dict[str, str], user: dict[str, str]) -> dict[str, str]:
    for name, separator in JOINED:
        if name in ours and name in user and ours[name] not in user[name]:
            user[name] = ours[name] + separator + user[name]
    return ours | user


def brings_delta(conf: dict[str, str]) -> bool:
    """True if the configuration already names a Delta jar or package."""
    return any("delta-" in conf.get(name, "") for name in JAR_SETTINGS)


def with_jars(conf: dict[str, str], jars: Sequence[Path], is_local: bool) -> dict[str, str]:
    """Add jars that are on this machine: to the class path, or for a cluster to what is sent to its executors."""
    # On one machine spark.jars would be copied and served to ourselves; the class path costs
    # nothing.
    if is_local:
        return merged({"spark.driver.extraClassPath": os.pathsep.join(map(str, jars))}, conf)
    return merged({"spark.jars": ",".join(map(str, jars))}, conf)


def with_packages(conf: dict[str, str], jars: DeltaJars, ivy: Path) -> dict[str, str]:
    """Have Spark fetch these jars below the folder `ivy`, and none of the user's."""
    conf = {name: value for name, value in conf.items() if name not in USERS_JARS}
    ours = {"spark.jars.packages": jars.packages, "spark.jars.ivy": str(ivy), "spark.jars.excludes": EXCLUDED}
    return merged(ours, conf)


def with_more_packages(conf: dict[str, str], packages: Sequence[str], ivy: Path) -> dict[str, str]:
    """Let Spark fetch these too; `ivy` keeps them, so that the next start finds them there."""
    if not packages:
        return conf
    ours = {"spark.jars.packages": ",".join(packages), "spark.jars.ivy": str(ivy)}
    if "spark.jars.packages" not in conf:
        ours["spark.jars.excludes"] = SHIPPED
    return merged(ours, conf)


def delta_conf() -> dict[str, str]:
    return {
        "spark.app.name": APPLICATION,
        "spark.sql.extensions": DELTA_EXTENSION,
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # Every Delta table made here is a changelog that dynamic tables can follow.
        CHANGE_FEED_DEFAULT: "true",
        PUSHED_VALUES: str(MOST_KEYS),
        # Literal lists of some hundred keys are deep trees: the default stack of 1m overflows in
        # the planner.
        OPTIONS: "-Xss4m",
    }


def cluster_conf(settings: EmbeddedSettings) -> dict[str, str]:
    """A cluster has sizes, a warehouse and a metastore of its own."""
    return {
        "spark.master": str(settings.master),
        "spark.sql.catalogImplementation": settings.catalog,
    }


def machine_conf(settings: EmbeddedSettings) -> dict[str, str]:
    """As many partitions as cores, listening on loopback only, silent, and all files inside the store."""
    cores = usable_cores()
    store = Store(settings.store)
    options = ["-Xss4m", java_option("log4j2.configurationFile", LOG4J.as_uri())]
    asked = options_asked(settings.conf)
    if not COLLECTOR.search(asked):
        options.append("-XX:+UseParallelGC")
    options += [f"-XX:{name}={value}" for name, value in (ROOM | PATIENCE).items() if name not in asked]
    conf = UNCHECKED | {
        "spark.master": settings.master or f"local[{cores}]",
        "spark.driver.memory": default_heap(usable_memory()),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(cores),
        # Of models side by side, a small one waits with each of its dozen jobs until a large one has no more tasks to
        # begin, unless they share the cores.
        "spark.scheduler.mode": "FAIR",
        "spark.scheduler.allocation.file": FAIR_POOL.as_uri(),
        # Delta replays its log in 50 tasks by default: seconds in every statement on one machine.
        "spark.databricks.delta.snapshotPartitions": "2",
        # VACUUM lists the folders of a table in 10,000 tasks: of a small table half a minute instead of two seconds.
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": str(cores),
        # By default each sort, join and aggregation of a task begins by clearing 64 megabytes, were it for one row.
        "spark.buffer.pageSize": "4m",
        # A refresh has some dozens of plans, Delta's own among them, compiled to Java: a hundred would push each other
        # out, and every refresh compile them anew.
        "spark.sql.codegen.cache.maxEntries": "2000",
        "spark.sql.warehouse.dir": store.warehouse.as_uri(),
        "spark.sql.catalogImplementation": settings.catalog,
    }
    if not any(settings.conf.get(shown, "false").lower() == "true" for shown in SHOWN):
        conf |= FORGOTTEN
    if settings.catalog == "hive":
        options.append(java_option("derby.system.home", store.folder))
        conf["spark.hadoop.javax.jdo.option.ConnectionURL"] = f"jdbc:derby:;databaseName={store.metastore};create=true"
    return conf | {OPTIONS: " ".join(options)}


def java_option(name: str, value: object) -> str:
    # Spark splits the options as a shell would: quoted, a folder may have spaces in its name.
    return f'"-D{name}={value}"'


def usable_cores() -> int:
    """The cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def usable_memory() -> int:
    """The bytes of memory of this machine, or of the container that this process is in."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except OSError:
        return machine
    return min(machine, int(limit)) if limit.isdigit() else machine


def default_heap(memory: int) -> str:
    """Half of the memory and at most 4g, in Spark's notation; below 1g Spark itself would not run."""
    megabytes = min(memory // 2, LARGEST_DEFAULT_HEAP) // 1024**2
    return f"{max(megabytes, 1024)}m"
