"""Bucket numbers in file names of bucketed tables, and checks of bucketed directories.

The rules and messages come from Trino (BackgroundHiveSplitLoader, HiveBucketing). There are three conventions: two
put the bucket number into the file name; in the original scheme of Hive, the n-th name of a directory is bucket n.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from metastore.domain.names import fold_column

# Hive, and Trino since 312: the bucket number is first and starts with 0, as in 000003_0 or 000003_0_copy_1.
_NUMBER_FIRST: Final = re.compile(r"(0\d*)_\d+.*", re.DOTALL)
# Presto before 312: 20180102_030405_00641_x1y2z_bucket-00234.
_QUERY_FIRST: Final = re.compile(r"\d{8}_\d{6}_\d{5}_[a-z0-9]{5}_bucket-(\d+)(?:[-_.].*)?", re.DOTALL)
# Spark's own writer of Hive tables.
_SPARK_FILE: Final = re.compile(r"\d+_0_part-\d+-.*", re.DOTALL)

UNPARTITIONED: Final = "<UNPARTITIONED>"
"""Trino's name for the only partition of an unpartitioned table."""


@dataclass(frozen=True, slots=True)
class Buckets:
    """CLUSTERED BY `columns` SORTED BY `order` INTO `count` BUCKETS. A count of 0 means not bucketed.

    `order` has pairs (column, is ascending).
    """

    columns: tuple[str, ...] = ()
    count: int = 0
    order: tuple[tuple[str, bool], ...] = ()

    def __str__(self) -> str:
        """Formats the buckets as in Trino's messages."""
        return f"columns=[{', '.join(self.columns)}], buckets={self.count}"


NOT_BUCKETED: Final = Buckets()


def buckets(columns: Sequence[str] | None, count: int | None, order: Sequence[tuple[str, bool]] = ()) -> Buckets:
    """Returns the buckets of a storage descriptor. A count of -1 or 0, or no columns, means not bucketed."""
    return Buckets(tuple(columns), count, tuple(order)) if columns and count is not None and count > 0 else NOT_BUCKETED


def bucket_of(name: str) -> int | None:
    """Returns the bucket number in a file name, or None if there is none.

    Tries Presto's pattern first: Hive's pattern would match a Presto name and return its date.
    """
    match = _QUERY_FIRST.fullmatch(name) or _NUMBER_FIRST.fullmatch(name)
    return int(match[1]) if match else None


def bucket_file(bucket: int, name: str) -> str:
    """Returns the file name of a bucket: `000003_0_<name>` for bucket 3. `name` begins with a query id."""
    return f"0{bucket:05d}_0_{name}"


def is_written_by_spark(name: str) -> bool:
    """Returns whether Spark without this project's library wrote the file.

    Spark always uses bucketing version 1, regardless of the table's version.
    """
    return _SPARK_FILE.fullmatch(name) is not None


def bucketing_mismatch(table: str, of_table: Buckets, partition: str, of_partition: Buckets) -> str | None:
    """Returns a message if the buckets of a partition and of its table are incompatible, else None.

    Compatible bucket counts differ by a factor of a power of two.
    """
    if not of_table.count:
        return None
    if not of_partition.count:
        return f"Hive table ({table}) is bucketed but partition ({partition}) is not bucketed"
    factor, rest = divmod(max(of_table.count, of_partition.count), min(of_table.count, of_partition.count))
    columns = [[fold_column(column) for column in side.columns] for side in (of_table, of_partition)]
    if columns[0] == columns[1] and not rest and not factor & (factor - 1):
        return None
    return (
        f"Hive table ({table}) bucketing ({of_table}) is not compatible with partition ({partition}) "
        f"bucketing ({of_partition})"
    )


def bucket_numbers(names: Sequence[str]) -> list[int]:
    """Returns the bucket number of each file in a directory without a `layout_problem`.

    If one name has no bucket number, the directory uses the original scheme: one file per bucket, ordered by name.
    """
    numbers = [number for name in names if (number := bucket_of(name)) is not None]
    if len(numbers) == len(names):
        return numbers
    by_order = {name: number for number, name in enumerate(sorted(names))}
    return [by_order[name] for name in names]


def layout_problem(
    table: str, partition: str, names: Sequence[str], directories: Sequence[str], count: int
) -> str | None:
    """Returns a problem with the files of a bucketed table or partition, or None.

    Args:
        table: name of the table, for the message.
        partition: name of the partition, for the message.
        names: names of the files in its directory.
        directories: names of the sub-directories.
        count: declared number of buckets.
    """
    corrupt = f"Hive table '{table}' is corrupt."
    if directories:
        return f"{corrupt} Found sub-directory '{directories[0]}' in bucket directory for partition: {partition}"
    numbers = {name: bucket_of(name) for name in names}
    unmatched = next((name for name, number in numbers.items() if number is None), None)
    if unmatched is not None:
        if len(names) == count:
            return None
        return (
            f"{corrupt} File '{unmatched}' does not match the standard naming pattern, and the number of files in the "
            f"directory ({len(names)}) does not match the declared bucket count ({count}) for partition: {partition}"
        )
    highest = max((number for number in numbers.values() if number is not None), default=-1)
    if highest < count:
        return None
    return (
        f"{corrupt} The highest bucket number in the directory ({highest}) exceeds the bucket number range defined by "
        f"the declared bucket count ({count}) for partition: {partition}"
    )
