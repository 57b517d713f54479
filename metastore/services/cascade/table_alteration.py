"""The consequences of altering a table: rename, columns, also of partitions (Hive's HiveAlterHandler)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from metastore.context import authorization_basis
from metastore.domain import events
from metastore.domain.column_statistics import updates_statistics
from metastore.domain.names import DatabaseName, TableName
from metastore.domain.renaming import replaces, truncates
from metastore.domain.skew import check_count
from metastore.domain.type_strings import can_change
from metastore.encoding.redaction import restore_secrets
from metastore.errors import ConflictError, InvalidOperationError
from metastore.services.cascade.acid_tables import follow_rename
from metastore.services.cascade.buckets import check_bucketing_columns, keep_table_order
from metastore.services.cascade.columns import forget_columns_of_table
from metastore.services.cascade.dependencies import check_alter, follow_altered
from metastore.services.cascade.dropping import TableDropping
from metastore.services.cascade.freshness import keep_fresh
from metastore.services.cascade.skew import keep_table_skew
from metastore.services.files.change_loop import Attempt
from metastore.services.files.moves import Move, relocate_table
from metastore.services.files.open_writes import move_registered, rewrite_partitions
from metastore.services.files.planning import check_unblocked, plan_moves
from metastore.services.rules.events import table_text
from metastore.services.rules.lookup import get_home, required
from metastore.services.rules.meta_confs import disallows_type_changes
from metastore.services.rules.table_data import keep_protected
from metastore.services.rules.tables import (
    DDL_TIME,
    EXTERNAL,
    MANAGED,
    admit_table,
    check_given,
    check_policies,
    fill_statistics,
    is_view,
    kept_kind,
    normalise,
    takes_counts,
)
from metastore.services.rules.transactional import check_changed
from metastore.storage.references import StoredTable, TableRef
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.filesystem import DirectoryStatistics, Warehouse
from thrift_idl.gen.hive_metastore.ttypes import StorageDescriptor, Table


class Alteration(NamedTuple):
    """One table before and after. `counted`: the files of its directory, by location; `cascade`: also partitions."""

    stored: StoredTable
    old: Table
    new: Table
    context: Mapping[str, str]
    counted: Mapping[str, DirectoryStatistics | None]
    cascade: bool


class TableAlteration:
    """Checks and stores altered tables."""

    def __init__(
        self, warehouse: Warehouse, clock: Callable[[], int], dropping: TableDropping, *, propagate: bool
    ) -> None:
        """`clock`: returns seconds since 1970. `propagate`: column changes are passed on to dependent tables."""
        self._warehouse, self._clock, self._dropping, self._propagate = warehouse, clock, dropping, propagate

    def alter(self, work: UnitOfWork, attempt: Attempt, alteration: Alteration) -> list[int]:
        """Stores the new table and all consequences. Returns the file operations to carry out after the commit.

        Raises InvalidOperationError for a change that Hive, partitions or dependent tables do not allow.
        """
        self._check_change(work, alteration)
        return self._change(work, attempt, alteration)

    def successor(self, database: DatabaseName, old: Table, new: Table, context: Mapping[str, str]) -> Table:
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

    def _check_change(self, work: UnitOfWork, alteration: Alteration) -> None:
        """Raises InvalidOperationError for a change that Hive, partitions or dependent tables do not allow."""
        old, new = alteration.old, alteration.new
        if [key.name for key in old.partitionKeys] != [key.name for key in new.partitionKeys]:
            raise InvalidOperationError("partition keys can not be changed.")
        if disallows_type_changes():
            _check_types(old, new)
        if alteration.cascade or not old.partitionKeys:
            check_bucketing_columns(old, new)
        check_alter(work, alteration.stored, old, new, propagate=self._propagate)

    def _change(self, work: UnitOfWork, attempt: Attempt, alteration: Alteration) -> list[int]:
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
        before = stored.encoded.decode()  # the caller may have changed `old`
        work.tables.update(stored.ref.id, database_id, new, before)
        _follow(work, stored.ref, old, new, move, cascade=alteration.cascade)
        if renamed:
            work.partitions_write.announce()
        if (new.owner, new.ownerType) != (old.owner, old.ownerType):
            work.change_privileges()
        follow_rename(work, old, new)
        texts = table_text(before), table_text(new)
        work.record(events.alter_table(*texts, truncated=truncates(context)))
        follow_altered(work, stored.ref, old, new)
        if not move and new.sd.location != old.sd.location:
            check_unblocked(work, [new.sd.location])
        return [*operations, *plan_moves(work, attempt, [move] if move else [], stored.ref.id)]


def check_decided(table: StoredTable) -> None:
    """Raises ConflictError if the table has changed since the authorization that depended on its version."""
    basis = authorization_basis.get()
    if basis is not None and basis.version not in (None, table.ref.version):
        raise ConflictError(f"Another client has just changed {table.ref.name}: read it again and repeat the change")


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
    relocate_table(new, move)
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


def _only_drops_columns(old: Table, new: Table) -> bool:
    """Returns whether the new columns of a Parquet or ORC table are a subset of the old ones, in the same order."""
    if not (new.sd.inputFormat or "").endswith(("MapredParquetInputFormat", "OrcInputFormat")):
        return False
    before = iter(old.sd.cols)
    return all(any((b.name, b.type) == (after.name, after.type) for b in before) for after in new.sd.cols)
