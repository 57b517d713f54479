"""What settings and properties say of buckets, and what is not read (`metastore.domain.buckets`). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metastore.domain.buckets import bucket_numbers, layout_problem
from spark_client.errors import InvalidInsertError, UnreadableTableError

VERSION = "bucketing_version"
# A session setting: false reads bucketed tables as if they were none, whatever their files are called.
EXECUTION = "hive.bucket_execution_enabled"
# A session setting, and a property of tables: buckets without rows get a file, too, for readers that expect one.
EMPTY_FILES = "hive.create_empty_bucket_files"
EMPTY_FILES_PROPERTY = "create_empty_bucket_files"
MEND = f"; SET {EXECUTION}=false reads it without regard to buckets"


def bucketing_version(table: str, parameters: Mapping[str, str]) -> int:
    """1 or 2; 1 where a table does not say, as Hive and Trino take it. Raises InvalidInsertError for others."""
    text = parameters.get(VERSION, "1").strip()
    if text not in ("1", "2"):
        raise InvalidInsertError(f"{table}: Unsupported bucketing version: {text!r}")
    return int(text)


def creates_empty_files(setting: str | None, parameters: Mapping[str, str]) -> bool:
    """Tells whether buckets without rows get a file: the session's setting, else the table's property, else no."""
    of_table = next((value for key, value in parameters.items() if key.lower() == EMPTY_FILES_PROPERTY), "false")
    return (setting or of_table).strip().lower() == "true"


def readable_buckets(table: str, partition: str, names: Sequence[str], declared: int) -> list[int]:
    """Returns the bucket of each file of a directory, by its name. Raises UnreadableTableError for names that do not
    fit the `declared` count.
    """
    if problem := layout_problem(table, partition, names, (), declared):
        raise UnreadableTableError(problem + MEND)
    return bucket_numbers(names)


def refuse_directory(table: str, partition: str, directory: str) -> UnreadableTableError:
    """Returns the error for a directory that lies in the directory of a bucketed table or partition."""
    return UnreadableTableError(f"{layout_problem(table, partition, (), (directory,), 0)}{MEND}")


def buckets_of_hashes(hashes: Sequence[int], count: int) -> frozenset[int]:
    """Returns the buckets in which rows of these hashes lie."""
    return frozenset((value & 0x7FFFFFFF) % count for value in hashes)
