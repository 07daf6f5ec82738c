"""Spark's and Delta's words, found under what is wrapped around them."""

from __future__ import annotations

from dbt.adapters.spark_dynamic.failures import plain_message, without_plan


class JavaException:
    """As py4j shows one: methods, and a cause."""

    def __init__(self, message, cause=None):
        self._message, self._cause = message, cause

    def getMessage(self):
        return self._message

    def getCause(self):
        return self._cause


class Py4JJavaError(Exception):
    def __init__(self, java_exception):
        super().__init__("An error occurred while calling o42.sql.\n: a page of Java")
        self.java_exception = java_exception


def test_pysparks_failure_to_ask_is_looked_through():
    asked = Py4JJavaError(JavaException("[DELTA_X] Cannot resolve u.nope. SQLSTATE: 42601"))
    masked = Py4JJavaError(JavaException("[INTERNAL_ERROR] Cannot find main error class 'DELTA_X' SQLSTATE: XX000"))
    masked.__context__ = asked
    assert plain_message(masked) == "[DELTA_X] Cannot resolve u.nope. SQLSTATE: 42601"


def test_the_cause_with_a_condition_wins_over_what_wraps_it():
    cause = JavaException("[DELTA_VIOLATE] CHECK c violated by row with values:\n - a : -1")
    aborted = JavaException("Job aborted due to stage failure: Task 0\n\tat org.apache", cause)
    assert plain_message(Py4JJavaError(aborted)) == ("[DELTA_VIOLATE] CHECK c violated by row with values:\n - a : -1")


def test_plan_statement_and_stack_are_cut():
    plan = "[X] No column `a`. SQLSTATE: 42703; line 1 pos 7;\n'Project ['a]\n+- Relation"
    syntax = "\n[PARSE] Syntax error. SQLSTATE: 42601 (line 1, pos 7)\n\n== SQL ==\nselect\n---^^^"
    stack = "java.io.IOException: gone\n\tat a.b.c(d.scala:1)"
    assert plain_message(Exception(plan)) == "[X] No column `a`. SQLSTATE: 42703; line 1 pos 7"
    assert plain_message(Exception(syntax)) == ("[PARSE] Syntax error. SQLSTATE: 42601 (line 1, pos 7)")
    assert plain_message(Exception(stack)) == "java.io.IOException: gone"


def test_what_a_thrift_server_puts_before_a_message_is_cut():
    said = "[X] No column `a`. SQLSTATE: 42703; line 1 pos 7"
    stack = ";\n'Project ['a]\n\n\tat org.apache.spark.X.y(X.scala:1)"
    hive = "org.apache.hive.service.cli.HiveSQLException: Error running query: "
    assert without_plan(f"{hive}[X] org.apache.spark.sql.AnalysisException: {said}{stack}") == said
    assert without_plan("[X] [y] is no column") == "[X] [y] is no column"


def test_an_error_without_words_is_named():
    assert plain_message(KeyError()) == "KeyError"
