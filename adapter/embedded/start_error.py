"""The one error of this room."""

from __future__ import annotations


class StartError(RuntimeError):
    """Spark could not be started; the message is one sentence with what, where, why and the remedy."""
