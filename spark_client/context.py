"""What the client's rooms work with: the Spark session and the metastore that belongs to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from pyspark.sql import SparkSession

from metastore.client import MetastoreClient
from spark_client.errors import SessionError


def _go_on(step: str) -> None:
    """Does nothing between two steps of a write."""


@dataclass(frozen=True, slots=True)
class Context:
    """A session and its metastore. `on_step` is told each step of a write, so that a test may stop it there."""

    spark: SparkSession
    metastore: MetastoreClient
    on_step: Callable[[str], None] = _go_on


class MetastoreSession(SparkSession):
    """A SparkSession that knows its metastore. `started`: the one that was started last, stopped or not.

    `fixed`: what its SparkContext was started with, as it was said.
    """

    started: ClassVar[MetastoreSession | None] = None
    metastore: MetastoreClient
    fixed: Mapping[str, str | None] = MappingProxyType({})


def is_remote(given: object) -> bool:
    """Tells whether a session or a frame is that of a client of Spark Connect: it has no JVM beside it."""
    return type(given).__module__.startswith("pyspark.sql.connect")


def reject_remote(given: object, function: str, instead: str) -> None:
    """Raises SessionError where `given`, a session or a frame, or else the one that is active, is remote."""
    if is_remote(given) or (isinstance(given, str) and is_remote(SparkSession.getActiveSession())):
        raise SessionError(
            f"{function} works in a driver, not in a client of Spark Connect; there, ask the server with SQL: {instead}"
        )


def context_of(spark: SparkSession, otherwise: str) -> Context:
    """Returns a session with its metastore, or with that of the session that was started last.

    Raises SessionError with the text of `otherwise` where none was started.
    """
    known = spark if isinstance(spark, MetastoreSession) else MetastoreSession.started
    if known is None:
        raise SessionError(otherwise)
    return Context(spark, known.metastore)
