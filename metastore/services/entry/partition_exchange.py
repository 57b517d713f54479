"""Moving partitions from one table to another of the same columns, with their files."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence

from metastore.domain import table_events
from metastore.domain.names import TableName, fold
from metastore.errors import AlreadyExistsError, InvalidInputError
from metastore.services.cascade.dependencies import check_writable
from metastore.services.files.journal import Journal, Looked, decide_moves
from metastore.services.files.moves import Move, relocate
from metastore.services.rules.events import objects, table_text
from metastore.storage.queries.filters import values_condition
from metastore.storage.references import StoredPartition, StoredTable
from metastore.storage.repositories.partitions_write import NamedPartition
from metastore.storage.unit_of_work import Store, UnitOfWork
from metastore.warehouse import paths
from thrift_idl.gen.hive_metastore.ttypes import FieldSchema, Partition, Table


class PartitionExchangeService:
    """Rules of EXCHANGE PARTITION (Hive's HMSHandler)."""

    def __init__(self, store: Store, journal: Journal) -> None:
        self._store = store
        self._journal = journal

    def exchange(self, source: TableName, target: TableName, values: Mapping[str, str] | None) -> list[Partition]:
        """Moves the partitions of these values (by column; of some columns at least) to the target; returns them.

        Files below the source table move along; a partition that lies elsewhere stays there. All or nothing is moved.

        Raises InvalidInputError: a table or partition is missing, the tables differ, or the target has one already.
        """
        if values is None or not (source.database and source.name and target.database and target.name):
            raise InvalidInputError(
                "The DB and table name for the source and destination tables, and the partition specs must not be null."
            )
        if source.catalog != target.catalog:
            raise InvalidInputError("You cannot move a partition across catalogs")
        try:
            arrived, moving = self._journal.attempt(lambda looked: self._exchange(source, target, values, looked))
        except AlreadyExistsError:
            text = f"One of the partitions {dict(values)} already exists in the table {target.name}"
            raise InvalidInputError(text) from None
        self._journal.carry_out(moving)
        return arrived

    def _exchange(
        self, source: TableName, target: TableName, values: Mapping[str, str], looked: Looked
    ) -> tuple[list[Partition], list[int]]:
        with self._store.transaction() as work:
            old, new = _tables(work, source, target)
            chosen = _chosen(work, old, values)
            owners = old.encoded.decode(), new.encoded.decode()
            for owner in owners:
                check_writable(owner, "Cannot exchange partitions")
            _check_columns(*owners)
            pairs = [(each, _successor(each, *owners)) for each in chosen]
            work.partitions_write.delete(old.ref, [each.name for each in chosen])
            arrived = [NamedPartition(each.name, after) for each, after in pairs]
            work.partitions_write.insert(new.ref, arrived)
            gone = [each.partition.values for each in chosen]
            work.record(
                *table_events.add_partitions(table_text(owners[1]), gone, objects(arrived)),
                *table_events.drop_partitions(table_text(owners[0]), gone),
            )
            moves = [move for each, after in pairs if (move := _move(each.partition, after))]
            moving = decide_moves(work, looked, moves, new.ref.id, owners[0].sd.location)
            return [each.partition for each in arrived], moving


def _tables(work: UnitOfWork, source: TableName, target: TableName) -> tuple[StoredTable, StoredTable]:
    new = work.tables.find(target, lock="share")
    if new is None:
        raise InvalidInputError(f"The destination table {target.catalog}.{target} not found")
    old = work.tables.find(source, lock="share")
    if old is None:
        raise InvalidInputError(f"The source table {source.catalog}.{source} not found")
    if source == target:
        raise InvalidInputError(f"The partitions already exist in the table {target.name}")
    return old, new


def _chosen(work: UnitOfWork, table: StoredTable, values: Mapping[str, str]) -> list[StoredPartition]:
    given = {fold(column): value for column, value in values.items()}
    unknown = sorted(given.keys() - set(table.ref.key_names))
    if unknown:
        raise InvalidInputError(f"{unknown[0]} is not a partition column of {table.ref.name}")
    condition = values_condition([given.get(name) or "" for name in table.ref.key_names], table.ref.keys)
    if condition is None:
        raise InvalidInputError(f"Invalid partition key & values; keys {table.ref.key_names}, values {dict(values)}")
    chosen = work.partitions.select_stored(table.ref, condition, lock=True)
    if not chosen:
        name = table.ref.name.name
        raise InvalidInputError(f"No partition is found with the values {dict(values)} for the table {name}")
    return chosen


def _check_columns(source: Table, target: Table) -> None:
    if _columns(source.sd.cols) != _columns(target.sd.cols) or _columns(source.partitionKeys) != _columns(
        target.partitionKeys
    ):
        raise InvalidInputError("The tables have different schemas. Their partitions cannot be exchanged.")


def _columns(columns: Sequence[FieldSchema]) -> list[tuple[str, str]]:
    return [(column.name, column.type) for column in columns]


def _successor(stored: StoredPartition, source: Table, target: Table) -> Partition:
    """The partition as it is in the target."""
    after = copy.deepcopy(stored.partition)
    after.catName, after.dbName, after.tableName = target.catName, target.dbName, target.tableName
    location = after.sd.location
    if location and source.sd.location and target.sd.location and paths.is_below(location, source.sd.location):
        relocate(after.sd, Move(location, paths.partition_location(target.sd.location, stored.name)))
    return after


def _move(before: Partition, after: Partition) -> Move | None:
    return None if before.sd.location == after.sd.location else Move(before.sd.location, after.sd.location)
