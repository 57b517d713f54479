"""The current files of a table at one moment: one call of the metastore fixes them, then their directories are listed.

An overwrite or a drop may move files between the call and the listing. A partition without the expected files is
therefore planned and listed again until both agree.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from metastore.client.client import MetastoreClient
from metastore.client.errors import NoSuchTableError, StaleSnapshotError, UnreadableTableError
from metastore.client.reading.buckets import files_of_buckets
from metastore.client.reading.file_systems import FileSystems
from metastore.client.reading.filters import parse_where
from metastore.client.reading.formats import check_readable
from metastore.client.reading.listing import MOVED, DataFile, Lister, list_directory
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
    files: list[DataFile]


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
                keep = [partition.values[:width] in values for partition in source.plan.partitions]
                yield replace(source, files=[file for file in source.files if keep[file.partition]])

    def _source(self, table: Table, predicate: Expression | None) -> Source:
        started = time.monotonic()
        for attempt in range(10**6):
            plan = self._client.plan_scan(table.database, table.name, predicate)
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

    def _listed(self, plan: ScanPlan, numbers: Sequence[int] | None = None) -> tuple[list[DataFile], list[int]]:
        """Returns the files of partitions of a plan, and the numbers of those whose listing is doubtful."""
        chosen = range(len(plan.partitions)) if numbers is None else numbers
        files: list[DataFile] = []
        doubtful = []
        listing = Lister(plan, self._systems).partitions(chosen, lambda done: self._progress(done, len(chosen)))
        for number, listed in zip(chosen, listing, strict=True):
            files += listed.files
            if listed.doubtful:
                doubtful.append(number)
        return files, doubtful

    def _confirmed(
        self,
        table: Table,
        predicate: Expression | None,
        plan: ScanPlan,
        doubtful: Sequence[int],
        files: Sequence[DataFile],
    ) -> bool:
        """Returns whether partitions without the expected files are really so: the catalog has not changed, no write
        has moved their files away, and a second listing finds the same files.
        """
        if any(self._is_moved(plan, plan.partitions[number]) for number in doubtful):
            return False
        again = self._client.plan_scan(table.database, table.name, predicate, is_query=False)
        current = {partition.values: (partition.location, partition.version) for partition in again.partitions}
        for number in doubtful:
            partition = plan.partitions[number]
            if current.get(partition.values) != (partition.location, partition.version):
                return False
        chosen = set(doubtful)
        return self._listed(plan, doubtful)[0] == [file for file in files if file.partition in chosen]

    def _is_moved(self, plan: ScanPlan, partition: ScanPartition) -> bool:
        """Returns whether a write that is not published has moved the files of a partition away, to put its own there.

        The Spark library moves a partition's directory next to itself, and the files of an unpartitioned table down.
        """
        location = partition.location.rstrip("/")
        parent, _, name = location.rpartition("/")
        suffix = f"_{name.replace('=', '~', 1)}" if partition.values else ""
        return any(
            each.startswith(MOVED) and each.endswith(suffix) and plan.writes.hides(each)
            for each in list_directory(self._systems, parent if partition.values else location).directories
        )


def _same_table(now: Table, before: Table) -> bool:
    """Returns whether a table still has the columns and the location with which it was read before the plan."""
    return (now.columns, now.partition_columns, now.storage) == (
        before.columns,
        before.partition_columns,
        before.storage,
    )
