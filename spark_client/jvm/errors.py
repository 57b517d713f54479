"""Errors of this library that keep their class, an error condition and an SQLSTATE on their way through the JVM.

A statement runs in Spark, which calls back into Python. The error of the callback therefore passes through the JVM as a
`ClientException` (java/core). PySpark converts it with `convert_exception`, which knows Spark's own classes only; the
function that `install` puts in its place returns an error that is of the class of this library and of PySpark's class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

from pyspark.errors.exceptions import captured

from spark_client.errors import PublishConflictError, SparkClientError, WriteUncertainError

_EXCEPTION = "spark_client.core.ClientException"


class SparkPublishConflictError(captured.QueryExecutionException, PublishConflictError):
    """A conflict of a statement that ran in Spark."""


class SparkWriteUncertainError(captured.QueryExecutionException, WriteUncertainError):
    """An unknown outcome of a statement that ran in Spark."""


@dataclass(frozen=True, slots=True)
class Condition:
    """An error condition in the sense of Spark. `exception`: the class that Python users get."""

    name: str
    sql_state: str
    exception: type[captured.CapturedException]


# The SQL standard's SQLSTATEs of a serialization failure, after which clients retry, and of a transaction whose outcome
# is unknown.
CONDITIONS: Mapping[type[SparkClientError], Condition] = {
    PublishConflictError: Condition("WRITE_CONFLICT", "40001", SparkPublishConflictError),
    WriteUncertainError: Condition("WRITE_OUTCOME_UNKNOWN", "08007", SparkWriteUncertainError),
}


def error_answer(error: Exception) -> dict[str, str]:
    """Returns the answer that makes `Python.java` raise an error: its text, and its condition if it has one."""
    text = str(error)
    for class_, condition in CONDITIONS.items():
        if isinstance(error, class_):
            # The text of a nested statement's error names the condition already.
            if not isinstance(error, condition.exception):
                text = f"[{condition.name}] {text} SQLSTATE: {condition.sql_state}"
            return {"error": text, "condition": condition.name, "sql_state": condition.sql_state}
    return {"error": text}


def install() -> None:
    """Makes PySpark convert errors with a condition to the classes of this library. Repeated calls have no effect."""
    original: Callable[[Any], Any] = captured.convert_exception
    if getattr(original, "of_spark_client", False):
        return
    exceptions = {condition.name: condition.exception for condition in CONDITIONS.values()}

    @wraps(original)
    def convert(error: Any) -> Any:
        if str(error.getClass().getName()) == _EXCEPTION:
            return exceptions[str(error.getErrorClass())](origin=error)
        return original(error)

    replaced: Any = convert
    replaced.of_spark_client = True
    captured.convert_exception = replaced
