"""The files of bucketed directories that are read for given hashes."""

from __future__ import annotations

import pytest

from metastore.client.structs import Column, ScanBuckets, ScanPartition, ScanStorage
from spark_client.jvm.scan_messages import ChooseBucketFiles, ListedDirectory, PartitionBuckets
from spark_client.scan.buckets import choose_files, partition_buckets

OURS, SPARKS = "000001_0_query-7-00000.parquet", "00001_0_part-00000-1c5d-4b_00001.c000.snappy.parquet"


def partition(kind: str, version: str | None) -> PartitionBuckets:
    """An unpartitioned table with four buckets by one column of this type."""
    declared = ScanBuckets((Column("a", kind),), 4, version)
    known = partition_buckets("d.t", declared, [], ScanPartition((), "file:/t", (), 1, 0), [])
    assert known is not None
    return known


@pytest.mark.parametrize(
    ("kind", "version", "believed"),
    [
        ("int", "1", True),
        ("decimal(9,2)", None, True),
        ("int", "2", False),
        ("varchar(5)", "1", False),
        ("array<int>", "1", False),
    ],
)
def test_files_of_sparks_own_are_believed_where_its_hash_is_hives(
    kind: str, version: str | None, *, believed: bool
) -> None:
    directory = ListedDirectory(partition(kind, version), [OURS, SPARKS])
    chosen = choose_files(ChooseBucketFiles("d", "t", [directory], [2], 4))
    assert (chosen.exact, chosen.keep, chosen.buckets) == ((True, [[]], 1) if believed else (False, [[0, 1]], 2))
    assert choose_files(ChooseBucketFiles("d", "t", [directory], [5], 4)).keep == [[0, 1]]


def test_without_hashes_all_is_read() -> None:
    directory = ListedDirectory(partition("int", "2"), [OURS])
    chosen = choose_files(ChooseBucketFiles("d", "t", [directory], None, 4))
    assert (chosen.keep, chosen.numbers, chosen.buckets, chosen.exact) == ([], [[1]], 4, True)


def test_files_that_were_written_with_other_types_are_always_read() -> None:
    """A string has another hash than an int, so the numbers in the names of these files say nothing."""
    declared = ScanBuckets((Column("a", "string"),), 4, "1")
    storages = [ScanStorage((Column("A", kind),), "input", "serde", {}, 4, ("a",)) for kind in ("int", "string")]
    kept = []
    for storage in (0, 1):
        partition = ScanPartition((str(storage),), "file:/t/ds=1", (), 1, storage)
        known = partition_buckets("d.t", declared, ["ds"], partition, storages)
        assert known is not None
        kept.append(ListedDirectory(known, ["000001_0_query-7-00000"]))
    chosen = choose_files(ChooseBucketFiles("d", "t", kept, [2], 4))
    assert (chosen.keep, chosen.exact) == ([[0], []], False)
