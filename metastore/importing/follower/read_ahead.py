"""Reads partitions and statistics of several tables at the same time, if the source allows it.

A batch of events names many tables, and a source needs some calls for each table. A follower through Thrift mostly
waits for the replies.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Final, NamedTuple, Self

from metastore.domain.names import DatabaseName, TableName
from metastore.importing.sources.objects import SourcePartition, SourceStatistics
from metastore.importing.sources.source import Source

_FEW: Final = 100
"""The most partitions of a table that are read ahead. The limit bounds the memory of the follower."""


class _Whole(NamedTuple):
    """The contents of a table with few partitions."""

    partitions: list[list[SourcePartition]]
    statistics: list[SourceStatistics]


class ReadAhead:
    """A context in which threads read what was begun. `partitions` and `statistics` read everything else themselves."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._is_parallel = source.parallel_reads > 1
        self._threads = ThreadPoolExecutor(source.parallel_reads, thread_name_prefix="reading the source")
        self._listings: dict[DatabaseName, Future[list[str]]] = {}
        self._whole: dict[TableName, Future[_Whole | None]] = {}
        self._partitions: dict[tuple[TableName, tuple[str, ...]], Future[list[list[SourcePartition]]]] = {}
        self._statistics: dict[tuple[TableName, tuple[str, ...], bool], Future[list[SourceStatistics]]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown(cancel_futures=True)

    def begin_listing(self, databases: Iterable[DatabaseName]) -> None:
        """Begins to list the tables of databases."""
        if self._is_parallel:
            for database in databases:
                self._listings[database] = self._threads.submit(self._source.table_names, database)

    def is_listed(self, name: TableName) -> bool:
        """Returns whether the source lists a table. It may list a table that it cannot read."""
        database = name.parent
        if database not in self._listings:
            self._listings[database] = Future()
            self._listings[database].set_result(self._source.table_names(database))
        return name.name in self._listings[database].result()

    def begin_whole(self, name: TableName, *, has_keys: bool) -> None:
        """Begins to read all partitions and statistics of a table, unless it has many partitions."""
        if self._is_parallel:
            self._whole[name] = self._threads.submit(self._read_whole, name, has_keys=has_keys)

    def begin_partitions(self, name: TableName, wanted: Sequence[str]) -> None:
        """Begins to read partitions of a table, unless they are many."""
        if self._is_parallel and 0 < len(wanted) <= _FEW:
            read = self._threads.submit(lambda: list(self._source.partitions(name, wanted)))
            self._partitions[name, tuple(wanted)] = read

    def begin_statistics(self, name: TableName, wanted: Sequence[str], *, own: bool) -> None:
        """Begins to read statistics of partitions of a table, unless they are many."""
        if self._is_parallel and len(wanted) <= _FEW:
            read = self._threads.submit(lambda: list(self._source.statistics(name, wanted, own=own)))
            self._statistics[name, tuple(wanted), own] = read

    def partitions(self, name: TableName, wanted: Sequence[str] | None) -> Iterable[list[SourcePartition]]:
        """Returns the result of `Source.partitions`, or raises its error."""
        if wanted is None:
            whole = self._read_already(name)
            return whole.partitions if whole else self._source.partitions(name, None)
        read = self._partitions.pop((name, tuple(wanted)), None)
        return read.result() if read else self._source.partitions(name, wanted)

    def statistics(self, name: TableName, wanted: Sequence[str] | None, *, own: bool) -> Iterable[SourceStatistics]:
        """Returns the result of `Source.statistics`, or raises its error."""
        if own and not wanted and (whole := self._read_already(name)) and (wanted is None or not whole.partitions):
            return whole.statistics
        read = None if wanted is None else self._statistics.pop((name, tuple(wanted), own), None)
        return read.result() if read else self._source.statistics(name, wanted, own=own)

    def _read_already(self, name: TableName) -> _Whole | None:
        read = self._whole.get(name)
        return read.result() if read else None

    def _read_whole(self, name: TableName, *, has_keys: bool) -> _Whole | None:
        names = self._source.partition_names(name, _FEW + 1) if has_keys else []
        if len(names) > _FEW:
            return None
        partitions = list(self._source.partitions(name, names))
        return _Whole(partitions, list(self._source.statistics(name, None if names else [], own=True)))
