"""Changing a table: compare-and-swap, rename, columns with or without their partitions (Hive's HiveAlterHandler)."""

from __future__ import annotations

import copy
from collections.abc import Mapping

from metastore.domain import table_events
from metastore.domain.names import DatabaseName, TableName, fold
from metastore.domain.renaming import replaces
from metastore.domain.skew_limit import check_count
from metastore.domain.type_strings import can_change
from metastore.encoding.redaction import REDACTED, is_secret, kept_secrets
from metastore.errors import ConflictError, InvalidInputError, InvalidOperationError
from metastore.services.cascade.acid_tables import follow_rename
from metastore.services.cascade.buckets import check_bucketing_columns, keep_table_order
from metastore.services.cascade.columns import forget_columns_of_table
from metastore.services.cascade.dependencies import check_alter, follow_altered
from metastore.services.cascade.dropping import ChangingService, Retention
from metastore.services.cascade.freshness import keep_fresh
from metastore.services.cascade.skew import keep_table_skew
from metastore.services.files.journal import Journal
from metastore.services.files.moves import Move, relocate
from metastore.services.files.open_writes import follow_move, rewrite_partitions
from metastore.services.files.planning import Looked, plan_moves, refer
from metastore.services.rules.events import table_text
from metastore.services.rules.locations import admit_table
from metastore.services.rules.lookup import get_home, lock_tables, required, taken
from metastore.services.rules.meta_confs import disallows_type_changes
from metastore.services.rules.partitions import check_version, updates_statistics
from metastore.services.rules.table_data import keep_protected
from metastore.services.rules.tables import DDL_TIME, MANAGED, check_given, fill_statistics, is_true, is_view, normalise
from metastore.services.rules.transactional import check_changed
from metastore.services.service import Clock
from metastore.storage.references import TableRef
from metastore.storage.unit_of_work import Store, UnitOfWork
from metastore.warehouse import paths
from metastore.warehouse.filesystem import DirectoryStatistics, Warehouse
from thrift_idl.gen.hive_metastore.ttypes import StorageDescriptor, Table

EXPECTED_KEY, EXPECTED_VALUE = "expected_parameter_key", "expected_parameter_value"


class TableAlterService(ChangingService):
    """Rules of ALTER TABLE. Catalog and database names come folded."""

    def __init__(
        self,
        store: Store,
        journal: Journal,
        warehouse: Warehouse,
        clock: Clock,
        retention: Retention,
        *,
        follow_columns: bool = True,
    ) -> None:
        """`follow_columns`: dependent tables follow a change of columns, which is refused otherwise."""
        super().__init__(store, journal, warehouse, clock, retention)
        self._propagate = follow_columns

    def alter(self, name: TableName, new: Table, *, context: Mapping[str, str], cascade: bool = False) -> None:
        """Replaces a table. `context` holds the client's EnvironmentContext properties.

        Raises:
            ConflictError: `expected_parameter_key` no longer has the expected value.
            InvalidInputError: no database, columns or serde is given, or no location where files are counted.
            InvalidOperationError: the table is missing or is to change its catalog, the new name is taken, partition
                columns or an incompatible type would change.
        """
        if new.catName and fold(new.catName) != name.catalog:
            raise InvalidOperationError(f"Tables cannot be moved between catalogs: {name} is in {name.catalog}")
        database = DatabaseName(name.catalog, fold(new.dbName) or name.database)
        stays = database.table(fold(new.tableName)) == name
        counted = self._count(new) if stays and updates_statistics(context) else {}
        text = f"alter is not possible: new table {database}.{fold(new.tableName)} already exists"
        with taken(InvalidOperationError(text)):
            moving = self._journal.attempt(
                lambda looked: self._alter(name, database, copy.deepcopy(new), context, cascade, counted, looked)
            )
        self._journal.carry_out(moving)

    def _alter(
        self,
        name: TableName,
        database: DatabaseName,
        new: Table,
        context: Mapping[str, str],
        cascade: bool,
        counted: Mapping[str, DirectoryStatistics],
        looked: Looked,
    ) -> list[int]:
        with self._store.transaction() as work:
            if replaces(context):
                lock_tables(work, [name, database.table(fold(new.tableName))], "change")
            missing = InvalidOperationError(f"alter is not possible: {name} table not found")
            stored = required(work.tables.find(name, lock="change"), missing)
            old = stored.encoded.decode()
            check_version(str(name), stored.ref.version, context)
            _check_expected(old, new, context)
            new = self._successor(database, old, new, context)
            renamed = stored.ref.name != database.table(new.tableName)
            if updates_statistics(context) and not renamed and not new.partitionKeys and not is_view(new):
                fill_statistics([new], counted)
            _check_keys(old, new)
            if disallows_type_changes():
                _check_types(old, new)
            if cascade or not old.partitionKeys:
                check_bucketing_columns(old, new)
            target = _target(work, stored.ref, database)
            check_alter(work, stored, old, new, propagate=self._propagate)
            replacing = renamed and replaces(context)
            there = work.tables.find(database.table(new.tableName), lock="change") if replacing else None
            removing = self._drop_with_files(work, there) if there else []
            move = None if replacing else _move(work, old, new)
            forget_columns_of_table(work, stored.ref, old, new, cascade=cascade)
            work.tables.update(stored.ref.id, target, new)
            _follow(work, stored.ref, old, new, move, cascade=cascade)
            if renamed:
                work.partitions_write.announce()
            follow_rename(work, old, new)
            texts = table_text(stored.encoded.decode()), table_text(new)
            work.record(table_events.alter_table(*texts, truncated=is_truncation(context)))
            follow_altered(work, stored.ref, old, new)
            if not move and new.sd.location != old.sd.location:
                refer(work, [new.sd.location])
            return [*removing, *plan_moves(work, looked, [move] if move else [], stored.ref.id)]

    def _count(self, new: Table) -> dict[str, DirectoryStatistics]:
        """Counts the files of a table without partitions: file systems are asked before anything is locked. It must
        say where it lies (`check_given`).
        """
        location = new.sd.location if new.sd and not new.partitionKeys and not is_view(new) else None
        return self._warehouse.statistics([paths.normalise(location)]) if location else {}

    def _successor(self, database: DatabaseName, old: Table, new: Table, context: Mapping[str, str]) -> Table:
        new.createTime, new.creationMetadata = old.createTime, old.creationMetadata
        # Where files are counted, Hive must know where they lie.
        check_given(new, located=updates_statistics(context) and not old.partitionKeys and not is_view(old))
        new.sd.location = new.sd.location or old.sd.location
        kept_secrets(new.parameters, old.parameters)
        kept_secrets(new.sd.serdeInfo.parameters, old.sd.serdeInfo.parameters)
        keep_table_skew(old, new, context)
        keep_table_order(old, new, context)
        new = normalise(new, database)
        if (values := new.sd.skewedInfo.skewedColValues) != old.sd.skewedInfo.skewedColValues:
            check_count(len(values), new.parameters, f"{database}.{new.tableName}")
        check_changed(old, new)
        admit_table(self._warehouse.roots, new, old)
        keep_protected(old, new)
        new.parameters.setdefault(DDL_TIME, str(self._clock()))
        return new


def _check_expected(old: Table, new: Table, context: Mapping[str, str]) -> None:
    """Compares before it swaps (HIVE-26882): the commit of an Iceberg table without locks."""
    key, expected = context.get(EXPECTED_KEY), context.get(EXPECTED_VALUE)
    if key is None:
        return
    if expected is None or key not in (new.parameters or {}):
        raise InvalidInputError(
            f"{EXPECTED_VALUE}, and a new value of '{key}' in the table's parameters, must be given"
        )
    actual = old.parameters.get(key)
    if actual != expected:
        told = REDACTED if is_secret(key) else actual
        raise ConflictError(
            f"The table has been modified. The parameter value for key '{key}' is '{told}'. "
            f"The expected was value was '{expected}'"
        )


def _check_keys(old: Table, new: Table) -> None:
    if [key.name for key in old.partitionKeys] != [key.name for key in new.partitionKeys]:
        raise InvalidOperationError("partition keys can not be changed.")


def _check_types(old: Table, new: Table) -> None:
    """Refuses what Hive's metastore.disallow.incompatible.col.type.changes does; formats that keep their own schema are
    left alone, and columns that are merely taken away where files know them by their names.
    """
    own_schema = {"spark.sql.sources.provider", "table_type", "storage_handler"}
    if is_view(new) or own_schema & {*old.parameters, *new.parameters} or _merely_drops(old, new):
        return
    pairs = zip(old.sd.cols, new.sd.cols, strict=False)
    if changed := [after.name for before, after in pairs if not can_change(before.type, after.type)]:
        raise InvalidOperationError(
            "The following columns have types incompatible with the existing columns in their respective positions :\n"
            + ",".join(changed)
        )


def _target(work: UnitOfWork, table: TableRef, database: DatabaseName) -> int:
    if database == table.name.parent:
        return table.database_id
    missing = InvalidOperationError(f"alter is not possible: database {database} not found")
    return required(work.databases.find(database), missing).id


def _move(work: UnitOfWork, old: Table, new: Table) -> Move | None:
    """Returns the move of a managed table, if its default place moves with its name; sets the new location."""
    renamed = (old.dbName, old.tableName) != (new.dbName, new.tableName)
    if not renamed or old.tableType != MANAGED or not old.sd.location:
        return None
    # Where it was overwritten, it lies in a version below.
    own = paths.before_versions(old.sd.location)
    if not (paths.same(own, _default_place(work, old)) and paths.same(new.sd.location, old.sd.location)):
        return None
    move = Move(own, _default_place(work, new))
    relocate(new.sd, move)
    return move


def _default_place(work: UnitOfWork, table: Table) -> str:
    home = get_home(work, TableName.of(table).parent).encoded.decode().locationUri
    return paths.table_location(home, table.tableName)


def _follow(work: UnitOfWork, table: TableRef, old: Table, new: Table, move: Move | None, *, cascade: bool) -> None:
    """Passes on what partitions take over from their table."""
    if move:
        follow_move(work, table.id, move.source, move.target)
    if cascade and new.partitionKeys and _columns(old.sd) != _columns(new.sd):
        keep_fresh(work, table)
        work.partitions_write.change_columns(table, new.sd)
    retyped = [key.type for key in old.partitionKeys] != [key.type for key in new.partitionKeys]
    typed = table.with_keys([(key.name, key.type) for key in new.partitionKeys])
    if retyped:
        work.drops.retype(typed)
    if not (move or retyped) or not new.partitionKeys:
        return
    # Locations are part of what is stored encoded, and sort keys depend on the type: such rows are written anew.
    keep_fresh(work, table)
    rewrite_partitions(work, typed, None, [move] if move else [])


def _columns(sd: StorageDescriptor) -> list[tuple[str, str, str | None]]:
    return [(column.name, column.type, column.comment) for column in sd.cols]


def is_truncation(context: Mapping[str, str]) -> bool:
    """Returns true where the client's context says that the change is a TRUNCATE."""
    return context.get("alterTableOpType") == "TRUNCATE"


def do_cascade(context: Mapping[str, str]) -> bool:
    """Returns true where the client's context asks for CASCADE."""
    return is_true(dict(context), "CASCADE")


def _merely_drops(old: Table, new: Table) -> bool:
    """Tells whether the columns of a table of Parquet or ORC are some of those before, in their order."""
    if not (new.sd.inputFormat or "").endswith(("MapredParquetInputFormat", "OrcInputFormat")):
        return False
    before = iter(old.sd.cols)
    return all(any((b.name, b.type) == (after.name, after.type) for b in before) for after in new.sd.cols)
