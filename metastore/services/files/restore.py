"""Putting back what was truncated or overwritten: files, skewed locations and statistics, where they were."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from metastore.domain.column_statistics import is_count
from metastore.errors import InvalidOperationError, NotFoundError
from metastore.services.files.changed_objects import ChangedObjects, Owner
from metastore.services.files.moves import Move, follow, relocate
from metastore.services.files.planning import Looked, plan_restore, refer
from metastore.services.files.retirement import replaced_places, retire
from metastore.services.rules.locations import places_of
from metastore.storage.references import StoredTable
from metastore.storage.repositories.drops import PARTITIONS, TRUNCATED, Drop
from metastore.storage.repositories.partitions import identified
from metastore.storage.schema import TABLE_ITSELF
from metastore.storage.unit_of_work import UnitOfWork
from metastore.structs import shallow_copy
from metastore.warehouse import paths
from metastore.warehouse.filesystem import Warehouse
from thrift_idl.gen.hive_metastore.ttypes import StorageDescriptor


def only(places: Iterable[str] | None, moves: Sequence[Move] = ()) -> Callable[[str], str | None]:
    """Returns what says where something comes back that lay at a place: there, along moves; None: not to `places`."""
    mine = None if places is None else {paths.canonical(place) for place in places}

    def target(origin: str) -> str | None:
        place = paths.canonical(follow(origin, moves))
        return place if mine is None or place in mine else None

    return target


def moves_since(work: UnitOfWork, drop: Drop, live: StoredTable) -> list[Move]:
    """Returns how a table's directories have moved since something of it was dropped, the latest last.

    The place of a dropped partition may be another's since then: it goes with the table alone.
    """
    moved = work.file_operations.moved(live.ref.id, drop.dropped_at)
    return [Move(one.location, one.target or one.location) for one in moved if drop.kind != PARTITIONS or not one.root]


def restore_contents(
    work: UnitOfWork, looked: Looked, warehouse: Warehouse, drop: Drop, live: StoredTable, names: Sequence[str] | None
) -> tuple[list[int], list[str]]:
    """Takes back a truncation or an overwriting of a table, or of these of its partitions.

    Returns what is to be carried out, and where the rows are that are current again. Raises NotFoundError for
    partitions that are gone, InvalidOperationError where the files are gone or what came later is in the way.
    """
    moves = moves_since(work, drop, live)
    state = _restored(work, drop, live, names, moves)
    moving = []
    if drop.kind == TRUNCATED:
        places = [place for _, new in state for place in places_of(new)]
        moving = plan_restore(work, looked, drop.id, only(places, moves), live.ref.id)
    else:
        _retire(work, warehouse, live, state)
    if not work.drops.left(drop.id):
        work.drops.end(drop.id)
    return moving, [was.location for _, was in state if was.location]


def _restored(
    work: UnitOfWork, drop: Drop, live: StoredTable, names: Sequence[str] | None, moves: Sequence[Move]
) -> list[tuple[StorageDescriptor, StorageDescriptor]]:
    """Returns what is now, and what was, of each. `moves`: of their directories since."""
    if live.ref.keys:
        before = {one.id: one for one in work.partitions.select_dropped(live.ref, drop.id)}
        before = {number: one for number, one in before.items() if names is None or one.name in names}
        there = work.partitions.select_stored(live.ref, identified(before), lock=True)
        if gone := sorted(before[number].name for number in before.keys() - {one.id for one in there}):
            raise NotFoundError(f"partition {gone[0]} of {live.ref.name} is gone: undrop it first")
        owners = ChangedObjects(work, live, there)
        was: list[Owner] = [before[one.id].partition for one in there]
        exact = {one.id: one.version == before[one.id].version + 1 for one in there}
        called = [f"{live.ref.name} partition {one.name}" for one in there]
    else:
        owners = ChangedObjects(work, live, None)
        version, table = work.tables.before(drop.id)
        was, exact, called = [table], {TABLE_ITSELF: live.ref.version == version + 1}, [str(live.ref.name)]
    state = [(shallow_copy(now.sd), old.sd) for now, old in zip(owners.structs, was, strict=True)]
    for now, old, name, is_exact in zip(owners.structs, was, called, exact.values(), strict=True):
        _restore(now, old, drop, name, moves, exact=is_exact)
    owners.write()
    work.drops.restore_statistics(drop.id, [number for number in exact if exact[number]], owners.partition_ids or ())
    return state


def _restore(owner: Owner, was: Owner, drop: Drop, name: str, moves: Iterable[Move], *, exact: bool) -> None:
    """Gives a table or partition what it had. `exact`: nothing else has changed it since."""
    for move in moves:
        relocate(was.sd, move)
    if drop.kind == TRUNCATED:
        if not paths.same(owner.sd.location, was.sd.location):
            raise InvalidOperationError(f"{name} was overwritten after it was truncated: undrop that first")
        locations = owner.sd.skewedInfo.skewedColValueLocationMaps
        owner.sd.skewedInfo.skewedColValueLocationMaps = was.sd.skewedInfo.skewedColValueLocationMaps | locations
    else:
        owner.sd.location, owner.sd.skewedInfo = was.sd.location, was.sd.skewedInfo
        owner.sd.storedAsSubDirectories = was.sd.storedAsSubDirectories
    kept = {key: value for key, value in owner.parameters.items() if not is_count(key)}
    counts = {key: value for key, value in was.parameters.items() if is_count(key)} if exact else {}
    owner.parameters = kept | counts


def _retire(
    work: UnitOfWork,
    warehouse: Warehouse,
    live: StoredTable,
    state: Sequence[tuple[StorageDescriptor, StorageDescriptor]],
) -> None:
    """Replaces what is current by what was. Raises InvalidOperationError where that is gone."""
    back = [place for now, was in state for place in replaced_places(was, now)]
    wanted = {paths.canonical(text) for text in warehouse.roots.holding(back)}
    gone = wanted - set(work.retired_locations.forget(list(wanted)))
    if gone:
        raise InvalidOperationError(f"{min(gone)} was cleaned: what {live.ref.name} was overwritten with must stay")
    current = [place for _, was in state for place in places_of(was)]
    retire(
        work, live, "", [place for now, was in state for place in replaced_places(now, was)], current, warehouse.roots
    )
    refer(work, current)
