"""What must fit together in a bucketed table, and which files of a directory hold which bucket. Pure.

The rules and their texts are Trino's (BackgroundHiveSplitLoader, HiveBucketing), and so those of the seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from metastore.client.structs import Buckets
from spark_client.errors import InvalidInsertError, UnreadableTableError
from spark_client.table.bucket_names import bucket_of

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
    """Whether buckets without rows get a file: the session's setting, else the table's property, else no."""
    of_table = next((value for key, value in parameters.items() if key.lower() == EMPTY_FILES_PROPERTY), "false")
    return (setting or of_table).strip().lower() == "true"


def mismatch(name: str, table: Buckets, partition: Buckets, partition_name: str) -> str | None:
    """Why the partition's buckets cannot be told from the table's, None if they can: counts may differ by 2, 4, 8 …"""
    if not table.count:
        return None
    if not partition.count:
        return f"Hive table ({name}) is bucketed but partition ({partition_name}) is not bucketed"
    few, many = sorted((table.count, partition.count))
    factor, rest = divmod(many, few)
    if _lower(table) == _lower(partition) and not rest and not factor & (factor - 1):
        return None
    return (
        f"Hive table ({name}) bucketing ({_shown(table)}) is not compatible with partition ({partition_name}) "
        f"bucketing ({_shown(partition)})"
    )


def bucket_numbers(table: str, partition_name: str, names: Sequence[str], declared: int) -> list[int]:
    """The bucket of each file of a directory, by its name.

    If one name tells nothing, none is believed: the original scheme of Hive's counts, exactly one file for each of the
    `declared` buckets in the order of their names. Raises UnreadableTableError where that is not so, and where a number
    is too large.
    """
    told = [bucket_of(name) for name in names]
    numbers = [number for number in told if number is not None]
    if len(numbers) < len(names):
        return _by_order(table, partition_name, names, declared, names[told.index(None)])
    if numbers and max(numbers) >= declared:
        raise UnreadableTableError(
            f"Hive table '{table}' is corrupt. The highest bucket number in the directory ({max(numbers)}) exceeds "
            f"the bucket number range defined by the declared bucket count ({declared}) for partition: "
            f"{partition_name}{MEND}"
        )
    return numbers


def _by_order(table: str, partition_name: str, names: Sequence[str], declared: int, unmatched: str) -> list[int]:
    if len(names) != declared:
        raise UnreadableTableError(
            f"Hive table '{table}' is corrupt. File '{unmatched}' does not match the standard naming pattern, and the "
            f"number of files in the directory ({len(names)}) does not match the declared bucket count ({declared}) "
            f"for partition: {partition_name}{MEND}"
        )
    number = {name: index for index, name in enumerate(sorted(names))}
    return [number[name] for name in names]


def refuse_directory(table: str, partition_name: str, directory: str) -> UnreadableTableError:
    """The error for a directory that lies in the directory of a bucketed table or partition."""
    return UnreadableTableError(
        f"Hive table '{table}' is corrupt. Found sub-directory '{directory}' in bucket directory for partition: "
        f"{partition_name}{MEND}"
    )


def buckets_of_hashes(hashes: Sequence[int], count: int) -> frozenset[int]:
    """The buckets in which rows of these hashes lie."""
    return frozenset((value & 0x7FFFFFFF) % count for value in hashes)


def _lower(buckets: Buckets) -> list[str]:
    return [column.lower() for column in buckets.columns]


def _shown(buckets: Buckets) -> str:
    return f"columns=[{', '.join(buckets.columns)}], buckets={buckets.count}"
