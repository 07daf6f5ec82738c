"""The profile: what may be left out, and what is refused in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.spark_dynamic.credentials import SparkDynamicCredentials
from dbt_spark_dynamic.embedded.conf import CHANGE_FEED_DEFAULT
from dbt_spark_dynamic.embedded.settings import STORE_VARIABLE


def credentials(**keys):
    data = {"schema": "s", **keys}
    SparkDynamicCredentials.validate(data)
    return SparkDynamicCredentials.from_dict(data)


def test_a_schema_is_enough(monkeypatch, tmp_path):
    monkeypatch.delenv(STORE_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    profile = credentials()
    assert (profile.type, profile.method, profile.host) == ("spark_dynamic", "session", "local")
    profile.settle_store("shop")
    settings = profile.embedded_settings()
    assert settings.store == tmp_path / "dbt-spark-dynamic" / "shop"
    assert (settings.catalog, settings.is_local) == ("hive", True)
    assert dict(profile.connection_info())["store"] == str(settings.store)


def test_the_store_can_be_chosen_and_the_environment_wins(monkeypatch, tmp_path):
    monkeypatch.delenv(STORE_VARIABLE, raising=False)
    profile = credentials(store="~/mine")
    assert profile.embedded_settings().store == Path.home() / "mine"
    monkeypatch.setenv(STORE_VARIABLE, str(tmp_path))
    assert profile.embedded_settings().store == tmp_path


def test_every_method_makes_changelogs_unless_told_otherwise():
    assert credentials().server_side_parameters[CHANGE_FEED_DEFAULT] == "true"
    told = credentials(server_side_parameters={CHANGE_FEED_DEFAULT: "false"})
    assert told.server_side_parameters[CHANGE_FEED_DEFAULT] == "false"


def test_an_unknown_catalog_is_refused():
    with pytest.raises(DbtRuntimeError, match="`catalog: hvie` is unknown: use one of hive, in-me"):
        credentials(catalog="hvie")


def test_a_key_of_the_session_is_refused_where_it_would_do_nothing(monkeypatch):
    from dbt.adapters.spark import connections

    for name in ("ThriftState", "THttpClient", "hive"):
        monkeypatch.setattr(connections, name, object())
    assert credentials(method="thrift", host="h").method == "thrift"
    with pytest.raises(DbtRuntimeError, match="store would have no effect with `method: thrift`"):
        credentials(method="thrift", host="h", store="/x")
