"""Cleans up after dead writers: aborts the write, undoes its renames and removes its files.

An open write hides its files from readers, so it stays open until they are removed. A writer that was only slow may
still add files: the write is cleaned a second time at the end of the grace time.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import NamedTuple

from metastore.domain.query_ids import holds, names_write, renamed_away
from metastore.errors import ConflictError, InvalidOperationError, MetastoreError
from metastore.services.files.cleaned_directories import OWN_DIRECTORIES, cleaned, with_parents, with_subdirectories
from metastore.services.files.journal import Journal
from metastore.services.files.move_log import log_returned
from metastore.services.files.operations import DROPPED
from metastore.services.files.own_locations import foreign
from metastore.services.files.planning import plan_cleaning
from metastore.storage.repositories.dead_writes import DeadWrite
from metastore.storage.repositories.file_operations import NewOperation
from metastore.warehouse import paths
from metastore.warehouse.filesystem import FileEntry
from thrift_idl.gen.metastore.ttypes import CleanedLocation

log = logging.getLogger("metastore.files")
_LEFT = "dead writer"
_PUT_BACK = "moved back: its writer died"


class Leftovers(NamedTuple):
    """Files that a dead writer left.

    `renamed`: directories of others that it renamed away, (source, target). `directories`: its own. `files`: its files
    in shared directories, by directory.
    """

    renamed: list[tuple[str, str]]
    directories: dict[str, list[FileEntry]]
    files: dict[str, list[FileEntry]]


class DeadWriteCleaning:
    """Cleans one dead write at a time."""

    def __init__(self, journal: Journal) -> None:
        self._store = journal.store
        self._journal = journal
        self._warehouse = journal.warehouse

    def preview(self, query_id: str, grace: timedelta) -> list[CleanedLocation]:
        """Returns the locations that `clean` would remove now."""
        try:
            dead = self._read(query_id, grace)
            return _entries(dead, self._leftovers(dead)) if dead else []
        except MetastoreError as error:
            return [_failure(query_id, error)]

    def clean(self, query_id: str, grace: timedelta) -> list[CleanedLocation]:
        """Removes the files that a dead write left, and returns their locations. After an error, the write stays and is
        cleaned again.
        """
        try:
            with self._store.transaction(audited=False) as work:
                work.dead_writes.abort(query_id)
                if not work.dead_writes.claim(query_id):
                    return []  # another server cleans it
            try:
                return self._clean(query_id, grace)
            finally:
                with self._store.transaction(audited=False) as work:
                    work.dead_writes.release(query_id)
        except MetastoreError as error:
            return [_failure(query_id, error)]

    def _clean(self, query_id: str, grace: timedelta) -> list[CleanedLocation]:
        dead = self._read(query_id, grace)
        if dead is None:
            return []
        self._abort_uploads(dead)
        leftovers = self._leftovers(dead)
        self._remove(dead, leftovers)
        log_returned(self._store, self._warehouse, dead.query_id, dead.renames)
        with self._store.transaction(audited=False) as work:
            if dead.within_grace:
                work.dead_writes.swept(query_id)
            else:
                work.dead_writes.forget(query_id)
        self._remove_emptied(dead, leftovers)
        return _entries(dead, leftovers)

    def _read(self, query_id: str, grace: timedelta) -> DeadWrite | None:
        """Returns a dead write that is due: not cleaned yet, or cleaned once and at the end of its grace time.

        Leaves out locations that do not (or no longer) belong to its table, because cleaning acts with the rights of
        the server."""
        with self._store.read() as work:
            dead = work.dead_writes.read(query_id, grace)
            if dead is None or (dead.swept and dead.within_grace):
                return None
            locations = {*dead.locations, *(text for rename in dead.renames for text in rename)}
            rejected = foreign(work, dead.table_id, dead.roots, query_id, locations)
        return dead._replace(
            locations=[text for text in dead.locations if text not in rejected],
            renames=[rename for rename in dead.renames if rejected.isdisjoint(rename)],
        )

    def _abort_uploads(self, dead: DeadWrite) -> None:
        """Ends the uploads of a dead write, so that none becomes visible later, not even by a writer that was slow."""
        for directory in dict.fromkeys([*dead.roots, *_shared_directories(dead)]):
            try:
                for upload in self._warehouse.unfinished_uploads(directory):
                    if names_write(upload.location, dead.query_id):
                        self._warehouse.abort_upload(upload)
            except MetastoreError as error:  # a server may lack this right alone
                log.warning("uploads of the dead write %s in %s remain: %s", dead.query_id, directory, error)

    def _leftovers(self, dead: DeadWrite) -> Leftovers:
        """Returns what a dead write left.

        Raises InvalidOperationError if a renamed directory exists again at its old location, with others' files.
        """
        renamed = [rename for rename in renamed_away(dead.query_id, dead.renames) if self._warehouse.exists(rename[1])]
        targets = [target for _, target in renamed]
        own = _own_directories(dead)
        with self._store.read() as work:
            used = work.locations.referred(own)
        directories = {
            directory: [
                file
                for file in self._warehouse.files(directory)
                if not any(paths.is_within(file.location, target) for target in targets)
            ]
            for directory in own
            if directory not in used and self._warehouse.exists(directory)
        }
        files = {}
        for directory in dict.fromkeys([*_shared_directories(dead), *(source for source, _ in renamed)]):
            present = self._warehouse.files(directory)
            files[directory] = [file for file in present if holds(paths.name(file.location), dead.query_id)]
            target = dict(renamed).get(directory)
            if target and len(files[directory]) < len(present):
                raise InvalidOperationError(
                    f"{directory} was moved to {target} by a writer that died, and exists again: remove one of them"
                )
        return Leftovers(renamed, directories, {directory: listed for directory, listed in files.items() if listed})

    def _remove(self, dead: DeadWrite, leftovers: Leftovers) -> None:
        """Removes files in shared directories, then moves renamed directories back, then removes own directories.

        Raises ConflictError if another call uses a location, UnavailableError if a step fails: the journal keeps it.
        """
        files = [file.location for listed in leftovers.files.values() for file in listed]
        steps = [
            [NewOperation("remove", paths.canonical(text), DROPPED) for text in files],
            *(
                [NewOperation("move", paths.canonical(target), _PUT_BACK, paths.canonical(source))]
                for source, target in reversed(leftovers.renamed)
            ),
            [NewOperation("remove", paths.canonical(directory), DROPPED) for directory in leftovers.directories],
        ]
        named = [text for rename in leftovers.renamed for text in rename] + files
        with self._store.transaction(audited=False) as work:
            planned = plan_cleaning(work, steps, dead.table_id)
            # Another object may have begun to use a location since it was read. From here to the commit, none can.
            if foreign(work, dead.table_id, dead.roots, dead.query_id, named):
                raise ConflictError(f"other objects use locations of the write {dead.query_id} now; clean it again")
        for ids in planned:
            self._journal.carry_out_or_fail(ids)

    def _remove_emptied(self, dead: DeadWrite, leftovers: Leftovers) -> None:
        """Removes directories that have become empty."""
        shared = [*_shared_directories(dead), *(source for source, _ in leftovers.renamed)]
        emptied = [deeper for directory in shared for deeper in with_subdirectories(self._warehouse, directory)]
        own = [above for _, target in leftovers.renamed if names_write(above := paths.parent(target), dead.query_id)]
        parents = [directory for root in dead.roots for directory in with_parents(emptied, root)]
        self._journal.remove_empty([*own, *parents])


def _entries(dead: DeadWrite, leftovers: Leftovers) -> list[CleanedLocation]:
    restored = [cleaned(source, _PUT_BACK, dead.query_id) for source, _ in reversed(leftovers.renamed)]
    removed = {**leftovers.directories, **leftovers.files}
    return restored + [cleaned(directory, _LEFT, dead.query_id, files) for directory, files in removed.items()]


def _shared_directories(dead: DeadWrite) -> list[str]:
    """Returns directories that also contain files of others: registered ones, and targets of the write's renames."""
    targets = (target for source, target in dead.renames if names_write(source, dead.query_id))
    directories = (paths.parent(target) if holds(paths.name(target), dead.query_id) else target for target in targets)
    own = _own_directories(dead)
    candidates = dict.fromkeys([*dead.locations, *directories])
    return [directory for directory in candidates if not any(paths.is_within(directory, text) for text in own)]


def _own_directories(dead: DeadWrite) -> list[str]:
    """Returns the directories below `_staging` and `_versions` that are named after the write."""
    return [paths.join(root, name, dead.query_id) for root in dead.roots for name in OWN_DIRECTORIES]


def _failure(query_id: str, error: MetastoreError) -> CleanedLocation:
    return cleaned(f"files of {query_id}", _LEFT, query_id, error=str(error))
