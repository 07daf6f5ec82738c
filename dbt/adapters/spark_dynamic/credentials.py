"""The profile: dbt-spark's keys, and those of the embedded Spark, which is the default."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.spark.connections import SparkConnectionMethod, SparkCredentials
from dbt_common.exceptions import DbtRuntimeError

from dbt_spark_dynamic.changes.literal_keys import MOST_KEYS, PUSHED_VALUES
from dbt_spark_dynamic.embedded.conf import CHANGE_FEED_DEFAULT
from dbt_spark_dynamic.embedded.settings import CATALOGS, EmbeddedSettings, choose_store

SESSION_KEYS = ("store", "catalog", "master", "driver_memory")


@dataclass
class SparkDynamicCredentials(SparkCredentials):
    """A profile of only `type` and `schema` is complete: a Spark inside the dbt process.

    store: folder for tables, metastore and log; catalog: 'hive' (tables are remembered between
    runs) or 'in-memory'; master: a Spark master, by default all cores of this machine;
    driver_memory: in Spark's notation ('8g').
    """

    method: SparkConnectionMethod = SparkConnectionMethod.SESSION
    host: str | None = "local"
    store: str | None = None
    catalog: str | None = None
    master: str | None = None
    driver_memory: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        # Not the profile's to say: what the project's streams need.
        self.spark_packages: tuple[str, ...] = ()
        # For the servers behind thrift, http and odbc too: the tables made through this adapter are changelogs, and
        # keys that are said to a table are looked up in its files.
        self.server_side_parameters.setdefault(CHANGE_FEED_DEFAULT, "true")
        self.server_side_parameters.setdefault(PUSHED_VALUES, str(MOST_KEYS))
        given = [key for key in SESSION_KEYS if getattr(self, key) is not None]
        if given and self.method != SparkConnectionMethod.SESSION:
            raise DbtRuntimeError(
                f"The profile's {', '.join(given)} would have no effect with "
                f"`method: {self.method}`: remove it, or use `method: session`."
            )
        if self.catalog is not None and self.catalog not in CATALOGS:
            raise DbtRuntimeError(
                f"The profile's `catalog: {self.catalog}` is unknown: use one of {', '.join(CATALOGS)}."
            )

    @property
    def type(self) -> str:
        return "spark_dynamic"

    def _connection_keys(self) -> tuple[str, ...]:
        if self.method == SparkConnectionMethod.SESSION:
            return ("method", "schema", *SESSION_KEYS)
        return ("method", *super()._connection_keys())

    def settle_store(self, profile_name: str) -> None:
        """Fix the embedded Spark's store, by default one per profile: two projects do not meet by accident."""
        if self.method == SparkConnectionMethod.SESSION:
            self.store = str(choose_store(profile_name, self.store))

    def embedded_settings(self) -> EmbeddedSettings:
        """The session method's settings, complete."""
        return EmbeddedSettings(
            store=choose_store("default", self.store),
            catalog=self.catalog or CATALOGS[0],
            master=self.master,
            driver_memory=self.driver_memory,
            conf=self.server_side_parameters,
            packages=self.spark_packages,
        )
