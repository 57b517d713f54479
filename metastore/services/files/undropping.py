"""Undoing a truncation or an overwrite: restores files, skewed locations and statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from metastore.context import lacks
from metastore.domain.column_statistics import is_count
from metastore.domain.privileges import Right
from metastore.encoding.structs import shallow_copy
from metastore.errors import InvalidOperationError, NotFoundError
from metastore.services.files.change_loop import Attempt
from metastore.services.files.changed_objects import ChangedObjects, Owner
from metastore.services.files.moves import Move, follower, relocate
from metastore.services.files.open_writes import root_of
from metastore.services.files.planning import check_unblocked, plan_moves, plan_undrop
from metastore.services.files.replaced_locations import Replacement, replaced_locations, retire
from metastore.services.rules.denials import denial
from metastore.services.rules.tables import locations_of
from metastore.storage.references import TABLE_ITSELF, StoredTable
from metastore.storage.repositories.drops import PARTITIONS, TRUNCATED, Drop
from metastore.storage.repositories.partitions import identified
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.filesystem import Warehouse
from thrift_idl.gen.hive_metastore.ttypes import StorageDescriptor


class _Descriptors(NamedTuple):
    """The locations of the rows of one object before and after the undrop."""

    replaced: StorageDescriptor
    restored: StorageDescriptor


def undrop_target(locations: Iterable[str] | None, moves: Sequence[Move] = ()) -> Callable[[str], str | None]:
    """Returns a function that maps an old location to the one to restore to, for `plan_undrop`.

    It follows `moves` since the drop. Locations that are not in `locations` map to None (None: all are restored).
    """
    included = None if locations is None else {paths.canonical(location) for location in locations}
    follow = follower(moves)

    def target(origin: str) -> str | None:
        location = paths.canonical(follow(origin))
        return location if included is None or location in included else None

    return target


def moves_since(work: UnitOfWork, drop: Drop, live: StoredTable) -> list[Move]:
    """Returns the moves of a table's directories since the drop, the latest last.

    For dropped partitions, moves of single partitions are left out: another partition may have had that location.
    """
    moved = work.file_operations.moves_of_table(live.ref.id, drop.dropped_at)
    return [Move(one.location, one.target or one.location) for one in moved if drop.kind != PARTITIONS or not one.root]


def undrop_contents(
    work: UnitOfWork, attempt: Attempt, warehouse: Warehouse, drop: Drop, live: StoredTable, names: Sequence[str] | None
) -> tuple[list[int], list[str], list[str]]:
    """Undoes a truncation or an overwrite of a table, or only of the partitions in `names`.

    Returns the operations to carry out, the locations whose rows are current again, and all locations that the objects
    get back. Raises NotFoundError if a partition was dropped since, InvalidOperationError if the files are deleted or a
    later change would be lost.
    """
    moves = moves_since(work, drop, live)
    renamed = _RenamedRows(work, drop, live, moves)
    changes = _restore_objects(work, drop, live, names, renamed)
    if drop.kind == TRUNCATED:
        locations = [text for change in changes for text in locations_of(change.restored)]
        operations = plan_undrop(work, attempt, drop.id, undrop_target(locations, moves), live.ref.id, root_of(live))
    else:
        _swap_retired(work, warehouse, live, changes, renamed)
        operations = plan_moves(work, attempt, renamed.returning, live.ref.id, root_of(live))
    if not work.drops.update_remaining(drop.id):
        work.drops.finish(drop.id)
    current = [change.restored.location for change in changes if change.restored.location]
    returned = [text for change in changes for text in replaced_locations(change.restored, change.replaced)]
    return operations, current, returned


class _RenamedRows:
    """The rows that overwrites in place have renamed. New rows are where they were, so they return to another place.

    Attributes:
        moves: of the table's directories since the drop.
        returning: the moves of the rows that return.
        retired: the retired locations that they were at.
    """

    def __init__(self, work: UnitOfWork, drop: Drop, live: StoredTable, moves: Sequence[Move]) -> None:
        self.moves = moves
        self.returning: list[Move] = []
        self.retired: list[str] = []
        self._follow = follower(moves)
        self._versions = paths.join(root_of(live), paths.VERSIONS)
        self._kept = work.retired_locations.of_drop(drop.id)
        self._writes = sorted(set(self._kept.values()))

    def return_from(self, location: str, partition: str, label: str) -> str:
        """Plans the return of the rows that were at a location when they were replaced. Returns their new location.

        Raises InvalidOperationError if their files are no longer there.
        """
        for query_id in self._writes:
            away = paths.canonical(self._follow(_away(location, partition, query_id)))
            if partition:
                files = [away] if away in self._kept else []
            else:
                files = [kept for kept in self._kept if paths.is_below(kept, away)]
            if files:
                target = paths.join(self._versions, f"before_{query_id}", partition).rstrip("/")
                self.returning.append(Move(away, target))
                self.retired += files
                return target
        raise InvalidOperationError(
            f"The overwrite of {label} cannot be undone: its former files are not kept. It had none, they were "
            "cleaned, or they are outside of the locations of the server"
        )


def _away(location: str, partition: str, query_id: str) -> str:
    """Returns where a write in place has renamed the rows of a location (`spark_client.write.placement`)."""
    name = f"_temp_{query_id}"
    if not partition:
        return paths.join(location, name)
    return paths.join(paths.parent(location), f"{name}_{paths.name(location).replace('=', '~', 1)}")


def _restore_objects(
    work: UnitOfWork, drop: Drop, live: StoredTable, names: Sequence[str] | None, renamed: _RenamedRows
) -> list[_Descriptors]:
    """Restores the table, or its partitions, in the catalog."""
    if live.ref.keys:
        before = {one.id: one for one in work.partitions.select_dropped(live.ref, drop.id)}
        before = {number: one for number, one in before.items() if names is None or one.name in names}
        existing = work.partitions.select_stored(live.ref, identified(before), lock=True)
        if missing := sorted(before[number].name for number in before.keys() - {one.id for one in existing}):
            raise NotFoundError(f"partition {missing[0]} of {live.ref.name} was dropped: undrop it first")
        objects = ChangedObjects(work, live, existing)
        old: list[Owner] = [before[one.id].partition for one in existing]
        unchanged = {one.id: one.version == before[one.id].version + 1 for one in existing}
        parts = [before[one.id].name for one in existing]
        labels = [f"{live.ref.name} partition {one.name}" for one in existing]
    else:
        objects = ChangedObjects(work, live, None)
        version, table = work.tables.before(drop.id)
        old, unchanged = [table], {TABLE_ITSELF: live.ref.version == version + 1}
        parts, labels = [""], [str(live.ref.name)]
    changes = [_Descriptors(shallow_copy(now.sd), was.sd) for now, was in zip(objects.structs, old, strict=True)]
    for now, was, part, label in zip(objects.structs, old, parts, labels, strict=True):
        before_moves = was.sd.location
        for move in renamed.moves:
            relocate(was.sd, move)
        if drop.kind != TRUNCATED and paths.same(now.sd.location, was.sd.location):
            relocate(was.sd, Move(was.sd.location, renamed.return_from(before_moves, part, label)))
    for now, was, label, is_unchanged in zip(objects.structs, old, labels, unchanged.values(), strict=True):
        _restore_object(now, was, drop, label, with_counts=is_unchanged)
    objects.write()
    with_statistics = [number for number in unchanged if unchanged[number]]
    work.drops.undrop_statistics(drop.id, with_statistics, objects.partition_ids or ())
    return changes


def _restore_object(current: Owner, old: Owner, drop: Drop, label: str, *, with_counts: bool) -> None:
    """Gives a table or partition its old locations. `with_counts`: also its counts, as nothing else has changed it."""
    if drop.kind == TRUNCATED:
        if not paths.same(current.sd.location, old.sd.location):
            raise InvalidOperationError(f"{label} was overwritten after it was truncated: undrop the overwrite first")
        locations = current.sd.skewedInfo.skewedColValueLocationMaps
        current.sd.skewedInfo.skewedColValueLocationMaps = old.sd.skewedInfo.skewedColValueLocationMaps | locations
    else:
        current.sd.location, current.sd.skewedInfo = old.sd.location, old.sd.skewedInfo
        current.sd.storedAsSubDirectories = old.sd.storedAsSubDirectories
    kept = {key: value for key, value in current.parameters.items() if not is_count(key)}
    counts = {key: value for key, value in old.parameters.items() if is_count(key)} if with_counts else {}
    current.parameters = kept | counts


def _swap_retired(
    work: UnitOfWork, warehouse: Warehouse, live: StoredTable, changes: Sequence[_Descriptors], renamed: _RenamedRows
) -> None:
    """Retires the replaced locations, and removes the restored ones from the list of retired locations.

    Raises InvalidOperationError if one of those was cleaned already, PermissionDeniedError if the caller may not remove
    the present rows.
    """
    if lacks(live.ref.name, Right.DELETE):
        raise denial(Right.DELETE, live.ref.name)
    targets = {move.target for move in renamed.returning}
    restored = [
        text
        for change in changes
        for text in replaced_locations(change.restored, change.replaced)
        if change.restored.location not in targets or not paths.is_within(text, change.restored.location)
    ]
    needed = {*map(paths.canonical, warehouse.roots.within(restored)), *renamed.retired}
    cleaned = needed - set(work.retired_locations.forget(list(needed)))
    if cleaned:
        raise InvalidOperationError(f"The overwrite of {live.ref.name} cannot be undone: {min(cleaned)} was cleaned")
    replaced = [text for change in changes for text in replaced_locations(change.replaced, change.restored)]
    current = [text for change in changes for text in locations_of(change.restored)]
    retire(work, live, warehouse.roots, Replacement(replaced, current))
    check_unblocked(work, current)
