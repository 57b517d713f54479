"""Settings and properties of bucketed tables, and checks of their files (`metastore.domain.buckets`). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metastore.domain.buckets import bucket_numbers, layout_problem
from spark_client.errors import InvalidInsertError, UnreadableTableError

VERSION = "bucketing_version"
# A session setting. With false, bucketed tables are read as if they had no buckets, with any file names.
EXECUTION = "hive.bucket_execution_enabled"
# A session setting and a table property: write a file for buckets without rows as well, for readers that expect one.
EMPTY_FILES = "hive.create_empty_bucket_files"
EMPTY_FILES_PROPERTY = "create_empty_bucket_files"
IGNORE_BUCKETS_HINT = f"; SET {EXECUTION}=false to read it without buckets"


def bucketing_version(table: str, parameters: Mapping[str, str]) -> int:
    """Returns 1 or 2. A table without the property has version 1, as in Hive and Trino.

    Raises InvalidInsertError for any other value.
    """
    text = parameters.get(VERSION, "1").strip()
    if text not in ("1", "2"):
        raise InvalidInsertError(f"{table}: Unsupported bucketing version: {text!r}")
    return int(text)


def creates_empty_files(setting: str | None, parameters: Mapping[str, str]) -> bool:
    """Returns whether buckets without rows get a file. The session setting overrides the table's property. Default:
    no.
    """
    table_property = next((value for key, value in parameters.items() if key.lower() == EMPTY_FILES_PROPERTY), "false")
    return (setting or table_property).strip().lower() == "true"


def readable_buckets(table: str, partition: str, names: Sequence[str], declared: int) -> list[int]:
    """Returns the bucket number of each file of a directory, taken from its name.

    Raises UnreadableTableError if the names contradict the `declared` number of buckets.
    """
    if problem := layout_problem(table, partition, names, (), declared):
        raise UnreadableTableError(problem + IGNORE_BUCKETS_HINT)
    return bucket_numbers(names)


def directory_error(table: str, partition: str, directory: str) -> UnreadableTableError:
    """Returns the error for a sub-directory of a bucketed table or partition, which must not have any."""
    return UnreadableTableError(f"{layout_problem(table, partition, (), (directory,), 0)}{IGNORE_BUCKETS_HINT}")


def buckets_of_hashes(hashes: Sequence[int], count: int) -> frozenset[int]:
    """Returns the numbers of the buckets that hold rows with these hashes (Hive's
    ObjectInspectorUtils.getBucketNumber).
    """
    return frozenset((value & 0x7FFFFFFF) % count for value in hashes)
