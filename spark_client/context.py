"""What the client's rooms work with: the Spark session and the metastore that belongs to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import SparkSession

from metastore.client import MetastoreClient


def _go_on(step: str) -> None:
    """What happens between two steps of a write: nothing."""


@dataclass(frozen=True, slots=True)
class Context:
    """A session and its metastore. `on_step` is told each step of a write, so that a test may stop it there."""

    spark: SparkSession
    metastore: MetastoreClient
    on_step: Callable[[str], None] = _go_on
