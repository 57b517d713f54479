"""Waits until partitions exist."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import SparkSession

from metastore.client import waiting
from metastore.errors import InvalidInputError, InvalidObjectError
from spark_client.context import check_kind, context_of, reject_remote, require
from spark_client.errors import InvalidArgumentError, NotInTimeError

_EXAMPLE: Final = "wait_for('shop.orders', 'ds=2026-01-05', spark=spark)"
_NAMED: Final = 5  # partitions in an error


def wait_for(
    table: str,
    partitions: str | Sequence[str],
    *,
    dependencies: bool = False,
    timeout: float | None = None,
    spark: SparkSession,
) -> tuple[str, ...]:
    """Waits until partitions of a table exist, and returns their names.

    Each call to the metastore is blocked there until a commit adds the partition, so nothing is polled.

    Args:
        table: The name of the table: `database.table`, or a table of the current database.
        partitions: Such as `ds=2026-01-05`, or several of them. `ds=2026-01-01..2026-01-31/hour=00..23` stands for all
            days and hours between. Values of the first partition columns suffice.
        dependencies: Also waits for all partitions that they depend on, directly or not.
        timeout: Seconds. None: no limit.
        spark: The session.

    Raises:
        NotInTimeError: Some partitions do not exist after `timeout` seconds. The text names them.
        NoSuchTableError: The table does not exist.
        InvalidArgumentError: `partitions` names no partitions of the table, or more than 10,000.
    """
    check_kind(table, str, "wait_for", "the name of a table", _EXAMPLE)
    require(spark, SparkSession, "wait_for", "a session", _EXAMPLE)
    reject_remote(spark, "wait_for", "no statement waits; call it where the server runs")
    context = context_of(spark, "wait_for needs a session of this library: spark_client.session or attach")
    database, _, name = table.rpartition(".")
    specs = [partitions] if isinstance(partitions, str) else list(partitions)
    home = database or spark.catalog.currentDatabase()
    try:
        waited = waiting.wait_for(context.metastore, home, name, specs, dependencies=dependencies, timeout=timeout)
    except (InvalidInputError, InvalidObjectError) as error:
        raise InvalidArgumentError(str(error)) from None
    if waited.missing:
        more = f" and {len(waited.missing) - _NAMED} more" if len(waited.missing) > _NAMED else ""
        based = ", or what they depend on, do" if dependencies else " do"
        raise NotInTimeError(
            f"Partitions of {home}.{name}{based} not exist after {timeout or 0:g} seconds: "
            f"{', '.join(waited.missing[:_NAMED])}{more}"
        )
    return waited.found
