"""The current files of a table at one moment: one call of the metastore fixes them, then their directories are listed.

An overwrite or a drop may move files between the call and the listing. A partition without the expected files is
therefore planned and listed again until both agree.
"""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Final

from metastore.client.client import MetastoreClient
from metastore.client.errors import NoSuchTableError, StaleSnapshotError, UnreadableTableError
from metastore.client.paged import paged
from metastore.client.reading.buckets import files_of_buckets
from metastore.client.reading.file_systems import FileSystems
from metastore.client.reading.filters import parse_where
from metastore.client.reading.formats import check_readable
from metastore.client.reading.listing import MOVED, DataFile, Lister, data_files, list_directory
from metastore.client.reading.schema import Columns, columns_of
from metastore.client.structs import ScanPartition, ScanPlan, Table
from metastore.domain.expression import Expression

_PATIENCE: Final = 60.0  # seconds to wait for an overwrite in place, which renames directories
_PAUSES: Final = (0.05, 0.2, 0.5)  # seconds between attempts; the last one repeats
_DEPENDENT: Final = "dependent.table"  # the parameter of dependent tables
_HIDDEN: Final = "("  # begins the names of tables that the server does not tell
Progress = Callable[[int, int], None]
"""Receives the number of finished steps and their total."""


@dataclass(frozen=True, slots=True)
class Source:
    """A table whose files are read, and its files. `keys` are the names of its partition columns."""

    table: Table
    keys: tuple[str, ...]
    plan: ScanPlan
    files: Sequence[DataFile]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files of a table at one moment. A dependent table has the files of its bases."""

    columns: Columns
    predicate: Expression | None
    sources: tuple[Source, ...]


class Snapshots:
    """Takes snapshots with a client."""

    def __init__(self, client: MetastoreClient, systems: FileSystems, progress: Progress = lambda _, __: None) -> None:
        self._client = client
        self._systems = systems
        self._progress = progress

    def take(self, database: str, table: str, where: str | None = None) -> Snapshot:
        """Returns the files of a table that can have rows for which the filter is true.

        Raises NoSuchTableError, PermissionDeniedError, UnreadableTableError, InvalidFilterError, and StaleSnapshotError
        if an overwrite keeps moving files for a minute.
        """
        found = self._client.get_table(database, table)
        columns = columns_of(found)
        return Snapshot(columns, predicate := parse_where(columns, where), tuple(self._sources(found, predicate)))

    def _sources(self, table: Table, predicate: Expression | None) -> Iterator[Source]:
        if table.parameters.get(_DEPENDENT) == "true":
            yield from self._bases(table, predicate)
            return
        check_readable(table)
        yield self._source(table, predicate)

    def _bases(self, table: Table, predicate: Expression | None) -> Iterator[Source]:
        """Yields the sources of a dependent table: partitions of its bases that begin with its partitions' values."""
        edges = self._client.get_dependencies(table.database, table.name, transitive=False).partitions
        prefixes: dict[str, set[tuple[str, ...]]] = {}
        for edge in edges:
            prefixes.setdefault(edge.base, set()).add(edge.values)
        for base, values in prefixes.items():
            try:
                found = self._client.get_table(*base.split(".", 1))
            except NoSuchTableError:
                named = "a table" if base.startswith(_HIDDEN) else base
                raise UnreadableTableError(
                    f"{table.full_name} depends on {named}, which does not exist, or which you may not see"
                ) from None
            width = len(table.partition_columns)
            for source in self._sources(found, predicate):
                keep = bytearray(partition.values[:width] in values for partition in source.plan.partitions)
                yield replace(source, files=paged((file for file in source.files if keep[file.partition]), data_files))

    def _source(self, table: Table, predicate: Expression | None) -> Source:
        started = time.monotonic()
        for attempt in range(10**6):
            plan = self._client.plan_scan(table.database, table.name, predicate, paged=True)
            now = self._client.get_table(table.database, table.name)
            files, doubtful = self._listed(plan)
            if _same_table(now, table) and (not doubtful or self._confirmed(table, predicate, plan, doubtful, files)):
                kept = files_of_buckets(table, plan, predicate, files)
                return Source(table, tuple(column.name for column in table.partition_columns), plan, kept)
            if not _same_table(now, table):
                check_readable(now)
                table = now
            if time.monotonic() - started > _PATIENCE:
                break
            time.sleep(_PAUSES[min(attempt, len(_PAUSES) - 1)])
        raise StaleSnapshotError(f"{table.full_name} is being overwritten in place; try again when that is done")

    def _listed(self, plan: ScanPlan, numbers: Sequence[int] | None = None) -> tuple[Sequence[DataFile], array[int]]:
        """Returns the files of partitions of a plan, and the numbers of those whose listing is doubtful."""
        doubtful = array("q")
        return paged(self._files(plan, numbers, doubtful), data_files), doubtful

    def _files(self, plan: ScanPlan, numbers: Sequence[int] | None, doubtful: array[int]) -> Iterator[DataFile]:
        """Yields the files of partitions. Adds the numbers of those whose listing is doubtful."""
        chosen = range(len(plan.partitions)) if numbers is None else numbers
        listing = Lister(plan, self._systems).partitions(chosen, lambda done: self._progress(done, len(chosen)))
        for number, listed in zip(chosen, listing, strict=True):
            yield from listed.files
            if listed.doubtful:
                doubtful.append(number)

    def _confirmed(
        self,
        table: Table,
        predicate: Expression | None,
        plan: ScanPlan,
        doubtful: array[int],
        files: Sequence[DataFile],
    ) -> bool:
        """Returns whether partitions without the expected files are really so: the catalog has not changed, no write
        has moved their files away, and a second listing finds the same files.
        """
        moved = _Moved(plan, self._systems)
        if any(moved.is_moved(plan.partitions[number]) for number in doubtful):
            return False
        # Both plans are in the order of names: the doubtful partitions must be a part of the new one, in this order.
        again = iter(
            self._client.plan_scan(table.database, table.name, predicate, is_query=False, paged=True).partitions
        )
        for number in doubtful:
            wanted = plan.partitions[number]
            current = next((each for each in again if each.values == wanted.values), None)
            if current is None or (current.location, current.version) != (wanted.location, wanted.version):
                return False
        before = (file for file in files if _is_among(doubtful, file.partition))
        after = self._files(plan, doubtful, array("q"))
        return all(one == other for one, other in zip_longest(before, after))


class _Moved:
    """Looks for directories into which writes that are not published have moved the files of partitions.

    The Spark library moves a partition's directory next to itself, and the files of an unpartitioned table down.
    """

    def __init__(self, plan: ScanPlan, systems: FileSystems) -> None:
        self._plan, self._systems = plan, systems
        self._directory, self._names = "", list[str]()  # the last one that was listed: partitions have it in common

    def is_moved(self, partition: ScanPartition) -> bool:
        location = partition.location.rstrip("/")
        parent, _, name = location.rpartition("/")
        suffix = f"_{name.replace('=', '~', 1)}" if partition.values else ""
        return any(each.endswith(suffix) for each in self._moved(parent if partition.values else location))

    def _moved(self, directory: str) -> list[str]:
        if directory != self._directory:
            names = list_directory(self._systems, directory).directories
            self._names = [each for each in names if each.startswith(MOVED) and self._plan.writes.hides(each)]
            self._directory = directory
        return self._names


def _is_among(numbers: array[int], number: int) -> bool:
    found = bisect_left(numbers, number)
    return found < len(numbers) and numbers[found] == number


def _same_table(now: Table, before: Table) -> bool:
    """Returns whether a table still has the columns and the location with which it was read before the plan."""
    return (now.columns, now.partition_columns, now.storage) == (
        before.columns,
        before.partition_columns,
        before.storage,
    )
