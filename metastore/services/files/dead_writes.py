"""Removing what dead writers left: first they are aborted, then their renames undone and their files removed.

Until then their writes stay open, so that readers hide their files. Afterwards, too, for the grace time: a writer that
was only slow may still make files, which are removed at the end of it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from metastore.domain.query_ids import holds, names_write
from metastore.errors import InvalidOperationError, MetastoreError
from metastore.services.files.change_loop import FileService
from metastore.services.files.cleaned_directories import OWN_DIRECTORIES, cleaned, with_parents, with_subdirectories
from metastore.services.files.operations import DROPPED
from metastore.services.files.planning import plan_cleaning
from metastore.storage.repositories.dead_writes import DeadWrite
from metastore.storage.repositories.file_operations import NewOperation
from metastore.warehouse import paths
from metastore.warehouse.filesystem import FileEntry
from thrift_idl.gen.metastore.ttypes import CleanedLocation

_LEFT = "dead writer"
_PUT_BACK = "put back: its writer died"


class Leftovers(NamedTuple):
    """What a dead writer left: renames of others' directories, its own directories, its files among others'."""

    away: list[tuple[str, str]]
    directories: dict[str, list[FileEntry]]
    files: dict[str, list[FileEntry]]


class DeadWriteCleaning(FileService):
    """Has the journal clean up after dead writers, one at a time."""

    def shown(self, query_id: str, grace: timedelta) -> list[CleanedLocation]:
        """Returns what `removed` would say now."""
        try:
            dead = self._read(query_id, grace)
            return _told(dead, self._remains(dead)) if dead else []
        except MetastoreError as error:
            return [_failure(query_id, error)]

    def removed(self, query_id: str, grace: timedelta) -> list[CleanedLocation]:
        """Returns what was removed. With an error in it, the write stays, and cleaning it is tried again."""
        try:
            with self._store.transaction(audited=False) as work:
                work.dead_writes.abort(query_id)
                if not work.dead_writes.claim(query_id):
                    return []
            try:
                return self._cleaned(query_id, grace)
            finally:
                with self._store.transaction(audited=False) as work:
                    work.dead_writes.release(query_id)
        except MetastoreError as error:
            return [_failure(query_id, error)]

    def _cleaned(self, query_id: str, grace: timedelta) -> list[CleanedLocation]:
        dead = self._read(query_id, grace)
        if dead is None:
            return []
        remains = self._remains(dead)
        self._sweep(dead, remains)
        with self._store.transaction(audited=False) as work:
            if dead.within_grace:
                work.dead_writes.swept(query_id)
            else:
                work.dead_writes.forget(query_id)
        self._remove_emptied(dead, remains)
        return _told(dead, remains)

    def _read(self, query_id: str, grace: timedelta) -> DeadWrite | None:
        """Returns a dead write, if it is due: what was cleaned once is cleaned again at the end of its grace time."""
        with self._store.read() as work:
            dead = work.dead_writes.read(query_id, grace)
        return None if dead is None or (dead.swept and dead.within_grace) else dead

    def _remains(self, dead: DeadWrite) -> Leftovers:
        """Raises InvalidOperationError where something new is at the old place of what was renamed."""
        away = [row for row in _renamed_away(dead) if self._warehouse.exists(row[1])]
        staying = [target for _, target in away]
        own = _own(dead)
        with self._store.read() as work:
            used = work.locations.referred(own)
        there = [text for text in own if text not in used and self._warehouse.exists(text)]
        directories = {
            text: [
                file
                for file in self._warehouse.files(text)
                if not any(paths.is_within(file.location, text) for text in staying)
            ]
            for text in there
        }
        shared = [*_shared(dead), *(source for source, _ in away)]
        files = {}
        for place in dict.fromkeys(shared):
            found = self._warehouse.files(place)
            files[place] = [file for file in found if holds(paths.name(file.location), dead.query_id)]
            target = dict(away).get(place)
            if target and len(files[place]) < len(found):
                raise InvalidOperationError(
                    f"{place} was moved to {target} by a writer that died, and has come anew: remove one of them"
                )
        return Leftovers(away, directories, {place: found for place, found in files.items() if found})

    def _sweep(self, dead: DeadWrite, remains: Leftovers) -> None:
        """Files go first, then what was renamed goes back, then what is its own goes.

        Raises ConflictError where somebody is there, UnavailableError where something fails: the rest stands in the
        journal then.
        """
        files = [file.location for found in remains.files.values() for file in found]
        steps = [
            [NewOperation("remove", paths.canonical(text), DROPPED) for text in files],
            *(
                [NewOperation("move", paths.canonical(target), _PUT_BACK, paths.canonical(source))]
                for source, target in reversed(remains.away)
            ),
            [NewOperation("remove", paths.canonical(directory), DROPPED) for directory in remains.directories],
        ]
        with self._store.transaction(audited=False) as work:
            decided = plan_cleaning(work, steps, dead.table_id)
        for ids in decided:
            self._carry_out_or_fail(ids)

    def _remove_emptied(self, dead: DeadWrite, remains: Leftovers) -> None:
        shared = [*_shared(dead), *(source for source, _ in remains.away)]
        emptied = [folder for place in shared for folder in with_subdirectories(self._warehouse, place)]
        own = [above for _, target in remains.away if names_write(above := paths.parent(target), dead.query_id)]
        parents = [folder for root in dead.roots for folder in with_parents(emptied, root)]
        self._journal.remove_empty([*own, *parents])


def _told(dead: DeadWrite, remains: Leftovers) -> list[CleanedLocation]:
    back = [cleaned(source, _PUT_BACK, dead.query_id) for source, _ in reversed(remains.away)]
    left = {**remains.directories, **remains.files}
    return back + [cleaned(place, _LEFT, dead.query_id, files) for place, files in left.items()]


def _renamed_away(dead: DeadWrite) -> list[tuple[str, str]]:
    """Renames of what was others', to where only this write has something."""
    own = {text for rename in dead.renames for text in rename if names_write(text, dead.query_id)}
    return [(source, target) for source, target in dead.renames if target in own and source not in own]


def _shared(dead: DeadWrite) -> list[str]:
    """Tells whether its files may be among others': registered, or brought there by a rename."""
    ends = (target for source, target in dead.renames if names_write(source, dead.query_id))
    brought = (paths.parent(end) if holds(paths.name(end), dead.query_id) else end for end in ends)
    places = dict.fromkeys([*dead.locations, *brought])
    return [place for place in places if not any(paths.is_within(place, text) for text in _own(dead))]


def _own(dead: DeadWrite) -> list[str]:
    """Returns its own directories."""
    return [paths.join(root, folder, dead.query_id) for root in dead.roots for folder in OWN_DIRECTORIES]


def _failure(query_id: str, error: MetastoreError) -> CleanedLocation:
    return cleaned(f"files of {query_id}", _LEFT, query_id, error=str(error))
