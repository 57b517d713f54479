"""Undoing drops, truncations and overwrites (docs/explanation/files.md)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple

from metastore.domain import events
from metastore.domain.names import DatabaseName, TableName, check_object_name
from metastore.domain.newer_rows_marker import NEWER_ROWS_MARKER
from metastore.domain.privileges import (
    OWNER_RIGHTS,
    PUBLIC,
    CallerGrants,
    Duty,
    Right,
    Securable,
    denied_rights,
    expanded,
)
from metastore.errors import (
    AlreadyExistsError,
    HiddenError,
    InvalidInputError,
    InvalidOperationError,
    MetastoreError,
    NotFoundError,
)
from metastore.services.authorization.authorization import Authorization
from metastore.services.authorization.undropped_locations import UndroppedLocations
from metastore.services.cascade.dependencies import rewrite
from metastore.services.cascade.dropping import forget_by_name, undrop_by_name
from metastore.services.files.change_loop import Attempt
from metastore.services.files.journal import Journal
from metastore.services.files.moves import Move, follow, relocate_table
from metastore.services.files.open_writes import follow_rename, move_registered, rewrite_partitions
from metastore.services.files.planning import check_available, plan_undrop
from metastore.services.files.undropping import moves_since, undrop_contents, undrop_target
from metastore.services.rules.events import database_text, table_text
from metastore.services.rules.iceberg_commits import names_metadata
from metastore.services.rules.lookup import required
from metastore.services.rules.table_data import data_of, locations_of_partition
from metastore.services.rules.tables import is_dependent
from metastore.services.service import FileService
from metastore.storage.references import StoredTable
from metastore.storage.repositories.drops import DATABASE, PARTITIONS, TABLE, Drop
from metastore.storage.repositories.partitions import named
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from thrift_idl.gen.hive_metastore.ttypes import Table

log = logging.getLogger("metastore.files")


class UndropTarget(NamedTuple):
    """The object to undrop.

    `table.name` is empty for a database. `partition`: the beginning of partition names, at a slash. `new_name`: of the
    table. `number`: the drop's id; None for the newest.
    """

    table: TableName
    partition: str = ""
    new_name: str = ""
    number: int | None = None


class Undropped(NamedTuple):
    """The kind of drop that was undone, the object under its present name, and the number of undropped partitions: also
    those that came back with their table or database."""

    kind: str
    table: TableName
    partitions: int


class _Undoing(NamedTuple):
    """`operations` are to be carried out; the rows of `current` locations are no longer replaced by newer ones."""

    undropped: Undropped
    operations: list[int]
    current: list[str]


class _NameTakenError(AlreadyExistsError):
    """The name of a database or table is taken. The message says what to do."""


class UndropService(FileService):
    """Rules of undrop. Names are in lower case, except names of partitions."""

    def __init__(self, journal: Journal, authorization: Authorization) -> None:
        super().__init__(journal)
        self._authorization = authorization
        self._undropped = UndroppedLocations(authorization, self._warehouse.roots)

    def dropped(self, catalog: str, database: str | None) -> list[tuple[Drop, int, int]]:
        """Lists drops that can be undone, the newest first, each with the files and bytes in the trash.

        The owner of a database does not see drops of an earlier one of this name. A rule may hide names from the owner.
        """
        drops = self._visible_drops(catalog, database)
        with self._store.read() as work:
            locations = work.file_operations.trash_locations([drop.id for drop in drops])
        counted = {}
        for drop in drops:
            files = [file for location in locations.get(drop.id, ()) for file in self._warehouse.files(location)]
            counted[drop.id] = len(files), sum(file.bytes for file in files)
        return [(drop, *counted[drop.id]) for drop in drops]

    def _visible_drops(self, catalog: str, database: str | None) -> list[Drop]:
        grants = self._authorization.grants()
        with self._store.read() as work:
            if grants.is_admin or Duty.DATA in grants.duties:
                return [drop for drop in work.drops.find(catalog, database) if not _is_denied(grants, drop.table)]
            drops = work.drops.find_present(catalog, database, grants.user)
        visible = self._authorization.would_see(drop.table for drop in drops if drop.name)
        return [drop for drop in drops if not drop.name or drop.dropped_by == grants.user or drop.table in visible]

    def undrop(self, target: UndropTarget) -> Undropped:
        """Undoes the newest drop of this name: all that one call dropped, truncated or overwrote.

        A drop of a later table of this name, which the caller may not undo, does not count.
        With authorization, only the user who dropped it, the owners at that time, and administrators may undo a drop.

        Raises:
            NotFoundError: no such drop can be undone, or not by this caller; or its table or database no longer exists.
            AlreadyExistsError: the name is taken.
            InvalidOperationError, PermissionDeniedError: the location is taken, or later changes would be lost.
            InvalidInputError: no name, or a new name for something other than a table.
        """
        if not target.table.database:
            raise InvalidInputError("undrop needs a name: DATABASE, DATABASE.TABLE or DATABASE.TABLE@PARTITION")
        grants = self._authorization.grants()
        try:
            undone = self._loop.change(lambda work, attempt: self._undo(work, attempt, target, grants))
        except _NameTakenError:
            raise
        except AlreadyExistsError as error:
            general = f"{str(target.table).rstrip('.')}: {error}: drop or rename the existing object first"
            raise AlreadyExistsError(self._partition_conflict(target) or general) from None
        self._journal.carry_out(undone.operations)  # after the commit (see `files.change_loop`)
        self._remove_marks(undone.current)
        return undone.undropped

    def purge(self) -> None:
        """Makes expired drops permanent, one by one. The journal deletes their files. Any server may do it."""
        if self._journal.lineage.problem():
            return
        while True:
            with self._store.transaction(audited=False) as work:
                drop_id = work.drops.lock_expired()
                if drop_id is None:
                    return
                for catalog, table_id in work.drops.table_ids(drop_id):
                    forget_by_name(work, catalog, table_id)
                work.drops.purge(drop_id)

    def _undo(self, work: UnitOfWork, attempt: Attempt, target: UndropTarget, grants: CallerGrants) -> _Undoing:
        """Undoes the drop in the catalog and plans the moves of its files."""
        name = target.table
        live = work.tables.find(name, lock="change") if name.name else None

        def may_undo(drop: Drop) -> bool:
            return _may_undo(work, grants, drop, name)

        drop = _choose(work, target, live, may_undo)
        if not may_undo(drop):
            raise HiddenError(str(_nothing(target)))
        if not work.drops.lock(drop.id):
            raise _nothing(target)
        _check_new_name(target, drop)
        if drop.kind == DATABASE and not name.name:
            return self._undrop_database(work, attempt, drop)
        if drop.kind in (DATABASE, TABLE):
            return self._undrop_table(work, attempt, drop, target)
        if live is None or live.ref.id != drop.table_id:
            raise NotFoundError(f"{name} is dropped: undrop the table first")
        names = _matching_names(work, drop, target) if target.partition else None
        if drop.kind == PARTITIONS:
            return self._undrop_partitions(work, attempt, drop, live, names)
        operations, current, returned = undrop_contents(work, attempt, self._warehouse, drop, live, names)
        self._undropped.check(work, drop, live.ref.id, returned)
        return _Undoing(Undropped(drop.kind, name, len(names or ()) or drop.partitions), operations, current)

    def _undrop_database(self, work: UnitOfWork, attempt: Attempt, drop: Drop) -> _Undoing:
        name = DatabaseName(drop.catalog, drop.database)
        if work.databases.find(name):
            raise _NameTakenError(
                f"database {name} exists already: undrop its tables one by one, with --as NAME if a name is in use"
            )
        self._undropped.check_free(work, drop)
        work.drops.undrop_database(drop.id)
        missing = NotFoundError(f"catalog {drop.catalog}, of database {name}, no longer exists")
        stored = required(work.databases.find(name), missing)
        work.record(events.create_database(database_text(stored.encoded.decode())))
        ids = [table.id for table in work.drops.tables(drop.id)]
        self._show(work, drop, ids, stored.id)
        self._undropped.check_tables(work, drop, ids)
        operations = plan_undrop(work, attempt, drop.id, undrop_target(None))
        work.drops.finish(drop.id)
        count = work.partitions.count_of(ids)
        return _Undoing(Undropped(DATABASE, name.table(""), count), operations, [])

    def _undrop_table(self, work: UnitOfWork, attempt: Attempt, drop: Drop, target: UndropTarget) -> _Undoing:
        """Undrops one table of a dropped database, or a dropped table with the dependents dropped with it."""
        missing = NotFoundError(
            f"database {target.table.database} was dropped: undrop it first (metastore undrop DATABASE)"
        )
        database = required(work.databases.find(target.table.parent), missing)
        hidden = work.drops.tables(drop.id)
        table_id = next(table.id for table in hidden if table.name == target.table.name)
        ids = [table_id] if drop.kind == DATABASE else [table.id for table in hidden]
        name = target.table.parent.table(target.new_name or target.table.name)
        if work.tables.reference(name):
            raise _NameTakenError(
                f"{name} exists already: undrop the table under another name, with --as NAME (UNDROP TABLE … AS name)"
            )
        tables = self._show(work, drop, ids, database.id, table_id, name)
        stored = next(table for table in tables if table.ref.id == table_id)
        table = stored.encoded.decode()
        locations = data_of(work, stored.ref, table)
        moves: list[Move] = []
        taken: list[str] = []
        if locations and paths.canonical(locations[0]) not in work.file_operations.original_locations(drop.id):
            taken = locations[:1]  # the table was dropped without its data, which is still where it was
        elif target.new_name and locations and names_metadata(table):
            taken = locations[:1]  # files of Iceberg name each other by their locations, so they go back to them
        elif target.new_name and locations:
            home = str(database.encoded.decode().locationUri)
            moves = [Move(locations[0], paths.table_location(home, name.name))]
            taken = [moves[0].target]
        used = work.locations.others(taken, table_id, None)
        check_available(location for location, use in used.items() if use.itself)
        if target.new_name:
            self._rename(work, stored, name, moves)
        self._undropped.check_tables(work, drop, ids, moves)
        included = [follow(location, moves) for location in locations]
        target_of = undrop_target(included if drop.kind == DATABASE else None, moves)
        operations = plan_undrop(work, attempt, drop.id, target_of, table_id, self._undropped.own(work, included))
        if moves:
            follow_rename(work, table_id, moves)
        if len(ids) == len(hidden) and drop.kind == TABLE:
            work.drops.finish(drop.id)
        return _Undoing(Undropped(TABLE, name, work.partitions.count_of([table_id])), operations, [])

    def _show(
        self,
        work: UnitOfWork,
        drop: Drop,
        ids: list[int],
        database_id: int,
        renamed_id: int = 0,
        name: TableName | None = None,
    ) -> list[StoredTable]:
        """Makes hidden tables visible again and returns them. `renamed_id`: the one that gets another `name`."""
        if missing := sorted(set(work.drops.missing_bases(ids))):
            text = f"it depends on {', '.join(missing)}: undrop the dropped base first"
            raise InvalidOperationError(text, others=missing)
        work.drops.undrop_tables(drop.id, ids, database_id, renamed_id, name.name if name else "")
        work.mark_partitions_changed(ids)
        tables = work.tables.find_ids(ids)
        for stored in tables:
            table = stored.encoded.decode()
            if is_dependent(table) and not work.dependencies.upwards([stored.ref.id]):
                raise NotFoundError(f"{stored.ref.name} depends on tables that were purged: create it again")
            undrop_by_name(work, stored)
            work.record(events.create_table(table_text(table)))
        return tables

    def _rename(self, work: UnitOfWork, stored: StoredTable, name: TableName, moves: Sequence[Move]) -> None:
        """Renames a table, and moves its directory and the locations of its partitions if needed."""
        table: Table = stored.encoded.decode()
        table.tableName = name.name
        for move in moves:
            self._warehouse.roots.require([move.target])
            relocate_table(table, move)
            move_registered(work, stored.ref.id, move.source, move.target)
        work.tables.update(stored.ref.id, stored.ref.database_id, table)
        if moves:
            rewrite_partitions(work, stored.ref, None, moves)

    def _undrop_partitions(
        self, work: UnitOfWork, attempt: Attempt, drop: Drop, live: StoredTable, names: list[str] | None
    ) -> _Undoing:
        """Undrops all partitions of a drop, or only those in `names`."""
        moves = moves_since(work, drop, live)
        restored = work.drops.partition_names(drop.id) if names is None else names
        work.drops.undrop_partitions(drop.id, live.ref.id, names)
        if moves:
            rewrite_partitions(work, live.ref, named(restored), moves)
        work.mark_partitions_changed([live.ref.id])
        self._undropped.check_partitions(work, drop, live, restored, moves)
        table = live.encoded.decode()
        if is_dependent(table):
            rewrite(work, [live.ref.id])
        work.record(events.reload(table_text(table), None, refresh=True))
        included, root = None, table.sd.location or ""
        if names is not None:
            partitions = work.partitions.select_stored(live.ref, named(names))
            included = [text for one in partitions for text in locations_of_partition(one.partition, root)]
        operations = plan_undrop(work, attempt, drop.id, undrop_target(included, moves), live.ref.id, root)
        if names is None or not work.drops.update_remaining(drop.id):
            work.drops.finish(drop.id)
        count = drop.partitions if names is None else len(names)
        return _Undoing(Undropped(PARTITIONS, live.ref.name, count), operations, [])

    def _partition_conflict(self, target: UndropTarget) -> str | None:
        """Returns the message for a partition whose name is taken, or None if no name is."""
        with self._store.read() as work:
            live = work.tables.find(target.table)
            drop = _choose(work, target, live, lambda _: True)
            names = _matching_names(work, drop, target) if target.partition else None
            taken = work.drops.find_taken_name(drop.id, live.ref.id, names) if live else None
        if taken is None:
            return None
        others = "" if drop.partitions == 1 or names == [taken] else "; or undrop the others by their names"
        return (
            f"{target.table}@{taken} exists already: drop or rename it first (ALTER TABLE … PARTITION … RENAME TO "
            f"PARTITION …){others}"
        )

    def _remove_marks(self, locations: Sequence[str]) -> None:
        """Removes the mark files that tell readers of these directories that newer rows are elsewhere."""
        try:
            for location in locations:
                for file in self._warehouse.children(location)[0]:
                    if paths.name(file.location).startswith(NEWER_ROWS_MARKER):
                        self._warehouse.delete_directory(file.location)
        except MetastoreError as error:
            log.warning(
                "Marks of replaced rows could not be removed; clients that read by path may see them: %s", error
            )


def _choose(work: UnitOfWork, target: UndropTarget, live: StoredTable | None, may_undo: Callable[[Drop], bool]) -> Drop:
    """Returns the drop to undo: the newest that the caller may undo, or the one with the number. `live`: the table of
    that name, if it exists.

    The caller must check whether it `may_undo` the drop. Errors reveal nothing about other drops.

    Raises NotFoundError, InvalidOperationError (the table was dropped together with another one).
    """
    name, table_id = target.table, live.ref.id if live else None
    of_name = work.drops.find(name.catalog, name.database, name.name, table_id)
    with_others = work.drops.of_table_name(name) if name.name else []
    by_id = {drop.id: drop for drop in [*of_name, *with_others]}
    drops = [by_id[number] for number in sorted(by_id, reverse=True)]
    # A drop of partitions or rows belongs to one table, not to a later one of the same name.
    candidates = [drop for drop in drops if drop.table_id in (None, table_id)]
    if target.partition:
        candidates = [drop for drop in candidates if drop.table_id and _matching_names(work, drop, target)]
        if not candidates and live is None and any(map(may_undo, drops)):
            raise NotFoundError(f"{name} is dropped: undrop the table first, then its partition")
    if target.number is not None:
        candidates = [drop for drop in candidates if drop.id == target.number]
    if not candidates:
        raise _nothing(target)
    # Another user may have dropped a later table of the name.
    drop = next((each for each in candidates if each.kind not in (DATABASE, TABLE) or may_undo(each)), candidates[0])
    if drop.kind == TABLE and drop.name != name.name and may_undo(drop):
        other = f"{drop.database}.{drop.name}"
        raise InvalidOperationError(f"{name} was dropped with {other}: undrop that table", others=[other])
    return drop


def _may_undo(work: UnitOfWork, grants: CallerGrants, drop: Drop, name: TableName) -> bool:
    """Returns whether the caller dropped it, owned the object or its database then, or is an administrator."""
    if _is_denied(grants, name):
        return False
    if grants.is_admin or Duty.DATA in grants.duties or (grants.user and drop.dropped_by == grants.user):
        return True
    owners = work.drops.owners(drop, name.name)
    return any(grants.is_principal(kind, owner) for owner, kind in owners if owner != PUBLIC)


def _is_denied(grants: CallerGrants, name: TableName) -> bool:
    """Returns whether a rule hides dropped objects of this name from the caller. `name.name`: empty for a database."""
    if grants.is_admin:
        return False
    dropped = Securable(name.catalog, name.database, 0, name=name.name or None)
    return expanded(denied_rights(grants, dropped)) >= OWNER_RIGHTS - {Right.OWNERSHIP}


def _check_new_name(target: UndropTarget, drop: Drop) -> None:
    """Raises InvalidInputError if something other than a table gets a new name, InvalidObjectError for a bad name."""
    if not target.new_name:
        return
    if drop.kind not in (DATABASE, TABLE) or not target.table.name:
        subject = {DATABASE: "a database", PARTITIONS: "a partition"}.get(drop.kind, f"a table that was {drop.kind}")
        raise InvalidInputError(f"{subject} cannot get a new name: omit --as, which is for dropped tables only")
    check_object_name("table", target.new_name)


def _matching_names(work: UnitOfWork, drop: Drop, target: UndropTarget) -> list[str]:
    """Returns the names of a drop's partitions that begin with the target's `partition`."""
    return work.drops.partition_names(drop.id, f"{target.partition.strip('/')}/")


def _nothing(target: UndropTarget) -> NotFoundError:
    name = f"{target.table}@{target.partition}" if target.partition else str(target.table).rstrip(".")
    number = f" with the number {target.number}" if target.number is not None else ""
    return NotFoundError(
        f"nothing of {name}{number} can be undropped: it was not dropped within METASTORE_DROP_RETENTION, was "
        f"purged, or was dropped by another user and you did not own it (`metastore dropped "
        f"{target.table.database}` lists the candidates)"
    )
