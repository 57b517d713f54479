"""Removing what dead writers left: first they are aborted, then their renames undone and their files removed.

Until then their writes stay open, so that readers hide their files. Afterwards, too, for the grace time: a writer that
was only slow may still make files, which are removed at the end of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from metastore.domain.query_ids import holds, names_write
from metastore.errors import InvalidOperationError, MetastoreError
from metastore.services.files.pruning import OWN_DIRECTORIES, prune
from metastore.storage.repositories.dead_writes import DeadWrite
from metastore.storage.unit_of_work import Store, UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.filesystem import FoundFile, Warehouse
from thrift_idl.gen.metastore.ttypes import CleanedLocation

_LEFT = "dead writer"
_PUT_BACK = "put back: its writer died"


class DeadWriteCleaning:
    """Cleans up after dead writers, one at a time, each in a transaction of its own."""

    def __init__(self, store: Store, warehouse: Warehouse) -> None:
        self._store = store
        self._warehouse = warehouse

    def shown(self, query_id: str, grace: timedelta) -> list[CleanedLocation]:
        """What `removed` would say now."""
        try:
            with self._store.read() as work:
                dead = work.dead_writes.read(query_id, grace, hold=False)
                return self._found(work, dead) if dead and _is_due(dead) else []
        except MetastoreError as error:
            return [_failure(query_id, error)]

    def removed(self, query_id: str, grace: timedelta) -> list[CleanedLocation]:
        """What was removed. With an error in it, the write stays, and cleaning it is tried again."""
        try:
            with self._store.transaction(of_call=False) as work:
                work.dead_writes.abort(query_id)
            with self._store.transaction(of_call=False) as work:
                dead = work.dead_writes.read(query_id, grace, hold=True)
                if dead is None or not _is_due(dead):
                    return []
                found = self._found(work, dead)
                self._sweep(work, dead)
                if dead.within_grace:
                    work.dead_writes.swept(query_id)
                else:
                    work.dead_writes.forget(query_id)
                return found
        except MetastoreError as error:
            return [_failure(query_id, error)]

    def _found(self, work: UnitOfWork, dead: DeadWrite) -> list[CleanedLocation]:
        away = [each for each in _renamed_away(dead) if self._warehouse.exists(each[1])]
        found = [CleanedLocation(source, _PUT_BACK, 0, 0, dead.query_id) for source, _ in reversed(away)]
        for place in self._directories(work, dead):
            staying = [target for _, target in away]
            files = [each for each in self._warehouse.files(place) if not _is_in(each.location, staying)]
            found.append(_entry(dead, place, files))
        for place in _shared(dead):
            files = self._own_files(dead, place)
            found += [_entry(dead, place, files)] if files else []
        return found

    def _sweep(self, work: UnitOfWork, dead: DeadWrite) -> None:
        for place in _shared(dead):
            self._clear(work, dead, place)
        for source, target in reversed(_renamed_away(dead)):
            self._put_back(dead, source, target)
            if names_write(paths.parent(target), dead.query_id):
                self._warehouse.delete_empty_tree(paths.parent(target))
        for place in self._directories(work, dead):
            self._warehouse.delete_directory(place)

    def _directories(self, work: UnitOfWork, dead: DeadWrite) -> list[str]:
        """That are there and hold its files only; none that somebody refers to."""
        places = [paths.join(root, folder, dead.query_id) for root in dead.roots for folder in OWN_DIRECTORIES]
        used = work.locations.referred(places)
        return [each for each in places if each not in used and self._warehouse.exists(each)]

    def _own_files(self, dead: DeadWrite, place: str) -> list[FoundFile]:
        return [each for each in self._warehouse.files(place) if holds(paths.name(each.location), dead.query_id)]

    def _clear(self, work: UnitOfWork, dead: DeadWrite, place: str) -> None:
        self._warehouse.delete_files(each.location for each in self._own_files(dead, place))
        for root in dead.roots:
            prune(work, self._warehouse, [place], root, dead.query_id)

    def _put_back(self, dead: DeadWrite, source: str, target: str) -> None:
        """Raises InvalidOperationError where something new is at the old place."""
        if not self._warehouse.exists(target):
            return
        if self._warehouse.exists(source):
            self._warehouse.delete_files(each.location for each in self._own_files(dead, source))
            if not self._warehouse.delete_empty_tree(source):
                raise InvalidOperationError(
                    f"{source} was moved to {target} by a writer that died, and has come anew: remove one of them"
                )
        self._warehouse.rename_directory(target, source)


def _is_due(dead: DeadWrite) -> bool:
    """What was cleaned once is cleaned again at the end of its grace time."""
    return not (dead.swept and dead.within_grace)


def _renamed_away(dead: DeadWrite) -> list[tuple[str, str]]:
    """Renames of what was others', to where only this write has something."""
    return [
        each for each in dead.renames if names_write(each[1], dead.query_id) and not names_write(each[0], dead.query_id)
    ]


def _shared(dead: DeadWrite) -> list[str]:
    """Where its files may be among others': registered, or brought there by a rename."""
    ends = (target for source, target in dead.renames if names_write(source, dead.query_id))
    brought = (paths.parent(each) if holds(paths.name(each), dead.query_id) else each for each in ends)
    places = dict.fromkeys([*dead.locations, *brought])
    own = [paths.join(root, folder, dead.query_id) for root in dead.roots for folder in OWN_DIRECTORIES]
    return [each for each in places if not _is_in(each, own)]


def _is_in(location: str, places: Iterable[str]) -> bool:
    return any(paths.same(location, each) or paths.is_below(location, each) for each in places)


def _entry(dead: DeadWrite, place: str, files: list[FoundFile]) -> CleanedLocation:
    return CleanedLocation(place, _LEFT, len(files), sum(each.bytes for each in files), dead.query_id)


def _failure(query_id: str, error: MetastoreError) -> CleanedLocation:
    return CleanedLocation(f"files of {query_id}", _LEFT, 0, 0, query_id, str(error))
