"""What the names of the files of a bucketed table say, and what is wrong with them. The texts are Trino's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from metastore.domain.names import fold

# The bucket is first, and begins with 0: Hive's and, since 312, Trino's. Presto before that: the query is first.
_NUMBER_FIRST: Final = re.compile(r"(0\d*)_\d+.*", re.DOTALL)
_QUERY_FIRST: Final = re.compile(r"\d{8}_\d{6}_\d{5}_[a-z0-9]{5}_bucket-(\d+)(?:[-_.].*)?", re.DOTALL)


class Buckets(NamedTuple):
    """CLUSTERED BY `columns` INTO `number` BUCKETS; none: 0."""

    columns: tuple[str, ...]
    number: int

    def __str__(self) -> str:
        """Writes it as Trino shows it."""
        return f"columns=[{', '.join(self.columns)}], buckets={self.number}"


def buckets(columns: Sequence[str] | None, number: int | None) -> Buckets:
    """Reads the buckets of a storage descriptor, in which -1, 0 and no columns all say that there are none."""
    return Buckets(tuple(columns), number) if columns and number is not None and number > 0 else Buckets((), 0)


def bucket_of(name: str) -> int | None:
    """Returns the bucket that the name of a file tells."""
    found = _QUERY_FIRST.fullmatch(name) or _NUMBER_FIRST.fullmatch(name)
    return int(found[1]) if found else None


def mismatch(table: str, of_table: Buckets, partition: str, of_partition: Buckets) -> str | None:
    """Tells why a partition's buckets cannot be told from its table's; their counts may differ by 2, 4, 8 …"""
    if not of_partition.number:
        return f"Hive table ({table}) is bucketed but partition ({partition}) is not bucketed"
    factor, rest = divmod(max(of_table.number, of_partition.number), min(of_table.number, of_partition.number))
    columns = [[fold(column) for column in each.columns] for each in (of_table, of_partition)]
    if columns[0] == columns[1] and not rest and not factor & (factor - 1):
        return None
    return (
        f"Hive table ({table}) bucketing ({of_table}) is not compatible with partition ({partition}) "
        f"bucketing ({of_partition})"
    )


def disorder(table: str, partition: str, names: Sequence[str], directories: Sequence[str], count: int) -> str | None:
    """Returns what is wrong with the files and directories in a directory of a bucketed table or partition."""
    corrupt = f"Hive table '{table}' is corrupt."
    if directories:
        return f"{corrupt} Found sub-directory '{directories[0]}' in bucket directory for partition: {partition}"
    numbers = {name: bucket_of(name) for name in names}
    unmatched = next((name for name, number in numbers.items() if number is None), None)
    if unmatched is not None:
        # The original scheme: the order of all names, one for each bucket.
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
