"""Removing what was replaced: after its grace time, and only if nothing refers to it at the moment of removal."""

from __future__ import annotations

from typing import NamedTuple

from metastore.domain.query_ids import holds_token, token_of
from metastore.errors import MetastoreError
from metastore.services.pruning import prune
from metastore.storage.repositories.locations import UNUSED
from metastore.storage.repositories.retired_locations import RetiredLocation
from metastore.storage.unit_of_work import Store, UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.filesystem import FoundFile, Warehouse
from thrift_idl.gen.metastore.ttypes import CleanedLocation


class Doomed(NamedTuple):
    """What goes of a location: whole directories and single files. `files` are all of them, `left` those that stay."""

    directories: list[str]
    single: list[FoundFile]
    files: list[FoundFile]
    left: int = 0


class RetiredCleaning:
    """Removes retired locations, one transaction each. While it is at one, nobody publishes to the table."""

    def __init__(self, store: Store, warehouse: Warehouse) -> None:
        self._store = store
        self._warehouse = warehouse

    def shown(self, retired: RetiredLocation) -> CleanedLocation | None:
        """What `removed` would say now."""
        try:
            with self._store.read() as work:
                return _entry(retired, self._doomed(work, retired, self._partitioned(work, retired, lock=False)))
        except MetastoreError as error:
            return _entry(retired, None, str(error))

    def removed(self, retired: RetiredLocation) -> CleanedLocation | None:
        """What was removed; None if nothing was there, or it is in use."""
        try:
            with self._store.transaction() as work:
                partitioned = self._partitioned(work, retired, lock=True)
                if not work.retired_locations.hold(retired) or is_written(work, retired.location):
                    return None
                doomed = self._doomed(work, retired, partitioned)
                if doomed:
                    self._remove(work, retired, doomed)
                work.retired_locations.forget([retired.location])
                return _entry(retired, doomed)
        except MetastoreError as error:
            return _entry(retired, None, str(error))

    def _partitioned(self, work: UnitOfWork, retired: RetiredLocation, *, lock: bool) -> bool:
        found = [] if retired.table_id is None else work.tables.find_ids([retired.table_id], lock=lock)
        return not found or bool(found[0].ref.keys)

    def _doomed(self, work: UnitOfWork, retired: RetiredLocation, partitioned: bool) -> Doomed | None:
        """None: it is in use."""
        place = retired.location
        use = work.locations.referred([place]).get(place, UNUSED)
        if use.itself or is_written(work, place):
            return None
        inside, below = self._warehouse.children(place)
        if not (paths.same(place, retired.root) or paths.is_below(place, retired.root)):
            files = inside if use.below else self._warehouse.files(place)
            token = token_of(retired.query_id)
            own = [each for each in files if token and holds_token(paths.name(each.location), token)]
            return Doomed([], own, own, left=len(files) - len(own))
        if not use.below and not paths.same(place, retired.root):
            return Doomed([place] if self._warehouse.exists(place) else [], [], self._warehouse.files(place))
        # Others lie in it, too: of a table without partitions, all that engines would read there was the table's.
        visible = [each for each in inside if is_visible(each.location)]
        whole = [] if partitioned else _unused(work, [each for each in below if is_visible(each)])
        return Doomed(whole, visible, [*visible, *(file for each in whole for file in self._warehouse.files(each))])

    def _remove(self, work: UnitOfWork, retired: RetiredLocation, doomed: Doomed) -> None:
        for each in doomed.directories:
            self._warehouse.delete_directory(each)
        self._warehouse.delete_files(each.location for each in doomed.single)
        prune(work, self._warehouse, retired.location, retired.root)


def is_written(work: UnitOfWork, location: str) -> bool:
    """Whether an open write has files there, or below."""
    return location in work.locations.written([location])


def is_visible(location: str) -> bool:
    """Whether engines read it: Hive hides names that begin with an underscore or a dot."""
    return not paths.name(location).startswith(("_", "."))


def _unused(work: UnitOfWork, places: list[str]) -> list[str]:
    """Those where nothing lies, at any depth."""
    keys = {paths.canonical(each): each for each in places}
    used = {**work.locations.referred(keys), **work.locations.written(keys), **work.locations.retired(keys)}
    return [each for key, each in keys.items() if key not in used]


def _entry(retired: RetiredLocation, doomed: Doomed | None, error: str | None = None) -> CleanedLocation | None:
    if doomed and doomed.left and not error:
        error = (
            f"it lies outside of the table's directory: {doomed.left} files that name no write of the table are left"
        )
    if not error and not (doomed and (doomed.files or doomed.directories)):
        return None
    files = doomed.files if doomed else []
    size = sum(each.bytes for each in files)
    return CleanedLocation(retired.location, retired.reason, len(files), size, retired.query_id or None, error)
