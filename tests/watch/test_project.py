"""A dbt project as the loop sees it: parsed, selected and compared by dbt itself, its `run` made up."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.spark_dynamic.watching import WatchedProject, _invoke
from dbt_spark_dynamic.errors import ConfigError

FILES = {
    "profiles.yml": "shop: {target: dev, outputs: {dev: {type: spark_dynamic, schema: shop, threads: 3}}}",
    "dbt_project.yml": "name: shop\nversion: '1.0'\nprofile: shop\n",
    "models/a.sql": "{{ config(materialized='dynamic_table', target_lag='5 minutes') }} select 1 as id",
    "models/v.sql": "{{ config(materialized='view') }} select * from {{ ref('a') }}",
    "models/b.sql": "{{ config(materialized='dynamic_table') }} select * from {{ ref('v') }}",
    "models/t.sql": "{{ config(materialized='table') }} select * from {{ source('s', 'clicks') }}",
    "models/s.yml": "sources: [{name: s, schema: shop, tables: [{name: clicks, meta: {stream: {format: kafka}}, "
    "columns: [{name: user, data_type: string}]}]}]",
}


class Dbt:
    """dbt, but for what it runs. ran: the models of each run; fails: models that are not built."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.ran, self.fails = folder, list[list[str]](), set[str]()
        for name, text in FILES.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).parent.mkdir(exist_ok=True)
        (self.folder / name).write_text(text)

    def project(self, **selection: Any) -> WatchedProject:
        folders = ["--project-dir", str(self.folder), "--profiles-dir", str(self.folder)]
        project = WatchedProject(folders, invoke=self.invoke, **selection)
        project._refreshing = dict.fromkeys([f"model.shop.{n}" for n in "abc"], lambda *_: None)  # type: ignore[assignment]
        return project

    def invoke(self, manifest: Any, arguments: list[str]) -> Any:
        if arguments[0] != "run":
            return _invoke(manifest, arguments)
        names = [a.split(".")[-1] for a in arguments if a.startswith("fqn:")]
        self.ran.append(sorted(names))
        results = [
            SimpleNamespace(
                node=SimpleNamespace(unique_id=f"model.shop.{n}"),
                status="error" if n in self.fails else "success",
                adapter_response={"table": f"shop.{n}", "sources": {"shop.x": [1, 2]}, "volatile": False},
            )
            for n in names
        ]
        return SimpleNamespace(success=not self.fails, result=SimpleNamespace(results=results))


@pytest.fixture
def dbt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dbt:
    monkeypatch.setenv("DBT_SEND_ANONYMOUS_USAGE_STATS", "false")
    return Dbt(tmp_path)


def names(found: Any) -> set[str]:
    return {getattr(m, "name", m).split(".")[-1] for m in found}


def test_what_is_built_first_and_what_an_edit_builds(dbt: Dbt) -> None:
    project = dbt.project()
    project.open()
    assert project.threads == 3
    built = project.build()
    assert dbt.ran == [["a", "b", "v"]], "tables are followed, not run"
    assert {m.name: m.lag for m in built.models} == {"model.shop.a": 300.0, "model.shop.b": 0.0}
    assert built.models[0].reads == {"shop.x"} and not project.edited()

    dbt.write("models/v.sql", FILES["models/v.sql"] + " where id > 0")
    dbt.write("models/c.sql", "{{ config(materialized='dynamic_table') }} select * from {{ ref('t') }}")
    assert [project.edited() for _ in range(3)] == [False, True, True]
    dbt.fails = {"c"}
    built = project.build()
    assert dbt.ran[1] == ["b", "c", "v"], "what was edited, what stands on it, and what is new"
    assert (names(built.models), names(built.not_built)) == ({"a", "b"}, {"c"})
    dbt.fails = set()
    built = project.build_again(built.not_built)
    assert (dbt.ran[2], names(built.models), built.not_built) == (["c"], {"a", "b", "c"}, frozenset())

    (dbt.folder / "models/c.sql").unlink()
    assert names(project.build().models) == {"a", "b"}
    dbt.write("models/b.sql", "{{ config(materialized='dynamic_table') }} select {% if")
    with pytest.raises(ConfigError, match="cannot be parsed"):
        project.build()
    project.close()


def test_dbts_selectors_select_and_a_model_has_one_watcher(dbt: Dbt) -> None:
    first, second = dbt.project(select=["a+"], exclude=["b"]), dbt.project()
    first.open()
    assert names(first.build().models) == {"a"} and dbt.ran == [["a", "v"]]
    second.open()
    built = second.build()
    assert (names(built.models), names(built.elsewhere), second.free()) == ({"b"}, {"a"}, False)
    first.close()
    assert second.free() and names(second.build().models) == {"a", "b"}
    second.close()
    third = dbt.project(select=["config.materialized:"])
    third.open()
    assert third.build().models == ()


def test_streams_are_found_through_views_and_the_packages_they_need(dbt: Dbt) -> None:
    dbt.write("models/w.sql", "{{ config(materialized='view') }} select * from {{ source('s', 'clicks') }}")
    dbt.write("models/d.sql", "{{ config(materialized='dynamic_table') }} select * from {{ ref('w') }}")
    project = dbt.project()
    project.open()
    adapter = project._adapter
    assert adapter is not None
    (package,) = adapter.config.credentials.spark_packages
    assert package.startswith("org.apache.spark:spark-sql-kafka-0-10_2.13:")
    assert [s.table for s in adapter.streams_below(["model.shop.d"])] == ["shop.clicks"]
    assert adapter.streams_below(["model.shop.b"]) == []
    project.close()
