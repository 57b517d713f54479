"""Moving partitions, with their files, between tables of the same columns."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence

from metastore.context import authorization_basis
from metastore.domain import events
from metastore.domain.column_statistics import without_accurate
from metastore.domain.names import TableName, fold_column
from metastore.encoding.redaction import redact
from metastore.errors import InvalidInputError
from metastore.services.cascade.dependencies import check_writable, columns_of
from metastore.services.files.change_loop import Attempt
from metastore.services.files.moves import Move, relocate
from metastore.services.files.planning import plan_moves
from metastore.services.rules.events import objects, table_text
from metastore.services.rules.lookup import lock_tables, required, taken
from metastore.services.rules.table_data import check_unprotected
from metastore.services.service import FileService
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
        """Moves partitions, with their directories, to the target: all that match, or none. Returns them.

        `values`: by partition column, of the first columns. As in Hive, other names are ignored.

        Raises InvalidInputError: a table, partition or directory is missing, a partition is not at its default
        location, the tables differ, or the target has a partition already. InvalidOperationError: the source is
        protected.
        """
        if values is None or not (source.database and source.name and target.database and target.name):
            raise InvalidInputError(
                "The DB and table name for the source and destination tables, and the partition specs must not be null."
            )
        if source.catalog != target.catalog:
            raise InvalidInputError("You cannot move a partition across catalogs")
        self._check_directories(source, values)  # 1. look (see `files.change_loop`)
        text = f"One of the partitions {dict(values)} already exists in the table {target.name}"

        def plan(work: UnitOfWork, attempt: Attempt) -> tuple[list[Partition], list[int]]:
            old, new = _tables(work, source, target)
            before = _matches(work, old, values)
            after, moves = _exchange(work, old, new, before)
            return after, plan_moves(work, attempt, moves, new.ref.id, old.encoded.decode().sd.location)

        with taken(InvalidInputError(text)):
            after, operations = self._loop.change(plan)  # 2. plan and commit
        self._journal.carry_out(operations)  # 3. carry out, after the commit
        return after

    def _check_directories(self, source: TableName, values: Mapping[str, str]) -> None:
        """Raises InvalidInputError if a directory is missing. No transaction is open while file systems are read."""
        with self._store.read() as work:
            table = work.tables.find(source)
            condition = _condition(table, values) if table else None
            matches = work.partitions.select_stored(table.ref, condition) if table and condition else []
        for match in matches:
            location = match.partition.sd.location
            if location and self._warehouse.is_missing(location):
                raise InvalidInputError(f"The directory of partition {match.name} is missing: {location}")


def _exchange(
    work: UnitOfWork, old: StoredTable, new: StoredTable, before: Sequence[StoredPartition]
) -> tuple[list[Partition], list[Move]]:
    """Moves partitions in the catalog. Returns them as they are in the new table, and the moves of directories."""
    tables = old.encoded.decode(), new.encoded.decode()
    check_unprotected(tables[0])
    for table in tables:
        check_writable(table, "Cannot exchange partitions")
    before_columns, after_columns = ((columns_of(one.sd.cols), columns_of(one.partitionKeys)) for one in tables)
    if before_columns != after_columns:
        raise InvalidInputError("The tables have different schemas. Their partitions cannot be exchanged.")
    after = [NamedPartition(partition.name, _successor(partition, *tables)) for partition in before]
    work.partitions_write.delete(old.ref, [partition.name for partition in before])
    work.partitions_write.insert(new.ref, after)
    values = [partition.partition.values for partition in before]
    work.record(
        *events.add_partitions(table_text(tables[1]), values, objects(after)),
        *events.drop_partitions(table_text(tables[0]), values),
    )
    structs = [partition.partition for partition in after]
    locations = [(was.partition.sd.location, now.sd.location) for was, now in zip(before, structs, strict=True)]
    return structs, [Move(source, target) for source, target in locations if source != target]


def _tables(work: UnitOfWork, source: TableName, target: TableName) -> tuple[StoredTable, StoredTable]:
    """Locks and returns source and target. Raises InvalidInputError if one does not exist, or both are the same."""
    stored = lock_tables(work, [source, target], "share")
    text = "The {} table {}.{} not found"
    new = required(stored.get(target), InvalidInputError(text.format("destination", target.catalog, target)))
    old = required(stored.get(source), InvalidInputError(text.format("source", source.catalog, source)))
    if source == target:
        raise InvalidInputError(f"The partitions already exist in the table {target.name}")
    return old, new


def _condition(table: StoredTable, values: Mapping[str, str]) -> Condition | None:
    """Returns the condition on the values of the first columns. Raises InvalidInputError if one is left out."""
    by_column = {fold_column(column): value for column, value in values.items()}
    ordered = [by_column.get(name) or "" for name in table.ref.key_names]
    if "" in ordered and any(ordered[ordered.index("") :]):
        raise InvalidInputError(
            f"Partitions are exchanged by the values of their first columns, {', '.join(table.ref.key_names)}: "
            f"{dict(values)} omits one"
        )
    return values_condition(ordered, table.ref.keys)


def _matches(work: UnitOfWork, table: StoredTable, values: Mapping[str, str]) -> list[StoredPartition]:
    """Locks and returns the partitions with these values. Raises InvalidInputError if none exists."""
    none = InvalidInputError(f"Invalid partition key & values; keys {table.ref.key_names}, values {dict(values)}")
    condition = required(_condition(table, values), none)
    matches = work.partitions.select_stored(table.ref, condition, lock=True)
    if not matches:
        name = table.ref.name.name
        raise InvalidInputError(f"No partition is found with the values {dict(values)} for the table {name}")
    return matches


def _successor(stored: StoredPartition, source: Table, target: Table) -> Partition:
    """Returns the partition as it is in the target. Raises InvalidInputError if it is not at its default location."""
    after = copy.deepcopy(stored.partition)
    after.parameters = without_accurate(after.parameters)  # the statistics of columns stay behind
    after.catName, after.dbName, after.tableName = target.catName, target.dbName, target.tableName
    others = (source.dbName, source.owner, source.ownerType) != (target.dbName, target.owner, target.ownerType)
    # The owners of the target may not know the secrets of the source.
    if others and authorization_basis.get() is not None:
        redact(after)
    location = after.sd.location
    if not (location and source.sd.location and target.sd.location):
        return after
    # An overwritten partition is in a _versions directory below its default location.
    if not paths.same(paths.without_version(location), paths.partition_location(source.sd.location, stored.name)):
        raise InvalidInputError(
            f"Partition {stored.name} of {source.dbName}.{source.tableName} cannot be exchanged: it is not at its "
            f"default location, but at {location}"
        )
    relocate(after.sd, Move(location, paths.partition_location(target.sd.location, stored.name)))
    return after
