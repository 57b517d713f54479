"""What the names of the files of a bucketed table say, and what is wrong with them.

The rules and their texts are Trino's (BackgroundHiveSplitLoader, HiveBucketing). Of the conventions of Hive and Trino
two are in a file's name alone; the third, the original scheme, is in the order of all names of a directory.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from metastore.domain.names import fold

# Trino's, since 312, and Hive's: the number comes first and begins with 0, as in 000003_0 or 000003_0_copy_1.
_NUMBER_FIRST: Final = re.compile(r"(0\d*)_\d+.*", re.DOTALL)
# Presto's, before 312: 20180102_030405_00641_x1y2z_bucket-00234.
_QUERY_FIRST: Final = re.compile(r"\d{8}_\d{6}_\d{5}_[a-z0-9]{5}_bucket-(\d+)(?:[-_.].*)?", re.DOTALL)
# That of Spark's own writer of Hive's tables.
_OF_SPARK: Final = re.compile(r"\d+_0_part-\d+-.*", re.DOTALL)

UNPARTITIONED: Final = "<UNPARTITIONED>"
"""As Trino calls the one place of a table without partitions."""


@dataclass(frozen=True, slots=True)
class Buckets:
    """CLUSTERED BY `columns` SORTED BY `order` INTO `count` BUCKETS; no count, no buckets.

    `order`: columns, and whether they ascend.
    """

    columns: tuple[str, ...] = ()
    count: int = 0
    order: tuple[tuple[str, bool], ...] = ()

    def __str__(self) -> str:
        """Returns it as Trino shows it."""
        return f"columns=[{', '.join(self.columns)}], buckets={self.count}"


NOT_BUCKETED: Final = Buckets()


def buckets(columns: Sequence[str] | None, count: int | None, order: Sequence[tuple[str, bool]] = ()) -> Buckets:
    """Returns those of a storage descriptor, in which -1, 0 and no columns all say that there are none."""
    return Buckets(tuple(columns), count, tuple(order)) if columns and count is not None and count > 0 else NOT_BUCKETED


def bucket_of(name: str) -> int | None:
    """Returns the bucket that the name of a file tells, None if it tells none.

    Presto's names are looked for first, for Hive's own pattern takes the date of such a name for the number.
    """
    found = _QUERY_FIRST.fullmatch(name) or _NUMBER_FIRST.fullmatch(name)
    return int(found[1]) if found else None


def bucket_file(bucket: int, name: str) -> str:
    """Returns `000003_0_<name>`: the name of a file of bucket 3. `name` begins with a query id."""
    return f"0{bucket:05d}_0_{name}"


def is_written_by_spark(name: str) -> bool:
    """Tells whether Spark without our library has named the file: it puts rows by version 1, whatever their table
    says."""
    return _OF_SPARK.fullmatch(name) is not None


def bucketing_mismatch(table: str, of_table: Buckets, partition: str, of_partition: Buckets) -> str | None:
    """Says why a partition's buckets cannot be told from its table's, None if they can: counts may differ by 2, 4 …"""
    if not of_table.count:
        return None
    if not of_partition.count:
        return f"Hive table ({table}) is bucketed but partition ({partition}) is not bucketed"
    factor, rest = divmod(max(of_table.count, of_partition.count), min(of_table.count, of_partition.count))
    columns = [[fold(column) for column in side.columns] for side in (of_table, of_partition)]
    if columns[0] == columns[1] and not rest and not factor & (factor - 1):
        return None
    return (
        f"Hive table ({table}) bucketing ({of_table}) is not compatible with partition ({partition}) "
        f"bucketing ({of_partition})"
    )


def bucket_numbers(names: Sequence[str]) -> list[int]:
    """Returns the bucket of each file of a directory that is in order (`layout_problem`).

    If one name tells nothing, none is believed: the original scheme counts, one file for each bucket in the order of
    their names.
    """
    told = [number for name in names if (number := bucket_of(name)) is not None]
    if len(told) == len(names):
        return told
    by_order = {name: number for number, name in enumerate(sorted(names))}
    return [by_order[name] for name in names]


def layout_problem(
    table: str, partition: str, names: Sequence[str], directories: Sequence[str], count: int
) -> str | None:
    """Says what is wrong with the files and directories in a directory of a bucketed table or partition, if anything.

    `count`: the buckets that are declared.
    """
    corrupt = f"Hive table '{table}' is corrupt."
    if directories:
        return f"{corrupt} Found sub-directory '{directories[0]}' in bucket directory for partition: {partition}"
    told = {name: bucket_of(name) for name in names}
    unmatched = next((name for name, number in told.items() if number is None), None)
    if unmatched is not None:
        if len(names) == count:
            return None
        return (
            f"{corrupt} File '{unmatched}' does not match the standard naming pattern, and the number of files in the "
            f"directory ({len(names)}) does not match the declared bucket count ({count}) for partition: {partition}"
        )
    highest = max((number for number in told.values() if number is not None), default=-1)
    if highest < count:
        return None
    return (
        f"{corrupt} The highest bucket number in the directory ({highest}) exceeds the bucket number range defined by "
        f"the declared bucket count ({count}) for partition: {partition}"
    )
