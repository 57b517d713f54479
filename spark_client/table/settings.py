"""What a user may say about how a table is written: a property of the table; a setting of the session wins."""

from __future__ import annotations

import re

from pyspark.sql import SparkSession

from metastore.client.structs import Table
from spark_client.errors import InvalidInsertError

MODE = "write.mode"
IN_PLACE, VERSIONS = "in-place", "versions"
# What Spark calls a table of its own kind, in the table's parameters.
PROVIDER = "spark.sql.sources.provider"
# Seconds without a sign of life after which a writer counts as dead.
LEASE = "write.lease.seconds"
_DEFAULT_LEASE = "60"
# Bytes, or 64MB and the like; Doris' hive_sink_max_file_size has the same default.
MAX_FILE_SIZE = "write.max.file.size"
_DEFAULT_FILE_SIZE = "1GB"
_SIZE = re.compile(r"(\d+)\s*(?:([kmgt])?i?b?)", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def is_in_place(spark: SparkSession, table: Table) -> bool:
    """True if overwritten partitions are to stay in their directories. Raises InvalidInsertError.

    By default those of external tables, which others read by their paths, and of tables USING a format: Spark itself
    knows where they lie.
    """
    by_path = table.table_type == "EXTERNAL_TABLE" or PROVIDER in table.parameters
    mode = _setting(spark, table, MODE, IN_PLACE if by_path else VERSIONS).lower()
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


def max_file_size(spark: SparkSession, table: Table) -> int:
    """Bytes. Raises InvalidInsertError."""
    text = _setting(spark, table, MAX_FILE_SIZE, _DEFAULT_FILE_SIZE).strip()
    return parse_size(f"{MAX_FILE_SIZE} of {table.full_name}", text)


def parse_size(name: str, text: str) -> int:
    """Bytes of 1048576, 1024k, 1MB or 1MiB. Raises InvalidInsertError; `name` is for the message."""
    size = _SIZE.fullmatch(text)
    if size is None or int(size[1]) == 0:
        raise InvalidInsertError(f"{name} is {text!r}; it is a number of bytes, or 64MB and the like")
    return int(size[1]) * _UNITS[(size[2] or "").lower()]


def _setting(spark: SparkSession, table: Table, name: str, default: str) -> str:
    return str(spark.conf.get(name, table.parameters.get(name, default)))
