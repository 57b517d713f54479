"""Altering tables: compare-and-swap, rename, columns, also of partitions (Hive's HiveAlterHandler)."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from metastore.context import authorization_basis
from metastore.domain import events
from metastore.domain.column_statistics import updates_statistics
from metastore.domain.names import DatabaseName, TableName, fold
from metastore.domain.renaming import replaces, truncates
from metastore.domain.skew import check_count
from metastore.domain.type_strings import can_change
from metastore.encoding.redaction import is_secret, restore_secrets
from metastore.errors import ConflictError, InvalidInputError, InvalidOperationError
from metastore.services.cascade.acid_tables import follow_rename
from metastore.services.cascade.buckets import check_bucketing_columns, keep_table_order
from metastore.services.cascade.columns import forget_columns_of_table
from metastore.services.cascade.dependencies import check_alter, follow_altered
from metastore.services.cascade.freshness import keep_fresh
from metastore.services.cascade.retention import Retention
from metastore.services.cascade.skew import keep_table_skew
from metastore.services.files.change_loop import Attempt
from metastore.services.files.journal import Journal
from metastore.services.files.moves import Move, relocate
from metastore.services.files.open_writes import move_registered, rewrite_partitions
from metastore.services.files.planning import check_unblocked, plan_moves
from metastore.services.files.replaced_locations import check_not_replaced
from metastore.services.rules.events import table_text
from metastore.services.rules.iceberg_commits import check_commit, modified
from metastore.services.rules.lookup import get_home, lock_tables, required, taken
from metastore.services.rules.meta_confs import disallows_type_changes
from metastore.services.rules.partitions import check_version
from metastore.services.rules.table_data import keep_protected
from metastore.services.rules.tables import (
    DDL_TIME,
    EXTERNAL,
    MANAGED,
    admit_table,
    check_given,
    check_policies,
    fill_statistics,
    is_true,
    is_view,
    kept_kind,
    normalise,
    takes_counts,
)
from metastore.services.rules.transactional import check_changed
from metastore.services.service import ChangingService, Clock
from metastore.storage.references import StoredTable, TableRef
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.filesystem import DirectoryStatistics
from thrift_idl.gen.hive_metastore.ttypes import StorageDescriptor, Table

EXPECTED_KEY, EXPECTED_VALUE = "expected_parameter_key", "expected_parameter_value"


class _Alteration(NamedTuple):
    """One table before and after. `counted`: the files of its directory, by location; `cascade`: also partitions."""

    stored: StoredTable
    old: Table
    new: Table
    context: Mapping[str, str]
    counted: Mapping[str, DirectoryStatistics | None]
    cascade: bool


class TableAlterService(ChangingService):
    """Rules of ALTER TABLE. Catalog and database names are in lower case."""

    def __init__(self, journal: Journal, clock: Clock, retention: Retention, *, follow_columns: bool = True) -> None:
        """`follow_columns`: column changes are passed on to dependent tables. Otherwise they are rejected."""
        super().__init__(journal, clock, retention)
        self._propagate = follow_columns

    def alter(self, name: TableName, new: Table, *, context: Mapping[str, str], cascade: bool = False) -> None:
        """Replaces a table. `context`: the properties of the client's EnvironmentContext. `cascade`: also partitions.

        Raises:
            ConflictError: `expected_parameter_key` no longer has the expected value.
            InvalidInputError: the database, columns or serde is missing, or the location if files are counted.
            InvalidOperationError: the table does not exist or would change its catalog, the new name exists, or
                partition columns or an incompatible type would change.
        """
        if new.catName and fold(new.catName) != name.catalog:
            raise InvalidOperationError(f"Tables cannot be moved between catalogs: {name} is in {name.catalog}")
        database = DatabaseName(name.catalog, fold(new.dbName) or name.database)
        target = database.table(fold(new.tableName))
        # 1. Look: no transaction is open (see `files.change_loop`).
        counted: dict[str, DirectoryStatistics | None] = {}  # by location; None if the directory does not exist
        if target == name and updates_statistics(context) and new.sd and not new.partitionKeys and not is_view(new):
            self._count(paths.absolute([new.sd.location]), counted)

        def plan(work: UnitOfWork, attempt: Attempt) -> list[int]:
            stored = _lock(work, name, target if replaces(context) else None)
            old = stored.encoded.decode()
            check_version(str(name), stored.ref.version, context)
            _check_decided(stored)
            _check_expected(old, new, context)
            check_commit(old, new, context.get(EXPECTED_KEY))
            # A repeated attempt begins with the table that the client sent.
            after = self._successor(database, old, copy.deepcopy(new), context)
            check_not_replaced(work, stored, {str(name): (old, after)}, context)
            alteration = _Alteration(stored, old, after, context, counted, cascade)
            self._check_change(work, alteration)
            return self._change(work, attempt, alteration)

        with taken(InvalidOperationError(f"alter is not possible: new table {target} already exists")):
            operations = self._loop.change(plan, look=lambda required: self._count(required, counted))
        self._journal.carry_out(operations)  # 3. carry out, after the commit

    def _count(self, locations: Sequence[str], counted: dict[str, DirectoryStatistics | None]) -> None:
        if locations:
            normalised = list(map(paths.normalise, locations))
            counted |= dict.fromkeys(normalised) | self._warehouse.statistics(normalised)

    def _successor(self, database: DatabaseName, old: Table, new: Table, context: Mapping[str, str]) -> Table:
        """Completes the new table with kept fields of the old one, and checks it by itself."""
        new.createTime, new.creationMetadata = old.createTime, old.creationMetadata
        if new.owner == old.owner:
            new.ownerType = kept_kind(new.ownerType, old.ownerType)
        # As in Hive, a location is required if files are counted.
        check_given(new, located=updates_statistics(context) and not old.partitionKeys and not is_view(old))
        new.sd.location = new.sd.location or old.sd.location
        restore_secrets(new.parameters, old.parameters)
        restore_secrets(new.sd.serdeInfo.parameters, old.sd.serdeInfo.parameters)
        keep_table_skew(old, new, context)
        keep_table_order(old, new, context)
        new = normalise(new, database)
        if (values := new.sd.skewedInfo.skewedColValues) != old.sd.skewedInfo.skewedColValues:
            check_count(len(values), new.parameters, f"{database}.{new.tableName}")
        check_policies(new, old)
        check_changed(old, new)
        admit_table(self._warehouse.roots, new, old)
        keep_protected(old, new)
        new.parameters.setdefault(DDL_TIME, str(self._clock()))
        return new

    def _check_change(self, work: UnitOfWork, alteration: _Alteration) -> None:
        """Raises InvalidOperationError for a change that Hive, partitions or dependent tables do not allow."""
        old, new = alteration.old, alteration.new
        if [key.name for key in old.partitionKeys] != [key.name for key in new.partitionKeys]:
            raise InvalidOperationError("partition keys can not be changed.")
        if disallows_type_changes():
            _check_types(old, new)
        if alteration.cascade or not old.partitionKeys:
            check_bucketing_columns(old, new)
        check_alter(work, alteration.stored, old, new, propagate=self._propagate)

    def _change(self, work: UnitOfWork, attempt: Attempt, alteration: _Alteration) -> list[int]:
        """Stores the new table and all consequences. Returns the file operations to carry out."""
        stored, old, new, context = alteration.stored, alteration.old, alteration.new, alteration.context
        operations: list[int] = []
        database_id = _database_id(work, stored.ref, TableName.of(new).parent)
        renamed = stored.ref.name != TableName.of(new)
        replacing = renamed and replaces(context)
        if replacing and (replaced := work.tables.find(TableName.of(new), lock="change")):
            operations = self._dropping.drop(work, replaced)
        kept = replacing or _keeps_counts(old, new)
        move = None if replacing else _move(work, old, new)
        if not kept and updates_statistics(context) and takes_counts(new):
            attempt.require_listed(map(paths.normalise, paths.absolute([new.sd.location])), alteration.counted)
            fill_statistics([new], alteration.counted, context)
        forget_columns_of_table(work, stored.ref, old, new)
        work.tables.update(stored.ref.id, database_id, new)
        _follow(work, stored.ref, old, new, move, cascade=alteration.cascade)
        if renamed:
            work.partitions_write.announce()
        if (new.owner, new.ownerType) != (old.owner, old.ownerType):
            work.change_privileges()
        follow_rename(work, old, new)
        texts = table_text(stored.encoded.decode()), table_text(new)
        work.record(events.alter_table(*texts, truncated=truncates(context)))
        follow_altered(work, stored.ref, old, new)
        if not move and new.sd.location != old.sd.location:
            check_unblocked(work, [new.sd.location])
        return [*operations, *plan_moves(work, attempt, [move] if move else [], stored.ref.id)]


def _lock(work: UnitOfWork, name: TableName, replaced: TableName | None) -> StoredTable:
    """Locks and reads the table. `replaced`: another table that the call replaces, locked in the order of their ids."""
    if replaced:
        lock_tables(work, [name, replaced], "change")
    missing = InvalidOperationError(f"alter is not possible: {name} table not found")
    return required(work.tables.find(name, lock="change"), missing)


def _check_decided(table: StoredTable) -> None:
    """Raises ConflictError if the table has changed since the authorization that depended on its version."""
    basis = authorization_basis.get()
    if basis is not None and basis.version not in (None, table.ref.version):
        raise ConflictError(f"Another client has just changed {table.ref.name}: read it again and repeat the change")


def _check_expected(old: Table, new: Table, context: Mapping[str, str]) -> None:
    """The compare of compare-and-swap (HIVE-26882), by which Iceberg commits without locks."""
    key, expected = context.get(EXPECTED_KEY), context.get(EXPECTED_VALUE)
    if key is None:
        return
    if is_secret(key):  # an error would tell whether a guess is right
        raise InvalidInputError(f"{EXPECTED_KEY} is {key}: it cannot be the name of a secret")
    if expected is None or key not in (new.parameters or {}):
        raise InvalidInputError(
            f"{EXPECTED_KEY} needs {EXPECTED_VALUE}, and a new value of '{key}' in the table's parameters"
        )
    actual = old.parameters.get(key)
    if actual != expected:
        raise modified(key, actual, expected)


def _check_types(old: Table, new: Table) -> None:
    """Rejects incompatible types, as Hive does with metastore.disallow.incompatible.col.type.changes.

    Not checked are formats that keep their own schema, and dropped columns if files refer to columns by name.
    """
    own_schema = {"spark.sql.sources.provider", "table_type", "storage_handler"}
    if is_view(new) or own_schema & {*old.parameters, *new.parameters} or _only_drops_columns(old, new):
        return
    pairs = zip(old.sd.cols, new.sd.cols, strict=False)
    if changed := [after.name for before, after in pairs if not can_change(before.type, after.type)]:
        raise InvalidOperationError(
            "The following columns have types incompatible with the existing columns in their respective positions :\n"
            + ",".join(changed)
        )


def _database_id(work: UnitOfWork, table: TableRef, database: DatabaseName) -> int:
    """Returns the id of the database that the table is moved to. Raises InvalidOperationError if it does not exist."""
    if database == table.name.parent:
        return table.database_id
    missing = InvalidOperationError(f"alter is not possible: database {database} not found")
    return required(work.databases.find(database), missing).id


def _move(work: UnitOfWork, old: Table, new: Table) -> Move | None:
    """Sets the new location of a renamed managed table and returns the move of its directory.

    As in Hive, only a table at its default location moves, and only if the client does not set another location.
    """
    renamed = (old.dbName, old.tableName) != (new.dbName, new.tableName)
    if not renamed or old.tableType != MANAGED or not old.sd.location:
        return None
    # An overwritten table is in a _versions directory below its location.
    directory = paths.without_version(old.sd.location)
    if not (paths.same(directory, _default_location(work, old)) and paths.same(new.sd.location, old.sd.location)):
        return None
    move = Move(directory, _default_location(work, new))
    relocate(new.sd, move)
    return move


def _keeps_counts(old: Table, new: Table) -> bool:
    """Returns whether a table keeps the statistics that the client sends. As in Hive, a renamed one does, except an
    external table or one that gets another location.
    """
    if (old.dbName, old.tableName) == (new.dbName, new.tableName) or old.tableType == EXTERNAL:
        return False
    return bool(old.sd.location) and paths.same(old.sd.location, new.sd.location)


def _default_location(work: UnitOfWork, table: Table) -> str:
    home = get_home(work, TableName.of(table).parent).encoded.decode().locationUri
    return paths.table_location(home, table.tableName)


def _follow(work: UnitOfWork, table: TableRef, old: Table, new: Table, move: Move | None, *, cascade: bool) -> None:
    """Passes the change on to partitions, writes and dropped partitions: locations, columns and types of keys."""
    if move:
        move_registered(work, table.id, move.source, move.target)
    if cascade and new.partitionKeys and _columns(old.sd) != _columns(new.sd):
        keep_fresh(work, table)
        work.partitions_write.change_columns(table, new.sd)
    retyped = [key.type for key in old.partitionKeys] != [key.type for key in new.partitionKeys]
    typed = table.with_keys([(key.name, key.type) for key in new.partitionKeys])
    if retyped:
        work.drops.retype(typed)
    if not (move or retyped) or not new.partitionKeys:
        return
    # Partitions are stored encoded, with their locations and with sort keys that depend on the type.
    keep_fresh(work, table)
    rewrite_partitions(work, typed, None, [move] if move else [])


def _columns(sd: StorageDescriptor) -> list[tuple[str, str, str | None]]:
    return [(column.name, column.type, column.comment) for column in sd.cols]


def do_cascade(context: Mapping[str, str]) -> bool:
    """Returns whether the client's context asks for CASCADE."""
    return is_true(dict(context), "CASCADE")


def _only_drops_columns(old: Table, new: Table) -> bool:
    """Returns whether the new columns of a Parquet or ORC table are a subset of the old ones, in the same order."""
    if not (new.sd.inputFormat or "").endswith(("MapredParquetInputFormat", "OrcInputFormat")):
        return False
    before = iter(old.sd.cols)
    return all(any((b.name, b.type) == (after.name, after.type) for b in before) for after in new.sd.cols)
