"""Former directories: their rows were read and written elsewhere, by a compaction or a change of rows.

Trino finds the directory of a partition, puts a file there, reads the partition again and alters its counts. If a
compaction is published in between, the file is where nobody reads it. When Trino alters the partition, the file moves
to where the rows are: the writer of these has told which files it has read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b

from metastore.domain.data_files import is_foreign
from metastore.domain.query_ids import MARK, token_of
from metastore.errors import ConflictError
from metastore.services.files.change_loop import Attempt
from metastore.storage.references import StoredTable
from metastore.storage.repositories.retired_locations import Rewrite
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.filesystem import Warehouse
from thrift_idl.gen.hive_metastore.ttypes import Partition, StorageDescriptor, Table
from thrift_idl.gen.metastore.ttypes import PublishPartition


def rewrite(old: StorageDescriptor, new: StorageDescriptor, entry: PublishPartition) -> list[Rewrite]:
    """Returns the rewrite that an entry of a publication makes, if the writer has read the replaced rows.

    A file that comes later cannot be read in another format.
    """
    if entry.foreignFiles is None or not old.location or old.inputFormat != new.inputFormat:
        return []
    known = sorted(map(_hash, entry.foreignFiles))
    return [Rewrite(paths.canonical(old.location), paths.canonical(new.location), known)]


class FormerDirectories:
    """Moves files of former directories, between the attempts of the call that alters the table or its partitions."""

    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse
        self._wanted: dict[str, tuple[Rewrite, str | None]] = {}
        self._done: set[str] = set()

    def look(self, required: Sequence[str]) -> list[str]:
        """Moves the files that nobody has read from the directories that an attempt required. Returns the others."""
        former = [location for location in required if location in self._wanted]
        for location in former:
            self._move(*self._wanted[location])
            self._done.add(location)
        return [location for location in required if location not in self._wanted]

    def require_all_read(
        self,
        work: UnitOfWork,
        attempt: Attempt,
        stored: StoredTable,
        owners: Iterable[Table | Partition],
        context: Mapping[str, str],
    ) -> None:
        """Repeats the attempt if files may have come to a former directory of what a client alters (`owners`).

        `context`: the properties of the client's EnvironmentContext. Clients that send the version that they have read
        change no files.
        """
        if "expected_version" in context:
            return
        written = [owner for owner in owners if MARK in (owner.parameters or {}) and owner.sd.location]
        tokens = {paths.canonical(owner.sd.location): token_of(owner.parameters[MARK]) for owner in written}
        if tokens and (rewrites := work.retired_locations.rewritten_at(stored.ref.id, list(tokens))):
            self._wanted |= {one.source: (one, tokens[one.target]) for one in rewrites}
            attempt.require_listed([one.source for one in rewrites], self._done)

    def _move(self, rewritten: Rewrite, token: str | None) -> None:
        """Moves files. Raises ConflictError if that is impossible."""
        source, target, known = rewritten.source, rewritten.target, set(rewritten.foreign_files)
        names = [paths.name(file.location) for file in self._warehouse.children(source)[0]]
        late = [name for name in names if is_foreign(name, token) and _hash(name) not in known]
        if late and not paths.on_one_file_system(source, target):
            raise ConflictError(f"The rows of {source} were rewritten at {target}: move {late[0]} there, and try again")
        for name in late:
            self._warehouse.move_file(paths.join(source, name), paths.join(target, name))


def _hash(name: str) -> int:
    """Returns a number of 64 bits that takes less room than a name."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), signed=True)
