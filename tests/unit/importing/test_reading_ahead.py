"""Partitions and statistics of several tables that threads read at the same time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Barrier, current_thread
from typing import Any

import pytest

from metastore.domain.names import TableName
from metastore.importing.follower.read_ahead import ReadAhead

ONE, OTHER = TableName("hive", "db", "one"), TableName("hive", "db", "other")
PATIENCE = 60.0  # seconds


class Tables:
    """A source. `calls`: what was read, and by which thread."""

    def __init__(self, parallel_reads: int, together: int = 1, number: int = 3) -> None:
        self.parallel_reads = parallel_reads
        self.calls: list[tuple[str, TableName, Any]] = []
        self.threads: set[str] = set()
        self._barrier = Barrier(together, timeout=PATIENCE)
        self._names = [f"ds={one}" for one in range(number)]

    def partition_names(self, name: TableName, limit: int | None = None) -> list[str]:
        self.calls.append(("names", name, limit))
        return self._names[:limit]

    def partitions(self, name: TableName, names: Sequence[str] | None) -> Iterator[list[Any]]:
        self.calls.append(("partitions", name, names))
        self.threads.add(current_thread().name)
        self._barrier.wait()
        if name == OTHER:
            raise ValueError("broken")
        yield list(self._names if names is None else names)

    def statistics(self, name: TableName, partitions: Sequence[str] | None, *, own: bool) -> Iterator[Any]:
        self.calls.append(("statistics", name, partitions))
        yield f"{name} {own}"


def reading(source: Any) -> ReadAhead:
    return ReadAhead(source)


def test_tables_are_read_at_the_same_time_and_an_error_belongs_to_its_table() -> None:
    source = Tables(2, together=2)
    with reading(source) as reads:
        reads.begin_partitions(ONE, ["ds=1"])
        reads.begin_partitions(OTHER, ["ds=2"])
        assert list(reads.partitions(ONE, ["ds=1"])) == [["ds=1"]]
        with pytest.raises(ValueError, match="broken"):
            reads.partitions(OTHER, ["ds=2"])
    assert len(source.calls) == 2


def test_the_contents_of_a_whole_table_are_read_once() -> None:
    source = Tables(2)
    with reading(source) as reads:
        reads.begin_whole(ONE, has_keys=True)
        assert list(reads.partitions(ONE, None)) == [["ds=0", "ds=1", "ds=2"]]
        assert list(reads.statistics(ONE, None, own=True)) == [f"{ONE} True"]
    assert [kind for kind, _, _ in source.calls] == ["names", "partitions", "statistics"]


def test_a_table_with_many_partitions_is_not_read_ahead() -> None:
    source = Tables(2, number=1_000)
    names = source.partition_names(ONE)
    with reading(source) as reads:
        reads.begin_whole(ONE, has_keys=True)
        reads.begin_partitions(ONE, names)
        reads.begin_statistics(ONE, names, own=False)
        for wanted in (None, names):
            assert list(reads.partitions(ONE, wanted)) == [names]
            assert list(reads.statistics(ONE, wanted, own=False)) == [f"{ONE} False"]
    assert source.threads == {current_thread().name}


def test_a_source_with_one_connection_is_read_when_it_is_needed() -> None:
    source = Tables(1)
    with reading(source) as reads:
        reads.begin_whole(ONE, has_keys=True)
        reads.begin_partitions(ONE, ["ds=1"])
        reads.begin_statistics(ONE, ["ds=1"], own=True)
        assert source.calls == []
        assert list(reads.partitions(ONE, ["ds=1"])) == [["ds=1"]]
        assert list(reads.statistics(ONE, ["ds=1"], own=True)) == [f"{ONE} True"]
    assert source.threads == {current_thread().name}
