"""What pyspark and py4j say beside what dbt says of an error already."""

import logging

import pytest
from py4j.protocol import Py4JNetworkError

from adapter.embedded.launch import silence_pyspark


@pytest.mark.parametrize(
    "error, said",
    [
        (Py4JNetworkError("Error while sending or receiving", ConnectionResetError(104, "reset")), []),
        (ConnectionResetError("of something else"), ["Exception while sending command."]),
    ],
)
def test_py4j_does_not_tell_that_java_is_gone(
    error: Exception, said: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    silence_pyspark()
    try:
        raise error
    except Exception:
        logging.exception("Exception while sending command.")
    assert caplog.messages == said
