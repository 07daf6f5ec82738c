"""What the user may choose about the embedded Spark, and what holds where nothing is chosen."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

STORE_VARIABLE = "DBT_SPARK_DYNAMIC_STORE"
CATALOGS = ("hive", "in-memory")
APPLICATION = "dbt-spark-dynamic"


@dataclass(frozen=True)
class EmbeddedSettings:
    """One session's settings, complete: nothing is looked up later.

    store: folder of tables, metastore and log; catalog: 'hive' keeps table names between processes,
    'in-memory' does not; master: a Spark master, None for all cores of this machine; driver_memory:
    Spark's notation ('2g'), None for half of this machine's memory and at most 4g; conf: Spark
    settings of the user, which win over ours; packages: Maven coordinates that Spark is started with.
    """

    store: Path
    catalog: str = "hive"
    master: str | None = None
    driver_memory: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    packages: tuple[str, ...] = ()

    @property
    def is_local(self) -> bool:
        """True if executors are threads of this machine, so that store, jars and sizes are ours to decide."""
        return (self.master or "local").startswith("local")


def choose_store(name: str, chosen: str | None = None, env: Mapping[str, str] | None = None) -> Path:
    """The store's folder: the environment's, else the chosen one, else one per `name` in the user's data folder."""
    env = os.environ if env is None else env
    if said := env.get(STORE_VARIABLE) or chosen:
        return Path(said).expanduser().absolute()
    return user_folder("XDG_DATA_HOME", ".local/share", env) / (name or "default")


def cache_folder(env: Mapping[str, str] | None = None) -> Path:
    """Where files that can be fetched again are kept, for all stores of this user."""
    return user_folder("XDG_CACHE_HOME", ".cache", os.environ if env is None else env)


def user_folder(variable: str, below_home: str, env: Mapping[str, str]) -> Path:
    # The XDG rules say that a relative path in these variables is to be ignored.
    said = env.get(variable, "")
    root = Path(said) if said.startswith("/") else Path.home() / below_home
    return root / APPLICATION
