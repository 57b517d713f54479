"""The context of every operation: the Spark session and its metastore."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from pyspark.sql import SparkSession

from metastore.client import MetastoreClient
from spark_client.errors import InvalidArgumentError, SessionError


def _continue(step: str) -> None:
    """Continues after a step of a write. Tests replace it to stop there."""


def _forget(table: str, fact: Any) -> None:
    """Receives what a write reports, outside of a statement that tells it."""


@dataclass(frozen=True, slots=True)
class Context:
    """A session and its metastore.

    Attributes:
        spark: The session.
        metastore: A client of the metastore.
        on_step: Receives the name of each step of a write; a test may raise in it.
        report: Receives the table and the result of each write, for the statement of which the write is a part.
    """

    spark: SparkSession
    metastore: MetastoreClient
    on_step: Callable[[str], None] = _continue
    report: Callable[[str, Any], None] = _forget

    @property
    def is_reporting(self) -> bool:
        """Whether a statement receives the results."""
        return self.report is not _forget


class MetastoreSession(SparkSession):
    """A SparkSession with a metastore.

    `started` is the session that was started last, whether or not it has been stopped. `fixed` holds the arguments with
    which its SparkContext was started.
    """

    started: ClassVar[MetastoreSession | None] = None
    metastore: MetastoreClient
    fixed: Mapping[str, str | None] = MappingProxyType({})


def is_remote(session_or_frame: object) -> bool:
    """Returns whether a session or DataFrame belongs to a client of Spark Connect, which has no JVM."""
    return type(session_or_frame).__module__.startswith("pyspark.sql.connect")


def require(value: object, kind: type, function: str, wanted: str, example: str) -> None:
    """Raises InvalidArgumentError unless an argument is of a kind: a DataFrame or session, of Spark Connect, too.

    `wanted` names the kind. `example` is a correct call.
    """
    if not is_remote(value):
        check_kind(value, kind, function, wanted, example)


def check_kind(value: object, kind: type | tuple[type, ...], function: str, wanted: str, example: str) -> None:
    """Raises InvalidArgumentError unless an argument is of a kind. `wanted` names it; `example` is a correct call."""
    if not isinstance(value, kind):
        name = type(value).__name__
        article = "an" if name[0] in "aeiou" else "a"
        got = repr(value)[:60] if value is None or isinstance(value, str) else f"{article} {name}"
        raise InvalidArgumentError(f"{function} needs {wanted}, not {got}: {example}")


def reject_remote(session_or_frame: object, function: str, instead: str) -> None:
    """Raises SessionError for a session or DataFrame of Spark Connect. `instead` names the SQL to run on the server."""
    if is_remote(session_or_frame):
        raise SessionError(
            f"{function} works in a driver, not in a client of Spark Connect. Run SQL on the server instead: {instead}"
        )


def context_of(spark: SparkSession, otherwise: str) -> Context:
    """Returns the context of a session. A plain SparkSession gets the metastore of the session that was started last.

    Raises SessionError with the text `otherwise` if no session was started.
    """
    started = spark if isinstance(spark, MetastoreSession) else MetastoreSession.started
    if started is None:
        raise SessionError(otherwise)
    return Context(spark, started.metastore)
