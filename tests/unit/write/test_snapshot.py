"""Which files of a changed partition a statement keeps: exactly the files that a scan would read."""

from __future__ import annotations

from dataclasses import replace

from metastore.client.structs import Column, Skew, Storage, Table, VisibleWrites
from metastore.domain.buckets import Buckets
from spark_client.write.snapshot import PartitionState
from spark_client.write.unchanged_parts import can_copy_buckets

EXISTING = PartitionState("file:/t", 1, Skew(), Storage("", "", ""), {}, Buckets())


def test_files_of_open_and_of_later_writes_are_not_shown() -> None:
    seen = replace(EXISTING, writes=VisibleWrites("abc", 7, (5,)))
    names = ["000001_0_abc-4-x", "000001_0_abc-5-x", "abc-7-0", "abc-8-0", "abc-50-0", "000001_0", "xabc-5", "abc-"]
    assert [name for name in names if seen.is_visible(name)] == ["000001_0_abc-4-x", "abc-7-0", "000001_0", "abc-"]
    assert EXISTING.is_visible("abc-8-0")


def test_buckets_are_kept_where_they_are_the_tables_and_few_bytes() -> None:
    columns, buckets = (Column("A", "int"), Column("b", "string")), Buckets(("a",), 4)
    table = Table("db", "t", columns, (), "file:/t", Storage("", "", ""), buckets=buckets)
    seen = replace(EXISTING, columns=columns, buckets=buckets, parameters={"totalSize": str(8 << 30)})
    assert can_copy_buckets(table, seen)
    assert can_copy_buckets(table, replace(seen, columns=(columns[0], Column("b", "int")), parameters={}))
    for other in (
        replace(seen, parameters={"totalSize": str((8 << 30) + 1)}),
        replace(seen, columns=(Column("a", "bigint"), columns[1])),
        replace(seen, buckets=Buckets(("a",), 8)),
    ):
        assert not can_copy_buckets(table, other)
