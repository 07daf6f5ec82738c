"""What Spark and Delta really said: the message, its SQL state and position, without plan and Java
stack.

pyspark asks Spark for the text of each error, Spark does not know Delta's, and so pyspark reports
its own failure to ask. The original is still there, one or two causes further down.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dbt_spark_dynamic.errors import causes

MASK = "Cannot find main error class"
# The condition is how dbt-spark tells a missing table from a failure, and how users search for a
# remedy.
CONDITION = re.compile(r"\[[A-Z0-9_.]+\]")
STATE = re.compile(r"SQLSTATE: \w{5}(?:; line \d+ pos \d+|\s*\(line \d+, pos \d+\))?")
# What a thrift server puts before it.
WRAPPED = re.compile(
    r"^(?:[\w.$]+(?:Exception|Error): |Error running query: |\[[A-Z0-9_.]+\] (?=[\w.$]+(?:Exception|Error): ))+"
)
# Where a message stops being one: the statement again, the plan, the stack.
END = re.compile(r"\n== SQL|\n\s+at |\nDriver stacktrace|\n+JVM stacktrace|;\n")


def plain_message(error: BaseException) -> str:
    """The failure in Spark's or Delta's own words, from any exception that a Spark session raises."""
    said = [message for message in messages(error) if message and MASK not in message]
    with_condition = [message for message in said if CONDITION.match(message)]
    # The deepest cause that has a condition: what wraps it only says that a job, a stage, a task
    # was aborted.
    chosen = with_condition or said or [type(error).__name__]
    return without_plan(chosen[-1])


def messages(error: BaseException) -> Iterator[str]:
    """All messages on the way down: along Python's causes, and along Java's below each of them."""
    for cause in causes(error):
        java = getattr(cause, "java_exception", None) or getattr(cause, "_origin", None)
        if java is None:
            yield str(cause).strip()
        while java is not None:
            yield (java.getMessage() or java.getClass().getName()).strip()
            java = java.getCause()


def without_plan(message: str) -> str:
    """Cut after the SQL state, or where there is none, before the plan or stack."""
    if (wrapped := WRAPPED.match(message)) and CONDITION.match(message, wrapped.end()):
        message = message[wrapped.end() :]
    if state := STATE.search(message):
        return message[: state.end()]
    end = END.search(message)
    return message[: end.start()] if end else message
