"""The check of locations that an undrop gives to tables again. Other users may have registered them meanwhile."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from metastore.domain.privileges import Right
from metastore.services.authorization.authorization import Authorization
from metastore.services.authorization.locations import granted_locations, is_in
from metastore.services.files.moves import Move, follower
from metastore.services.files.own_locations import require_partitions_apart
from metastore.services.files.planning import check_available
from metastore.services.rules.denials import denial
from metastore.services.rules.table_data import owns_data
from metastore.storage.references import StoredTable
from metastore.storage.repositories.drops import Drop
from metastore.storage.repositories.partitions import named
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.roots import Roots
from thrift_idl.gen.hive_metastore.ttypes import Table


class UndroppedLocations:
    """Checks locations of undropped objects whose files have stayed where they were.

    Locations whose files come back from the trash are left out: moving the files checks them. `moves`: of directories
    since the drop, or by a new name. Methods raise PermissionDeniedError if another object is at or below a location by
    now, and the caller may not register the location. They raise InvalidOperationError if a managed table, or another
    partition of the table, has been created there since: both would show the same files.
    """

    def __init__(self, authorization: Authorization, roots: Roots) -> None:
        self._authorization = authorization
        self._roots = roots

    def check_tables(self, work: UnitOfWork, drop: Drop, ids: Sequence[int], moves: Sequence[Move] = ()) -> None:
        """Checks the locations of restored tables and of their partitions."""
        for stored in work.tables.find_ids(ids):
            table: Table = stored.encoded.decode()
            if not owns_data(table) and table.sd.location:
                used = work.locations.later_owners([table.sd.location], stored.ref.id, ids)
                check_available(text for text, use in used.items() if use.itself)
            if self._is_free(work):
                continue
            locations = [*filter(None, [table.sd.location]), *work.partitions.locations(stored.ref)]
            trashed = _trashed(work, drop, moves) if owns_data(table) else []
            self._check(work, stored.ref.id, locations, trashed)

    def check_partitions(
        self, work: UnitOfWork, drop: Drop, stored: StoredTable, names: Sequence[str], moves: Sequence[Move] = ()
    ) -> None:
        """Checks the locations of restored partitions."""
        if not owns_data(stored.encoded.decode()):
            partitions = work.partitions.select_stored(stored.ref, named(names))
            placed = [(one.name, one.partition.sd.location) for one in partitions]
            require_partitions_apart(work, stored, placed, [one.id for one in partitions])
        self.check(work, drop, stored.ref.id, work.partitions.locations(stored.ref, named(names)), moves)

    def check(
        self, work: UnitOfWork, drop: Drop, table_id: int, locations: Iterable[str], moves: Sequence[Move] = ()
    ) -> None:
        """Checks locations that a table gets back."""
        self._check(work, table_id, locations, _trashed(work, drop, moves))

    def check_free(self, work: UnitOfWork, drop: Drop) -> None:
        """Raises InvalidOperationError if an object uses one of the locations of a dropped database."""
        lookup = work.locations.owners if self._is_free(work) else work.locations.referred
        check_available(lookup(work.file_operations.original_locations(drop.id)))

    def own(self, work: UnitOfWork, locations: Sequence[str]) -> str:
        """Returns the directory of a dropped table, the first of `locations`, if external tables that point into it do
        not count. Otherwise returns an empty text: users may have registered it since the drop, to see the rows.
        """
        return locations[0] if locations and self._is_free(work) else ""

    def _is_free(self, work: UnitOfWork) -> bool:
        """Returns whether the caller may restore rows where external tables show them."""
        return self._authorization.cached(work).is_admin

    def _check(self, work: UnitOfWork, table_id: int, locations: Iterable[str], trashed: Collection[str]) -> None:
        grants = self._authorization.cached(work)
        if grants.is_admin:
            return
        asked = set(self._roots.canonical(paths.absolute(locations)).values())
        asked -= granted_locations(work, grants, self._roots, asked)
        moved = self._roots.canonical(trashed).values()
        left = [location for location in asked if not is_in(location, moved)]
        if used := work.locations.others(left, table_id, None):
            raise denial(Right.LOCATION, min(used), "another object is there by now")


def _trashed(work: UnitOfWork, drop: Drop, moves: Sequence[Move]) -> list[str]:
    """Returns the directories to which the files of a drop in the trash return."""
    return list(map(follower(moves), work.file_operations.original_locations(drop.id)))
