"""Former directories: their rows were read and written elsewhere, by a compaction or a change of rows.

Trino finds the directory of a partition, puts a file there, reads the partition again and alters its counts. If a
compaction is published in between, the file is where nobody reads it. When Trino alters the partition, the file moves
to where the rows are: the writer of these has told which files it has read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from metastore.domain.query_ids import MARK
from metastore.services.files.change_loop import Attempt
from metastore.services.files.late_files import late_files, move_late, name_hash
from metastore.services.files.replaced_locations import ReplacedError
from metastore.storage.references import StoredTable
from metastore.storage.repositories.locations import UNUSED
from metastore.storage.repositories.rewrites import Rewrite
from metastore.storage.unit_of_work import Store, UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.filesystem import DirectoryStatistics, Warehouse
from thrift_idl.gen.hive_metastore.ttypes import Partition, SerDeInfo, StorageDescriptor, Table
from thrift_idl.gen.metastore.ttypes import PublishPartition

_Owner: TypeAlias = Table | Partition


def rewrite(old: StorageDescriptor, new: StorageDescriptor, entry: PublishPartition) -> list[Rewrite]:
    """Returns the rewrite that an entry of a publication makes, if the writer has read the replaced rows.

    A file that comes later cannot be read in another format, or as a file of other buckets.
    """
    if entry.foreignFiles is None or not old.location or _reading(old) != _reading(new):
        return []
    known = sorted(map(name_hash, entry.foreignFiles))
    return [Rewrite(paths.canonical(old.location), paths.canonical(new.location), known)]


class FormerDirectories:
    """Moves files of former directories, between the attempts of the call that alters the table or its partitions."""

    def __init__(self, warehouse: Warehouse, store: Store, counted: dict[str, DirectoryStatistics | None]) -> None:
        """`counted`: the counts of directories, by location. Those that get files are removed, to be counted again."""
        self._warehouse, self._store, self._counted = warehouse, store, counted
        self._wanted: dict[str, Rewrite] = {}
        self._done: set[str] = set()

    @contextmanager
    def leaving_rejected(self) -> Iterator[None]:
        """Lets the files of a call stay that is rejected because its client has read a former location.

        The client has put them there before. It fails, and its user repeats the statement: the rows would be doubled.
        """
        try:
            yield
        except ReplacedError as error:
            for location in error.locations:
                names = [paths.name(file.location) for file in self._warehouse.children(location)[0]]
                with self._store.transaction(audited=False) as work:
                    work.rewrites.leave(error.table_id, location, list(map(name_hash, names)))
            raise

    def look(self, required: Sequence[str]) -> list[str]:
        """Moves the files that nobody has read from the directories that an attempt required. Returns the others."""
        former = {location for location in required if location in self._wanted} - self._done
        for location in sorted(former):
            self._move(self._wanted[location])
            self._done.add(location)
        return [location for location in required if location not in former]

    def require_all_read(
        self,
        work: UnitOfWork,
        attempt: Attempt,
        stored: StoredTable,
        changes: Iterable[tuple[_Owner, _Owner]],
        context: Mapping[str, str],
    ) -> None:
        """Repeats the attempt if files may have come to a former directory of what a client alters.

        It comes after the checks that may reject the call: the files of a rejected one stay.

        `changes`: tables or partitions before and after. One that gets another location has its files there.
        `context`: the properties of the client's EnvironmentContext. Clients that send the version that they have read
        change no files.
        """
        if "expected_version" in context:
            return
        written = [old for old, new in changes if MARK in (old.parameters or {}) and _stays(old.sd, new.sd)]
        targets = sorted({paths.canonical(owner.sd.location) for owner in written})
        if targets and (rewrites := work.rewrites.at(stored.ref.id, targets)):
            used = work.locations.referred([one.source for one in rewrites])  # by what was created there meanwhile
            unused = [one for one in rewrites if not used.get(one.source, UNUSED).itself]
            self._wanted |= {one.source: one for one in unused}
            attempt.require_listed([one.source for one in unused], self._done)

    def _move(self, rewritten: Rewrite) -> None:
        """Moves files. Raises ConflictError if that is impossible."""
        late = late_files(self._warehouse, rewritten)
        move_late(self._warehouse, rewritten, late)
        if late:
            for text in [text for text in self._counted if paths.canonical(text) == rewritten.target]:
                del self._counted[text]


def _reading(sd: StorageDescriptor) -> tuple[object, ...]:
    """Returns what decides how a file is read."""
    serde = sd.serdeInfo or SerDeInfo()
    buckets = max(sd.numBuckets or 0, 0)
    return sd.inputFormat, serde.serializationLib, serde.parameters or {}, buckets, buckets and (sd.bucketCols or [])


def _stays(old: StorageDescriptor, new: StorageDescriptor) -> bool:
    return bool(old.location and new.location) and paths.same(old.location, new.location)
