"""Moving partitions from one table to another of the same columns, with their files."""

from __future__ import annotations

import copy
from collections.abc import Mapping

from metastore.domain import table_events
from metastore.domain.names import TableName, fold
from metastore.errors import InvalidInputError
from metastore.services.cascade.dependencies import check_writable, columns_of
from metastore.services.files.journal import FileService
from metastore.services.files.moves import Move, relocate
from metastore.services.files.planning import Looked, plan_moves
from metastore.services.rules.events import objects, table_text
from metastore.services.rules.lookup import lock_tables, required, taken
from metastore.services.rules.table_data import check_unprotected
from metastore.storage.postgres.sql import Condition
from metastore.storage.queries.filters import values_condition
from metastore.storage.references import StoredPartition, StoredTable
from metastore.storage.repositories.partitions_write import NamedPartition
from metastore.storage.unit_of_work import UnitOfWork
from metastore.warehouse import paths
from thrift_idl.gen.hive_metastore.ttypes import Partition, Table


class PartitionExchangeService(FileService):
    """Rules of EXCHANGE PARTITION (Hive's HMSHandler)."""

    def exchange(self, source: TableName, target: TableName, values: Mapping[str, str] | None) -> list[Partition]:
        """Moves the partitions of these values (by column; of the first columns) to the target; returns them.

        Their directories move along. All or nothing is moved. As in Hive, other names than columns' are passed over.

        Raises InvalidInputError: a table, partition or directory is missing, a partition lies at a place of its own,
        the tables differ, or the target has one already. InvalidOperationError: the source is protected.
        """
        if values is None or not (source.database and source.name and target.database and target.name):
            raise InvalidInputError(
                "The DB and table name for the source and destination tables, and the partition specs must not be null."
            )
        if source.catalog != target.catalog:
            raise InvalidInputError("You cannot move a partition across catalogs")
        self._check_directories(source, values)
        text = f"One of the partitions {dict(values)} already exists in the table {target.name}"
        with taken(InvalidInputError(text)):
            arrived, moving = self._journal.attempt(lambda looked: self._exchange(source, target, values, looked))
        self._journal.carry_out(moving)
        return arrived

    def _exchange(
        self, source: TableName, target: TableName, values: Mapping[str, str], looked: Looked
    ) -> tuple[list[Partition], list[int]]:
        with self._store.transaction() as work:
            old, new = _tables(work, source, target)
            chosen = _chosen(work, old, values)
            owners = old.encoded.decode(), new.encoded.decode()
            check_unprotected(owners[0])
            for owner in owners:
                check_writable(owner, "Cannot exchange partitions")
            _check_columns(*owners)
            pairs = [(partition, _successor(partition, *owners)) for partition in chosen]
            work.partitions_write.delete(old.ref, [partition.name for partition in chosen])
            arrived = [NamedPartition(partition.name, after) for partition, after in pairs]
            work.partitions_write.insert(new.ref, arrived)
            gone = [partition.partition.values for partition in chosen]
            work.record(
                *table_events.add_partitions(table_text(owners[1]), gone, objects(arrived)),
                *table_events.drop_partitions(table_text(owners[0]), gone),
            )
            moves = [move for partition, after in pairs if (move := _move(partition.partition, after))]
            moving = plan_moves(work, looked, moves, new.ref.id, owners[0].sd.location)
            return [partition.partition for partition in arrived], moving

    def _check_directories(self, source: TableName, values: Mapping[str, str]) -> None:
        """Checks directories of partitions that are there; nothing is locked while file systems are asked."""
        with self._store.read() as work:
            table = work.tables.find(source)
            condition = _condition(table, values) if table else None
            found = work.partitions.select_stored(table.ref, condition) if table and condition else []
        for partition in found:
            place = partition.partition.sd.location
            if place and self._warehouse.is_missing(place):
                raise InvalidInputError(f"The directory of partition {partition.name} is missing: {place}")


def _tables(work: UnitOfWork, source: TableName, target: TableName) -> tuple[StoredTable, StoredTable]:
    there = lock_tables(work, [source, target], "share")
    text = "The {} table {}.{} not found"
    new = required(there.get(target), InvalidInputError(text.format("destination", target.catalog, target)))
    old = required(there.get(source), InvalidInputError(text.format("source", source.catalog, source)))
    if source == target:
        raise InvalidInputError(f"The partitions already exist in the table {target.name}")
    return old, new


def _condition(table: StoredTable, values: Mapping[str, str]) -> Condition | None:
    """Returns the partitions that are meant: those of the first columns' values. Raises InvalidInputError."""
    given = {fold(column): value for column, value in values.items()}
    wanted = [given.get(name) or "" for name in table.ref.key_names]
    if "" in wanted and any(wanted[wanted.index("") :]):
        raise InvalidInputError(
            f"Partitions are exchanged by the values of their first columns, {', '.join(table.ref.key_names)}: "
            f"{dict(values)} leaves one out"
        )
    return values_condition(wanted, table.ref.keys)


def _chosen(work: UnitOfWork, table: StoredTable, values: Mapping[str, str]) -> list[StoredPartition]:
    none = InvalidInputError(f"Invalid partition key & values; keys {table.ref.key_names}, values {dict(values)}")
    condition = required(_condition(table, values), none)
    chosen = work.partitions.select_stored(table.ref, condition, lock=True)
    if not chosen:
        name = table.ref.name.name
        raise InvalidInputError(f"No partition is found with the values {dict(values)} for the table {name}")
    return chosen


def _check_columns(source: Table, target: Table) -> None:
    own, others = ((columns_of(one.sd.cols), columns_of(one.partitionKeys)) for one in (source, target))
    if own != others:
        raise InvalidInputError("The tables have different schemas. Their partitions cannot be exchanged.")


def _successor(stored: StoredPartition, source: Table, target: Table) -> Partition:
    """Returns the partition as it is in the target. Raises InvalidInputError for one that has a place of its own."""
    after = copy.deepcopy(stored.partition)
    after.catName, after.dbName, after.tableName = target.catName, target.dbName, target.tableName
    location = after.sd.location
    if not (location and source.sd.location and target.sd.location):
        return after
    # Where it was overwritten, it lies in a version below.
    if not paths.same(paths.before_versions(location), paths.partition_location(source.sd.location, stored.name)):
        raise InvalidInputError(
            f"Partition {stored.name} of {source.dbName}.{source.tableName} cannot be exchanged: it lies at a place "
            f"of its own, {location}"
        )
    relocate(after.sd, Move(location, paths.partition_location(target.sd.location, stored.name)))
    return after


def _move(before: Partition, after: Partition) -> Move | None:
    return None if before.sd.location == after.sd.location else Move(before.sd.location, after.sd.location)
