"""Late files: a program has put them where the rows were before a rewrite, and nobody reads them there.

Plain Spark puts the files of an INSERT at the location that it has planned with, and alters no partition. The server
looks into former directories from time to time, and before it cleans them
(docs/decisions/048-late-files-move-to-the-rows.md).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

from metastore.domain.data_files import is_foreign
from metastore.domain.query_ids import token_of
from metastore.errors import ConflictError, MetastoreError
from metastore.services.files.journal import Journal
from metastore.storage.repositories.locations import UNUSED
from metastore.storage.repositories.rewrites import Rewrite
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.filesystem import Warehouse

_BATCH: Final = 100  # locations
log = logging.getLogger("metastore.files")


class LateFiles:
    """Moves late files to the rows, whoever has left them. Concurrent servers look into different directories."""

    def __init__(self, journal: Journal) -> None:
        self._journal, self._store, self._warehouse = journal, journal.store, journal.warehouse

    def look(self) -> None:
        """Looks into the directories that are due, and moves the files that were there at the last look, too.

        A client whose call the server is about to reject has put its files there just before. They have to stay,
        because its user repeats the statement.
        """
        while not self._journal.lineage.problem():
            with self._store.transaction(audited=False) as work:
                due = work.rewrites.claim(_BATCH)
            if finished := [rewrite.source for rewrite in due if self._look(rewrite)]:
                with self._store.transaction(audited=False) as work:
                    work.rewrites.postpone(finished)
            if len(due) < _BATCH:
                return

    def collect(self, locations: Sequence[str]) -> dict[str, str]:
        """Moves all late files of locations (canonical) that are to be removed. Returns the errors by location."""
        with self._store.read() as work:
            rewrites = work.rewrites.of(locations)
        errors = {}
        for rewrite in rewrites:
            try:
                if late_files(self._warehouse, rewrite):
                    self._move(rewrite)
            except MetastoreError as error:
                errors[rewrite.source] = str(error)
        return errors

    def _look(self, rewrite: Rewrite) -> bool:
        """Looks into a directory. Returns False if files wait there for the next look."""
        waits = False
        try:
            late = late_files(self._warehouse, rewrite)
            seen = [name for name in late if name_hash(name) in rewrite.late_files]
            if waits := len(seen) < len(late):
                with self._store.transaction(audited=False) as work:
                    work.rewrites.note_late(rewrite.source, list(map(name_hash, late)))
            if seen:
                self._move(rewrite, seen)
        except MetastoreError as error:
            log.warning("%s has files that came late and cannot be moved: %s", rewrite.source, error)
        return not waits

    def _move(self, found: Rewrite, names: Sequence[str] | None = None) -> None:
        """Moves late files (None: all) if the rows are where they were rewritten, and the directory is not in use."""
        with self._store.read() as work:
            rewrites = work.rewrites.of([found.source])  # may have changed
            rewrites = [one for one in rewrites if _is_current(work, one)]
        for rewrite in rewrites:
            late = late_files(self._warehouse, rewrite)
            moved = [name for name in late if names is None or name in names]
            move_late(self._warehouse, rewrite, moved)
            if moved:
                log.info("%s files that came late to %s are at %s now", len(moved), rewrite.source, rewrite.target)


def _is_current(work: UnitOfWork, rewrite: Rewrite) -> bool:
    """Returns whether the rows are where they were rewritten, in the same table, and nothing is where they were."""
    source, target, table_id = rewrite.source, rewrite.target, rewrite.table_id
    uses = work.locations.referred([source, target])
    if table_id is None or uses.get(source, UNUSED).itself or not uses.get(target, UNUSED).itself:
        return False
    return target in work.locations.of_tables({target: []}, [table_id])


def late_files(warehouse: Warehouse, rewrite: Rewrite) -> list[str]:
    """Returns the names of the files of a former directory that nobody has read.

    Files of registered writes are never late. Clients may have changed the query id in the parameters.
    """
    names = [paths.name(file.location) for file in warehouse.children(rewrite.source)[0]]
    known, token = set(rewrite.foreign_files), token_of(rewrite.query_id)
    return [name for name in names if is_foreign(name, token) and name_hash(name) not in known]


def move_late(warehouse: Warehouse, rewrite: Rewrite, names: Sequence[str]) -> None:
    """Moves files to the rows. Raises ConflictError if that is impossible for one of them, after the others."""
    source, target = rewrite.source, rewrite.target
    if names and not paths.on_one_file_system(source, target):
        raise ConflictError(f"The rows of {source} were rewritten at {target}: move {names[0]} there, and try again")
    conflict = None
    for name in names:
        try:
            warehouse.move_file(paths.join(source, name), paths.join(target, name))
        except ConflictError as error:
            conflict = conflict or error
    if conflict:
        raise conflict


def name_hash(name: str) -> int:
    """Returns a number of 64 bits that takes less room than a name. A name may have bytes that are not UTF-8."""
    return int.from_bytes(blake2b(name.encode(errors="surrogateescape"), digest_size=8).digest(), signed=True)
