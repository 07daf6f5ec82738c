"""A dbt project as `dbt-dynamic watch` needs it: built by dbt itself, then refreshed without it.

A `dbt run` builds what is selected, with all that belongs to a run: hooks, grants, descriptions, run_results.json. On
the way the adapter keeps how to refresh each table again, so that what follows costs no parsing, no compiling and no
macros: only the refresh.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt.adapters.spark_dynamic.dynamic_table import WATCHING, Refreshing
from dbt.adapters.spark_dynamic.readers import MAINTAINED
from dbt_spark_dynamic.commit.engine import Table
from dbt_spark_dynamic.commit.outcome import Outcome
from dbt_spark_dynamic.errors import ConfigError, DynamicTableError
from dbt_spark_dynamic.streams.declaration import Stream
from dbt_spark_dynamic.streams.landing import unfollow
from dbt_spark_dynamic.watch.files import Files
from dbt_spark_dynamic.watch.graph import Watched
from dbt_spark_dynamic.watch.lag import target_lag
from dbt_spark_dynamic.watch.leases import Leases
from dbt_spark_dynamic.watch.project import Built

if TYPE_CHECKING:
    from dbt.adapters.spark_dynamic.impl import SparkDynamicAdapter

RUN = (*MAINTAINED, "view")
"""What is run to begin with. Tables, incremental models, seeds and snapshots are followed, not run: when they are
rebuilt is for their owner to say."""

SUCCESS = "success"

SECONDS_BEFORE_A_STREAM_IS_STARTED_AGAIN = 10.0


class WatchedProject:
    """A Project. given: options for every dbt command; select, exclude: as dbt's own; invoke: runs dbt."""

    def __init__(
        self,
        given: Sequence[str] = (),
        select: Sequence[str] = (),
        exclude: Sequence[str] = (),
        invoke: Callable[[Any, list[str]], Any] | None = None,
    ) -> None:
        self._given, self._invoke_dbt = list(given), invoke or _invoke
        self._selection = [*_option("--select", select), *_option("--exclude", exclude)]
        self._manifest: Any = None
        self._adapter: SparkDynamicAdapter | None = None
        self._models: dict[str, Watched] = {}
        self._refreshing: dict[str, Refreshing] = {}
        self._tables: dict[str, Table] = {}
        self._files: Files | None = None
        self._leases: Leases | None = None
        self._streams: list[Stream] = []
        self._streams_again_at = 0.0

    @property
    def threads(self) -> int:
        return int(self._config.threads)

    def open(self) -> None:
        """Parses the project. Raises ConfigError, with dbt's own words, for one that dbt refuses."""
        parsed = self._dbt("parse", quiet=True)
        if not parsed.success:
            raise ConfigError("the project cannot be parsed.", why=str(parsed.exception), remedy="correct it")
        self._manifest = parsed.result
        self._take_adapter()
        config = self._config
        root = Path(config.project_root)
        if self._files is None:
            folders = (*config.model_paths, *config.macro_paths)
            names = ("dbt_project.yml", "packages.yml", "package-lock.yml", "selectors.yml")
            self._files = Files([root / n for n in names], [root / f for f in folders])
            self._leases = Leases(self._own_folder / "locks")

    def build(self) -> Built:
        again = self._files is not None and self._models
        if again:
            assert self._files is not None
            self._files.again()
        if self._manifest is None or again:
            self.open()
        assert self._leases is not None
        selected = self._listed(self._selection)
        maintained = {n for n in selected if self._materialized(n) in MAINTAINED}
        held = self._leases.take(maintained)
        to_run = [n for n in selected if n in held or self._materialized(n) == "view"]
        new = held - self._models.keys()
        if again:
            modified = set(self._listed(["--select", "state:modified+", "--state", str(self._state)]))
            to_run = [n for n in to_run if n in modified or n in new]
        self._models = {n: m for n, m in self._models.items() if n in held}
        not_built = self._run(to_run) if held else frozenset()
        self._remember_state()
        self._follow_streams()
        return Built(tuple(self._models.values()), not_built, frozenset(maintained - held))

    def build_again(self, names: Collection[str]) -> Built:
        not_built = self._run(list(names))
        return Built(tuple(self._models.values()), not_built)

    def edited(self) -> bool:
        return self._files is not None and self._files.edited()

    def free(self) -> bool:
        return self._leases is not None and self._leases.any_free()

    def notes(self) -> list[str]:
        assert self._adapter is not None
        found = self._adapter.troubles(self._streams)
        if not found or time.monotonic() < self._streams_again_at:
            return []
        self._streams_again_at = time.monotonic() + SECONDS_BEFORE_A_STREAM_IS_STARTED_AGAIN
        return [str(error) for error in found] + self._follow()

    def _follow(self) -> list[str]:
        """Starts what has ended. Returns what is wrong."""
        assert self._adapter is not None
        wrong = []
        for stream in self._streams:
            try:
                self._adapter.follow_streams([stream])
            except DynamicTableError as error:
                wrong.append(str(error))
        return wrong

    def versions(self, tables: Collection[str]) -> Mapping[str, int]:
        assert self._adapter is not None
        return self._adapter.versions_of(tables, self._tables)

    def refresh(self, name: str, versions: Mapping[str, int]) -> Outcome:
        assert self._adapter is not None
        return self._adapter.refresh_again(self._refreshing[name], versions)

    def close(self) -> None:
        unfollow()
        if self._leases is not None:
            self._leases.release()
        if self._adapter is not None:
            self._adapter.cleanup_connections()

    # ---- dbt

    def _run(self, names: list[str]) -> frozenset[str]:
        """dbt run of these. Returns the maintained ones that were not built."""
        wanted = frozenset(n for n in names if self._materialized(n) in MAINTAINED)
        if not names:
            return wanted
        fqns = [f"fqn:{'.'.join(self._manifest.nodes[n].fqn)}" for n in names]
        ran = self._dbt("run", "--select", *fqns)
        self._take_adapter()
        assert self._adapter is not None
        self._refreshing.update(self._adapter.maintained)
        self._tables.clear()
        for result in getattr(ran.result, "results", ()):
            name = result.node.unique_id
            if result.status == SUCCESS and name in wanted:
                self._models[name] = self._watched(name, result.adapter_response)
        for name in (not_built := wanted - self._built_in(ran)):
            self._models.pop(name, None)
        return not_built

    def _follow_streams(self) -> None:
        assert self._adapter is not None
        unfollow()
        self._streams = self._adapter.streams_below(self._models)
        if self._streams:
            self._adapter.acquire_connection(WATCHING)
            self._adapter.follow_streams(self._streams)

    def _built_in(self, ran: Any) -> frozenset[str]:
        results = getattr(ran.result, "results", ())
        done = {r.node.unique_id for r in results if r.status == SUCCESS}
        return frozenset(done & self._refreshing.keys())

    def _watched(self, name: str, response: Mapping[str, Any]) -> Watched:
        node = self._manifest.nodes[name]
        lag = target_lag(node.config.get("target_lag"), node.original_file_path)
        return Watched(name, response["table"], frozenset(response["sources"]), lag, bool(response.get("volatile")))

    def _listed(self, selection: list[str]) -> list[str]:
        """Unique ids of the models that a selection means. Raises ConfigError for one that dbt refuses."""
        keys = ["--resource-type", "model", "--output", "json", "--output-keys", "unique_id"]
        listed = self._dbt("ls", *keys, *selection, quiet=True)
        if not listed.success:
            raise ConfigError("the selection cannot be understood.", why=str(listed.exception), remedy="correct it")
        return [json.loads(line)["unique_id"] for line in listed.result or () if line.startswith("{")]

    def _dbt(self, *arguments: str, quiet: bool = False) -> Any:
        # Of a parse and a listing nothing is to be seen; what is wrong with them comes back with the result.
        before = ["--log-level", "none"] if quiet else []
        manifest = None if arguments[0] == "parse" else self._manifest
        return self._invoke_dbt(manifest, [*before, *arguments, *self._given])

    def _take_adapter(self) -> None:
        # dbt makes a new one in each invocation.
        from dbt.adapters.factory import FACTORY

        adapter: Any = FACTORY.adapters.get("spark_dynamic")
        if adapter is None:
            raise ConfigError("the project's target is not of type spark_dynamic.", remedy="choose one with --target")
        self._adapter = adapter

    def _materialized(self, name: str) -> str:
        return str(self._manifest.nodes[name].config.materialized)

    @property
    def _config(self) -> Any:
        assert self._adapter is not None
        return self._adapter.config

    @property
    def _own_folder(self) -> Path:
        return Path(self._config.project_root) / self._config.target_path / "watch"

    @property
    def _state(self) -> Path:
        return self._own_folder / "state"

    def _remember_state(self) -> None:
        """The manifest of what is built now, for dbt to compare the next one with."""
        self._state.mkdir(parents=True, exist_ok=True)
        written = Path(self._config.project_root) / self._config.target_path / "manifest.json"
        shutil.copyfile(written, self._state / "manifest.json")


def _invoke(manifest: Any, arguments: list[str]) -> Any:
    from dbt.cli.main import dbtRunner

    return dbtRunner(manifest=manifest).invoke(arguments)


def _option(name: str, values: Sequence[str]) -> list[str]:
    return [name, *values] if values else []
