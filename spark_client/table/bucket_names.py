"""Which bucket a file belongs to, by its name. Pure.

Of the conventions of Hive and Trino two are in the name alone; the third, the original scheme, is in the order of all
names of a directory (bucket_rules.py).
"""

from __future__ import annotations

import re

# Trino's, since 312, and Hive's: the number comes first and begins with 0, as in 000003_0 or 000003_0_copy_1.
_NUMBER_FIRST = re.compile(r"(0\d*)_\d+.*", re.DOTALL)
# Presto's, before 312: 20180102_030405_00641_x1y2z_bucket-00234.
_QUERY_FIRST = re.compile(r"\d{8}_\d{6}_\d{5}_[a-z0-9]{5}_bucket-(\d+)(?:[-_.].*)?", re.DOTALL)
# That of Spark's own writer of Hive's tables.
_OF_SPARK = re.compile(r"\d+_0_part-\d+-.*", re.DOTALL)


def bucket_of(name: str) -> int | None:
    """The bucket that the name of a file tells, None if it tells none.

    Presto's names are looked for first, for Hive's own pattern takes the date of such a name for the number.
    """
    found = _QUERY_FIRST.fullmatch(name) or _NUMBER_FIRST.fullmatch(name)
    return int(found[1]) if found else None


def is_sparks_own(name: str) -> bool:
    """Whether Spark without this library has named the file: it puts rows by version 1, whatever their table says."""
    return _OF_SPARK.fullmatch(name) is not None


def bucket_file(bucket: int, name: str) -> str:
    """`000003_0_<name>`: the name of a file of bucket 3. `name` begins with a query id."""
    return f"0{bucket:05d}_0_{name}"
