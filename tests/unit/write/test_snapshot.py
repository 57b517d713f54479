"""Which files a statement takes over from a partition that it changes: those that a scan would have read."""

from __future__ import annotations

from dataclasses import replace

from metastore.client.structs import Skew, Storage, VisibleWrites
from metastore.domain.buckets import Buckets
from spark_client.write.snapshot import Existing

EXISTING = Existing("file:/t", 1, Skew(), Storage("", "", ""), {}, Buckets())


def test_files_of_open_and_of_later_writes_are_not_shown() -> None:
    seen = replace(EXISTING, writes=VisibleWrites("abc", 7, (5,)))
    names = ["000001_0_abc-4-x", "000001_0_abc-5-x", "abc-7-0", "abc-8-0", "abc-50-0", "000001_0", "xabc-5", "abc-"]
    assert [name for name in names if seen.shows(name)] == ["000001_0_abc-4-x", "abc-7-0", "000001_0", "abc-"]
    assert EXISTING.shows("abc-8-0")
