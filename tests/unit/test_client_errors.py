"""Messages for errors that the Spark client does not raise itself."""

from __future__ import annotations

import pytest

from spark_client.errors import first_line

# The error of a Python function as PySpark converts it, and as the innermost cause in Java.
TRACEBACK = """Traceback (most recent call last):
  File "/a/worker.py", line 1, in main
    process()
ValueError: the cause
  of two lines
"""
CHAIN = f"{TRACEBACK}\nDuring handling of the above exception, another exception occurred:\n\n"
CONVERTED = "\n  An exception was thrown from the Python worker. Please see the stack trace below.\n"
IN_JAVA = "org.apache.spark.api.python.PythonException: "


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("\n[PARSE_SYNTAX_ERROR] here\n\n== SQL ==\nx"), "[PARSE_SYNTAX_ERROR] here"),
        (ValueError("  "), "ValueError"),
        (KeyError("a"), "'a'"),
        (RuntimeError(CONVERTED + TRACEBACK), "ValueError: the cause"),
        (RuntimeError(IN_JAVA + TRACEBACK + "\n\tat org.apache.spark.A.b(A.scala:1)"), "ValueError: the cause"),
        (RuntimeError(IN_JAVA + CHAIN + TRACEBACK.replace("the cause", "the last")), "ValueError: the last"),
        (RuntimeError("Traceback (most recent call last):"), "Traceback (most recent call last):"),
    ],
)
def test_the_first_line_with_information_is_used(error: Exception, line: str) -> None:
    assert first_line(error) == line
