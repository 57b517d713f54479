"""Settings of how a table is written. A session setting overrides the table property of the same name.

`settings` are those of the session that are set.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from metastore.client.structs import Table
from spark_client.errors import InvalidInsertError

MODE = "write.mode"
IN_PLACE, VERSIONS = "in-place", "versions"
# The table parameter that names the format of a datasource table.
PROVIDER = "spark.sql.sources.provider"
# Lifetime of a write without a renewal, in seconds. After that, the writer counts as dead.
LEASE = "write.lease.seconds"
_DEFAULT_LEASE = "60"
# Maximum size of a file, in bytes or as 64MB. The default is that of Doris' hive_sink_max_file_size.
MAX_FILE_SIZE = "write.max.file.size"
_DEFAULT_FILE_SIZE = "1GB"
_SIZE = re.compile(r"(\d+)\s*(?:([kmgt])?i?b?)", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def is_in_place(settings: Mapping[str, str], table: Table) -> bool:
    """Returns whether overwritten partitions keep their directories. Raises InvalidInsertError for an unknown mode.

    This is the default of external tables, which other programs read by path, and of datasource tables, whose locations
    Spark itself derives.
    """
    by_path = table.table_type == "EXTERNAL_TABLE" or PROVIDER in table.parameters
    mode = _setting(settings, table, MODE, IN_PLACE if by_path else VERSIONS).lower()
    if mode not in (IN_PLACE, VERSIONS):
        raise InvalidInsertError(f"{MODE} of {table.full_name} is {mode!r}; it must be {VERSIONS} or {IN_PLACE}")
    return mode == IN_PLACE


def lease_seconds(settings: Mapping[str, str], table: Table) -> float:
    """Returns the lease of a write, in seconds. Raises InvalidInsertError if it is not between 0.1 seconds and one
    day.
    """
    return parse_lease(f"{LEASE} of {table.full_name}", _setting(settings, table, LEASE, _DEFAULT_LEASE))


def parse_lease(name: str, text: str) -> float:
    """Returns a lease in seconds. Raises InvalidInsertError; `name` is used in its message."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 0.1 <= seconds <= 86_400:
        raise InvalidInsertError(f"{name} is {text!r}; it must be a number of seconds from 0.1 to 86400")
    return seconds


def max_file_size(settings: Mapping[str, str], table: Table) -> int:
    """Returns the maximum size of a file, in bytes. Raises InvalidInsertError."""
    text = _setting(settings, table, MAX_FILE_SIZE, _DEFAULT_FILE_SIZE).strip()
    return parse_size(f"{MAX_FILE_SIZE} of {table.full_name}", text)


def parse_size(name: str, text: str) -> int:
    """Returns the bytes of 1048576, 1024k, 1MB or 1MiB. Raises InvalidInsertError; `name` is used in its message."""
    size = _SIZE.fullmatch(text)
    if size is None or int(size[1]) == 0:
        raise InvalidInsertError(f"{name} is {text!r}; it must be a number of bytes, or a size such as 64MB")
    return int(size[1]) * _UNITS[(size[2] or "").lower()]


def _setting(settings: Mapping[str, str], table: Table, name: str, default: str) -> str:
    return settings.get(name, table.parameters.get(name, default))
