"""What a user may say about how a table is written: a property of the table; a setting of the session wins."""

from __future__ import annotations

from pyspark.sql import SparkSession

from spark_client.errors import InvalidInsertError
from spark_client.wire.structs import Table

MODE = "write.mode"
IN_PLACE, VERSIONS = "in-place", "versions"
# Seconds without a sign of life after which a writer counts as dead.
LEASE = "write.lease.seconds"
_DEFAULT_LEASE = "60"


def is_in_place(spark: SparkSession, table: Table) -> bool:
    """True if overwritten partitions are to stay in their directories. Raises InvalidInsertError."""
    mode = _setting(spark, table, MODE, VERSIONS).lower()
    if mode not in (IN_PLACE, VERSIONS):
        raise InvalidInsertError(f"{MODE} of {table.full_name} is {mode!r}; it can be {VERSIONS} or {IN_PLACE}")
    return mode == IN_PLACE


def lease_seconds(spark: SparkSession, table: Table) -> float:
    """Raises InvalidInsertError."""
    text = _setting(spark, table, LEASE, _DEFAULT_LEASE)
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 0.1 <= seconds <= 86_400:
        raise InvalidInsertError(f"{LEASE} of {table.full_name} is {text!r}; it is a number of seconds, up to a day")
    return seconds


def _setting(spark: SparkSession, table: Table, name: str, default: str) -> str:
    return str(spark.conf.get(name, table.parameters.get(name, default)))
