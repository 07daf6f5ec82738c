"""The store folder: made, claimed by one process, its log kept once."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from dbt_spark_dynamic.embedded.start_error import StartError
from dbt_spark_dynamic.embedded.store import Store

CLAIM = """
import sys, time
from pathlib import Path
from dbt_spark_dynamic.embedded.store import Store
held = Store(Path(sys.argv[1])).claim()
print("held", flush=True)
time.sleep(60)
"""


def test_a_store_that_cannot_be_made_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StartError, match=r"cannot be created .*choose another with the profile's"):
        Store(tmp_path / "file" / "store").prepare()


def test_one_process_at_a_time(tmp_path):
    store = Store(tmp_path)
    other = subprocess.Popen([sys.executable, "-c", CLAIM, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(StartError) as said:
            store.claim()
    finally:
        other.kill()
        other.wait()
    assert f"is in use by process {other.pid}" in str(said.value)
    assert "\n" not in str(said.value)
    # Killed, it holds nothing any more.
    with store.claim() as held:
        held.seek(0)
        assert held.read() == str(os.getpid())


def test_the_log_of_the_start_before_is_kept(tmp_path):
    store = Store(tmp_path)
    for text in (b"one", b"two", b"three"):
        with store.open_log() as log:
            log.write(text)
    assert (store.log.read_text(), (tmp_path / "spark.log.1").read_text()) == ("three", "two")
