"""Putting back what was truncated or overwritten: files, skewed locations and statistics, where they were."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from metastore.domain import table_events
from metastore.domain.column_statistics import is_count
from metastore.errors import InvalidOperationError, NotFoundError
from metastore.services.files.decisions import Looked, decide_return, refer
from metastore.services.files.moves import Move, follow, relocate
from metastore.services.files.retirement import replaced_places, retire
from metastore.services.rules.events import alter_partitions, befores, table_text
from metastore.services.rules.locations import places_of
from metastore.storage.references import StoredTable
from metastore.storage.repositories.drops import PARTITIONS, TRUNCATED, Drop
from metastore.storage.repositories.partitions import identified
from metastore.storage.repositories.partitions_write import as_changed
from metastore.storage.schema import TABLE_ITSELF
from metastore.storage.unit_of_work import UnitOfWork
from metastore.structs import copied
from metastore.warehouse import paths
from metastore.warehouse.filesystem import Warehouse
from thrift_idl.gen.hive_metastore.ttypes import Partition, StorageDescriptor, Table

Owner = TypeVar("Owner", Table, Partition)


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


def put_back(
    work: UnitOfWork, looked: Looked, warehouse: Warehouse, drop: Drop, live: StoredTable, names: Sequence[str] | None
) -> tuple[list[int], list[str]]:
    """Takes back a truncation or an overwriting of a table, or of these of its partitions.

    Returns what is to be carried out, and where the rows are that are current again. Raises NotFoundError for
    partitions that are gone, InvalidOperationError where the files are gone or what came later is in the way.
    """
    moves = moves_since(work, drop, live)
    state = _partitions(work, drop, live, names, moves) if live.ref.keys else _table(work, drop, live, moves)
    moving = []
    if drop.kind == TRUNCATED:
        places = [place for _, new in state for place in places_of(new)]
        moving = decide_return(work, looked, drop.id, only(places, moves), live.ref.id)
    else:
        _retire(work, warehouse, live, state)
    if not work.drops.left(drop.id):
        work.drops.end(drop.id)
    return moving, [was.location for _, was in state if was.location]


def _partitions(
    work: UnitOfWork, drop: Drop, live: StoredTable, names: Sequence[str] | None, moves: Sequence[Move]
) -> list[tuple[StorageDescriptor, StorageDescriptor]]:
    """Returns what was, and what is now, of each. `moves`: of their directories since."""
    was = {
        partition.id: partition
        for partition in work.partitions.select_dropped(live.ref, drop.id)
        if names is None or partition.name in names
    }
    there = work.partitions.select_stored(live.ref, identified(was), lock=True)
    gone = sorted(was[number].name for number in was.keys() - {partition.id for partition in there})
    if gone:
        raise NotFoundError(f"partition {gone[0]} of {live.ref.name} is gone: undrop it first")
    before = befores(there)
    state, exact = [], []
    for partition in there:
        old = was[partition.id]
        state.append((copied(partition.partition.sd), old.partition.sd))
        if partition.version == old.version + 1:
            exact.append(partition.id)
        name, is_exact = f"{live.ref.name} partition {partition.name}", partition.id in exact
        _restore(partition.partition, old.partition, drop, name, moves, exact=is_exact)
    changed = as_changed(there)
    work.partitions_write.update(live.ref, changed)
    work.column_statistics.delete(live.ref.id, list(was), None, None)
    work.record(*alter_partitions(table_text(live.encoded.decode()), before, changed))
    work.drops.restore_statistics(drop.id, exact, list(was))
    return state


def _table(
    work: UnitOfWork, drop: Drop, live: StoredTable, moves: Sequence[Move]
) -> list[tuple[StorageDescriptor, StorageDescriptor]]:
    """Puts back, as `_partitions`, a table."""
    version, was = work.tables.before(drop.id)
    table = live.encoded.decode()
    before, current = table_text(table), live.encoded.decode().sd
    exact = live.ref.version == version + 1
    _restore(table, was, drop, str(live.ref.name), moves, exact=exact)
    work.tables.update(live.ref.id, live.ref.database_id, table)
    work.column_statistics.delete(live.ref.id, [TABLE_ITSELF], None, None)
    work.drops.restore_statistics(drop.id, [TABLE_ITSELF] if exact else [], [])
    work.record(table_events.alter_table(before, table_text(table)))
    return [(current, table.sd)]


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
