"""Taking back what was dropped, truncated or overwritten (docs/explanation/files.md)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NamedTuple

from metastore.domain import events, table_events
from metastore.domain.names import DatabaseName, TableName, check_object_name
from metastore.domain.newer_rows_marker import NEWER_ROWS_MARKER
from metastore.errors import AlreadyExistsError, InvalidInputError, InvalidOperationError, MetastoreError, NotFoundError
from metastore.services.cascade.dependencies import is_dependent, rewrite
from metastore.services.cascade.dropping import forget_by_name, restore_by_name
from metastore.services.files.journal import FileService
from metastore.services.files.moves import Move, follow, relocate
from metastore.services.files.open_writes import follow_move, rewrite_partitions
from metastore.services.files.planning import Looked, check_not_given, plan_restore
from metastore.services.files.restore import moves_since, only, restore_contents
from metastore.services.rules.events import database_text, table_text
from metastore.services.rules.lookup import required
from metastore.services.rules.table_data import data_of, places_of_partition
from metastore.storage.references import StoredTable
from metastore.storage.repositories.drops import DATABASE, PARTITIONS, TABLE, Drop
from metastore.storage.repositories.partitions import named
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from thrift_idl.gen.hive_metastore.ttypes import Table

log = logging.getLogger("metastore.files")


class UndropTarget(NamedTuple):
    """What is to be taken back. `table.name` is empty for a database, `partition` the beginning of names.

    `new_name`: of the table. `number`: of the drop; None: the newest.
    """

    table: TableName
    partition: str = ""
    new_name: str = ""
    number: int | None = None


class Undropped(NamedTuple):
    """What is back, and how it is called now."""

    kind: str
    table: TableName
    partitions: int


class _TakenError(AlreadyExistsError):
    """Says what to do about it."""


class UndropService(FileService):
    """Rules of undrop. Names come folded, but those of partitions."""

    def dropped(self, catalog: str, database: str | None) -> list[tuple[Drop, int, int]]:
        """Lists what can be taken back, the newest first, with the files and bytes that are kept for it."""
        with self._store.read() as work:
            drops = work.drops.find(catalog, database)
            places = work.file_operations.kept_for([drop.id for drop in drops])
        counted = {}
        for drop in drops:
            files = [file for place in places.get(drop.id, ()) for file in self._warehouse.files(place)]
            counted[drop.id] = len(files), sum(file.bytes for file in files)
        return [(drop, *counted[drop.id]) for drop in drops]

    def undrop(self, wanted: UndropTarget) -> Undropped:
        """Takes back the newest of what was dropped of this name, all that one call dropped or truncated.

        Raises:
            NotFoundError: nothing of it can be taken back, or what it belongs to is gone.
            AlreadyExistsError: its name is taken.
            InvalidOperationError: its place is taken, or what was changed since would be lost.
            InvalidInputError: nothing is named, or what is no table is to have another name.
        """
        if not wanted.table.database:
            raise InvalidInputError("undrop needs a name: DATABASE, DATABASE.TABLE or DATABASE.TABLE@PARTITION")
        try:
            back, moving, current = self._journal.attempt(lambda looked: self._undrop(wanted, looked))
        except _TakenError:
            raise
        except AlreadyExistsError as error:
            general = f"{str(wanted.table).rstrip('.')}: {error}: drop or rename that first"
            raise AlreadyExistsError(self._in_the_way(wanted) or general) from None
        self._journal.carry_out(moving)
        self._unmark(current)
        return back

    def _in_the_way(self, wanted: UndropTarget) -> str | None:
        """Says which partition has the name of one that was to come back, and what to do; None where none has."""
        with self._store.read() as work:
            live = work.tables.find(wanted.table)
            drop = _chosen(work, wanted, live)
            names = _beginning(work, drop, wanted) if wanted.partition else None
            taken = work.drops.taken(drop.id, live.ref.id, names) if live else None
        if taken is None:
            return None
        others = "" if drop.partitions == 1 or names == [taken] else "; or take the others back by their names"
        return (
            f"{wanted.table}@{taken} is there already: drop it, or give it another name (ALTER TABLE … "
            f"PARTITION … RENAME TO PARTITION …), and take this one back then{others}"
        )

    def _unmark(self, places: Sequence[str]) -> None:
        """Nothing says any more that newer rows are elsewhere."""
        try:
            for place in places:
                for file in self._warehouse.children(place)[0]:
                    if paths.name(file.location).startswith(NEWER_ROWS_MARKER):
                        self._warehouse.delete_directory(file.location)
        except MetastoreError as error:
            log.warning("who reads by path is still told of newer rows: %s", error)

    def purge(self) -> None:
        """Forgets what cannot be taken back any more; the journal removes its files. One by one, on any server."""
        while True:
            with self._store.transaction(of_call=False) as work:
                number = work.drops.over()
                if number is None:
                    return
                for catalog, table_id in work.drops.hidden_ids(number):
                    forget_by_name(work, catalog, table_id)
                work.drops.purge(number)

    def _undrop(self, wanted: UndropTarget, looked: Looked) -> tuple[Undropped, list[int], list[str]]:
        """Also what is to be carried out, and where rows are current that were not."""
        with self._store.transaction() as work:
            name = wanted.table
            live = work.tables.find(name, lock="change") if name.name else None
            drop = _chosen(work, wanted, live)
            if not work.drops.lock(drop.id):
                raise _nothing(wanted)
            _check_new_name(wanted, drop)
            if drop.kind == DATABASE and not name.name:
                return *self._database(work, looked, drop), []
            if drop.kind in (DATABASE, TABLE):
                return *self._table(work, looked, drop, wanted), []
            if live is None or live.ref.id != drop.table_id:
                raise NotFoundError(f"{name}, of which this was {drop.kind}, is dropped: undrop the table first")
            names = _beginning(work, drop, wanted) if wanted.partition else None
            if drop.kind == PARTITIONS:
                return *self._partitions(work, looked, drop, live, names), []
            moving, current = restore_contents(work, looked, self._warehouse, drop, live, names)
            return Undropped(drop.kind, name, len(names or ()) or drop.partitions), moving, current

    def _database(self, work: UnitOfWork, looked: Looked, drop: Drop) -> tuple[Undropped, list[int]]:
        name = DatabaseName(drop.catalog, drop.database)
        if work.databases.find(name):
            raise _TakenError(
                f"database {name} is there already: undrop its tables one by one, with --as where their names are taken"
            )
        check_not_given(work.locations.referred(work.file_operations.origins(drop.id)))
        work.drops.restore_database(drop.id)
        gone = NotFoundError(f"catalog {drop.catalog}, of database {name}, is gone")
        stored = required(work.databases.find(name), gone)
        work.record(events.create_database(database_text(stored.encoded.decode())))
        hidden = work.drops.hidden(drop.id)
        self._show(work, drop, [table.id for table in hidden], stored.id)
        moving = plan_restore(work, looked, drop.id, only(None))
        work.drops.end(drop.id)
        return Undropped(DATABASE, name.table(""), 0), moving

    def _table(self, work: UnitOfWork, looked: Looked, drop: Drop, wanted: UndropTarget) -> tuple[Undropped, list[int]]:
        """Returns one table of a database, or a table with its dependents, which were dropped with it."""
        gone = NotFoundError(f"database {wanted.table.database} is gone: undrop it first (metastore undrop DATABASE)")
        database = required(work.databases.find(wanted.table.parent), gone)
        hidden = work.drops.hidden(drop.id)
        own = next(table.id for table in hidden if table.name == wanted.table.name)
        ids = [own] if drop.kind == DATABASE else [table.id for table in hidden]
        name = wanted.table.parent.table(wanted.new_name or wanted.table.name)
        if work.tables.reference(name):
            raise _TakenError(
                f"{name} is there already: take it back under another name, with --as NAME (UNDROP TABLE … AS name)"
            )
        shown = self._show(work, drop, ids, database.id, own, name)
        stored = next(table for table in shown if table.ref.id == own)
        mine = data_of(work, stored)
        moves: list[Move] = []
        if mine and paths.canonical(mine[0]) not in work.file_operations.origins(drop.id):
            given = work.locations.others(mine[:1], own, None)  # dropped without its data, which have stayed
            check_not_given(place for place, use in given.items() if use.itself)
        elif wanted.new_name and mine:
            home = str(database.encoded.decode().locationUri)
            moves = [Move(mine[0], paths.table_location(home, name.name))]
        if wanted.new_name:
            self._rename(work, stored, name, moves)
        places = [follow(place, moves) for place in mine] if drop.kind == DATABASE else None
        moving = plan_restore(work, looked, drop.id, only(places, moves), own)
        if len(ids) == len(hidden) and drop.kind == TABLE:
            work.drops.end(drop.id)
        return Undropped(TABLE, name, 0), moving

    def _show(
        self,
        work: UnitOfWork,
        drop: Drop,
        ids: list[int],
        database_id: int,
        own: int = 0,
        name: TableName | None = None,
    ) -> list[StoredTable]:
        """Lets queries find tables again, `own` by a name; returns them."""
        if missing := sorted(set(work.drops.missing_bases(ids))):
            text = f"it depends on {', '.join(missing)}, which is dropped: undrop that first"
            raise InvalidOperationError(text, others=missing)
        work.drops.show_tables(drop.id, ids, database_id, own, name.name if name else "")
        work.list_anew(ids)
        shown = work.tables.find_ids(ids)
        for stored in shown:
            table = stored.encoded.decode()
            if is_dependent(table) and not work.dependencies.upwards([stored.ref.id]):
                raise NotFoundError(f"{stored.ref.name} depended on tables that are gone for good: make it anew")
            restore_by_name(work, stored)
            work.record(table_events.create_table(table_text(table)))
        return shown

    def _rename(self, work: UnitOfWork, stored: StoredTable, name: TableName, moves: Sequence[Move]) -> None:
        """Gives a table its other name, and follows its directory, if that moves."""
        table: Table = stored.encoded.decode()
        table.tableName = name.name
        for move in moves:
            self._warehouse.roots.require([move.target])
            relocate(table.sd, move)
            follow_move(work, stored.ref.id, move.source, move.target)
        work.tables.update(stored.ref.id, stored.ref.database_id, table)
        if moves:
            rewrite_partitions(work, stored.ref, None, moves)

    def _partitions(
        self, work: UnitOfWork, looked: Looked, drop: Drop, live: StoredTable, names: list[str] | None
    ) -> tuple[Undropped, list[int]]:
        moves = moves_since(work, drop, live)
        moved = work.drops.partition_names(drop.id) if names is None and moves else names or ()
        work.drops.restore_partitions(drop.id, live.ref.id, names)
        if moves:
            rewrite_partitions(work, live.ref, named(moved), moves)
        work.list_anew([live.ref.id])
        table = live.encoded.decode()
        if is_dependent(table):
            rewrite(work, [live.ref.id])
        work.record(table_events.reload(table_text(table), None, refresh=True))
        chosen = work.partitions.select_stored(live.ref, named(names)) if names is not None else ()
        mine = [place for one in chosen for place in places_of_partition(one.partition, str(table.sd.location))]
        moving = plan_restore(work, looked, drop.id, only(None if names is None else mine, moves), live.ref.id)
        if names is None or not work.drops.left(drop.id):
            work.drops.end(drop.id)
        return Undropped(PARTITIONS, live.ref.name, len(names) if names is not None else drop.partitions), moving


def _chosen(work: UnitOfWork, wanted: UndropTarget, live: StoredTable | None) -> Drop:
    """Returns what is meant: the newest, or that of the number. Raises NotFoundError, InvalidOperationError."""
    name, table_id = wanted.table, live.ref.id if live else None
    of_name = work.drops.find(name.catalog, name.database, name.name, table_id)
    with_others = work.drops.hiding(name) if name.name else []
    by_id = {drop.id: drop for drop in [*of_name, *with_others]}
    found = [by_id[number] for number in sorted(by_id, reverse=True)]
    of_live = [drop for drop in found if drop.table_id in (None, table_id)]
    if wanted.partition:
        of_live = [drop for drop in of_live if drop.table_id and _beginning(work, drop, wanted)]
        if not of_live and live is None and found:
            raise NotFoundError(f"{name} is dropped: undrop the table first, then its partition")
    if wanted.number is not None:
        of_live = [drop for drop in of_live if drop.id == wanted.number]
    if not of_live:
        raise _nothing(wanted)
    drop = of_live[0]
    if drop.kind == TABLE and drop.name != name.name:
        other = f"{drop.database}.{drop.name}"
        raise InvalidOperationError(f"{name} was dropped with {other}: undrop that", others=[other])
    return drop


def _check_new_name(wanted: UndropTarget, drop: Drop) -> None:
    """Raises InvalidInputError where anything but a dropped table is to have another name, InvalidObjectError."""
    if not wanted.new_name:
        return
    if drop.kind not in (DATABASE, TABLE) or not wanted.table.name:
        what = "a database" if drop.kind == DATABASE else f"what was {drop.kind}"
        what = "a partition" if drop.kind == PARTITIONS else what
        raise InvalidInputError(f"{what} comes back under its own name: only a dropped table can have another (--as)")
    check_object_name("table", wanted.new_name)


def _beginning(work: UnitOfWork, drop: Drop, wanted: UndropTarget) -> list[str]:
    """Returns the names of those partitions of a drop that begin as is wanted."""
    return work.drops.partition_names(drop.id, f"{wanted.partition.strip('/')}/")


def _nothing(wanted: UndropTarget) -> NotFoundError:
    name = f"{wanted.table}@{wanted.partition}" if wanted.partition else str(wanted.table).rstrip(".")
    number = f" with the number {wanted.number}" if wanted.number is not None else ""
    return NotFoundError(
        f"nothing of {name}{number} can be taken back: it was not dropped within METASTORE_DROP_RETENTION, or was "
        "purged (`metastore dropped` lists the candidates)"
    )
