"""A store that is served: who serves it, who is a guest, what is stale, and when it is over."""

from __future__ import annotations

import threading

import pytest

from dbt_spark_dynamic.embedded import serve
from dbt_spark_dynamic.embedded.serve import IDLE, STOPPED, keep
from dbt_spark_dynamic.embedded.served import (
    Guests,
    Served,
    differences,
    enter,
    find,
    hold,
    is_held,
    is_still,
    publish,
    starting,
)
from dbt_spark_dynamic.embedded.settings import EmbeddedSettings
from dbt_spark_dynamic.embedded.start_error import StartError
from dbt_spark_dynamic.embedded.store import Store


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path)
    made.prepare()
    return made


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(serve, "SECONDS_BETWEEN_LOOKS", 0.01)


def served(store, **keys):
    return Served(12345, 4567, "secret", starting(EmbeddedSettings(store.folder, **keys)))


def test_a_server_is_found_while_it_is_there_and_what_it_left_behind_is_nothing(store):
    assert not is_held(store) and find(store) is None and not store.server.exists()
    with hold(store) as held:
        publish(held, served(store))
        assert find(store) == served(store) and is_still(store, served(store))
        assert not is_still(store, served(store, driver_memory="9g"))
        assert store.server.stat().st_mode & 0o777 == 0o600
    assert "secret" in store.server.read_text()
    assert not is_held(store) and find(store) is None


def test_the_second_one_is_told_of_the_first(store):
    with hold(store) as held:
        with pytest.raises(StartError, match="served already, by a process that is starting or ending"):
            hold(store)
        publish(held, served(store))
        with pytest.raises(StartError, match=r"process 12345 on 127\.0\.0\.1:4567: use that one, .* kill 12345"):
            hold(store)


def test_who_comes_while_it_starts_waits_until_it_has(store):
    with hold(store) as held:
        with pytest.raises(StartError, match="starting or ending for 0 seconds"):
            find(store, seconds=0)
        timer = threading.Timer(0.2, publish, (held, served(store)))
        timer.start()
        assert find(store, seconds=20) == served(store)
        timer.join()


def test_settings_that_a_running_spark_cannot_have_are_named_and_no_value_is_kept(store):
    password = {"spark.hadoop.password": "hunter2", "spark.b": "1"}
    server = served(store, packages=("kafka", "avro"), conf=password)
    assert "hunter2" not in str(server)

    def found(**keys):
        return list(differences(server, EmbeddedSettings(store.folder, **{"conf": password, **keys})))

    assert found(packages=("avro",)) == []
    assert found(packages=("delta",), driver_memory="8g") == ["driver_memory", "packages"]
    assert found(conf={"spark.b": "2", "spark.c": "3"}) == ["spark.b", "spark.c", "spark.hadoop.password"]


def kept(store, idle=None, stop=None, visit=None):
    """What `keep` returned and the calls that it made, with a guest that stays until the second look if asked."""
    calls, stop, guests, looks = [], stop or threading.Event(), Guests(store), []

    def running():
        looks.append(1)
        if len(looks) == 3 and visit is not None:
            visit.close()
        return len(looks) < 100

    return keep(guests, running, stop, idle, lambda: calls.append("asked"), lambda: calls.append("alone")), calls


def test_it_ends_when_nobody_used_it(store):
    assert kept(store, idle=0.05) == (IDLE, [])


def test_it_ends_when_told_to_but_not_before_its_last_guest_has(store):
    stop = threading.Event()
    stop.set()
    assert kept(store, stop=stop) == (STOPPED, ["asked"])
    assert kept(store, stop=stop, visit=enter(store)) == (STOPPED, ["asked", "alone"])


def test_it_does_not_end_while_it_is_used(store):
    with enter(store), enter(store):
        assert kept(store, idle=0.0) == (serve.BROKEN, [])


def test_who_comes_while_it_ends_waits(store):
    ending = Guests(store)
    assert not ending.any() and ending.shut_out()
    entered = threading.Event()
    guest = threading.Thread(target=lambda: (enter(store), entered.set()))
    guest.start()
    assert not entered.wait(0.2)
    ending.let_in()
    assert entered.wait(20)
    guest.join()
